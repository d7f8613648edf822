"""Applies that hang (a slow admission webhook in the cluster, say) stop neither the lease nor our own webhook.

There are so many deployments that their applies take all places of the lane for work.
"""

from collections.abc import AsyncIterator

import orjson
import pytest

from rukpak_py.kube.calls import Lane
from rukpak_py.kube.pace import FIRST_PLACES
from rukpak_py.kube.resources import CONFIG_MAPS, LEASES
from rukpak_py.kube.transport import IN_FLIGHT
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import calls
from tests.integration.operator.process import Operator
from tests.integration.operator.reviewing import created_bundle
from tests.integration.operator.striking import Hold
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import Document, bundle, config_map, content, source
from tests.waiting import eventually

LEASE = "core.rukpak.io"
EACH = 20  # more than one deployment has in flight at first
DEPLOYMENTS = IN_FLIGHT[Lane.WORK] // FIRST_PLACES
RENEWALS = 2


def applies_a_map(exchange: Exchange) -> bool:
    return exchange.is_apply and exchange.resource == "configmaps"


@pytest.fixture
async def busy(tenant: Tenant, operators: StartOperator, proxy: Proxy) -> AsyncIterator[Operator]:
    """An operator that leads, all of whose places for work are taken."""
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=["--leader-elect"])
    await operator.start()
    hold = Hold(applies_a_map)
    proxy.rules.append(hold)
    names = [f"{tenant.name}-{number}" for number in range(DEPLOYMENTS)]
    for name in names:
        await tenant.publish(name, [config_map(f"{name}-{number}", tenant.namespace) for number in range(EACH)])
        await tenant.deploy(name, name=name)

    async def all_places_are_taken() -> bool:
        return len(hold.held) >= IN_FLIGHT[Lane.WORK]

    await eventually(all_places_are_taken, what="all places for work are taken")
    yield operator
    hold.let_go.set()
    for name in names:
        await tenant.ready(name=name)


async def test_the_lease_is_renewed_while_applies_hang(tenant: Tenant, busy: Operator) -> None:
    async def renew_time() -> str:
        return str((await tenant.read(LEASES, tenant.system, LEASE))["spec"]["renewTime"])

    for _ in range(RENEWALS):
        last = await renew_time()

        async def is_renewed(last: str = last) -> bool:
            return await renew_time() != last

        await eventually(is_renewed, what="the lease is renewed", seconds=8)  # less than the renew deadline


async def test_reviews_are_answered_while_applies_hang(tenant: Tenant, busy: Operator) -> None:
    """One ConfigMap is not known to the watch, so it is looked up."""
    assert await review(busy, "missing") == {"uid": "u", "allowed": True}


async def test_a_review_costs_no_request_when_the_watch_knows_the_config_map(
    tenant: Tenant, operator: Operator
) -> None:
    await tenant.publish("known", [config_map("one", tenant.namespace)])

    async def costs_nothing() -> bool:
        before = await calls(operator)
        assert await review(operator, "known") == {"uid": "u", "allowed": True}
        return not await calls(operator) - before

    await eventually(costs_nothing, what="the watch has shown the ConfigMap")


async def test_a_mutable_config_map_is_refused_until_the_moment_it_is_immutable(
    tenant: Tenant, operator: Operator
) -> None:
    """However late our watch is: after its change it is allowed at once."""
    body = content("late", tenant.system, [config_map("one", tenant.namespace)]).replace(b',"immutable":true', b"")
    await tenant.admin.create(CONFIG_MAPS, tenant.system, body)
    refused = await review(operator, "late")
    assert 'configmap "late" is not immutable; set immutable: true on it' in refused["status"]["message"]

    await tenant.admin.patch(CONFIG_MAPS, tenant.system, "late", b'{"immutable":true}')
    assert await review(operator, "late") == {"uid": "u", "allowed": True}


async def test_content_of_config_maps_is_not_kept_in_memory(tenant: Tenant, operator: Operator) -> None:
    """30 MB of it, none of which is ours."""
    before = await operator.metric("process_resident_memory_bytes")
    for number in range(30):
        body = config_map(f"large-{number}", tenant.system, text="x" * 1_000_000)
        await tenant.admin.create(CONFIG_MAPS, tenant.system, orjson.dumps(body))
    await operator.stop()
    await operator.start()
    assert await operator.metric("process_resident_memory_bytes") - before < 15_000_000


async def review(operator: Operator, config_map_name: str) -> Document:
    """The answer to the creation of a Bundle whose content is in this ConfigMap."""
    return await created_bundle(operator, bundle("b", source(config_map_name)))
