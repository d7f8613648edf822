"""Content that contains the deployment that installs it, or a Bundle of that deployment, is refused by name."""

import pytest

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES
from tests import manifests
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map
from tests.waiting import eventually


@pytest.mark.parametrize("adopt", ["Never", "Force"])
async def test_a_deployment_that_contains_itself_is_refused(tenant: Tenant, operator: Operator, adopt: str) -> None:
    itself = manifests.deployment(tenant.name, manifests.source("other"), adopt=adopt)
    await tenant.publish("v1", [itself, config_map("one", tenant.namespace)])
    await tenant.deploy("v1", adopt=adopt)
    refused = await tenant.until(lambda one: condition(one, "Stalled").get("status") == "True", what="refused")
    text = f"the bundle contains {BUNDLE_DEPLOYMENTS.key('', tenant.name)}, which installs it"
    assert text in condition(refused, "Installed")["message"]
    assert await tenant.owned() == {}
    assert list(await tenant.owned(BUNDLE_DEPLOYMENTS)) == []


async def test_a_deployment_that_contains_its_own_bundle_is_refused(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("v1", [config_map("one", tenant.namespace)])
    await tenant.deploy("v1")
    await tenant.ready()
    await tenant.deploy("later")
    name = await eventually(lambda: unpacking(tenant), what="there is a Bundle for the new template")
    bundle = manifests.bundle(name, manifests.source("later"))
    await tenant.publish("later", [bundle, config_map("one", tenant.namespace)])
    refused = await tenant.until(lambda one: condition(one, "Stalled").get("status") == "True", what="refused")
    message = condition(refused, "Installed")["message"]
    assert f"the bundle contains {BUNDLES.key('', name)}, which installs it" in message
    assert set(await tenant.owned()) == {("ConfigMap", "one")}, "what is installed stays"


async def unpacking(tenant: Tenant) -> str:
    active = (await tenant.deployment())["status"]["activeBundle"]
    return next((name for _, name in await tenant.owned(BUNDLES) if name != active), "")
