"""A deployment is deleted and its watch does not say so: who puts its objects back fights the collector for ever.

An object with the owner uid of what is gone is collected at once. So the API server is asked whether the deployment
still exists before anything that it had, or may have had, is created again.
"""

import asyncio
from functools import partial

import pytest
from aiohttp import web

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import IDLE
from tests.integration.operator.tenant import SERVICES, Tenant
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import config_map, service
from tests.waiting import quiet, until

COUNT = 5
SHIPPED = {"configmaps", "services", "bundles"}


def brings_back(exchange: Exchange) -> bool:
    return exchange.is_write and exchange.resource in SHIPPED and exchange.method in {"PATCH", "POST"}


def asks_for_the_deployment(exchange: Exchange) -> bool:
    return exchange.method == "GET" and exchange.resource == "bundledeployments" and not exchange.is_watch


class HeldWatches:
    """Holds the watches of one resource back until they are released."""

    def __init__(self, resource: str) -> None:
        self._resource = resource
        self._released = asyncio.Event()
        self.held = 0

    def release(self) -> None:
        self._released.set()

    async def before(self, exchange: Exchange) -> web.Response | None:
        if exchange.is_watch and exchange.resource == self._resource:
            self.held += 1
            await self._released.wait()
        return None

    async def after(self, exchange: Exchange) -> None:
        pass


async def sent_by(proxy: Proxy) -> int:
    return len([one for one in proxy.seen if not one.is_watch])


@pytest.mark.parametrize("restarted", [False, True], ids=["just installed", "after a restart"])
async def test_collected_object_stays_deleted(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, *, restarted: bool
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await tenant.publish("v1", [config_map(f"map-{number}", tenant.namespace, v="1") for number in range(COUNT)])
    await tenant.deploy("v1")
    await tenant.ready()
    if restarted:
        await operator.stop()
        await operator.start()
    sent = partial(sent_by, proxy)
    await quiet(sent, seconds=IDLE)
    before = len(proxy.seen)
    proxy.stall("bundledeployments")
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation="Background")
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CONFIG_MAPS, BUNDLES)
    await quiet(sent, seconds=2 * IDLE)

    assert [one for one in proxy.seen[before:] if brings_back(one)] == []
    assert [one.status for one in proxy.seen[before:] if asks_for_the_deployment(one)] == [404]
    await tenant.left_nothing(CONFIG_MAPS, BUNDLES)

    before = len(proxy.seen)
    proxy.flow("bundledeployments")
    await quiet(sent, seconds=IDLE)
    assert [one for one in proxy.seen[before:] if one.is_write] == []
    await tenant.left_nothing(CONFIG_MAPS, BUNDLES)


async def test_object_collected_while_an_operator_starts_stays_deleted(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    """It has seen the deployment, and of the objects only that they do not exist, not that they were ever applied."""
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await tenant.publish("v1", [service(f"service-{number}", tenant.namespace) for number in range(COUNT)])
    await tenant.deploy("v1")
    await tenant.ready()
    await operator.stop()
    watches = HeldWatches("services")
    proxy.rules.append(watches)
    await operator.start()
    await until(lambda: watches.held)  # for objects of the deployment: that was seen, and so was its Bundle
    proxy.stall("bundledeployments")
    proxy.stall("bundles")
    before = len(proxy.seen)
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation="Background")
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(SERVICES, BUNDLES)
    watches.release()
    await quiet(partial(sent_by, proxy), seconds=2 * IDLE)
    assert [one for one in proxy.seen[before:] if brings_back(one)] == []
    assert [one.status for one in proxy.seen[before:] if asks_for_the_deployment(one)] == [404]
    await tenant.left_nothing(SERVICES, BUNDLES)
