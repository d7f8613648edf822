"""A deployment whose class changes to an unserved one says so, also when no operator ran at that time."""

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.integration.operator.counting import settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map

ELSEWHERE = b'{"spec":{"provisionerClassName":"elsewhere"}}'


async def test_a_class_that_changed_while_no_operator_ran_is_told_once(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("content", [config_map("one", tenant.namespace)])
    await tenant.deploy("content")
    await tenant.ready()
    await operator.stop()
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, ELSEWHERE, field_manager="user")
    await operator.start()
    found = await tenant.until(
        lambda one: condition(one, "Ready").get("reason") == "ClassNotServed", what="nobody keeps it any more"
    )
    assert condition(found, "Ready")["status"] == "Unknown"
    assert condition(found, "Installed")["status"] == "True"

    await operator.stop()
    await operator.start()
    assert ("patch", "bundledeployments/status", "200") not in await settled(operator)
