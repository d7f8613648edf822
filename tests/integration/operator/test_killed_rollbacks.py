"""SIGKILL around a rollback: it comes to its end, and the content that it leaves is not applied once it has begun."""

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.command_line import rukpakctl
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.test_failed_upgrades import ROLLBACK, good_and_bad, one_is_there, rolled_back
from tests.integration.operator.test_killed_approvals import is_apply_of_two, is_begun
from tests.integration.operator.upgrading import installed, publish
from tests.integration.proxy import Exchange, Proxy
from tests.waiting import eventually


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
async def test_operator_killed_around_an_automatic_rollback(
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
    assert [entry["revision"] for entry in status["history"]] in ([3, 2, 1], [2])
    assert operator.starts == 2

    begun = next(at for at, one in enumerate(proxy.seen) if is_rollback(one) and one.status)
    assert not [one for one in proxy.seen[begun + 1 :] if is_apply_of_two(one)]


def is_bundle(exchange: Exchange) -> bool:
    return exchange.method == "POST" and exchange.what == "bundles"


def is_third_revision(exchange: Exchange) -> bool:
    history = _status(exchange).get("history")
    return isinstance(history, list) and bool(history) and history[0].get("revision") == 3


BY_HAND = [
    Point(name=name, when=when, match=match)
    for name, match in (
        ("its Bundle", is_bundle),
        ("its first object", is_apply_of_one),
        ("its end is written", is_third_revision),
    )
    for when in When
]


@pytest.mark.parametrize("point", BY_HAND, ids=lambda point: f"{point.when.value} {point.name}")
async def test_operator_killed_around_a_rollback_by_hand(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, plane: ControlPlane, point: Point
) -> None:
    """Its source is gone, so another process has the content from the store, too."""
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    for version in ("one", "two"):
        await publish(tenant, version)
        await tenant.deploy(version)
        await tenant.ready()
    await tenant.admin.delete(CONFIG_MAPS, tenant.system, "one")
    begun = len(proxy.seen)
    strike = Strike(point, operator.kill)
    proxy.rules = [strike]
    done = await rukpakctl(plane, "rollback", tenant.name, "--force")
    assert done.returncode == 0, done.stderr
    await strike.fired.wait()
    proxy.rules = []
    operator.launch()

    async def is_back() -> bool:
        return await installed(tenant) == "one"

    await eventually(is_back, what="version one is back", seconds=30)
    deployment = await tenant.ready()
    assert [entry["revision"] for entry in deployment["status"]["history"]] == [3, 2, 1]
    assert operator.starts == 2
    assert not [one for one in proxy.seen[begun:] if is_apply_of_two(one)]
