"""Each request of an installation, its drift, upgrade and removal has the rights of the account, or a reason."""

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
)
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests import manifests
from tests.integration.operator import charts, olm
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, is_ready
from tests.integration.tenancy.accounts import EVERYTHING, create_account, grant_everywhere
from tests.integration.tenancy.auditing import Watcher
from tests.unit.bundles import webhook
from tests.unit.charts import config_map, hook
from tests.waiting import eventually


@pytest.fixture
async def account(admin: Client, tenant: Tenant) -> Account:
    account = await create_account(admin, tenant.namespace, rules=())
    await grant_everywhere(admin, account, (EVERYTHING,))
    return account


LOOKUP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: found}
data: {value: {{ (lookup "v1" "ConfigMap" .Release.Namespace "given").data.key | quote }}, version: "VERSION"}
"""


async def test_chart_with_hooks_and_lookup_is_served_with_the_rights_of_its_account(
    plane: ControlPlane, admin: Client, tenant: Tenant, guarded_operator: Operator, account: Account
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
    plane: ControlPlane, admin: Client, tenant: Tenant, guarded_operator: Operator, account: Account
) -> None:
    watcher = Watcher(plane=plane, system=tenant.system, account=account)
    package = f"p{tenant.name.removeprefix('t-')}"
    webhooks = [webhook("v.example.com")]
    spec = await olm.published(tenant, package, webhooks=webhooks)
    watcher.requests()
    tenant.sees_to(tenant.name)
    await tenant.settled()
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
