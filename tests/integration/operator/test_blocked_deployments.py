"""A deployment that waits for a kind or a namespace: only what it waits for wakes it, and that at once."""

import time
from collections import Counter

import orjson
import pytest

from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.resources import CRDS, NAMESPACES
from tests.integration.operator.counting import Calls, calls
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map, crd, thing
from tests.waiting import eventually

TRIES = 6  # after so many the next pause is 6 seconds or more
PAUSE_SECONDS = 6.0
AT_ONCE_SECONDS = 4.0  # well within that pause; a CRD has to be established first
STRANGERS = 8


async def create_namespace(tenant: Tenant, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await tenant.admin.create(NAMESPACES, "", orjson.dumps(body))


async def reconciles(operator: Operator) -> float:
    return await operator.metric("rukpak_reconcile_duration_seconds_count", kind="BundleDeployment")


async def is_between_two_tries(operator: Operator) -> float:
    """Wait until its next try by itself is `PAUSE_SECONDS` away; return the number of reconciles so far."""

    async def look() -> bool:
        return await operator.metric("rukpak_reconcile_duration_seconds_count", result="retry") >= TRIES

    await eventually(look, what="it has been tried often")
    return await reconciles(operator)


async def block(tenant: Tenant, *manifests: dict[str, object], text: str) -> None:
    await tenant.publish("v1", manifests)
    await tenant.deploy("v1")
    await tenant.until(
        lambda one: text in condition(one, "Installed").get("message", ""), what="it says what is missing"
    )


async def strangers_come_and_go(tenant: Tenant) -> None:
    names = [f"{tenant.namespace}-{number}" for number in range(STRANGERS)]
    for name in names:
        await create_namespace(tenant, name)
    for name in names:
        await tenant.admin.delete(NAMESPACES, "", name)
    for name in names:
        await tenant.gone(NAMESPACES, name)


def about_deployments(found: Calls) -> Calls:
    """Calls without the watches, which the API server ends and the operator opens as they like."""
    return Counter({call: count for call, count in found.items() if call[0] != "watch"})


async def test_namespaces_that_come_and_go_cost_a_deployment_without_its_kind_nothing(
    tenant: Tenant, operator: Operator
) -> None:
    group = f"{tenant.name}.example.com"
    await block(tenant, thing(group, "one", tenant.namespace), text="ensure CRDs are installed first")
    before, began = await is_between_two_tries(operator), time.monotonic()
    sent = await calls(operator)
    await strangers_come_and_go(tenant)
    tries = 1 + (time.monotonic() - began) // PAUSE_SECONDS  # by itself; each of the strangers would bring another
    assert about_deployments(await calls(operator) - sent) == {}
    assert await reconciles(operator) - before <= tries


@pytest.mark.parametrize("missing", ["kind", "namespace"])
async def test_blocked_deployment_goes_on_once_its_kind_or_namespace_exists(
    tenant: Tenant, operator: Operator, missing: str
) -> None:
    group, place = f"{tenant.name}.example.com", f"{tenant.namespace}-late"
    if missing == "kind":
        await block(tenant, thing(group, "one", tenant.namespace), text="ensure CRDs are installed first")
    else:
        await block(tenant, config_map("one", place), text=f"Namespace {place} not found")
    await is_between_two_tries(operator)
    came = time.monotonic()
    if missing == "kind":
        await tenant.admin.create(CRDS, "", canonical_json(crd(group)))
    else:
        await create_namespace(tenant, place)
    await tenant.ready()
    assert time.monotonic() - came < AT_ONCE_SECONDS
