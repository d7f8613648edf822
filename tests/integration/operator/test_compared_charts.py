"""Charts in plans of upgrades and compared with the cluster: hooks, values from Secrets, lookups."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.formats.helm.process import VARIABLE, HelmProgram
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS
from tests import manifests
from tests.integration.command_line import rukpakctl
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.granting import written_bundle
from tests.integration.operator.planning import by_name, fields_of, plan_for
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.upgrading import MANUAL, pending, waits
from tests.manifests import manifest
from tests.unit.charts import METADATA, config_map, hook

PASSWORDS = ("first-password-of-it", "second-password-of-it")


@pytest.fixture
async def operator(operators: StartOperator, helm: HelmProgram, monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setenv(VARIABLE, helm.path)
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    return operator


async def values(tenant: Tenant, password: str) -> None:
    body = manifest("v1", "Secret", "values", tenant.system, stringData={"values.yaml": f"password: {password}"})
    await tenant.admin.apply(SECRETS, tenant.system, "values", orjson.dumps(body), field_manager="user", force=True)


async def test_plan_of_a_chart_names_hooks_and_hides_values_of_secrets(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await values(tenant, PASSWORDS[0])
    config: dict[str, Any] = {"valuesFrom": [{"kind": "Secret", "name": "values"}]}
    template = config_map("settings", '.Values.password | default "none"')
    first = await publish(tenant, template, name="one")
    second = await publish(tenant, f"{template}\n---\n{hook('migrate', 'pre-upgrade')}", name="two")
    await deploy(tenant, first, upgrades=MANUAL, config=config)
    await tenant.until(lambda found: condition(found, "Installed").get("status") == "True", what="it is installed")
    await values(tenant, PASSWORDS[1])
    await deploy(tenant, second, upgrades=MANUAL, config=config)
    deployment = await waits(tenant)
    plan = await plan_for(tenant, plane, operator)
    digest = pending(await tenant.deployment())["digest"]
    assert (plan.state, plan.digest) == ("Waiting", digest)
    (run,) = plan.hooks
    assert run.object == "ConfigMap migrate"
    assert (run.events, run.is_changed) == (["pre-upgrade"], True)
    assert any("hook" in line and "what it does stays" in line for line in plan.irreversible)
    assert list(fields_of(by_name(plan)["ConfigMap/settings"])) == ["data.value"]
    assert not [one for one in PASSWORDS if one in repr(plan)]
    assert deployment["status"]["pendingUpgrade"]["hooks"] == [run.object]


async def test_chart_is_compared_with_the_options_values_and_lookups_of_the_deployment(
    tenant: Tenant, operator: Operator, plane: ControlPlane, tmp_path: Path
) -> None:
    await values(tenant, PASSWORDS[0])
    await tenant.admin.create(
        CONFIG_MAPS, tenant.namespace, orjson.dumps(manifests.config_map("seen", tenant.namespace, v="looked-up"))
    )
    seen = '(lookup "v1" "ConfigMap" .Release.Namespace "seen").data.v'
    template = config_map("settings", f".Values.password .Values.given {seen} .Release.Name")
    items = await publish(tenant, template)
    config = {"valuesFrom": [{"kind": "Secret", "name": "values"}], "values": {"given": "-given-"}}
    await deploy(tenant, items, config=config)
    await tenant.ready()
    files = {"Chart.yaml": METADATA, "templates/a.yaml": template}
    at = f"--system-namespace={tenant.system}"
    path = str(written_bundle(tmp_path / "same", files))
    done = await rukpakctl(plane, "diff", tenant.name, path, at)
    assert (done.returncode, done.stdout) == (0, "no differences\n"), done.stderr
    files["templates/a.yaml"] = template.replace(".Release.Name |", '"changed" |')
    path = str(written_bundle(tmp_path / "changed", files))
    done = await rukpakctl(plane, "diff", tenant.name, path, at)
    assert done.returncode == 1, done.stderr
    assert f"~ ConfigMap {tenant.namespace}/settings" in done.stdout
    assert "-given-looked-upchanged" in done.stdout
    assert PASSWORDS[0] not in done.stdout
