"""Two deployments ship the same object. One has it; of the other nothing sticks, however close they were."""

from functools import partial

import pytest

from rukpak_py.api.names import OWNER_NAME_LABEL
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.striking import Hold
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import Document, config_map
from tests.waiting import eventually

BOTH = ("first", "second")


def asks_for_the_shared_name(exchange: Exchange) -> bool:
    return exchange.method == "GET" and (exchange.resource, exchange.name) == ("configmaps", "shared")


async def is_decided(tenant: Tenant) -> tuple[Document, Document] | None:
    """The one that is Ready, and the one that was refused."""
    found = [await tenant.deployment(tenant.name + which) for which in BOTH]
    won = [one for one in found if is_ready(one)]
    lost = [one for one in found if "belongs to BundleDeployment" in condition(one, "Ready").get("message", "")]
    return (won[0], lost[0]) if won and lost else None


@pytest.mark.parametrize("at_once", [False, True], ids=["as it comes", "both find the name free"])
async def test_one_of_two_claims_to_a_name_wins_and_the_other_is_refused(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, *, at_once: bool
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    shared = config_map("shared", tenant.namespace, v="1")
    for which in BOTH:
        own = [config_map(f"{name}-of-{which}", tenant.namespace, v="1") for name in ("a", "z")]
        await tenant.publish(which, [shared, *own])
    if at_once:
        proxy.rules.append(Hold(asks_for_the_shared_name, count=2))

    await tenant.together(*(lambda which=which: tenant.deploy(which, name=tenant.name + which) for which in BOTH))

    winner, loser = await eventually(lambda: is_decided(tenant), what="one is Ready, the other is refused")
    winners, losers = winner["metadata"]["name"], loser["metadata"]["name"]
    refusal = condition(loser, "Installed")
    assert (refusal["status"], condition(loser, "Ready")["reason"]) == ("False", "Conflict")
    assert f"ConfigMap {tenant.namespace}/shared belongs to BundleDeployment {winners}" in refusal["message"]

    live = await tenant.read(CONFIG_MAPS, tenant.namespace, "shared")
    assert live["metadata"]["labels"][OWNER_NAME_LABEL] == winners
    assert [owner["uid"] for owner in live["metadata"]["ownerReferences"]] == [winner["metadata"]["uid"]]
    assert {entry["manager"] for entry in live["metadata"]["managedFields"]} == {f"rukpak/{winners}"}
    await tenant.left_nothing(CONFIG_MAPS, name=losers)

    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", winners)
    await tenant.ready(name=losers)
    assert len(await tenant.owned(CONFIG_MAPS, name=losers)) == 3


async def test_a_name_that_its_owner_puts_back_is_not_free(tenant: Tenant, operator: Operator) -> None:
    """A deployment that waits for a name must not be faster than its owner when the object is deleted."""
    for which in BOTH:
        await tenant.publish(which, [config_map("shared", tenant.namespace, v=which)])
    first, second = (tenant.name + which for which in BOTH)
    await tenant.deploy("first", name=first)
    await tenant.ready(name=first)
    await tenant.deploy("second", name=second)
    await tenant.until(lambda one: condition(one, "Ready").get("reason") == "Conflict", what="refused", name=second)
    for _ in range(4):  # fewer than make a fight
        former = (await tenant.read(CONFIG_MAPS, tenant.namespace, "shared"))["metadata"]["uid"]
        await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "shared")
        back = await eventually(partial(put_back, tenant, former), what="it is back")
        assert back["metadata"]["labels"][OWNER_NAME_LABEL] == first
    await tenant.ready(name=first)
    assert condition(await tenant.deployment(second), "Ready")["reason"] == "Conflict"


async def put_back(tenant: Tenant, former: str) -> Document | None:
    try:
        found = await tenant.read(CONFIG_MAPS, tenant.namespace, "shared")
    except NotFoundError:
        return None
    return found if found["metadata"]["uid"] != former else None
