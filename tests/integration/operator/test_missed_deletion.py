"""A deployment is deleted and its watch does not say so: who puts its objects back fights the collector for ever.

An object with the owner uid of what is gone is collected at once. So the API server is asked whether the deployment
still exists before anything that it had is created again.
"""

import pytest

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import IDLE
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import config_map
from tests.waiting import quiet

COUNT = 5


def brings_back(exchange: Exchange) -> bool:
    return exchange.is_write and exchange.resource in {"configmaps", "bundles"} and exchange.method in {"PATCH", "POST"}


@pytest.mark.parametrize("restarted", [False, True], ids=["just installed", "after a restart"])
async def test_what_the_collector_takes_stays_away(
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

    async def sent() -> int:
        return len([one for one in proxy.seen if not one.is_watch])

    await quiet(sent, seconds=IDLE)
    before = len(proxy.seen)
    proxy.stall("bundledeployments")
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation="Background")
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CONFIG_MAPS, BUNDLES)
    await quiet(sent, seconds=2 * IDLE)

    assert [one for one in proxy.seen[before:] if brings_back(one)] == []
    await tenant.left_nothing(CONFIG_MAPS, BUNDLES)

    before = len(proxy.seen)
    proxy.flow("bundledeployments")
    await quiet(sent, seconds=IDLE)
    assert [one for one in proxy.seen[before:] if one.is_write] == []
    await tenant.left_nothing(CONFIG_MAPS, BUNDLES)
