"""Two operators with different system namespaces in one cluster: they would delete each other's objects for ever."""

import orjson

from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CONFIG_MAPS, LEASES
from rukpak_py.runtime.cluster_claim import CRD
from tests.integration.claims import claim, claimed_by
from tests.integration.listing import listed
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.leases import leads
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.integration.scenarios.stage import EVENTS
from tests.manifests import config_map
from tests.waiting import eventually

ELECT = "--leader-elect"
HURRIED = "tests.integration.operator.hurried"
SECONDS = 30


async def says(operator: Operator, text: str) -> bool:
    status, body = await operator.ask("health-probe", "/readyz")
    return status != 200 and text in body


async def test_the_second_one_does_not_lead_and_says_who_does(
    admin: Client, tenant: Tenant, namespace_there: str, operators: StartOperator
) -> None:
    first = operators(arguments=[ELECT])
    await first.start()
    await eventually(lambda: leads(first), what="the first leads")
    await tenant.publish("v1", [config_map("one", tenant.namespace, v="1")])
    await tenant.deploy("v1")
    await tenant.ready()
    ((_, before),) = (await tenant.owned(CONFIG_MAPS)).items()

    second = operators(arguments=[ELECT, f"--system-namespace={namespace_there}"])
    second.launch()
    text = f'the operator with the system namespace "{tenant.system}"'
    await eventually(lambda: says(second, text), what="it is not ready, and says who leads")
    assert f"not leading: {text}" in second.log

    async def is_told() -> bool:
        found = await listed(admin, EVENTS, field_selector=f"regarding.name={CRD}")
        return any(text in one["note"] and one["reason"] == "AnotherOperator" for one in found)

    await eventually(is_told, what="an Event about the CRD says it")
    await tenant.publish("v2", [config_map("one", tenant.namespace, v="2")])
    await tenant.deploy("v2")
    await tenant.ready()
    ((_, after),) = (await tenant.owned(CONFIG_MAPS)).items()
    assert after["metadata"]["uid"] == before["metadata"]["uid"], "it was changed, and never deleted"
    assert "leading as" not in second.log
    assert await claimed_by(admin) == tenant.system
    assert second.is_running


async def test_second_operator_leads_once_the_first_has_ended(
    admin: Client, tenant: Tenant, namespace_there: str, operators: StartOperator
) -> None:
    """Here in five seconds, else in a minute."""
    first = operators(arguments=[ELECT])
    await first.start()
    await eventually(lambda: leads(first), what="the first leads")
    second = operators(arguments=[ELECT, f"--system-namespace={namespace_there}"], module=HURRIED)
    second.launch()
    await eventually(lambda: says(second, tenant.system), what="the second one does not lead")
    assert await first.stop() == 0
    await eventually(lambda: leads(second), what="the second one leads", seconds=SECONDS)
    assert await claimed_by(admin) == namespace_there
    assert "may lead: no other operator does any more" in second.log


async def test_a_claim_without_a_lease_is_respected_first(
    admin: Client, tenant: Tenant, namespace_there: str, operators: StartOperator
) -> None:
    """It was made a moment ago, or is left of an operator that was removed with its namespace."""
    await claim(admin, namespace_there)
    operator = operators(arguments=[ELECT], module=HURRIED)
    await operator.start()
    await eventually(lambda: leads(operator), what="it leads", seconds=SECONDS)
    assert f'"{namespace_there}" leads in this cluster' in operator.log
    assert await claimed_by(admin) == tenant.system


async def test_a_replica_of_the_same_operator_goes_on_at_once(
    admin: Client, tenant: Tenant, operators: StartOperator
) -> None:
    first = operators(arguments=[ELECT])
    await first.start()
    await eventually(lambda: leads(first), what="the first leads")
    assert await first.stop() == 0
    second = operators(arguments=[ELECT])
    await second.start()
    await eventually(lambda: leads(second), what="its successor leads")
    assert "not leading" not in second.log


async def test_operator_without_election_leaves_the_cluster_alone_too(
    admin: Client, tenant: Tenant, namespace_there: str, operators: StartOperator
) -> None:
    """It has no Lease, so it claims nothing."""
    first = operators(arguments=[ELECT])
    await first.start()
    await eventually(lambda: leads(first), what="the first leads")
    second = operators(arguments=[f"--system-namespace={namespace_there}"])
    second.launch()
    await eventually(lambda: says(second, tenant.system), what="the second one does not lead")
    assert "leading without a lease" not in second.log
    assert await claimed_by(admin) == tenant.system
    try:
        found = orjson.loads(await admin.get(LEASES, namespace_there, "core.rukpak.io"))
    except NotFoundError:
        found = None
    assert found is None
