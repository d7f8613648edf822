"""A deployment that waits for others costs no request at rest, and is woken by them alone.

The operator of these tests retries after ten minutes only.
"""

from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import calls, calls_during, settled
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map, workload
from tests.waiting import during

AT_REST = 3.0


async def test_waiting_for_dependencies_is_woken_and_costs_nothing_at_rest(
    tenant: Tenant, operators: StartOperator
) -> None:
    operator = operators(module="tests.integration.operator.slow_to_retry")
    await operator.start()
    base, shop = f"{tenant.name}-base", f"{tenant.name}-shop"
    ill = workload("web", tenant.namespace)
    ill["spec"]["replicas"] = 1
    await tenant.publish("ill", [ill])
    await tenant.publish("well", [workload("web", tenant.namespace)])
    await tenant.publish("shop", [config_map("shop", tenant.namespace, key="value")])
    await tenant.deploy("ill", name=base)
    await tenant.until(lambda one: condition(one, "Ready").get("reason") == "Unhealthy", what="it is ill", name=base)

    async def wait() -> None:
        await tenant.deploy("shop", name=shop, dependsOn=[{"name": base}])
        await tenant.until(
            lambda one: condition(one, "Ready").get("reason") == "DependencyNotReady", what="it waits", name=shop
        )

    waited = await calls_during(operator, wait)
    assert waited["patch", "bundledeployments", "200"] == 2, "the finalizers of both"
    assert not any(what == "configmaps" and verb == "apply" for verb, what, _ in waited)
    before = await settled(operator)

    async for _ in during(AT_REST):
        assert await calls(operator) == before

    async def install() -> None:
        await tenant.deploy("well", name=base)
        await tenant.ready(name=shop)

    installed = await calls_during(operator, install)
    assert installed["apply", "configmaps", "201"] == 1
    await tenant.admin.get(CONFIG_MAPS, tenant.namespace, "shop")
