"""Why a workload does not run is asked of its pods now and then while it is unhealthy, and never at rest."""

import orjson

from rukpak_py.kube.resources import PODS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import settled
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, workload
from tests.waiting import eventually

SOON = "tests.integration.operator.soon_lasting"
LISTS = ("list", "pods", "200")
LOOKS = 6  # after 2, 4, 8, 16, 32 and 64 seconds; the first two may come before its pod has a status


async def test_pods_are_listed_seldom_while_a_workload_stays_unhealthy(
    tenant: Tenant, operators: StartOperator
) -> None:
    operator = operators(module=SOON)
    await operator.start()
    broken = workload("web", tenant.namespace)
    broken["spec"]["replicas"] = 1
    broken["spec"]["template"]["spec"]["schedulerName"] = "none"  # no kubelet writes over what `set_waiting` says
    await tenant.publish("v1", [broken, workload("idle", tenant.namespace)])
    before = (await settled(operator))[LISTS]
    await tenant.deploy("v1")
    await eventually(lambda: set_waiting(tenant), what="there is a pod")
    text = "container c: ErrImagePull: not found (Pod "

    def is_told(found: Document) -> bool:
        is_lasting = condition(found, "Ready").get("reason") == "StillUnhealthy"
        return is_lasting and all(text in condition(found, kind)["message"] for kind in ("Ready", "Healthy"))

    await tenant.until(is_told, what="it stays unhealthy, and says why", seconds=60.0)
    asked = (await settled(operator))[LISTS] - before
    assert 1 <= asked <= LOOKS

    await tenant.publish("v2", [workload("web", tenant.namespace), workload("idle", tenant.namespace)])
    await tenant.deploy("v2")
    await tenant.ready()
    assert (await settled(operator))[LISTS] - before <= asked + 1
    at_rest = await settled(operator)
    await tenant.deploy("v2", prune={"maxObjects": 9})
    await tenant.ready()
    assert (await settled(operator))[LISTS] == at_rest[LISTS]


async def set_waiting(tenant: Tenant) -> bool:
    page = await tenant.admin.list_page(PODS, tenant.namespace, limit=5)
    state = {"waiting": {"reason": "ErrImagePull", "message": "not found"}}
    status = {"name": "c", "image": "none", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    body = orjson.dumps({"status": {"containerStatuses": [status]}})
    for one in page.items:
        await tenant.admin.patch_status(PODS, tenant.namespace, one.key.name, body)
    return bool(page.items)
