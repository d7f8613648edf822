"""How an operator ends, and who goes on."""

import asyncio
import signal

from rukpak_py.kube.resources import CONFIG_MAPS, LEASES
from rukpak_py.operator.process import LOST_SECONDS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.striking import Hold
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import WRITES, Exchange, Fail, Proxy
from tests.manifests import config_map
from tests.waiting import eventually

LEASE = "core.rukpak.io"
ELECT = ("--leader-elect",)
COUNT = 30


def applies_a_map(exchange: Exchange) -> bool:
    return exchange.is_apply and exchange.resource == "configmaps"


async def holder(tenant: Tenant) -> str:
    lease = await tenant.read(LEASES, tenant.system, LEASE)
    return str(lease["spec"].get("holderIdentity") or "")


async def leads(operator: Operator) -> bool:
    return await operator.metric("rukpak_leader") == 1


async def test_sigterm_lets_work_in_hand_end_and_gives_the_lease_back(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=ELECT)
    await operator.start()
    await eventually(lambda: leads(operator), what="it leads")
    await tenant.publish("v1", [config_map(f"map-{number}", tenant.namespace) for number in range(COUNT)])
    hold = Hold(applies_a_map)
    proxy.rules.append(hold)
    await tenant.deploy("v1")
    await eventually(lambda: _holds_some(hold), what="applies are under way")

    stopping = asyncio.create_task(operator.stop(signal.SIGTERM))
    await eventually(lambda: _says(operator, "stopping"), what="it has heard the signal")
    hold.let_go.set()

    assert await stopping == 0
    assert len(await tenant.owned(CONFIG_MAPS)) == COUNT
    assert not await holder(tenant)


async def test_without_the_lease_nothing_is_written_any_more(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    """The Lease is lost in the middle of an installation, with requests whose answers are awaited."""
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=ELECT)
    await operator.start()
    await eventually(lambda: leads(operator), what="it leads")
    await tenant.publish("v1", [config_map(f"map-{number}", tenant.namespace) for number in range(COUNT)])
    hold = Hold(applies_a_map)
    proxy.rules.append(hold)
    await tenant.deploy("v1")
    await eventually(lambda: _holds_some(hold), what="applies are under way")

    proxy.rules.append(Fail(match=lambda exchange: exchange.resource == "leases", status=503))
    await eventually(lambda: _says(operator, "the lease is lost"), what="it knows of its loss")
    before = len(proxy.seen)
    hold.let_go.set()

    async with asyncio.timeout(LOST_SECONDS + 5):
        assert await operator.ended() == 1
    sent = [one for one in proxy.seen[before:] if one.method in WRITES and one.resource != "leases"]
    assert not sent


async def test_after_sigterm_the_webhook_is_served_and_the_replica_is_not_ready(operators: StartOperator) -> None:
    operator = operators(arguments=["--shutdown-delay=3"])
    await operator.start()
    stopping = asyncio.create_task(operator.stop(signal.SIGTERM))
    await eventually(lambda: _says(operator, "stopping"), what="it has heard the signal")

    await eventually(lambda: _is_not_ready(operator), what="it is not ready")
    assert await operator.takes_connections("webhook")
    assert await stopping == 0
    assert not await operator.takes_connections("webhook")


async def test_sigterm_ends_an_idle_operator_at_once(tenant: Tenant, operator: Operator) -> None:
    async with asyncio.timeout(10):
        assert await operator.stop(signal.SIGTERM) == 0


async def test_another_replica_goes_on_when_the_leader_is_killed(tenant: Tenant, operators: StartOperator) -> None:
    """The lease runs out after 15 seconds; nothing is corrected before, everything after."""
    first, second = operators(arguments=ELECT), operators(arguments=ELECT)
    await first.start()
    await eventually(lambda: leads(first), what="the first leads")
    await second.start()
    await tenant.publish("v1", [config_map("one", tenant.namespace, v="1")])
    await tenant.deploy("v1")
    await tenant.ready()
    assert not await leads(second)

    first.kill()
    edit = b'{"data":{"v":"edited"}}'
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "one", edit, field_manager="somebody")
    await eventually(lambda: leads(second), what="the second leads", seconds=30)

    await eventually(lambda: _is_corrected(tenant), what="the drift is corrected")
    assert (await second.requests()).total() > 0


async def _holds_some(hold: Hold) -> bool:
    return bool(hold.held)


async def _is_not_ready(operator: Operator) -> bool:
    status, text = await operator.ask("health-probe", "/readyz")
    return status == 503 and "stopping" in text


async def _says(operator: Operator, words: str) -> bool:
    return words in operator.log


async def _is_corrected(tenant: Tenant) -> bool:
    live = await tenant.read(CONFIG_MAPS, tenant.namespace, "one")
    return bool(live["data"] == {"v": "1"})
