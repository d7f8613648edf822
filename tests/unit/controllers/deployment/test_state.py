"""Memory between two looks: the applied objects, and how long something was waited for."""

import pytest

from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.target import LastApplied
from rukpak_py.controllers.deployment import state as module
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates, differences
from rukpak_py.controllers.deployment.state_parts import (
    CreatedByThisInstall,
    FailedAttempt,
    FormerObjects,
    PendingWaits,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.object_details import Withdrawn
from rukpak_py.controllers.result.progress import Fact, Progress, Reached, Words
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.kube.resources import CRDS, NAMESPACES
from tests.unit.apply.lives import OWNER, key, live, managed, owned
from tests.unit.controllers.deployment.parts import BASKET, content_key, ours

CONTENT = content_key()
NEXT = content_key("sha256:2")


def after_applying(*names: str) -> DeploymentState:
    state = DeploymentState()
    state.trust(CONTENT, ours(*names).values())
    return state


# Differences to what was applied

CHANGED = {key("a"): live(**owned("a", managedFields=[managed(OWNER, {"f:other": {}})]))}
GOING = {key("a"): live(**owned("a", deletionTimestamp="2026-01-01T00:00:00Z"))}


@pytest.mark.parametrize(
    ("applied", "shown", "different"),
    [
        ("ab", ours("a", "b"), ""),
        ("", {}, ""),
        ("ab", ours("a"), "b"),
        ("a", ours("a", "b"), "b"),
        ("a", ours("b"), "ab"),
        ("a", CHANGED, "a"),
        ("a", GOING, "a"),
        ("a", ours("a", finalizers=["x"]), ""),  # a field of another client that is not ours
    ],
)
def test_objects_that_are_missing_extra_changed_or_going_differ(
    applied: str, shown: dict[ObjectKey, ObservedObject], different: str
) -> None:
    assert differences(after_applying(*applied).applied, shown) == set(map(key, different))


# Waits


def test_a_wait_is_counted_from_its_first_moment_until_it_is_over() -> None:
    waits = PendingWaits()
    assert waits.waited("x", 10.0) == 0.0
    assert waits.waited("x", 12.5) == 2.5
    assert waits.waited("y", 12.5) == 0.0
    waits.over("x", "never")
    assert waits.waited("x", 20.0) == 0.0
    assert waits.waited("y", 20.0) == 7.5


def test_a_wait_of_other_content_starts_anew() -> None:
    waits = PendingWaits()
    assert waits.waited("schema", 10.0, CONTENT) == 0
    assert waits.waited("schema", 50.0, CONTENT) == 40.0
    assert waits.waited("schema", 50.0, NEXT) == 0
    assert waits.waited("schema", 55.0, NEXT) == 5.0


# What a first install created


@pytest.mark.parametrize(
    "gvk",
    [
        NAMESPACES.gvk,
        CRDS.gvk,
        GroupVersionKind("", "v1", "PersistentVolume"),
        GroupVersionKind("", "v1", "PersistentVolumeClaim"),
    ],
)
def test_an_object_that_others_may_have_filled_is_never_withdrawn(gvk: GroupVersionKind) -> None:
    created, shown = CreatedByThisInstall(), live(gvk=gvk, **owned())
    created.record([shown.key], {shown.key: shown.uid})
    assert created.among({shown.key: shown}) == {}


def test_only_what_was_created_and_is_still_the_same_object_is_withdrawn() -> None:
    created = CreatedByThisInstall()
    created.record([key("a"), key("b"), key("gone")], {key("a"): "u", key("b"): "former", key("gone"): "u"})
    shown = ours("a", "b", "c", uid="u")
    assert list(created.among(shown)) == [key("a")]
    created.record([], {})
    assert created.among(shown) == {}
    created.record([key("a")], {key("a"): "u"})
    created.clear()
    assert created.among(shown) == {}


# Former content


def test_names_of_former_content_are_looked_for_until_they_are_wanted_again_or_pruned() -> None:
    former = FormerObjects()
    former.add([key("a"), key("b")])
    former.wanted_again([key("b"), key("c")])
    assert former.keys == {key("a")}
    former.clear()
    assert not former.keys


# Settling


def test_an_object_that_left_the_content_becomes_former_and_is_no_longer_expected() -> None:
    state = after_applying("a", "b", "c")
    state.conflicts = frozenset({key("x")})
    state.created.record([key("a")], {key("a"): "u"})
    state.former.add([key("b")])
    state.mark_applied(NEXT, {key("b"), key("d")}, hidden=())
    assert state.is_applied(NEXT)
    assert set(state.applied.fields) == {key("b")}
    assert state.former.keys == {key("a"), key("c")}
    assert not state.conflicts
    assert state.created.among(ours("a")) == {}


def test_an_object_that_cannot_be_seen_is_still_expected() -> None:
    state = DeploymentState()
    hidden = key("x", BASKET)
    state.applied.trust([*ours("a").values(), live(gvk=BASKET, **owned("x"))])
    state.mark_applied(CONTENT, {key("a")}, hidden=frozenset({hidden}))
    assert set(state.applied.fields) == {key("a"), hidden}
    assert not state.former.keys


def test_trust_makes_what_is_shown_what_was_applied() -> None:
    state = after_applying("a")
    assert state.is_applied(CONTENT)
    assert not differences(state.applied, ours("a"))
    assert not DeploymentState().is_applied(CONTENT)


# One owner


def test_the_state_of_a_deployment_that_is_gone_cannot_come_back() -> None:
    states = DeploymentStates()
    state = states.of("u")
    assert state is not None
    assert states.of("u") is state
    states.end("u")
    assert state.has_ended
    assert states.of("u") is None
    assert len(states) == 0
    heard = list[str]()
    states.attach(heard.append)
    states.end("never seen")
    assert heard == ["never seen"]
    assert states.of("never seen") is None


def test_uids_that_are_gone_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED_UIDS", 2)
    states = DeploymentStates()
    for uid in "abc":
        states.end(uid)
    assert [states.of(uid) is None for uid in "abc"] == [False, True, True]


def test_other_deployments_that_applied_an_object_are_known() -> None:
    states = DeploymentStates()
    for uid in "uvw":
        state = states.of(uid)
        assert state is not None
        state.applied = LastApplied(uids={key("a" if uid != "w" else "b"): "x"})
    assert states.applied_by_others(key("a"), "u") == ["v"]
    assert states.applied_by_others(key("b"), "u") == ["w"]


class TestFailedAttempt:
    """Looks tell what the last attempt has come to until the next one."""

    REFUSED = Fact(cause=Cause.REFUSED, detail=Words(words="no"))
    WITHDRAWN = Fact(cause=Cause.WITHDRAWN, detail=Withdrawn())
    SKIPPED = Fact(cause=Cause.HOOKS_SKIPPED)

    def test_events_are_reported_once_and_lasting_facts_at_each_look(self) -> None:
        failed = FailedAttempt()
        facts = (self.WITHDRAWN, self.REFUSED, self.SKIPPED)
        failed.keep(content_key(), Progress(facts=facts, reached=Reached.PARTLY))
        told = failed.of(content_key())
        assert told is not None
        assert [fact.cause for fact in told.facts] == [Cause.REFUSED, Cause.HOOKS_SKIPPED, Cause.NOT_DUE]
        assert told.reached is Reached.PARTLY

    def test_other_content_is_tried_at_once(self) -> None:
        failed = FailedAttempt()
        failed.keep(content_key(), Progress(facts=(self.REFUSED,)))
        assert failed.of(content_key("sha256:2")) is None

    @pytest.mark.parametrize("cause", [Cause.RENDERING, Cause.HOOK_RUNNING, Cause.LOOK_AGAIN, Cause.DRIFT_CORRECTED])
    def test_an_attempt_that_has_not_failed_goes_on_at_each_look(self, cause: Cause) -> None:
        failed = FailedAttempt()
        failed.keep(content_key(), Progress(facts=(self.REFUSED,)))
        failed.keep(content_key(), Progress(facts=(Fact(cause=cause),)))
        assert failed.of(content_key()) is None

    def test_applied_content_is_looked_at_again(self) -> None:
        failed = FailedAttempt()
        failed.keep(content_key(), Progress(facts=(Fact(cause=Cause.UNHEALTHY_FAILED),), reached=Reached.APPLIED))
        assert failed.of(content_key()) is None

    def test_a_stage_that_wants_another_look_finds_something_out_then(self) -> None:
        failed = FailedAttempt()
        failed.keep(content_key(), Progress(facts=(self.REFUSED, Fact(cause=Cause.LOOK_AGAIN, at=1.0))))
        assert failed.of(content_key()) is None
