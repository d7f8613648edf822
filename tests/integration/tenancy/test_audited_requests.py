"""Each request of an installation, its drift, upgrade and removal, as the audit log has it: with whose rights it was.

The operator has a user of its own and every right, so a request that it would send with its own rights succeeds, and
shows. What it may send so stands in a table, with the reason.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from e2e.cluster.audit import AuditedRequest, audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    GROUP,
    OPERATOR_ACCOUNT,
)
from rukpak_py.api.policies.installation import Installation
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests import manifests
from tests.integration.operator import charts, olm
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, is_ready
from tests.integration.policies import policies_in_force
from tests.integration.proxy import proxy_before
from tests.integration.tenancy.accounts import create_account, grant_everywhere
from tests.unit.bundles import webhook
from tests.unit.charts import config_map, hook
from tests.waiting import eventually

EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


@dataclass(frozen=True, kw_only=True)
class OwnRight:
    """Requests that the operator sends with its own rights."""

    verbs: Sequence[str]
    resource: str  # with its group; a star: any
    reason: str
    in_system: bool = False  # only in the system namespace

    def covers(self, request: AuditedRequest, system: str) -> bool:
        resource = f"{request.resource}.{request.group}" if request.group else request.resource
        return (
            request.verb in self.verbs
            and self.resource in {"*", resource}
            and (not self.in_system or request.namespace == system)
        )


OWN_RIGHTS = (
    OwnRight(verbs=("watch",), resource="*", reason="watches serve objects that carry the uid of a deployment of ours"),
    OwnRight(verbs=("create", "delete"), resource=f"bundles.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("patch",), resource=f"bundles/status.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("get", "list"), resource=f"bundles.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("get", "list", "patch"), resource=f"bundledeployments.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("patch",), resource=f"bundledeployments/status.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("list",), resource=f"bundleinstances.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("create", "patch"), resource="events", reason="Events about our own kinds"),
    OwnRight(verbs=("create", "patch"), resource="events.events.k8s.io", reason="Events about our own kinds"),
    OwnRight(verbs=("get", "list"), resource="configmaps", reason="content of Bundles", in_system=True),
    OwnRight(verbs=("get", "list", "create", "patch"), resource="secrets", reason="keys", in_system=True),
    OwnRight(verbs=("get", "list"), resource="serviceaccounts", reason="pull secrets of Bundles", in_system=True),
    OwnRight(
        verbs=("get", "patch"),
        resource="customresourcedefinitions.apiextensions.k8s.io",
        reason="its claim of the cluster, on the CRD of BundleDeployments",
    ),
    OwnRight(
        verbs=("get", "create", "patch"),
        resource="validatingwebhookconfigurations.admissionregistration.k8s.io",
        reason="its own webhooks",
    ),
    OwnRight(verbs=("list",), resource="namespaces", reason="first look at a watched kind"),
    OwnRight(verbs=("get",), resource="endpointslices.discovery.k8s.io", reason="addresses of the API server"),
)


@pytest.fixture
async def operator(  # noqa: PLR0917 - fixtures
    plane: ControlPlane, admin: Client, tenant: Tenant, operators: StartOperator, helm: HelmProgram, tmp_path: Path
) -> AsyncIterator[Operator]:
    """An operator with the service account of the chart, which has every right."""
    account = Account(tenant.system, OPERATOR_ACCOUNT)
    await grant_everywhere(admin, account, (EVERYTHING,))
    async with (
        policies_in_force(admin, Installation(system_namespace=tenant.system)),
        proxy_before(plane, tmp_path, user=account.user) as proxy,
    ):
        operator = operators(kubeconfig=proxy.kubeconfig, arguments=[f"--helm={helm.path}"])
        await operator.start()
        yield operator
        await operator.stop()


@pytest.fixture
async def account(admin: Client, tenant: Tenant) -> Account:
    account = await create_account(admin, tenant.namespace, rules=())
    await grant_everywhere(admin, account, (EVERYTHING,))
    return account


@dataclass(kw_only=True)
class Watcher:
    """The requests of the operator since the last look."""

    plane: ControlPlane
    system: str
    account: Account
    seen: int = 0

    def requests(self) -> list[AuditedRequest]:
        found = audited(self.plane.state, skip=self.seen)
        self.seen += len(found)
        operator = Account(self.system, OPERATOR_ACCOUNT).user
        return [one for one in found if one.user == operator and one.resource]

    def written_as_account(self) -> set[tuple[str, str]]:
        """Verbs and names of what was written. No request had other rights than those that are explained."""
        requests = self.requests()
        unexplained = [
            str(one)
            for one in requests
            if not one.account and not any(row.covers(one, self.system) for row in OWN_RIGHTS)
        ]
        assert unexplained == []
        assert {one.account for one in requests} <= {"", self.account.user}
        return {(one.verb, one.name) for one in requests if one.account and one.is_write and not one.is_dry_run}


LOOKUP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: found}
data: {value: {{ (lookup "v1" "ConfigMap" .Release.Namespace "given").data.key | quote }}, version: "VERSION"}
"""


async def test_chart_with_hooks_and_lookup_is_served_with_the_rights_of_its_account(
    plane: ControlPlane, admin: Client, tenant: Tenant, operator: Operator, account: Account
) -> None:
    watcher = Watcher(plane=plane, system=tenant.system, account=account)
    await admin.create(CONFIG_MAPS, tenant.namespace, orjson.dumps(manifests.config_map("given", key="1")))
    texts = {
        version: "---\n".join(
            [
                LOOKUP.replace("VERSION", version),
                hook("before", "pre-install,pre-upgrade"),
                hook("goes", "pre-delete"),
                config_map("kept" if version == "1" else "new"),
            ]
        )
        for version in ("1", "2")
    }
    watcher.requests()
    await charts.deploy(tenant, await charts.publish(tenant, texts["1"]), serviceAccountName=account.name)
    await tenant.ready()
    assert watcher.written_as_account() >= {("create", "before"), ("patch", "found"), ("patch", "kept")}

    await admin.patch(CONFIG_MAPS, tenant.namespace, "found", b'{"data":{"version":"drifted"}}')

    async def is_corrected() -> bool:
        found = await tenant.read(CONFIG_MAPS, tenant.namespace, "found")
        return bool(found["data"]["version"] == "1")

    await eventually(is_corrected, what="the drift is corrected")
    assert watcher.written_as_account() == {("patch", "found")}

    await charts.deploy(tenant, await charts.publish(tenant, texts["2"], "next"), serviceAccountName=account.name)
    await tenant.until(lambda one: len(one["status"]["history"]) == 2 and is_ready(one), what="it is upgraded")
    assert watcher.written_as_account() >= {("create", "before"), ("patch", "new"), ("delete", "kept")}

    await admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    assert ("create", "goes") in watcher.written_as_account()


async def test_olm_bundle_with_webhooks_is_served_with_the_rights_of_its_account(
    plane: ControlPlane, admin: Client, tenant: Tenant, operator: Operator, account: Account
) -> None:
    watcher = Watcher(plane=plane, system=tenant.system, account=account)
    package = f"p{tenant.name.removeprefix('t-')}"
    webhooks = [webhook("v.example.com")]
    spec = await olm.published(tenant, package, webhooks=webhooks)
    watcher.requests()
    tenant.sees_to(tenant.name)
    body = manifests.manifest(
        API_VERSION, BUNDLE_DEPLOYMENT_KIND, tenant.name, spec={**spec, "serviceAccountName": account.name}
    )
    await admin.create(BUNDLE_DEPLOYMENTS, "", orjson.dumps(body))
    await tenant.ready()
    crd, secret = f"demos.{package}.example.com", "demo-controller-service-cert"
    assert watcher.written_as_account() >= {
        ("patch", crd),
        ("create", secret),  # the certificate of the webhook ...
        ("patch", "v.example.com"),  # ... and the configuration with its CA
        ("patch", "demo-controller"),
    }
    await admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    assert watcher.written_as_account() == {("delete", crd)}, "the collector removes what has an owner reference"
