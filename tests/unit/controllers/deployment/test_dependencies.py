"""Deployments that depend on others: what waits for what, and in which order they are deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, InstalledKind
from rukpak_py.api.conditions import Condition
from rukpak_py.api.deployment_spec import Dependency
from rukpak_py.api.upgrades import PendingUpgrade
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.dependencies import (
    HELD_SECONDS,
    TOGETHER_SECONDS,
    Dependencies,
    is_ready,
    key_of,
    may_end_waits,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.dependency_details import DependentsLeft, UnmetDependencies
from rukpak_py.controllers.result.progress import Fact
from tests.unit.controllers.values import deployment

READY, ILL = "True", "False"


def of(name: str, *depends_on: str, ready: str = READY, observed: int = 1, **more: Any) -> BundleDeployment:
    condition = Condition(type="Ready", status=ready, reason="Any", message="secret", last_transition_time="")
    status = BundleDeploymentStatus(conditions=(condition,), observed_generation=observed)
    dependencies = tuple(Dependency(name=one) for one in depends_on)
    return deployment(name, uid=f"uid of {name}", status=status, depends_on=dependencies, **more)


def known(*deployments: BundleDeployment) -> Dependencies:
    cache = Cache[BundleDeployment](clock=lambda: 0.0)
    found = Dependencies(cache)
    for one in deployments:
        cache.put(one)
        found.seen(one)
    return found


def deleted(name: str, *depends_on: str, ago: float = 0.0) -> BundleDeployment:
    at = datetime.now(UTC) - timedelta(seconds=ago)
    return of(name, *depends_on, deletion_timestamp=at.isoformat())


def upgrading(name: str) -> BundleDeployment:
    """Ready with what it had."""
    one = of(name)
    pending = PendingUpgrade(digest="sha256:1", bundle="b", reason="DependencyNotReady", verdict="Safe")
    return replace(one, status=replace(one.status, pending_upgrade=pending))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (of("a"), True),
        (of("a", ready=ILL), False),
        (of("a", ready="Unknown"), False),
        (of("a", observed=0), False),
        (of("a", deletion_timestamp="2026-01-01T00:00:00Z"), False),
        (deployment("a"), False),
        (upgrading("a"), False),
    ],
    ids=["ready", "ill", "unknown", "of another spec", "being deleted", "new", "its own upgrade waits"],
)
def test_readiness_is_that_of_the_spec_as_it_is(one: BundleDeployment, expected: bool) -> None:  # noqa: FBT001 - a table
    assert is_ready(one) is expected


def test_events_are_news_when_it_is_ready_or_has_another_spec() -> None:
    assert [may_end_waits(one) for one in (of("a"), of("a", ready=ILL), of("a", ready=ILL, observed=0))] == [
        True,
        False,
        True,
    ]


SHOP = of("shop", "base", "db")


@pytest.mark.parametrize(
    ("others", "cause", "unmet"),
    [
        ([of("base"), of("db")], None, {}),
        ([of("base", ready=ILL), of("db")], Cause.DEPENDENCY_NOT_READY, {"unready": ("base",)}),
        ([of("base", ready=ILL)], Cause.DEPENDENCY_MISSING, {"unready": ("base",), "missing": ("db",)}),
        ([], Cause.DEPENDENCY_MISSING, {"missing": ("base", "db")}),
        ([of("base", "shop"), of("db")], Cause.DEPENDENCY_CYCLE, {"cycle": ("base",)}),
        ([of("base", "far"), of("far", "shop"), of("db")], Cause.DEPENDENCY_CYCLE, {"cycle": ("base",)}),
        ([of("base", "far"), of("far", "base"), of("db")], None, {}),
        ([of("base", "shop"), of("db", "shop")], Cause.DEPENDENCY_CYCLE, {"cycle": ("base", "db")}),
    ],
    ids=["all ready", "one is not", "one is missing", "both are", "cycle", "long cycle", "cycle of others", "cycles"],
)
def test_dependencies_that_are_waited_for(others: list[BundleDeployment], cause: Cause | None, unmet: Any) -> None:
    fact = known(SHOP, *others).unmet(SHOP)
    assert (fact.cause if fact is not None else None) is cause
    if fact is not None:
        assert fact.detail == UnmetDependencies(deployment="shop", **unmet)
        assert "secret" not in fact.text


def test_deployment_that_depends_on_itself_is_a_cycle() -> None:
    fact = known(one := of("a", "a")).unmet(one)
    assert fact is not None
    assert fact.cause is Cause.DEPENDENCY_CYCLE


def test_cycle_is_looked_at_again_when_any_member_of_it_changes() -> None:
    fact = known(SHOP, of("base", "far"), of("far", "shop"), of("db", ready=ILL)).unmet(SHOP)
    assert fact is not None
    assert fact.wakes >= {key_of("base"), key_of("far"), key_of("db")}


def test_only_a_first_install_that_has_not_begun_waits() -> None:
    found = known(SHOP)
    assert found.first_install_waits(SHOP) is not None
    begun = replace(SHOP, status=replace(SHOP.status, kinds=(InstalledKind(version="v1", kind="Secret"),)))
    assert found.first_install_waits(begun) is None
    assert found.first_install_waits(of("alone")) is None


def test_only_what_can_never_be_met_is_noted_of_what_is_installed() -> None:
    assert known(SHOP, of("base", ready=ILL), of("db")).unusable(SHOP) is None
    note = known(SHOP, of("base")).unusable(SHOP)
    assert note is not None
    assert note.cause is Cause.DEPENDENCY_UNUSABLE
    assert note.wakes == {key_of("db")}


async def waits(one: BundleDeployment, *others: BundleDeployment) -> Fact | None:
    return known(one, *others).deletion_waits(one)


async def test_deletion_waits_for_dependents_that_are_deleted_too() -> None:
    fact = await waits(deleted("base"), deleted("shop", "base"), of("stays", "base"))
    assert fact is not None
    assert (fact.cause, fact.detail) == (Cause.DELETING, DependentsLeft(names=("shop",)))
    assert fact.wakes == {key_of("shop")}


async def test_dependents_that_stay_are_awaited_for_a_moment_and_then_hold_nothing_back() -> None:
    fact = await waits(deleted("base"), of("shop", "base"))
    assert fact is not None
    assert fact.cause is Cause.LOOK_AGAIN, "the client may be about to delete it, too"
    assert await waits(deleted("base", ago=TOGETHER_SECONDS), of("shop", "base")) is None


async def test_no_deletion_waits_for_longer_than_five_minutes() -> None:
    assert await waits(deleted("base", ago=HELD_SECONDS - 5), deleted("shop", "base")) is not None
    assert await waits(deleted("base", ago=HELD_SECONDS), deleted("shop", "base")) is None


async def test_deployments_in_a_cycle_do_not_wait_for_each_other() -> None:
    one, other, outside = deleted("a", "b"), deleted("b", "a"), deleted("c", "a")
    assert await waits(one, other) is None
    assert await waits(other, one) is None
    assert await waits(deleted("x", "x")) is None
    fact = await waits(one, other, outside)
    assert fact is not None
    assert fact.detail == DependentsLeft(names=("c",))


def test_index_follows_the_specs() -> None:
    found = known(of("shop", "base"), of("base"), of("other", "base"))
    assert found.dependents_of("base") == {"shop", "other"}
    assert [found.have_order(one) for one in (of("shop", "base"), of("base"), of("alone"))] == [True, True, False]
    found.seen(of("shop", "db"))
    assert found.dependents_of("base") == {"other"}
    assert found.dependents_of("db") == {"shop"}
    found.gone(of("other", "base"))
    assert found.dependents_of("base") == {"other"}, "another one has the name by now"
    found.seen(of("other"))
    assert found.dependents_of("base") == frozenset()
