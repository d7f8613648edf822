"""One object of a deployment is changed all the time: health of the others is told, objects that left are pruned."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import orjson

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import CONFIG_MAPS, Resource
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map, crd, thing
from tests.waiting import INTERVAL_SECONDS

BROKEN = "everything is down"


def content(tenant: Tenant, *names: str) -> list[Document]:
    """A custom resource whose health another client tells, and these ConfigMaps."""
    group = f"{tenant.name}.example.com"
    defined = crd(group)
    defined["spec"]["versions"][0]["subresources"] = {"status": {}}
    maps = [config_map(name, tenant.namespace, v="1") for name in names]
    return [defined, thing(group, "one", tenant.namespace), *maps]


async def set_ready(tenant: Tenant, status: str, message: str = "") -> None:
    gvk = GroupVersionKind(f"{tenant.name}.example.com", "v1", "Thing")
    things = Resource(gvk=gvk, plural="things", namespaced=True)
    ready = {"type": "Ready", "status": status, "reason": "Tested", "message": message}
    await tenant.admin.patch_status(things, tenant.namespace, "one", orjson.dumps({"status": {"conditions": [ready]}}))


@asynccontextmanager
async def rival(tenant: Tenant, name: str) -> AsyncIterator[None]:
    """A client that changes this ConfigMap as fast as it is reverted, and more often."""

    async def fight() -> None:
        number = 0
        while True:
            number += 1
            body = orjson.dumps({"data": {"v": f"mine-{number}"}})
            await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, name, body, field_manager="rival")
            await asyncio.sleep(INTERVAL_SECONDS)

    fighting = asyncio.create_task(fight())
    try:
        yield
    finally:
        fighting.cancel()
        await asyncio.gather(fighting, return_exceptions=True)


def is_fought_over(deployment: Document) -> bool:
    ready = condition(deployment, "Ready")
    return ready.get("reason") == "FieldsContested" and '"rival"' in ready["message"]


def healthy(status: str, text: str = "") -> Callable[[Document], bool]:
    def check(deployment: Document) -> bool:
        found = condition(deployment, "Healthy")
        return is_fought_over(deployment) and found["status"] == status and text in found["message"]

    return check


async def test_health_of_the_others_is_told(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("v1", content(tenant, "fought"))
    await tenant.deploy("v1")
    await tenant.ready()
    async with rival(tenant, "fought"):
        await tenant.until(is_fought_over, what="the fight is told")
        await set_ready(tenant, "False", BROKEN)
        await tenant.until(healthy("False", BROKEN), what="the broken object is told")
        await set_ready(tenant, "True")
        await tenant.until(healthy("True"), what="it is well again")


async def test_object_that_left_the_content_is_pruned_during_a_fight(tenant: Tenant, operator: Operator) -> None:
    """The new content becomes healthy only after the fight has begun."""
    await tenant.publish("v1", content(tenant, "fought", "leaves"))
    await tenant.publish("v2", content(tenant, "fought", "comes"))
    await tenant.deploy("v1")
    await tenant.ready()
    await set_ready(tenant, "False", BROKEN)
    await tenant.deploy("v2")
    await tenant.until(
        lambda one: (
            one["status"]["history"][0]["template"]["spec"]["source"]["configMaps"][0]["configMap"]["name"] == "v2"
        ),
        what="the new content is applied",
    )
    async with rival(tenant, "fought"):
        await tenant.until(healthy("False", BROKEN), what="the fight is told")
        assert {"comes", "leaves"} <= {name for _, name in await tenant.owned(CONFIG_MAPS)}
        await set_ready(tenant, "True")
        await tenant.gone(CONFIG_MAPS, "leaves", tenant.namespace)
        await tenant.until(healthy("True"), what="healthy, and still fought over")
