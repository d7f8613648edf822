"""Steps after everything is applied: health, then pruning, then the final word."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, KeptObject, KeptReason
from rukpak_py.api.deployment_spec import Adopt, LabelSelector, Override, Patch, PatchTarget, Prune, PruneWhen, Wait
from rukpak_py.api.install_options import InstallOptions
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import make_plan
from rukpak_py.controllers.deployment.after_apply import KEPT_CRDS_SECONDS, AfterApply
from rukpak_py.controllers.deployment.applying import AppliedContent
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kinds import HiddenKinds
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.pruning import PruneStep, may_prune, prune_step
from rukpak_py.controllers.deployment.state_parts import ContentFacts
from rukpak_py.controllers.queue import SETTLED
from rukpak_py.controllers.result.cause_table import (
    HELD_BACK_SECONDS,
    HIDDEN_QUIET_SECONDS,
    LASTING_SECONDS,
    WAIT_QUIET_SECONDS,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Progress, Reached, RecordedInstallation
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.repair_backoff import REST_SECONDS
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
    attempt,
    causes_of,
    claim,
    concluded,
    controlled_clock,
    counting_from_now,
    found,
    kinds,
    settled,
    target_of,
)
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, refusal
from tests.unit.controllers.result.concluding import turn
from tests.unit.controllers.values import conditions, deployment

AFTER_APPLY = Prune(when=PruneWhen.AFTER_APPLY)
HIDDEN = HiddenKinds(unserved=frozenset({BASKET.group_kind}))


@dataclass
class Bench:
    """One deployment; the watches show what is there, and its state says what was applied."""

    watches: Watches
    clock: Clock
    after_apply: AfterApply
    client: FakeClient = field(default_factory=FakeClient)

    def shows(self, *maps: str, claims: Iterable[LiveObject] = ()) -> None:
        self.watches.shows(*(shown(name=name) for name in maps))
        self.watches.shows(*claims, resource=CLAIMS)

    def attempt(self, *applied: ObjectKey, **spec: Any) -> Attempt:
        """Attempt of which these objects were applied, as the watches show them."""
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

    async def said(self, applied: AppliedContent) -> Progress:
        return await self.after_apply.run(applied)

    async def last_word(self, applied: AppliedContent) -> Progress:
        """Once what is on its way is not waited for any more: what was deleted, then what another client changed."""
        for _ in range(2):
            if (progress := await self.said(applied)).reached >= Reached.APPLIED:
                return progress
            self.clock.now += WAIT_QUIET_SECONDS
        return await self.said(applied)

    async def finished(self, applied: AppliedContent) -> bool:
        """And nothing brings the key back."""
        progress = await self.said(applied)
        return progress.reached is Reached.FINISHED and told(applied, progress).schedule == SETTLED


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    watches = watches_of(monkeypatch, CONFIG_MAPS, CLAIMS, NAMESPACES)
    counting_from_now(monkeypatch)
    client = FakeClient()
    after_apply = AfterApply(watches.inventory, client_of=lambda _: client.as_client(), now=lambda: NOW)
    yield Bench(watches=watches, clock=controlled_clock(monkeypatch), after_apply=after_apply, client=client)
    await watches.inventory.close()


def told(applied: AppliedContent, progress: Progress, **more: Any) -> Any:
    """Conclusion for content that the template asks for, and that is installed now."""
    return concluded(applied.attempt, wanted=progress, **more)


def concluded_after(status: BundleDeploymentStatus, applied: AppliedContent, progress: Progress) -> Any:
    """Conclusion for the installed content after this status was written."""
    of = replace(applied.attempt.deployment, status=status)
    return concluded(attempt(of=of, bundle=applied.attempt.bundle), installed=progress)


def says(applied: AppliedContent, progress: Progress, **more: Any) -> dict[str, tuple[str, str, str]]:
    """The conditions."""
    return conditions(told(applied, progress, **more).status)


def is_looked_at_again_soon(progress: Progress) -> bool:
    """And nothing is told of it before."""
    is_soon = found(Cause.LOOK_AGAIN, progress).at == WAIT_QUIET_SECONDS
    return is_soon and progress.reached is Reached.PARTLY


def recorded(progress: Progress) -> RecordedInstallation:
    assert progress.change.installed
    return progress.change.installed


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
def test_objects_that_left_the_content_are_pruned_by_policy_and_budget(
    spec: Prune, leaving: int, step: PruneStep
) -> None:
    assert prune_step(spec, leaving) is step


# Health


async def test_applied_and_healthy_content_is_finished_at_once(bench: Bench) -> None:
    bench.shows("a", claims=[claim()])
    applied = AppliedContent(attempt=bench.attempt(key("a"), of_claim()))
    progress = await bench.said(applied)
    assert (progress.facts, progress.reached) == ((), Reached.FINISHED)
    assert says(applied, progress)["Ready"] == ("True", "Succeeded", "Instantiated bundle b successfully")
    assert told(applied, progress).schedule == SETTLED
    assert bench.client.calls == [], "nothing is asked"


async def test_an_object_that_the_watch_has_not_shown_whole_is_awaited_for_a_second(bench: Bench) -> None:
    bench.watches.inventory.observe(CLAIMS.gvk, claim())
    applied = AppliedContent(attempt=bench.attempt(of_claim()))
    progress = await bench.said(applied)
    assert is_looked_at_again_soon(progress)
    assert told(applied, progress).status == applied.attempt.deployment.status, "nothing is told yet"
    bench.clock.now += WAIT_QUIET_SECONDS
    progress = await bench.said(applied)
    expected = "PersistentVolumeClaim ns/c has not been observed since it was applied"
    assert found(Cause.UNHEALTHY, progress).text == expected
    assert progress.reached is Reached.APPLIED


async def test_an_unhealthy_object_is_named_and_the_key_comes_back_when_it_lasts(bench: Bench) -> None:
    bench.shows("a", claims=[claim(phase="Pending")])
    applied = AppliedContent(attempt=bench.attempt(key("a"), of_claim()))
    progress = await bench.said(applied)
    assert found(Cause.UNHEALTHY, progress).objects == (of_claim(),)
    conclusion = told(applied, progress, turn=turn(failures=2))
    status, reason, message = conditions(conclusion.status)["Healthy"]
    assert (status, reason) == ("False", "Unhealthy")
    assert "PersistentVolumeClaim" in message
    assert conclusion.schedule.report_at == LASTING_SECONDS
    assert conclusion.schedule.failures == 2, "it may still be what failed before"
    assert progress.reached is Reached.APPLIED


async def test_the_spec_says_how_long_unhealthy_objects_are_progress(bench: Bench) -> None:
    bench.shows("a", claims=[claim(phase="Pending")])
    applied = AppliedContent(attempt=bench.attempt(key("a"), of_claim(), wait=Wait(timeout="10m")))
    conclusion = told(applied, await bench.said(applied))
    assert conclusion.schedule.report_at == 600.0
    assert conditions(conclusion.status)["Ready"][:2] == ("Unknown", "Unhealthy")


async def test_a_change_that_the_watch_is_about_to_tell_has_the_last_word(bench: Bench) -> None:
    bench.shows("a")
    one = AppliedContent(attempt=bench.attempt(key("a")))
    bench.watches.shows(shown(2, name="a", managedFields=[managed(OWNER, {"f:other": {}})]))
    assert is_looked_at_again_soon(await bench.said(one))
    bench.clock.now += WAIT_QUIET_SECONDS
    assert (await bench.said(one)).reached is Reached.FINISHED


# Pruning


async def test_objects_that_left_are_pruned_and_reported_once_the_content_is_healthy(bench: Bench) -> None:
    bench.shows("a", "b", claims=[claim(phase="Pending")])
    one = bench.attempt(key("a"), of_claim())
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a"))
    await bench.last_word(applied)
    assert bench.client.calls == []
    bench.shows(claims=[claim(version=2)])
    progress = await bench.said(applied)
    assert is_looked_at_again_soon(progress), "its deletion is on the way"
    assert bench.client.calls == ["delete ConfigMap b"]
    pruned = found(Cause.PRUNED, progress)
    assert (pruned.objects, pruned.text) == ((key("b"),), "deleted ConfigMap ns/b, no longer in the bundle")
    assert [one.message for one in told(applied, progress).happened] == [pruned.text], "whatever else is open"
    bench.watches.deletes("b")
    assert await bench.finished(AppliedContent(attempt=one))


async def test_objects_that_left_are_pruned_after_apply_when_the_deployment_says_so(bench: Bench) -> None:
    bench.shows("b", claims=[claim(phase="Pending")])
    one = bench.attempt(of_claim(), prune=AFTER_APPLY)
    await bench.said(AppliedContent(attempt=one, planned=bench.planned(one)))
    assert bench.client.calls == ["delete ConfigMap b"]


async def test_nothing_is_pruned_while_some_kind_cannot_be_seen(bench: Bench) -> None:
    bench.shows("a", "b")
    one = bench.attempt(key("a"))
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a", hidden=HIDDEN), hidden=HIDDEN)
    for _ in range(3):
        progress = await bench.said(applied)
        bench.clock.now += HIDDEN_QUIET_SECONDS
    assert bench.client.calls == []
    assert progress.reached is Reached.APPLIED


async def test_over_its_budget_nothing_is_pruned_and_health_is_told_all_the_same(bench: Bench) -> None:
    bench.shows("b", "c", claims=[claim()])
    one = bench.attempt(of_claim(), prune=Prune(max_objects=1))
    applied = AppliedContent(attempt=one, planned=bench.planned(one))
    progress = await bench.said(applied)
    assert bench.client.calls == []
    text = "2 objects are no longer in the bundle, and spec.prune.maxObjects is 1: nothing was pruned"
    assert text in found(Cause.PRUNE_BUDGET, progress).text
    assert set(found(Cause.PRUNE_BUDGET, progress).objects) == {key("b"), key("c")}
    said = says(applied, progress)
    assert said["Ready"][:2] == ("False", "PruneBudgetExceeded")
    assert text in said["Ready"][2]
    assert said["Healthy"][0] == "True"
    assert progress.reached is Reached.APPLIED


async def test_where_pruning_is_off_what_left_stays_and_is_no_difference(bench: Bench) -> None:
    bench.shows("a", "b")
    one = bench.attempt(key("a"), prune=Prune(enabled=False))
    assert await bench.finished(AppliedContent(attempt=one, planned=bench.planned(one, "a")))
    assert bench.client.calls == []
    assert await bench.finished(AppliedContent(attempt=one))


async def test_an_object_that_cannot_be_pruned_is_named_and_tried_again(bench: Bench) -> None:
    bench.shows("b", claims=[claim()])
    bench.client.failing["delete"] = refusal(ForbiddenError, "no right to delete")
    one = bench.attempt(of_claim())
    applied = AppliedContent(attempt=one, planned=bench.planned(one))
    progress = await bench.said(applied)
    failed = found(Cause.PRUNE_FAILED, progress)
    assert (failed.objects, failed.text) == ((key("b"),), "could not prune: ConfigMap ns/b: no right to delete")
    assert progress.reached is Reached.APPLIED
    said = says(applied, progress)
    assert said["Ready"] == ("False", "Retrying", failed.text)
    assert said["Healthy"][0] == "True"
    assert said["Installed"][0] == "True"
    assert failed.text in said["Installed"][2]
    assert told(applied, progress).schedule.attempt_at is not None
    assert told(applied, progress).schedule.failures == 1


async def test_a_kept_object_is_recorded_and_reported_and_counts_as_finished(bench: Bench) -> None:
    bench.shows("a")
    left = LiveObject(key=key("n", NAMESPACES.gvk, ""), metadata=shown(name="n").metadata)
    bench.watches.shows(left, resource=NAMESPACES)
    one = bench.attempt(key("a"))
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a"))
    progress = await bench.said(applied)
    assert bench.client.calls == []
    assert progress.reached is Reached.FINISHED
    entry = KeptObject(version="v1", kind="Namespace", name="n", reason=KeptReason.HOLDS_OBJECTS)
    assert recorded(progress).kept == (entry,)
    text = "kept 1 object no longer in the bundle: Namespace n"
    assert text in found(Cause.KEPT, progress).text
    assert text in says(applied, progress)["Installed"][2]


async def test_a_kept_object_is_remembered_without_a_plan_until_it_goes(bench: Bench) -> None:
    bench.shows("a", "n")
    entry = KeptObject(version="v1", kind="ConfigMap", namespace="ns", name="n", reason=KeptReason.HOLDS_DATA)
    one = bench.attempt(key("a"))
    applied = AppliedContent(attempt=one, kept=(entry,))
    progress = await bench.last_word(applied)
    assert recorded(progress).kept == (entry,)
    assert causes_of(progress) == [Cause.KEPT]
    bench.watches.deletes("n")
    progress = await bench.last_word(applied)
    assert recorded(progress).kept == ()
    assert causes_of(progress) == []


async def test_kept_objects_are_reported_once_and_not_again_when_fewer_are_left(bench: Bench) -> None:
    bench.shows("a", "m", "n")
    kept = tuple(
        KeptObject(version="v1", kind="ConfigMap", namespace="ns", name=name, reason=KeptReason.HOLDS_DATA)
        for name in ("m", "n")
    )
    applied = AppliedContent(attempt=bench.attempt(key("a")), kept=kept)
    first = told(applied, await bench.last_word(applied))
    assert [event.reason for event in first.events] == ["Installed", "Kept"]
    bench.watches.deletes("m")
    conclusion = concluded_after(first.status, applied, await bench.last_word(applied))
    assert conclusion.events == ()
    assert "kept 1 object no longer in the bundle: ConfigMap ns/n" in conditions(conclusion.status)["Installed"][2]


async def test_another_kept_object_is_reported(bench: Bench) -> None:
    bench.shows("a", "m", "n")
    m, n = (
        KeptObject(version="v1", kind="ConfigMap", namespace="ns", name=name, reason=KeptReason.HOLDS_DATA)
        for name in ("m", "n")
    )
    applied = AppliedContent(attempt=bench.attempt(key("a")), kept=(m,))
    first = told(applied, await bench.last_word(applied))
    more = AppliedContent(attempt=applied.attempt, kept=(m, n))
    (event,) = concluded_after(first.status, applied, await bench.last_word(more)).events
    assert event.reason == "Kept"
    assert "ConfigMap ns/n" in event.message


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


async def test_a_released_object_loses_our_marks_and_stays(bench: Bench) -> None:
    bench.watches.shows(shown(name="b", annotations={"core.rukpak.io/prune": "false"}))
    bench.client.put("ConfigMap", {"metadata": {**owned("b"), "namespace": "ns", "uid": "u"}})
    one = bench.attempt()
    progress = await bench.said(AppliedContent(attempt=one, planned=bench.planned(one)))
    assert bench.client.calls == ["get ConfigMap b", "patch ConfigMap b"]
    left = bench.client.objects["ConfigMap", "b"]["metadata"]
    assert not left.get("ownerReferences")
    assert not left.get("labels")
    text = 'left ConfigMap ns/b in the cluster, no longer managed (core.rukpak.io/prune: "false")'
    released = found(Cause.RELEASED, progress)
    assert (released.objects, released.text) == ((key("b"),), text)


async def test_an_object_that_is_gone_before_its_release_is_not_reported(bench: Bench) -> None:
    bench.watches.shows(shown(name="b", annotations={"core.rukpak.io/prune": "false"}))
    one = bench.attempt()
    progress = await bench.said(AppliedContent(attempt=one, planned=bench.planned(one)))
    assert causes_of(progress) == [Cause.LOOK_AGAIN]


async def test_overrides_that_are_about_nothing_are_told_with_the_installation(bench: Bench) -> None:
    bench.shows("a")
    there = Override(kind="ConfigMap", namespace="ns", name="a", prune=False)
    nothing = Override(kind="ConfigMap", name="q", prune=False)
    applied = AppliedContent(attempt=bench.attempt(key("a"), overrides=(there, nothing)))
    said = says(applied, await bench.last_word(applied))
    assert (said["Ready"][:2], said["Installed"][0]) == (("True", "Succeeded"), "True")
    _, line = said["Installed"][2].splitlines()
    assert line.startswith("spec.overrides[1] (ConfigMap q) matches no object")


async def test_overrides_of_the_spec_say_nothing_about_content_that_has_others(bench: Bench) -> None:
    bench.shows("a")
    nothing = Override(kind="ConfigMap", name="q", prune=False)
    one = bench.attempt(key("a"), overrides=(nothing,), options=InstallOptions())
    progress = await bench.last_word(AppliedContent(attempt=one))
    assert (progress.facts, progress.reached) == ((), Reached.FINISHED)


def patch(**target: Any) -> Patch:
    return Patch(target=PatchTarget(kind="ConfigMap", **target), patch="data: {}")


async def test_patches_that_match_nothing_are_told_by_what_was_rendered_or_else_by_names(bench: Bench) -> None:
    bench.shows("a")
    selecting = patch(label_selector=LabelSelector(match_labels={"app": "x"}))
    one = bench.attempt(key("a"), patches=(patch(name="a"), patch(name="q", namespace="ns"), selecting))
    (line,) = [fact.text for fact in (await bench.last_word(AppliedContent(attempt=one))).facts]
    unknown = "spec.patches[1] (ConfigMap ns/q)"
    assert line.startswith(f"{unknown}: no object of the bundle matches; "), "after a restart only the rendering tells"
    one.state.rendered(one.content, ContentFacts(unmatched_patches=(1, 2)))
    (line,) = [fact.text for fact in (await bench.last_word(AppliedContent(attempt=one))).facts]
    assert line.startswith(f"{unknown}, spec.patches[2] (ConfigMap *): no object")


async def test_patches_of_the_spec_say_nothing_about_content_that_has_others(bench: Bench) -> None:
    bench.shows("a")
    one = bench.attempt(key("a"), patches=(patch(name="q"),), options=InstallOptions())
    assert (await bench.last_word(AppliedContent(attempt=one))).facts == ()


async def test_kept_crds_that_had_instances_are_looked_at_again(bench: Bench) -> None:
    bench.shows("a", "n")
    entry = KeptObject(version="v1", kind="ConfigMap", namespace="ns", name="n", reason=KeptReason.HAS_INSTANCES)
    applied = AppliedContent(attempt=bench.attempt(key("a")), kept=(entry,))
    progress = await bench.said(applied)
    assert progress.reached is Reached.FINISHED
    assert told(applied, progress).schedule.attempt_at == KEPT_CRDS_SECONDS


async def test_held_back_objects_are_named_after_ten_minutes_of_waiting_for_health_without_a_retry(
    bench: Bench,
) -> None:
    bench.shows("b", claims=[claim(phase="Pending")])
    one = bench.attempt(of_claim())
    applied = AppliedContent(attempt=one, planned=bench.planned(one))
    progress = await bench.last_word(applied)
    assert "kept until" not in says(applied, progress)["Healthy"][2]
    assert told(applied, progress, lasted=HELD_BACK_SECONDS - 5).schedule.report_at == 5
    conclusion = told(applied, progress, lasted=HELD_BACK_SECONDS)
    assert (
        "1 object no longer in the bundle is kept until the new content is healthy: ConfigMap ns/b"
        in (conditions(conclusion.status)["Healthy"][2])
    )
    assert conclusion.schedule.report_at == LASTING_SECONDS, "and not every second from now on"
    assert conclusion.schedule.attempt_at is None


# What lasts beside it


async def test_an_object_that_a_client_keeps_changing_does_not_freeze_health_or_pruning(bench: Bench) -> None:
    bench.shows("a", "b", claims=[claim(phase="Pending")])
    one = bench.attempt(key("a"), of_claim(), prune=AFTER_APPLY)
    bench.client.put("ConfigMap", {"metadata": {**owned("a"), "namespace": "ns", "managedFields": [{"manager": "x"}]}})
    bench.watches.shows(shown(2, name="a", managedFields=[managed(OWNER, {"f:other": {}})]))
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a"), resting=frozenset({key("a")}))
    progress = await bench.last_word(applied)
    assert "delete ConfigMap b" in bench.client.calls
    said = says(applied, progress)
    status, reason, message = said["Ready"]
    assert (status, reason) == ("False", "FieldsContested")
    assert message.startswith('"x" keeps changing ConfigMap ns/a; reverting at most once a minute')
    assert said["Healthy"][:2] == ("False", "Unhealthy")


async def test_other_writers_are_read_once_for_a_conflict(bench: Bench) -> None:
    bench.shows("a")
    one = bench.attempt(key("a"))
    bench.client.put("ConfigMap", {"metadata": {**owned("a"), "namespace": "ns", "managedFields": [{"manager": "x"}]}})
    applied = AppliedContent(attempt=one, planned=bench.planned(one, "a"), resting=frozenset({key("a")}))
    untouched = AppliedContent(attempt=one, resting=frozenset({key("a")}))
    first, again = await bench.said(applied), await bench.said(untouched)
    assert bench.client.calls == ["get ConfigMap a"]
    assert found(Cause.FIELDS_CONTESTED, first) == found(Cause.FIELDS_CONTESTED, again)
    assert told(applied, first).schedule.attempt_at == REST_SECONDS
    assert told(untouched, again).schedule.attempt_at == REST_SECONDS
    assert again.reached is Reached.APPLIED


async def test_kinds_that_cannot_be_seen_are_told_when_that_lasts_and_health_with_them(bench: Bench) -> None:
    bench.shows("a")
    applied = AppliedContent(attempt=bench.attempt(key("a")), hidden=HIDDEN)
    progress = await bench.said(applied)
    assert progress.reached is Reached.APPLIED
    at_first = told(applied, progress)
    assert (at_first.status, at_first.schedule.report_at) == (applied.attempt.deployment.status, HIDDEN_QUIET_SECONDS)
    assert at_first.wakes == HIDDEN.wakes
    later = told(applied, progress, lasted=HIDDEN_QUIET_SECONDS)
    said = conditions(later.status)
    assert said["Ready"] == ("False", "Unavailable", HIDDEN.detail.text(()) + "; attempt 1, next at 00:01:00Z")
    assert said["Healthy"][0] == "True"
    assert (later.schedule.attempt_at, later.wakes) == (60.0, HIDDEN.wakes)
    seen_again = AppliedContent(attempt=applied.attempt)
    assert await bench.finished(seen_again)


async def test_objects_of_kinds_that_cannot_be_seen_are_not_missed(bench: Bench) -> None:
    bench.shows("a")
    one = bench.attempt(key("a"))
    one.state.applied.fields[key("x", BASKETS.gvk)] = "hash"
    applied = AppliedContent(attempt=one, hidden=HIDDEN)
    progress = await bench.last_word(applied)
    assert causes_of(progress) == [Cause.KINDS_HIDDEN]
    assert says(applied, progress, lasted=HIDDEN_QUIET_SECONDS)["Healthy"][0] == "True"


# What the status says is installed


async def test_the_final_word_says_what_is_installed(bench: Bench) -> None:
    bench.shows("a")
    of = deployment(status=BundleDeploymentStatus(kinds=kinds(BASKET)))
    applied = AppliedContent(attempt=bench.attempt(key("a"), of=of))
    progress = await bench.said(applied)
    assert recorded(progress).bundle == "b"
    assert recorded(progress).applied_digest
    assert recorded(progress).kinds == kinds(CONFIG_MAPS.gvk), "it shrinks when all is pruned"
    assert told(applied, progress).status.active_bundle == "b"
