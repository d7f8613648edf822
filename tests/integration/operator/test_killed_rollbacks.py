"""SIGKILL around an automatic rollback: it comes to its end, and the failed content is never applied after it began."""

import pytest

from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.test_failed_upgrades import ROLLBACK, good_and_bad, one_is_there, rolled_back
from tests.integration.operator.test_killed_approvals import is_apply_of_two, is_begun
from tests.integration.proxy import Exchange, Proxy


def _status(exchange: Exchange) -> dict[str, object]:
    is_status = exchange.is_write and exchange.what == "bundledeployments/status"
    return (exchange.document.get("status") or {}) if is_status else {}


def is_rollback(exchange: Exchange) -> bool:
    return bool(_status(exchange).get("rollback"))


def is_apply_of_one(exchange: Exchange) -> bool:
    return exchange.is_apply and (exchange.document.get("data") or {}).get("version") == "one"


def is_prune_of_new(exchange: Exchange) -> bool:
    return exchange.method == "DELETE" and exchange.what.startswith("configmaps")


POINTS = [
    Point(name=name, when=when, match=match, nth=nth)
    for name, match, nth in (
        ("the upgrade is recorded", is_begun, 1),
        ("its first object", is_apply_of_two, 1),
        ("the rollback is recorded", is_rollback, 1),
        ("its first object", is_apply_of_one, 2),
        ("what it prunes", is_prune_of_new, 1),
    )
    for when in When
]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.when.value} {point.name} {point.nth}")
async def test_operator_killed_around_a_rollback(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, point: Point
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    strike = Strike(point, operator.kill)
    proxy.rules = [strike]
    await good_and_bad(tenant, ROLLBACK)
    await strike.fired.wait()
    proxy.rules = []
    operator.launch()
    deployment = await rolled_back(tenant)
    await one_is_there(tenant)
    status = deployment["status"]
    assert (status["rollback"]["revision"], "upgrade" in status) == (1, False)
    assert [entry["revision"] for entry in status["history"]] in ([3, 2, 1], [1])
    assert operator.starts == 2

    begun = next(at for at, one in enumerate(proxy.seen) if is_rollback(one) and one.status)
    assert not [one for one in proxy.seen[begun + 1 :] if is_apply_of_two(one)]
