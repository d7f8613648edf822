"""A change wakes the deployments that it concerns, and no others."""

import pytest

from rukpak_py.apply.results import NO_WAKES, kind_wakes, namespace_wake, quota_wake
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.core.objects import GroupKind
from tests.unit.apply.lives import key

BASKET, CRATE = GroupKind("shop.example.org", "Basket"), GroupKind("shop.example.org", "Crate")


@pytest.fixture
def waiting() -> WaitingDeployments:
    waiting = WaitingDeployments()
    waiting.note("uid for-basket", "for-basket", kind_wakes({BASKET}))
    waiting.note("uid for-both", "for-both", kind_wakes({BASKET, CRATE}) | {namespace_wake("one")})
    waiting.note("uid for-namespaces", "for-namespaces", frozenset({namespace_wake("one"), namespace_wake("two")}))
    waiting.note("uid for-object", "for-object", frozenset({key("a")}))
    waiting.note("uid for-nothing", "for-nothing", NO_WAKES)
    return waiting


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        ({BASKET}, ["for-basket", "for-both"]),
        ({CRATE}, ["for-both"]),
        ({BASKET, CRATE, GroupKind("", "ConfigMap")}, ["for-basket", "for-both"]),
        ({GroupKind("", "ConfigMap")}, []),
        (set(), []),
    ],
)
def test_a_kind_wakes_those_who_wait_for_it(
    waiting: WaitingDeployments, kinds: set[GroupKind], names: list[str]
) -> None:
    assert waiting.for_kinds(kinds) == names


@pytest.mark.parametrize(
    ("namespace", "names"), [("one", ["for-both", "for-namespaces"]), ("two", ["for-namespaces"]), ("three", [])]
)
def test_a_namespace_wakes_those_who_wait_for_it(waiting: WaitingDeployments, namespace: str, names: list[str]) -> None:
    assert waiting.for_namespace(namespace) == names


@pytest.mark.parametrize(("name", "names"), [("a", ["for-object"]), ("b", [])])
def test_an_object_wakes_those_who_wait_for_it(waiting: WaitingDeployments, name: str, names: list[str]) -> None:
    assert waiting.for_object(key(name)) == names


def test_a_quota_wakes_those_who_wait_for_one_of_its_namespace(waiting: WaitingDeployments) -> None:
    waiting.note("uid for-quota", "for-quota", frozenset({quota_wake("one")}))
    assert waiting.for_quota("one") == ["for-quota"]
    assert waiting.for_quota("two") == []


def test_quotas_are_watched_once_one_is_waited_for() -> None:
    asked: list[str] = []
    waiting = WaitingDeployments(watch_quotas=lambda: asked.append("quotas"))
    waiting.note("uid for-namespace", "for-namespace", frozenset({namespace_wake("one")}))
    assert asked == []
    waiting.note("uid for-quota", "for-quota", frozenset({quota_wake("one")}))
    assert asked == ["quotas"]


def test_any_quota_wakes_all_that_wait_for_one() -> None:
    waiting = WaitingDeployments()
    waiting.note("uid one", "one", frozenset({quota_wake("one")}))
    waiting.note("uid other", "other", frozenset({namespace_wake("one")}))
    assert waiting.for_quota("") == ["one"]


def test_the_last_word_counts(waiting: WaitingDeployments) -> None:
    waiting.note("uid for-both", "for-both", frozenset({key("b")}))
    assert waiting.for_kinds({CRATE}) == []
    assert waiting.for_namespace("one") == ["for-namespaces"]
    assert waiting.for_object(key("b")) == ["for-both"]
    waiting.note("uid for-both", "for-both", NO_WAKES)
    assert waiting.for_object(key("b")) == []


def test_a_deployment_that_is_gone_waits_for_nothing(waiting: WaitingDeployments) -> None:
    waiting.ended("uid for-basket")
    waiting.ended("unknown")
    assert waiting.for_kinds({BASKET}) == ["for-both"]


def test_being_asked_ends_no_wait(waiting: WaitingDeployments) -> None:
    """The deployment that is woken says anew what it waits for."""
    assert waiting.for_kinds({CRATE}) == waiting.for_kinds({CRATE}) == ["for-both"]
