"""An API server that dies, refuses or cuts connections: the operator goes on where it was, without a retry storm."""

import asyncio
import signal

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.errors import ServerUnavailableError
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Exchange, Fail, Proxy
from tests.manifests import Document, config_map
from tests.waiting import eventually

COUNT = 40
FAULT_SECONDS = 2.0
TRIES = 8  # per object while the fault lasts: its own 4, and what the back-off of the deployment adds


def objects(tenant: Tenant, count: int = COUNT) -> list[Document]:
    return [config_map(f"map-{number}", tenant.namespace, v="1") for number in range(count)]


async def holds(tenant: Tenant, count: int = COUNT) -> None:
    async def look() -> bool:
        owned = await tenant.owned(CONFIG_MAPS)
        return len(owned) == count and all(one["data"] == {"v": "1"} for one in owned.values())

    await eventually(look, what="all objects are as shipped")


async def edit(tenant: Tenant, name: str) -> None:
    body = b'{"data":{"v":"edited"}}'
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, name, body, field_manager="somebody")


async def is_seen_as_down(tenant: Tenant) -> None:
    """The test's own connections were closed, too."""

    async def look() -> bool:
        try:
            await tenant.admin.raw_get("/livez")
        except ServerUnavailableError:
            return True
        return False

    await eventually(look, what="nobody answers")


def applies_a_map(exchange: Exchange) -> bool:
    return exchange.is_apply and exchange.resource == "configmaps"


async def test_a_server_that_dies_while_nothing_happens(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    """Every watch answers 410 afterwards; what drifted meanwhile is corrected."""
    await tenant.publish("v1", objects(tenant))
    await tenant.deploy("v1")
    await tenant.ready()

    plane.stop_apiserver(signal.SIGKILL)
    await is_seen_as_down(tenant)
    plane.start_apiserver()
    await edit(tenant, "map-0")
    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "map-1")

    await holds(tenant)
    assert await operator.metric("rukpak_watch_ends_total", ending="expired") > 0
    await tenant.publish("v2", objects(tenant)[1:])
    await tenant.deploy("v2")  # our own kinds are watched again, too
    await tenant.ready()
    assert operator.is_running


async def test_a_server_that_dies_in_the_middle_of_an_install(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, plane: ControlPlane
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await tenant.publish("v1", objects(tenant))
    middle = Point(name="the middle", when=When.AFTER, match=applies_a_map, nth=COUNT // 2)
    strike = Strike(middle, lambda: plane.stop_apiserver(signal.SIGKILL))
    proxy.rules.append(strike)

    await tenant.deploy("v1")
    async with asyncio.timeout(30):
        await strike.fired.wait()
    await is_seen_as_down(tenant)
    plane.start_apiserver()

    await tenant.ready(seconds=60)
    await holds(tenant)
    assert operator.is_running


@pytest.mark.parametrize(
    ("status", "headers"),
    [(429, {"Retry-After": "1"}), (500, {}), (503, {}), (0, {})],
    ids=["429 with Retry-After", "500", "503", "connections cut"],
)
async def test_a_server_that_refuses_for_a_while(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, status: int, headers: dict[str, str]
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await tenant.publish("v1", objects(tenant))
    fail = Fail(match=applies_a_map, status=status, headers=headers)
    proxy.rules.append(fail)

    await tenant.deploy("v1")
    await eventually(lambda: _has_begun(fail), what="the first refusal")
    await asyncio.sleep(FAULT_SECONDS)
    proxy.rules.remove(fail)

    await tenant.ready()
    await holds(tenant)
    assert len(fail.failed) <= COUNT * TRIES


async def test_a_watch_that_falls_silent_and_breaks(tenant: Tenant, operators: StartOperator, proxy: Proxy) -> None:
    """Changes that happened meanwhile are seen when the watch goes on."""
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await tenant.publish("v1", objects(tenant))
    await tenant.deploy("v1")
    await tenant.ready()

    proxy.stall("configmaps")
    await edit(tenant, "map-0")
    await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "map-1")
    proxy.cut("configmaps")
    proxy.flow("configmaps")
    await holds(tenant)


async def _has_begun(fail: Fail) -> bool:
    return bool(fail.failed)
