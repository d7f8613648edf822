"""SIGKILL around an approval: nothing is written before it, all of it once it is used, and it is used once."""

import pytest

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.upgrading import (
    MANUAL,
    annotate,
    begun,
    installed,
    pending,
    upgraded,
    waits,
)
from tests.integration.proxy import Exchange, Proxy


def _status(exchange: Exchange) -> dict[str, object]:
    is_status = exchange.is_write and exchange.what == "bundledeployments/status"
    return (exchange.document.get("status") or {}) if is_status else {}


def is_pending(exchange: Exchange) -> bool:
    return bool(_status(exchange).get("pendingUpgrade"))


def is_begun(exchange: Exchange) -> bool:
    return bool(_status(exchange).get("upgrade"))


def is_apply_of_two(exchange: Exchange) -> bool:
    return exchange.is_apply and (exchange.document.get("data") or {}).get("version") == "two"


def is_end(exchange: Exchange) -> bool:
    status = _status(exchange)
    return "upgrade" in status and status["upgrade"] is None


POINTS = [
    Point(name=name, when=when, match=match)
    for name, match in (
        ("the plan is written", is_pending),
        ("the upgrade is recorded", is_begun),
        ("its first object", is_apply_of_two),
        ("its end is written", is_end),
    )
    for when in When
]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.when.value} {point.name}")
async def test_operator_killed_around_an_approval(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, point: Point
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    strike = Strike(point, operator.kill)
    proxy.rules = [strike]

    async def goes_on() -> None:
        if strike.fired.is_set() and not operator.is_running:
            proxy.rules = []
            operator.launch()

    await begun(tenant, MANUAL)
    if point.match is is_pending:
        await strike.fired.wait()
        await goes_on()
    digest = pending(await waits(tenant))["digest"]
    assert await installed(tenant) == "one"
    assert not [one for one in proxy.seen if is_apply_of_two(one) and one.is_write]
    await annotate(tenant, digest)
    if point.match is not is_pending:
        await strike.fired.wait()
        await goes_on()
    deployment = await upgraded(tenant, "two")
    assert [entry["revision"] for entry in deployment["status"]["history"]] == [2, 1]
    assert operator.starts == 2

    await tenant.deploy("one", upgrades=MANUAL)  # the annotation is still there
    again = pending(await waits(tenant))
    assert again["digest"] != digest
    assert await installed(tenant) == "two"
    found = await tenant.read(BUNDLE_DEPLOYMENTS, "", tenant.name)
    assert [entry["revision"] for entry in found["status"]["history"]] == [2, 1]
