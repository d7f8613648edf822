"""Deployments whose account has exactly the printed roles: not one request of them is refused.

With a right less, a deployment is refused by name before anything is written.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from e2e.cluster.audit import audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.api.names import CONTENT_SERVICE, RECONCILE_AT_ANNOTATION, SecretName
from rukpak_py.apply.permissions.manifests import account_with_roles
from rukpak_py.cli.cluster.content_server import ServerRefusedError
from rukpak_py.cli.cluster.needed_permissions import NeededPermissions, needed_permissions
from rukpak_py.cli.cluster.session import ClusterSession, OperatorAt
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.objects import RBAC_GROUP
from rukpak_py.formats.helm.process import VARIABLE, HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from tests.integration.operator.charts import deploy as deploy_chart
from tests.integration.operator.charts import publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.granting import (
    ACCOUNT,
    RESOURCES,
    grant,
    printed,
    refused,
    requests_of,
    revoke,
    written_bundle,
)
from tests.integration.operator.olm import published
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map, crd, manifest, service_account, thing, workload
from tests.unit.bundles import webhook
from tests.unit.charts import METADATA, hook
from tests.unit.charts import config_map as template_of_config_map
from tests.unit.cli.content_servers import Direct
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("policies", "operator")


def content(tenant: Tenant, *names: str) -> list[Document]:
    """ConfigMaps, a workload with an account and its roles, a CRD and an instance of it."""
    group, namespace, name = f"{tenant.name}.example.com", tenant.namespace, f"web-{tenant.name}"
    rbac = f"{RBAC_GROUP}/v1"
    subject = {"kind": "ServiceAccount", "name": "web", "namespace": namespace}
    things = {"apiGroups": [group], "resources": ["things", "things/status"], "verbs": ["get", "list", "update"]}
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}
    web = workload("web", namespace)
    web["spec"]["template"]["spec"]["serviceAccountName"] = "web"

    def bound(kind: str, rule: Document, place: str) -> list[Document]:
        reference = {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}
        return [
            manifest(rbac, kind, name, place, rules=[rule]),
            manifest(rbac, f"{kind}Binding", name, place, roleRef=reference, subjects=[subject]),
        ]

    return [
        *(config_map(one, namespace, value="1") for one in names),
        service_account("web", namespace),
        *bound("Role", things, namespace),
        *bound("ClusterRole", nodes, ""),
        web,
        crd(group),
        thing(group, "first", namespace),
    ]


async def bundled(tenant: Tenant, folder: Path, name: str, documents: list[Document]) -> Path:
    """A plain bundle, published under the name, as a folder, too."""
    await tenant.publish(name, documents)
    text = "\n---\n".join(orjson.dumps(one).decode() for one in documents)
    return written_bundle(folder / name, {"manifests/all.yaml": text})


async def deploy(tenant: Tenant, name: str) -> None:
    await tenant.deploy(name, installNamespace=tenant.namespace, serviceAccountName=ACCOUNT)


async def reconcile(tenant: Tenant, value: str) -> None:
    body = orjson.dumps({"metadata": {"annotations": {RECONCILE_AT_ANNOTATION: value}}})
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)


async def is_missing(tenant: Tenant) -> Document:
    found = await tenant.until(
        lambda seen: condition(seen, "Ready").get("reason") == "PermissionsMissing", what="permissions are missing"
    )
    return condition(found, "Installed")


@pytest.fixture
async def operator(operators: StartOperator, helm: HelmProgram, monkeypatch: pytest.MonkeyPatch) -> Operator:
    """One that renders charts; the command line does, too."""
    monkeypatch.setenv(VARIABLE, helm.path)
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    return operator


@pytest.fixture
async def account(tenant: Tenant) -> AsyncIterator[list[dict[str, Any]]]:
    """An account without rights, and a list of manifests that give it some, which are deleted at the end."""
    body = service_account(ACCOUNT, tenant.namespace)
    await tenant.admin.create(SERVICE_ACCOUNTS, tenant.namespace, orjson.dumps(body))
    granted: list[dict[str, Any]] = []
    yield granted
    await tenant.end()
    await revoke(tenant.admin, granted)


async def test_account_with_the_printed_roles_installs_upgrades_corrects_and_removes_plain_content(
    plane: ControlPlane, tenant: Tenant, tmp_path: Path, account: list[dict[str, Any]]
) -> None:
    start = len(audited(plane.state))
    first = await bundled(tenant, tmp_path, "one", content(tenant, "a", "b"))
    second = await bundled(tenant, tmp_path, "two", content(tenant, "a", "c"))
    await deploy(tenant, "one")
    told = await is_missing(tenant)
    command = f"rukpakctl permissions {tenant.name} -o yaml"
    assert f"All that it needs: {command}. Review it, then pipe it to kubectl apply -f -" in told["message"]
    assert requests_of(plane, tenant, skip=start) == [], "nothing is looked at, tried out or written"

    account += await printed(tenant, first, f"--name=one-{tenant.name}")
    await grant(tenant.admin, account)
    await reconcile(tenant, "granted")
    await tenant.ready()

    more = await printed(tenant, second, f"--name=two-{tenant.name}")
    await deploy(tenant, "two")
    told = await is_missing(tenant)
    assert told["reason"] == "UpgradeFailed"
    assert "are new with this version" in told["message"]
    account += more
    await grant(tenant.admin, more)
    await reconcile(tenant, "granted again")
    await tenant.until(lambda seen: condition(seen, "Ready").get("status") == "True", what="upgraded")
    await tenant.gone(CONFIG_MAPS, "b", tenant.namespace)

    changed = orjson.dumps({"data": {"value": "changed"}})
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "c", changed)
    await eventually(lambda: has_value(tenant, "c", "1"), what="drift is corrected")

    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    done = requests_of(plane, tenant, skip=start)
    assert refused(done) == []
    assert {"patch", "delete"} <= {one.verb for one in done}


async def test_upgrade_whose_account_may_not_delete_what_it_drops_is_refused_before_the_first_write(
    plane: ControlPlane, tenant: Tenant, tmp_path: Path, account: list[dict[str, Any]]
) -> None:
    one = await bundled(tenant, tmp_path, "one", [config_map(name, tenant.namespace, value="1") for name in "ab"])
    two = await bundled(tenant, tmp_path, "two", [config_map("a", tenant.namespace, value="2")])
    first = await printed(tenant, one, f"--name=one-{tenant.name}")
    second = await printed(tenant, two, f"--name=two-{tenant.name}")
    await grant(tenant.admin, first)
    await deploy(tenant, "one")
    await tenant.ready()
    account += second
    await grant(tenant.admin, second)
    for given in first:
        if given["kind"] == "RoleBinding":
            await tenant.admin.delete(RESOURCES["RoleBinding"], tenant.namespace, given["metadata"]["name"])
    start = len(audited(plane.state))
    await deploy(tenant, "two")
    told = await is_missing(tenant)
    assert "lacks 2 permissions" in told["message"]
    assert '"resourceNames":["b"],"verbs":["get","delete"]' in told["message"]
    assert "The installed version needs all of them, too." in told["message"]
    assert requests_of(plane, tenant, skip=start) == []
    await grant(tenant.admin, first)
    await reconcile(tenant, "granted")
    await tenant.ready()
    await tenant.gone(CONFIG_MAPS, "b", tenant.namespace)
    assert refused(requests_of(plane, tenant, skip=start)) == []


async def has_value(tenant: Tenant, name: str, value: str) -> bool:
    return bool((await tenant.read(CONFIG_MAPS, tenant.namespace, name))["data"]["value"] == value)


async def reported(tenant: Tenant, plane: ControlPlane, operator: Operator, client: Client) -> NeededPermissions:
    """As `rukpakctl permissions` reads it; only the port-forward is not there, which needs a kubelet."""
    at = OperatorAt(namespace=tenant.system, service=CONTENT_SERVICE, ca_secret=str(SecretName.CA))
    connection = await load_connection(plane.kubeconfig)
    session = ClusterSession(client, connection, at, way=Direct(port=operator.content_port))
    return await needed_permissions(session, tenant.name)


async def test_account_with_the_reported_permissions_installs_and_removes_an_olm_bundle_with_webhooks(
    plane: ControlPlane, tenant: Tenant, operator: Operator, account: list[dict[str, Any]]
) -> None:
    package, start = tenant.name, len(audited(plane.state))
    rule = {"apiGroups": [f"{package}.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"]}
    hook = webhook(f"validate.{package}.example.com", rules=[{**rule, "resources": ["demos"]}])
    spec = await published(tenant, package, webhooks=[hook])
    await tenant.deploy(**{**spec, "serviceAccountName": ACCOUNT})
    await is_missing(tenant)
    assert requests_of(plane, tenant, skip=start) == []

    found = await reported(tenant, plane, operator, tenant.admin)
    assert found.account == Account(tenant.namespace, ACCOUNT)
    assert found.rules == found.missing
    account += account_with_roles(found.rules, name=package, account=found.account)
    await grant(tenant.admin, account)
    await reconcile(tenant, "granted")
    await tenant.ready()
    assert not (await reported(tenant, plane, operator, tenant.admin)).missing
    secrets = [one for one in requests_of(plane, tenant, skip=start) if one.resource == "secrets"]
    assert {"create", "patch"} & {one.verb for one in secrets}, "its certificate is made by the account"

    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    assert refused(requests_of(plane, tenant, skip=start)) == []


async def test_report_names_values_and_lookups_that_the_account_may_not_read_before_the_content_is_rendered(
    plane: ControlPlane, tenant: Tenant, operator: Operator, account: list[dict[str, Any]]
) -> None:
    login = manifest("v1", "Secret", "login", tenant.namespace, stringData={"user": "tina"})
    values = config_map("values", tenant.namespace, **{"values.yaml": "value: 7"})
    await tenant.admin.create(SECRETS, tenant.namespace, orjson.dumps(login))
    await tenant.admin.create(CONFIG_MAPS, tenant.namespace, orjson.dumps(values))
    looked_up = '(lookup "v1" "Secret" .Release.Namespace "login").data.user | b64dec'
    template = template_of_config_map("settings", f"({looked_up}) .Values.value")
    items = await publish(tenant, template)
    config = {"valuesFrom": [{"kind": "ConfigMap", "name": "values"}]}

    async def granted(*rules: Document, is_complete: bool) -> None:
        async def is_reported() -> bool:
            with suppress(UnavailableError, ServerRefusedError):  # refused until it is rendered with the new right
                found = await reported(tenant, plane, operator, tenant.admin)
                missing = found.missing.get(tenant.namespace, [])
                return found.is_complete is is_complete and all(rule in missing for rule in rules)
            return False

        await eventually(is_reported, what=f"{rules} are reported")
        found = await reported(tenant, plane, operator, tenant.admin)
        manifests = account_with_roles(
            found.rules, name=f"all-{tenant.name}", account=Account(tenant.namespace, ACCOUNT)
        )
        account.extend(one for one in manifests if one not in account)
        await grant(tenant.admin, manifests)
        await reconcile(tenant, str(rules))

    def rule(plural: str, name: str, *verbs: str) -> Document:
        return {"apiGroups": [""], "resources": [plural], "resourceNames": [name], "verbs": list(verbs)}

    await deploy_chart(tenant, items, serviceAccountName=ACCOUNT, config=config)
    await granted(rule("configmaps", "values", "get", "list", "watch"), is_complete=False)
    await granted(rule("secrets", "login", "get"), is_complete=False)
    await granted(rule("configmaps", "settings", "get", "patch", "delete"), is_complete=True)
    await tenant.ready()
    assert await has_value(tenant, "settings", "tina7")
    found = await reported(tenant, plane, operator, tenant.admin)
    assert (found.missing, found.is_complete) == ({}, True)
    assert rule("secrets", "login", "get") in found.rules[tenant.namespace]


async def test_account_with_the_printed_roles_installs_upgrades_and_removes_a_chart_with_hooks_and_crds(
    plane: ControlPlane, tenant: Tenant, tmp_path: Path, account: list[dict[str, Any]]
) -> None:
    start, group = len(audited(plane.state)), f"{tenant.name}.example.com"
    template = "\n---\n".join(
        [
            template_of_config_map("settings", ".Values.value"),
            hook("before", "pre-install,pre-upgrade", **{"delete-policy": "before-hook-creation"}),
            hook("after", "post-install", **{"delete-policy": "hook-succeeded"}),
            hook("goodbye", "pre-delete"),
        ]
    )
    crds = orjson.dumps(crd(group)).decode()
    items = await publish(tenant, template, crds=crds)
    files = {"Chart.yaml": METADATA, "templates/a.yaml": template, "crds/crds.yaml": crds}
    account += await printed(tenant, written_bundle(tmp_path / "web", files), f"--name=web-{tenant.name}")
    await grant(tenant.admin, account)
    await deploy_chart(tenant, items, serviceAccountName=ACCOUNT)
    await tenant.ready()
    await deploy_chart(tenant, items, serviceAccountName=ACCOUNT, config={"values": {"value": 2}})
    await eventually(lambda: has_value(tenant, "settings", "2"), what="upgraded")
    await tenant.ready()
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    done = requests_of(plane, tenant, skip=start)
    assert refused(done) == []
    assert {"before", "after"} <= {one.name for one in done if one.verb == "delete"}
    assert "goodbye" in {one.name for one in done}
