"""Charts that look objects up: what they generated stays, what they may not read is named, and nothing is guessed."""

import shutil
import subprocess
from base64 import b64encode
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import APPLIED_ANNOTATION, DIGEST_KEY_SECRET, OWNER_KIND_LABEL, OWNER_NAME_LABEL
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, SECRETS
from tests.integration.operator import rerendering
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.releases import code_of
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.integration.proxy import Fail, Proxy
from tests.manifests import Document, crd
from tests.unit.charts import METADATA, hook
from tests.unit.charts import config_map as config_map_template
from tests.waiting import eventually

PASSWORD = """
{{- $found := lookup "v1" "Secret" .Release.Namespace "login" }}
{{- $password := randAlphaNum 20 | b64enc }}
{{- if $found }}{{ $password = $found.data.password }}{{ end }}
apiVersion: v1
kind: Secret
metadata: {name: login}
data: {password: {{ $password }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {value: {{ .Values.value | default "one" | quote }}, upgrade: {{ .Release.IsUpgrade | quote }}}
"""
# What charts of databases do: at an upgrade the password must be there, or the rendering fails.
DEMANDING = PASSWORD.replace(
    "{{- if $found }}",
    '{{- if and .Release.IsUpgrade (not $found) }}{{ fail "PASSWORDS ERROR: provide the current one" }}{{ end }}'
    "\n{{- if $found }}",
)
LAST_WITHOUT_LOOKUPS = "8335d9f29db8fcd92e910157a5b44dd7e498ccae"


@pytest.fixture
async def operator(operators: StartOperator, helm: HelmProgram) -> Operator:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    return operator


async def password(tenant: Tenant, name: str = "login") -> str:
    found: str = (await tenant.read(SECRETS, tenant.namespace, name))["data"]["password"]
    return found


async def upgraded(tenant: Tenant, revision: int) -> Document:
    return await tenant.until(
        lambda seen: is_ready(seen) and seen["status"]["history"][0]["revision"] == revision,
        what=f"revision {revision} is Ready",
    )


async def until_value(tenant: Tenant, value: str) -> None:
    async def look() -> bool:
        found: str = (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["value"]
        return found == value

    await eventually(look, what=f"the value is {value}")


async def put_secret(tenant: Tenant, namespace: str, name: str, **metadata: Any) -> None:
    body = {"metadata": {"name": name, **metadata}, "stringData": {"password": "of-somebody-else"}}
    await tenant.admin.create(SECRETS, namespace, orjson.dumps(body), field_manager="somebody")


@pytest.mark.parametrize("template", [PASSWORD, DEMANDING], ids=["keeps", "demands"])
async def test_a_generated_password_stays_over_upgrades_and_lost_storage(
    tenant: Tenant, operator: Operator, template: str
) -> None:
    items = await publish(tenant, template)
    await deploy(tenant, items)
    first = (await tenant.ready())["status"]["history"]
    assert [(entry["renderer"], entry["isUpgrade"]) for entry in first] == [("Cluster", False)]
    made = await password(tenant)

    await deploy(tenant, items, config={"values": {"value": "two"}})
    second = (await upgraded(tenant, 2))["status"]["history"]
    assert [(entry["renderer"], entry["isUpgrade"]) for entry in second][:1] == [("Cluster", True)]
    assert await password(tenant) == made

    await operator.stop()
    shutil.rmtree(operator.store)
    edit = b'{"data":{"value":"edited"}}'
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "settings", edit, field_manager="somebody")
    await operator.start()
    await until_value(tenant, "two")  # rendered again, and the same
    assert (await tenant.ready())["status"]["history"] == second
    assert await password(tenant) == made

    await deploy(tenant, items)
    await upgraded(tenant, 3)
    assert await password(tenant) == made


async def test_chart_of_a_former_release_is_not_upgraded_by_a_new_operator_and_lost_storage(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram, former: Path
) -> None:
    """Its storage is an emptyDir by default, so both come together."""
    arguments = [f"--helm={helm.path}"]
    operator = operators(arguments=arguments, tree=former)
    await operator.start()
    items = await publish(tenant, DEMANDING)
    await deploy(tenant, items)
    before = (await tenant.ready())["status"]["history"]
    made = await password(tenant)
    await operator.stop()
    shutil.rmtree(operator.store)

    await operators(arguments=arguments).start()
    assert (await tenant.ready())["status"]["history"] == before
    assert await password(tenant) == made
    await deploy(tenant, items, config={"values": {"value": "two"}})
    await upgraded(tenant, 2)
    assert await password(tenant) == made
    assert (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["upgrade"] == "true"


@pytest.mark.parametrize(
    "ignored", [{"releaseName": "other", "crds": "Skip"}, {"releaseName": "No Name", "crds": "x"}], ids=["known", "bad"]
)
async def test_keys_that_a_former_release_ignored_have_no_effect_before_the_next_upgrade(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram, former: Path, ignored: dict[str, str]
) -> None:
    """The new rendering is the installed one, with its CRD and its names: drift is corrected."""
    arguments = [f"--helm={helm.path}"]
    operator = operators(arguments=arguments, tree=former)
    await operator.start()
    definition = crd(f"{tenant.name}.example.com")
    key = definition["metadata"]["name"]
    text = config_map_template("{{ .Release.Name }}")
    items = await publish(tenant, text, crds=orjson.dumps(definition).decode())
    await deploy(tenant, items, config=ignored)
    before = (await tenant.ready())["status"]["history"]
    await operator.stop()
    shutil.rmtree(operator.store)
    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, tenant.name)

    await operators(arguments=arguments).start()

    async def is_back() -> bool:
        with suppress(NotFoundError):
            return bool(await tenant.admin.get(CONFIG_MAPS, tenant.namespace, tenant.name))
        return False

    await eventually(is_back, what="drift is corrected")
    assert (await tenant.ready())["status"]["history"] == before
    made = (await tenant.read(CRDS, "", key))["metadata"]
    assert made["labels"][OWNER_NAME_LABEL] == tenant.name

    await deploy(tenant, items, config={**ignored, "values": {"value": "two"}})
    if ignored["crds"] == "Skip":
        await upgraded(tenant, 2)
        assert await tenant.read(CONFIG_MAPS, tenant.namespace, "other")
    else:
        await tenant.until(partial(_says, text="spec.config.crds must be one of"), what="the key is named")
    await tenant.admin.delete(CRDS, "", key)


@pytest.fixture(scope="session")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return code_of(LAST_WITHOUT_LOOKUPS, tmp_path_factory.mktemp("without-lookups"))


async def test_a_release_of_helm_is_taken_over_with_its_passwords(
    tenant: Tenant, operator: Operator, helm: HelmProgram, plane: ControlPlane, tmp_path: Path
) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text(METADATA)
    template = f"{DEMANDING}---\n{hook('first', 'pre-install,post-install')}---\n{hook('next', 'pre-upgrade')}"
    (tmp_path / "templates" / "a.yaml").write_text(template)
    run_helm(helm, plane.kubeconfig, "install", tenant.name, str(tmp_path), "-n", tenant.namespace)
    made = await password(tenant)
    await deploy(tenant, await publish(tenant, template), adopt="Force")
    status = (await tenant.ready())["status"]
    (entry,) = status["history"]
    assert entry["isUpgrade"] is True
    assert [record["event"] for record in status["hooks"]] == ["pre-upgrade"]  # its data is there
    assert await password(tenant) == made
    assert (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["upgrade"] == "true"


def run_helm(helm: HelmProgram, kubeconfig: Path, *arguments: str) -> None:
    command = [helm.path, "--kubeconfig", str(kubeconfig), *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


SHOWN = """
apiVersion: v1
kind: ConfigMap
metadata: {name: shown}
data: {value: {{ %s | toJson | quote }}}
"""


async def test_a_hostile_chart_reads_no_secret_of_others(tenant: Tenant, operator: Operator) -> None:
    """Each attempt is an upgrade of the one before, which stays installed when it is refused."""
    other, own = f"{tenant.namespace}-other", tenant.namespace
    await tenant.admin.create(NAMESPACES, "", orjson.dumps({"metadata": {"name": other}}))
    looks_ours = {
        "labels": {OWNER_KIND_LABEL: "BundleDeployment", OWNER_NAME_LABEL: tenant.name},
        "annotations": {APPLIED_ANNOTATION: "sha256:0"},
    }
    of_helm = {
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": tenant.name, "meta.helm.sh/release-namespace": "elsewhere"},
    }
    await put_secret(tenant, other, "login")
    await put_secret(tenant, tenant.system, "login")
    await put_secret(tenant, tenant.system, "looks-ours", **looks_ours)
    await put_secret(tenant, tenant.system, "of-helm", **of_helm)
    await put_secret(tenant, own, "login")
    refused = {
        f'lookup "v1" "Secret" "{other}" "login"': "it is not in",
        f'lookup "v1" "Secret" "{other}" "nosuch"': "it is not in",
        f'lookup "v1" "Secret" "{other}" ""': "it is not in",
        'lookup "v1" "Secret" "" ""': "a list of all Secrets of the cluster",
        f'lookup "v1" "Secret" "{tenant.system}" "login"': "it is in the system namespace",
        f'lookup "v1" "Secret" "{tenant.system}" "looks-ours"': "it is in the system namespace",
        f'lookup "v1" "Secret" "{tenant.system}" "of-helm"': "it is in the system namespace",
        f'lookup "v1" "Secret" "{tenant.system}" "{DIGEST_KEY_SECRET}"': "holds keys or certificates of the operator",
        f'lookup "v1" "Secret" "{tenant.system}" ""': "one of them is",
        f'lookup "v1" "Secret" "{own}" "../../{other}/secrets/login"': "invalid resource name",  # by helm itself
    }
    shown = {
        f'lookup "v1" "Secret" "{own}" "login"': "login",
        f'lookup "v1" "Secret" "{own}" ""': "login",
        f'lookup "v1" "Secrets" "{other}" "login"': "{}",
        'lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "view"': "view",
        f'lookup "v1" "Namespace" "" "{other}"': other,
        f'lookup "v1" "ConfigMap" "{other}" "kube-root-ca.crt"': "BEGIN CERTIFICATE",
    }
    for number, (expression, text) in enumerate(shown.items()):
        await deploy(tenant, await publish(tenant, SHOWN % f"({expression})", name=f"shown-{number}"))
        await upgraded(tenant, number + 1)
        assert text in await value_of(tenant, "shown"), expression
    before = await value_of(tenant, "shown")
    for number, (expression, text) in enumerate(refused.items()):
        await deploy(tenant, await publish(tenant, SHOWN % f"({expression})", name=f"refused-{number}"))
        found = await tenant.until(partial(_says, text=text), what=f"{expression} is refused")
        assert condition(found, "Ready")["reason"] == ("ContentError" if ".." in expression else "AccessDenied")
        assert await value_of(tenant, "shown") == before
        assert "of-somebody-else" not in orjson.dumps(found).decode()


def _says(seen: Document, *, text: str) -> bool:
    is_current = condition(seen, "HasValidBundle").get("observedGeneration") == seen["metadata"]["generation"]
    return is_current and text in condition(seen, "HasValidBundle").get("message", "")


async def value_of(tenant: Tenant, name: str) -> str:
    found: str = (await tenant.read(CONFIG_MAPS, tenant.namespace, name))["data"]["value"]
    return found


async def test_value_looked_up_in_a_secret_is_in_no_message(tenant: Tenant, operator: Operator) -> None:
    await put_secret(tenant, tenant.namespace, "login")
    template = '{{ fail (printf "wrong: %s" (lookup "v1" "Secret" .Release.Namespace "login").data.password) }}'
    await deploy(tenant, await publish(tenant, template))
    found = await tenant.until(partial(_says, text="wrong: ***"), what="it fails")
    encoded = b64encode(b"of-somebody-else").decode()
    assert encoded not in orjson.dumps(found).decode()
    assert encoded not in operator.log


async def test_a_chart_that_misses_an_object_renders_once_it_is_there(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    operator = operators(arguments=[f"--helm={helm.path}"], module=rerendering.__name__)
    await operator.start()
    template = (
        '{{- if not (lookup "v1" "Secret" .Release.Namespace "login") }}{{ fail "make the Secret login" }}{{ end }}\n'
        + config_map_template("settings")
    )
    await deploy(tenant, await publish(tenant, template))
    await tenant.until(partial(_says, text="make the Secret login"), what="it fails")
    await put_secret(tenant, tenant.namespace, "login")
    await tenant.ready(seconds=60)


async def test_while_the_server_does_not_answer_the_rendering_waits(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram, proxy: Proxy
) -> None:
    """Made with nothing, it would replace the password; also when the storage is lost meanwhile."""
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=[f"--helm={helm.path}"])
    await operator.start()
    items = await publish(tenant, PASSWORD)
    await deploy(tenant, items)
    await tenant.ready()
    made = await password(tenant)
    away = Fail(match=lambda exchange: (exchange.method, exchange.name) == ("GET", "login"), status=500)
    proxy.rules.append(away)
    await deploy(tenant, items, config={"values": {"value": "two"}})
    text = f"the chart looks up Secret {tenant.namespace}/login, which fails"
    await tenant.until(lambda seen: text in condition(seen, "HasValidBundle").get("message", ""), what="it waits")
    await operator.stop()
    shutil.rmtree(operator.store)
    asked = len(away.failed)
    await operator.start()

    async def has_asked_again() -> bool:
        return len(away.failed) > asked

    await eventually(has_asked_again, what="the chart is rendered after the restart")
    assert await password(tenant) == made
    proxy.rules.remove(away)
    await upgraded(tenant, 2)
    assert await password(tenant) == made
