"""After everything is applied: health, then pruning, then the final word."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import (
    Adopt,
    BundleDeploymentStatus,
    KeptObject,
    KeptReason,
    Override,
    Prune,
    PruneWhen,
)
from rukpak_py.api.conditions import Summary
from rukpak_py.api.install_options import InstallOptions
from rukpak_py.api.names import ConditionStatus, Reason
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import make_plan
from rukpak_py.controllers.deployment.after_apply import (
    HELD_BACK_SECONDS,
    HIDDEN_SECONDS,
    KEPT_CRDS_SECONDS,
    AfterApply,
    PruneStep,
    may_prune,
    prune_step,
)
from rukpak_py.controllers.deployment.applying import AppliedContent
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.drift_backoff import DRIFT_BACKOFF_SECONDS
from rukpak_py.controllers.deployment.healthy_condition import LASTING_SECONDS
from rukpak_py.controllers.deployment.kind_visibility import HIDDEN_QUIET_SECONDS, HiddenKinds
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.stage import QUIET_SECONDS, StageResult
from rukpak_py.controllers.deployment.status import Report
from rukpak_py.controllers.outcome import DONE
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.manifests import config_map
from tests.unit.apply.lives import OWNER, desired, key, managed, owned
from tests.unit.apply.watches import Watches, watches_of
from tests.unit.apply.watches import ours as shown
from tests.unit.controllers.deployment.parts import (
    BASKET,
    BASKETS,
    CLAIMS,
    ToldEvents,
    attempt,
    claim,
    controlled_clock,
    kinds,
    settled,
    target_of,
)
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, refusal
from tests.unit.controllers.values import deployment

AFTER_APPLY = Prune(when=PruneWhen.AFTER_APPLY)


@dataclass
class Bench:
    """One deployment; the watches show what is there, and its state says what was applied."""

    watches: Watches
    clock: Clock
    after_apply: AfterApply
    client: FakeClient = field(default_factory=FakeClient)
    events: ToldEvents = field(default_factory=ToldEvents)

    def shows(self, *maps: str, claims: Iterable[LiveObject] = ()) -> None:
        self.watches.shows(*(shown(name=name) for name in maps))
        self.watches.shows(*claims, resource=CLAIMS)

    def attempt(self, *applied: ObjectKey, **spec: Any) -> Attempt:
        """Of which these objects were applied, as the watches show them."""
        owned = self.watches.inventory.owned_by(OWNER.uid)
        return settled(attempt(**spec), *(owned[one] for one in applied))

    def planned(self, one: Attempt, *wanted: str, hidden: HiddenKinds | None = None) -> Planned:
        owned = dict(self.watches.inventory.owned_by(OWNER.uid))
        claims = {place: self.live(place) for place in one.state.applied.fields if place.kind != "ConfigMap"}
        plan = make_plan(
            [config(name) for name in wanted],
            live=owned,
            owned={place: live for place, live in owned.items() if place not in claims},
            fields=one.state.applied.fields,
            owner=OWNER,
            adopt=Adopt.NEVER,
        )
        return Planned(target=target_of(one, self.client), plan=plan, hidden=hidden or HiddenKinds())

    def live(self, place: ObjectKey) -> ObservedObject:
        found = self.watches.inventory.get(place)
        assert found is not None
        return found

    async def said(self, applied: AppliedContent, hidden: HiddenKinds | None = None) -> StageResult:
        return await self.after_apply.run(applied, hidden or HiddenKinds())

    async def report(self, applied: AppliedContent, hidden: HiddenKinds | None = None) -> Report:
        """When the quiet seconds are over."""
        await self.said(applied, hidden)
        self.clock.now += QUIET_SECONDS
        result = await self.said(applied, hidden)
        if result.report is None:  # one after the other: what was deleted, then what somebody may have changed
            self.clock.now += QUIET_SECONDS
            result = await self.said(applied, hidden)
        assert result.report is not None
        return result.report

    async def finished(self, applied: AppliedContent) -> bool:
        result = await self.said(applied)
        return result.is_finished and result.outcome == DONE


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    watches = watches_of(monkeypatch, CONFIG_MAPS, CLAIMS, NAMESPACES)
    events = ToldEvents()
    after_apply = AfterApply(watches.inventory, events, now=lambda: NOW)
    yield Bench(watches=watches, clock=controlled_clock(monkeypatch), after_apply=after_apply, events=events)
    await watches.inventory.close()


def config(name: str) -> Desired:
    return desired(config_map(name))


def of_claim(name: str = "c") -> ObjectKey:
    return key(name, CLAIMS.gvk)


# Decisions


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("is_healthy", [True, False])
@pytest.mark.parametrize("when", PruneWhen)
def test_pruning_waits_for_health_unless_told_otherwise_and_for_what_cannot_be_seen(
    when: PruneWhen, *, is_whole: bool, is_healthy: bool
) -> None:
    expected = is_whole and (is_healthy or when is PruneWhen.AFTER_APPLY)
    assert may_prune(Prune(when=when), is_whole=is_whole, is_healthy=is_healthy) is expected


@pytest.mark.parametrize(
    ("spec", "leaving", "step"),
    [
        (Prune(), 0, PruneStep.DELETE),
        (Prune(), 1000, PruneStep.DELETE),
        (Prune(max_objects=2), 2, PruneStep.DELETE),
        (Prune(max_objects=2), 3, PruneStep.OVER_BUDGET),
        (Prune(max_objects=0), 0, PruneStep.DELETE),
        (Prune(max_objects=0), 1, PruneStep.OVER_BUDGET),
        (Prune(enabled=False), 3, PruneStep.LEAVE),
        (Prune(enabled=False, max_objects=0), 3, PruneStep.LEAVE),
    ],
)
def test_what_becomes_of_what_left_the_content(spec: Prune, leaving: int, step: PruneStep) -> None:
    assert prune_step(spec, leaving) is step


# Health


async def test_what_is_applied_and_healthy_is_finished_at_once(bench: Bench) -> None:
    bench.shows("a", claims=[claim()])
    applied = AppliedContent(attempt=bench.attempt(key("a"), of_claim()))
    result = await bench.said(applied)
    assert (result.outcome, result.is_finished) == (DONE, True)
    assert result.report is not None
    assert (result.report.summary, result.report.reason) == (Summary.READY, Reason.SUCCEEDED)
    assert bench.client.calls == [], "nothing is asked"


async def test_an_object_that_the_watch_has_not_shown_whole_is_awaited_for_a_second(bench: Bench) -> None:
    bench.watches.inventory.observe(CLAIMS.gvk, claim())
    applied = AppliedContent(attempt=bench.attempt(of_claim()))
    result = await bench.said(applied)
    assert (result.report, result.outcome.after) == (None, QUIET_SECONDS)
    bench.clock.now += QUIET_SECONDS
    result = await bench.said(applied)
    assert result.report is not None
    assert result.report.message == "PersistentVolumeClaim ns/c has not been observed since it was applied"
    assert not result.is_finished


async def test_an_unhealthy_object_is_named_and_the_key_comes_back_when_it_lasts(bench: Bench) -> None:
    bench.shows("a", claims=[claim(phase="Pending")])
    result = await bench.said(AppliedContent(attempt=bench.attempt(key("a"), of_claim())))
    assert result.report is not None
    assert result.report.healthy is not None
    assert result.report.healthy.status is ConditionStatus.FALSE
    assert "PersistentVolumeClaim" in result.report.healthy.message
    assert result.outcome.after == LASTING_SECONDS
    assert not result.outcome.settled
    assert not result.is_finished


async def test_a_change_that_the_watch_is_about_to_tell_has_the_last_word(bench: Bench) -> None:
    bench.shows("a")
    one = AppliedContent(attempt=bench.attempt(key("a")))
    bench.watches.shows(shown(2, name="a", managedFields=[managed(OWNER, {"f:other": {}})]))
    result = await bench.said(one)
    assert (result.report, result.outcome.after) == (None, QUIET_SECONDS)
    bench.clock.now += QUIET_SECONDS
    assert (await bench.said(one)).report is not None


# Pruning


async def test_what_left_the_content_is_pruned_and_told_once_it_is_healthy(bench: Bench) -> None:
    bench.shows("a", "b", claims=[claim(phase="Pending")])
    one = bench.attempt(key("a"), of_claim())
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a"))
    await bench.report(applied)
    assert bench.client.calls == []
    bench.shows(claims=[claim(version=2)])
    assert (await bench.said(applied)).outcome.after == QUIET_SECONDS, "its deletion is on the way"
    assert bench.client.calls == ["delete ConfigMap b"]
    assert bench.events.texts == [("Pruned", "deleted ConfigMap ns/b, no longer in the bundle")]
    bench.watches.deletes("b")
    assert await bench.finished(AppliedContent(attempt=one))


async def test_it_is_pruned_before_that_when_the_deployment_says_so(bench: Bench) -> None:
    bench.shows("b", claims=[claim(phase="Pending")])
    one = bench.attempt(of_claim(), prune=AFTER_APPLY)
    await bench.said(AppliedContent(attempt=one, planned=bench.planned(one)))
    assert bench.client.calls == ["delete ConfigMap b"]


async def test_nothing_is_pruned_while_some_kind_cannot_be_seen(bench: Bench) -> None:
    hidden = HiddenKinds(unserved=frozenset({BASKET.group_kind}))
    bench.shows("a", "b")
    one = bench.attempt(key("a"))
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a", hidden=hidden))
    for _ in range(3):
        result = await bench.said(applied, hidden)
        bench.clock.now += HIDDEN_QUIET_SECONDS
    assert bench.client.calls == []
    assert not result.is_finished


async def test_over_its_budget_nothing_is_pruned_and_health_is_told_all_the_same(bench: Bench) -> None:
    bench.shows("b", "c", claims=[claim()])
    one = bench.attempt(of_claim(), prune=Prune(max_objects=1))
    result = await bench.said(AppliedContent(attempt=one, planned=bench.planned(one)))
    assert bench.client.calls == []
    assert result.report is not None
    assert (result.report.summary, result.report.reason) == (Summary.RETRYING, Reason.PRUNE_BUDGET_EXCEEDED)
    assert (
        "2 objects are no longer in the bundle, and spec.prune.maxObjects is 1: nothing was pruned"
        in result.report.message
    )
    assert result.report.healthy is not None
    assert result.report.healthy.status is ConditionStatus.TRUE
    assert not result.is_finished


async def test_where_pruning_is_off_what_left_stays_and_is_no_difference(bench: Bench) -> None:
    bench.shows("a", "b")
    one = bench.attempt(key("a"), prune=Prune(enabled=False))
    assert await bench.finished(AppliedContent(attempt=one, planned=bench.planned(one, "a")))
    assert bench.client.calls == []
    assert await bench.finished(AppliedContent(attempt=one))


async def test_what_cannot_be_pruned_is_named_and_tried_again(bench: Bench) -> None:
    bench.shows("b", claims=[claim()])
    bench.client.failing["delete"] = refusal(ForbiddenError, "no right to delete")
    one = bench.attempt(of_claim())
    result = await bench.said(AppliedContent(attempt=one, planned=bench.planned(one)))
    assert result.outcome.retry
    assert result.report is not None
    assert result.report.message == "could not prune: ConfigMap ns/b: no right to delete"
    assert result.report.healthy is not None
    assert result.report.installed is not None
    assert "could not prune" in result.report.installed.message


async def test_what_is_kept_is_recorded_and_told_and_counts_as_finished(bench: Bench) -> None:
    bench.shows("a")
    left = LiveObject(key=key("n", NAMESPACES.gvk, ""), metadata=shown(name="n").metadata)
    bench.watches.shows(left, resource=NAMESPACES)
    one = bench.attempt(key("a"))
    result = await bench.said(AppliedContent(attempt=one, planned=bench.planned(one, "a")))
    assert bench.client.calls == []
    assert result.is_finished
    assert result.report is not None
    assert result.report.fields is not None
    entry = KeptObject(version="v1", kind="Namespace", name="n", reason=KeptReason.HOLDS_OBJECTS)
    assert result.report.fields["kept"] == (entry,)
    assert result.report.installed is not None
    assert "kept 1 object no longer in the bundle: Namespace n" in result.report.installed.message


async def test_what_is_kept_is_remembered_without_a_plan_until_it_goes(bench: Bench) -> None:
    bench.shows("a", "n")
    entry = KeptObject(version="v1", kind="ConfigMap", namespace="ns", name="n", reason=KeptReason.HOLDS_DATA)
    one = bench.attempt(key("a"))
    report = await bench.report(AppliedContent(attempt=one, kept=(entry,)))
    assert report.fields is not None
    assert report.fields["kept"] == (entry,)
    bench.watches.deletes("n")
    report = await bench.report(AppliedContent(attempt=one, kept=(entry,)))
    assert report.fields is not None
    assert report.fields["kept"] == ()


async def test_names_of_former_content_without_our_label_are_looked_for_once(bench: Bench) -> None:
    bench.shows("a")
    one = bench.attempt(key("a"))
    one.state.former.add([key("stripped"), key("gone")])
    bench.client.put("ConfigMap", {"metadata": {**owned("stripped"), "labels": {}, "namespace": "ns"}})
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a"))
    await bench.said(applied)
    assert sorted(bench.client.calls) == ["delete ConfigMap stripped", "get ConfigMap gone", "get ConfigMap stripped"]
    bench.client.calls.clear()
    await bench.said(applied)
    assert bench.client.calls == []


async def test_what_is_released_loses_our_marks_and_stays(bench: Bench) -> None:
    bench.watches.shows(shown(name="b", annotations={"core.rukpak.io/prune": "false"}))
    bench.client.put("ConfigMap", {"metadata": {**owned("b"), "namespace": "ns", "uid": "u"}})
    one = bench.attempt()
    await bench.said(AppliedContent(attempt=one, planned=bench.planned(one)))
    assert bench.client.calls == ["get ConfigMap b", "patch ConfigMap b"]
    left = bench.client.objects["ConfigMap", "b"]["metadata"]
    assert not left.get("ownerReferences")
    assert not left.get("labels")
    text = 'left ConfigMap ns/b in the cluster, no longer managed (core.rukpak.io/prune: "false")'
    assert bench.events.texts == [("Released", text)]


async def test_what_is_gone_before_it_is_released_is_not_told(bench: Bench) -> None:
    bench.watches.shows(shown(name="b", annotations={"core.rukpak.io/prune": "false"}))
    one = bench.attempt()
    await bench.said(AppliedContent(attempt=one, planned=bench.planned(one)))
    assert bench.events.texts == []


async def test_overrides_that_are_about_nothing_are_told_with_the_installation(bench: Bench) -> None:
    bench.shows("a")
    there = Override(kind="ConfigMap", namespace="ns", name="a", prune=False)
    nothing = Override(kind="ConfigMap", name="q", prune=False)
    one = bench.attempt(key("a"), overrides=(there, nothing))
    report = await bench.report(AppliedContent(attempt=one))
    assert (report.summary, report.installed and report.installed.status) == (Summary.READY, ConditionStatus.TRUE)
    assert report.installed is not None
    _, line = report.installed.message.splitlines()
    assert line.startswith("spec.overrides[1] (ConfigMap q) matches no object")


async def test_overrides_of_the_spec_say_nothing_about_content_that_has_others(bench: Bench) -> None:
    bench.shows("a")
    nothing = Override(kind="ConfigMap", name="q", prune=False)
    one = bench.attempt(key("a"), overrides=(nothing,), options=InstallOptions())
    report = await bench.report(AppliedContent(attempt=one))
    assert report.installed is not None
    assert "overrides" not in report.installed.message


async def test_kept_crds_that_had_instances_are_looked_at_again(bench: Bench) -> None:
    bench.shows("a", "n")
    entry = KeptObject(version="v1", kind="ConfigMap", namespace="ns", name="n", reason=KeptReason.HAS_INSTANCES)
    result = await bench.said(AppliedContent(attempt=bench.attempt(key("a")), kept=(entry,)))
    assert result.outcome.after == KEPT_CRDS_SECONDS


async def test_what_waiting_for_health_holds_back_is_named_after_ten_minutes_and_then_nothing_comes_back(
    bench: Bench,
) -> None:
    bench.shows("b", claims=[claim(phase="Pending")])
    one = bench.attempt(of_claim())
    applied = AppliedContent(attempt=one, planned=bench.planned(one))
    report = await bench.report(applied)
    assert report.healthy is not None
    assert "kept until" not in report.healthy.message
    bench.clock.now += HELD_BACK_SECONDS
    await bench.said(applied)
    bench.clock.now += QUIET_SECONDS
    result = await bench.said(applied)
    assert result.report is not None
    assert result.report.healthy is not None
    assert "1 object no longer in the bundle is kept until the new content is healthy: ConfigMap ns/b" in (
        result.report.healthy.message
    )
    assert result.outcome.after == LASTING_SECONDS, "and not every second from now on"


# What lasts beside it


async def test_what_somebody_keeps_changing_does_not_freeze_health_or_pruning(bench: Bench) -> None:
    bench.shows("a", "b", claims=[claim(phase="Pending")])
    one = bench.attempt(key("a"), of_claim(), prune=AFTER_APPLY)
    bench.client.put("ConfigMap", {"metadata": {**owned("a"), "namespace": "ns", "managedFields": [{"manager": "x"}]}})
    bench.watches.shows(shown(2, name="a", managedFields=[managed(OWNER, {"f:other": {}})]))
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a"), resting=frozenset({key("a")}))
    report = await bench.report(applied)
    assert "delete ConfigMap b" in bench.client.calls
    assert (report.summary, report.reason) == (Summary.RETRYING, Reason.CONFLICT)
    assert report.message.startswith('"x" keeps changing ConfigMap ns/a; reverting at most once a minute')
    assert report.healthy is not None
    assert report.healthy.status is ConditionStatus.FALSE


async def test_who_else_writes_is_asked_once_for_a_conflict(bench: Bench) -> None:
    bench.shows("a")
    one = bench.attempt(key("a"))
    bench.client.put("ConfigMap", {"metadata": {**owned("a"), "namespace": "ns", "managedFields": [{"manager": "x"}]}})
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a"), resting=frozenset({key("a")}))
    first = await bench.said(applied)
    again = await bench.said(AppliedContent(attempt=one, resting=frozenset({key("a")})))
    assert bench.client.calls == ["get ConfigMap a"]
    assert first.report is not None
    assert again.report is not None
    assert first.report.message == again.report.message
    assert first.outcome.after == again.outcome.after == DRIFT_BACKOFF_SECONDS
    assert not again.is_finished


async def test_kinds_that_cannot_be_seen_are_told_when_that_lasts_and_health_with_them(bench: Bench) -> None:
    hidden = HiddenKinds(unserved=frozenset({BASKET.group_kind}))
    bench.shows("a")
    applied = AppliedContent(attempt=bench.attempt(key("a")))
    result = await bench.said(applied, hidden)
    assert (result.report, result.outcome.after) == (None, HIDDEN_QUIET_SECONDS)
    assert result.waits_for == hidden.waits_for
    bench.clock.now += HIDDEN_QUIET_SECONDS
    result = await bench.said(applied, hidden)
    assert result.report is not None
    assert (result.report.summary, result.report.reason) == (Summary.RETRYING, Reason.UNAVAILABLE)
    assert result.report.message == hidden.text()
    assert result.report.healthy is not None
    assert result.report.healthy.status is ConditionStatus.TRUE
    assert result.outcome.after == HIDDEN_SECONDS
    assert not result.is_finished
    assert await bench.finished(applied), "they are seen again"
    assert (await bench.said(applied, hidden)).report is None, "the next time is quiet again at first"


async def test_objects_of_kinds_that_cannot_be_seen_are_not_missed(bench: Bench) -> None:
    bench.shows("a")
    one = bench.attempt(key("a"))
    one.state.applied.fields[key("x", BASKETS.gvk)] = "hash"
    bench.clock.now += HIDDEN_QUIET_SECONDS
    hidden = HiddenKinds(unserved=frozenset({BASKET.group_kind}))
    await bench.said(AppliedContent(attempt=one), hidden)
    bench.clock.now += HIDDEN_QUIET_SECONDS
    report = (await bench.said(AppliedContent(attempt=one), hidden)).report
    assert report is not None
    assert report.healthy is not None
    assert report.healthy.status is ConditionStatus.TRUE


# What the status says is installed


async def test_the_final_word_says_what_is_installed(bench: Bench) -> None:
    bench.shows("a")
    of = deployment(status=BundleDeploymentStatus(kinds=kinds(BASKET)))
    result = await bench.said(AppliedContent(attempt=bench.attempt(key("a"), of=of)))
    assert result.report is not None
    assert result.report.fields is not None
    assert result.report.fields["active_bundle"] == "b"
    assert result.report.fields["applied_digest"]
    assert result.report.fields["kinds"] == kinds(CONFIG_MAPS.gvk), "it shrinks when all is pruned"
