"""Content that contains the deployment that installs it, or a Bundle of that deployment, is refused by name."""

import pytest

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES
from tests import manifests
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map


@pytest.mark.parametrize("adopt", ["Never", "Force"])
async def test_a_deployment_that_contains_itself_is_refused(tenant: Tenant, operator: Operator, adopt: str) -> None:
    itself = manifests.deployment(tenant.name, manifests.source("other"), adopt=adopt)
    await tenant.publish("v1", [itself, config_map("one", tenant.namespace)])
    await tenant.deploy("v1", adopt=adopt)
    refused = await tenant.until(lambda one: condition(one, "Stalled").get("status") == "True", what="refused")
    text = f"the bundle contains BundleDeployment {tenant.name}, which installs it"
    assert text in condition(refused, "Installed")["message"]
    assert await tenant.owned() == {}
    assert list(await tenant.owned(BUNDLE_DEPLOYMENTS)) == []


async def test_a_deployment_that_contains_its_own_bundle_is_refused(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("v1", [config_map("one", tenant.namespace)])
    await tenant.deploy("v1")
    await tenant.ready()
    await tenant.deploy("later")
    ((_, name),) = [one for one in await tenant.owned(BUNDLES) if one[1] != await active(tenant)]
    bundle = manifests.bundle(name, manifests.source("later"))
    await tenant.publish("later", [bundle, config_map("one", tenant.namespace)])
    refused = await tenant.until(lambda one: condition(one, "Stalled").get("status") == "True", what="refused")
    message = condition(refused, "Installed")["message"]
    assert f"the bundle contains Bundle {name}, which installs it" in message
    assert set(await tenant.owned()) == {("ConfigMap", "one")}, "what is installed stays"


async def active(tenant: Tenant) -> str:
    return str((await tenant.deployment())["status"]["activeBundle"])
