"""A reconcile's last step: the status, its Events, and when the key comes back."""

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.apply.results import namespace_wake
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.queue import SETTLED, Schedule, Turn
from rukpak_py.controllers.result.cause_table import ERRORS_QUIET_SECONDS, HELD_BACK_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import Clock as Moment
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Reached
from rukpak_py.controllers.writes import STALE_SECONDS, WRITE_INTERVAL_SECONDS
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, FakeEvents
from tests.unit.controllers.result.concluding import fact, installed, progress
from tests.unit.controllers.values import DIGEST, START, conditions, deployment, hook_record

WRITE = "status BundleDeployment shop"
BEGIN = 1000.0  # the loop's time
MISSING = frozenset({namespace_wake("n")})
RECORD = hook_record()
ENTRY = Installation(revision=1, bundle="b1", digest=DIGEST, time=NOW, outcome="Healthy")


def said(text: str, cause: Cause = Cause.CONFLICT, **more: Any) -> Progress:
    return progress(fact(cause, text, **more))


LASTING = progress(
    fact(Cause.KINDS_HIDDEN, "hidden"), fact(Cause.UNHEALTHY, "a"), fact(Cause.PRUNE_HELD_BACK, "held back")
)


def applied(found: Progress = NO_PROGRESS) -> Progress:
    return found + progress(reached=Reached.APPLIED, installed=installed())


class Bench:
    def __init__(self) -> None:
        self.client, self.clock, self.events = FakeClient(), Clock(BEGIN), FakeEvents()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.waiting = WaitingDeployments()
        writer = DeploymentStatusWriter(client=self.client.as_client(), deployments=self.deployments, pace=self.clock)
        self.reporting = Reporting(writer, self.waiting, self.events, clock=self.moment)
        self.state = DeploymentState()
        self.put(deployment())

    def moment(self) -> Moment:
        return Moment(loop=self.clock.now, wall=START + self.clock.now - BEGIN)

    def put(self, one: BundleDeployment, *, seen: bool = True) -> None:
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))
        if seen:
            self.deployments.put(stored)

    @property
    def known(self) -> BundleDeployment:
        found = self.deployments.get("shop")
        assert found is not None
        return found

    @property
    def ready(self) -> str:
        return conditions(self.known.status)["Ready"][2]

    async def report(
        self, wanted: Progress, *, kept: Progress = NO_PROGRESS, of: BundleDeployment | None = None
    ) -> Schedule:
        """Report in the first turn of the key."""
        return await self.reporting.report(of or self.known, self.state, Turn(), wanted=wanted, installed=kept)


@pytest.fixture
def bench() -> Bench:
    return Bench()


FAILED = Schedule(failures=1, attempt_at=BEGIN + 0.25)
ENDS: list[tuple[Cause, float | None, Schedule]] = [
    (Cause.CONFLICT, None, FAILED),
    (Cause.CONFLICT, BEGIN + 7.0, Schedule(failures=1, attempt_at=BEGIN + 7.0)),
    (Cause.NOT_APPLICABLE, None, Schedule(failures=1)),
    (Cause.FIELDS_CONTESTED, None, Schedule(failures=1, attempt_at=BEGIN + 60.0)),
    (Cause.PRUNING, None, Schedule(attempt_at=BEGIN + 30.0)),
    (Cause.DELETING, BEGIN + 0.5, Schedule(attempt_at=BEGIN + 0.5)),
    (Cause.APPLYING, None, SETTLED),
]


@pytest.mark.parametrize(("cause", "at", "schedule"), ENDS)
async def test_a_report_that_is_written_or_needs_no_write_leaves_the_schedule_as_it_is(
    bench: Bench, cause: Cause, at: float | None, schedule: Schedule
) -> None:
    for _ in range(2):
        assert await bench.report(said("m", cause, at=at)) == schedule
    assert bench.client.calls == [WRITE]
    assert bench.ready.startswith("m")
    assert len(bench.events.told) == (1 if schedule.failures else 0), "waits are no news"
    assert {(kind, name) for kind, name, _ in bench.events.told} <= {("Warning", "shop")}


async def test_without_anything_to_tell_nothing_is_written(bench: Bench) -> None:
    look = Fact(cause=Cause.LOOK_AGAIN, at=BEGIN + 1.0)
    assert await bench.report(progress(look)) == Schedule(attempt_at=BEGIN + 1.0)
    assert bench.client.calls == []


@pytest.mark.parametrize(("cause", "at", "schedule"), ENDS)
async def test_a_postponed_status_brings_the_key_back_soon_and_is_reported_anew(
    bench: Bench, cause: Cause, at: float | None, schedule: Schedule
) -> None:
    await bench.report(said("one"))
    bench.events.told.clear()
    soon = dataclasses.replace(schedule, report_at=BEGIN + WRITE_INTERVAL_SECONDS)
    assert await bench.report(said("two", cause, at=at)) == soon
    assert bench.ready == "one"
    assert bench.events.told == [], "what is not written is not told"
    bench.clock.now += WRITE_INTERVAL_SECONDS
    assert (await bench.report(said("two", cause, at=at))).report_at is None
    assert bench.ready.startswith("two")
    assert bool(bench.events.told) is bool(schedule.failures)


async def test_a_look_that_is_due_before_stays_due(bench: Bench) -> None:
    await bench.report(said("one"))
    soon = fact(Cause.API_UNAVAILABLE, "down", since=BEGIN - ERRORS_QUIET_SECONDS + 0.5)
    found = await bench.report(said("two") + progress(soon))
    assert found.report_at == BEGIN + 0.5
    assert bench.client.calls == [WRITE]


async def test_an_event_is_emitted_though_the_status_is_postponed(bench: Bench) -> None:
    """It would not be found out again."""
    await bench.report(said("one"))
    await bench.report(said("two") + progress(fact(Cause.PRUNED, "deleted a")))
    assert bench.events.told == [("Warning", "shop", "InstallFailed"), ("Normal", "shop", "Pruned")]
    assert bench.client.calls == [WRITE]


async def test_a_status_that_met_another_write_brings_the_key_back(bench: Bench) -> None:
    bench.put(deployment(generation=2, suspend=True), seen=False)
    found = await bench.report(said("m", at=BEGIN + 60.0))
    assert found == Schedule(failures=1, attempt_at=BEGIN + 60.0, report_at=BEGIN + STALE_SECONDS)
    assert bench.events.told == []


async def test_a_write_is_based_on_the_newest_version_and_speaks_of_the_spec_that_was_looked_at(bench: Bench) -> None:
    looked_at = bench.known
    bench.put(deployment(generation=2, status=BundleDeploymentStatus(active_bundle="b1")))
    await bench.report(said("m"), of=looked_at)
    assert (bench.known.status.observed_generation, bench.known.status.active_bundle) == (1, "b1")
    assert bench.known.metadata.generation == 2
    stored = read_bundle_deployment(bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"])
    assert stored.status == bench.known.status


OTHERS = [
    (BundleDeploymentStatus(hooks=(RECORD,)), progress(fact(Cause.CONFLICT), hooks=())),
    (
        BundleDeploymentStatus(history=(ENTRY,)),
        progress(fact(Cause.CONFLICT), reached=Reached.APPLIED, installed=installed("b2", DIGEST)),
    ),
]


@pytest.mark.parametrize(("theirs", "ours"), OTHERS, ids=["hooks", "history"])
@pytest.mark.parametrize("is_kept", [True, False])
async def test_records_that_another_client_wrote_while_the_conclusion_was_drawn_are_not_lost(
    bench: Bench, theirs: BundleDeploymentStatus, ours: Progress, *, is_kept: bool
) -> None:
    """The watch has shown them, so the server would take the write."""
    wanted, kept = (NO_PROGRESS, ours) if is_kept else (ours, NO_PROGRESS)
    looked_at = bench.known
    bench.put(replace(looked_at, status=theirs))
    found = await bench.report(wanted, kept=kept, of=looked_at)
    assert found == dataclasses.replace(FAILED, report_at=BEGIN + STALE_SECONDS)
    assert (bench.client.calls, bench.events.told) == ([], [])
    await bench.report(wanted, kept=kept)
    assert bench.client.calls == [WRITE]


async def test_about_a_deployment_that_is_gone_there_is_nothing_to_say(bench: Bench) -> None:
    one, happened = bench.known, progress(fact(Cause.PRUNED, "deleted a"))
    gone = said("m") + happened + Progress(reached=Reached.GONE)
    assert await bench.report(gone) == SETTLED
    assert await bench.report(said("m"), kept=gone) == SETTLED
    assert bench.client.calls == []
    del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    assert await bench.report(said("m")) == SETTLED
    bench.deployments.drop("shop", one.metadata.uid)
    assert await bench.report(said("m") + happened, of=one) == SETTLED
    bench.put(deployment(uid="another"))
    assert await bench.report(said("m") + happened, of=one) == SETTLED
    assert bench.events.told == []


@pytest.mark.parametrize("cause", [Cause.CONFLICT, Cause.KINDS_COMING, Cause.LOOK_AGAIN])
async def test_waits_of_a_deployment_are_known_until_its_next_report(bench: Bench, cause: Cause) -> None:
    """The same holds while nothing is reported of it."""
    await bench.report(said("m", cause, wakes=MISSING))
    assert bench.waiting.for_namespace("n") == ["shop"]
    await bench.report(NO_PROGRESS, kept=said("m", cause, wakes=MISSING))
    assert bench.waiting.for_namespace("n") == ["shop"]
    await bench.report(NO_PROGRESS)
    assert bench.waiting.for_namespace("n") == []


async def test_a_deployment_that_went_meanwhile_waits_for_nothing(bench: Bench) -> None:
    """A reconcile may be about to note it; nothing would take the note away."""
    bench.state.has_ended = True
    await bench.report(said("m", wakes=MISSING))
    assert bench.waiting.for_namespace("n") == []


@pytest.mark.parametrize(
    ("own", "reason"), [(Cause.CONFLICT, "UnpackSuccessful"), (Cause.RENDERING_CONTENT, "BundleLoadFailed")]
)
async def test_a_fact_of_a_stage_about_the_bundle_comes_before_that_of_the_bundle(
    bench: Bench, own: Cause, reason: str
) -> None:
    await bench.report(said("m", own) + progress(valid="b1"))
    assert conditions(bench.known.status)["HasValidBundle"][1] == reason


class TestQuietFailures:
    async def test_a_quiet_failure_is_reported_when_every_look_has_found_it(self, bench: Bench) -> None:
        due = BEGIN + ERRORS_QUIET_SECONDS
        assert await bench.report(said("down", Cause.API_UNAVAILABLE)) == dataclasses.replace(FAILED, report_at=due)
        bench.clock.now = due - 1.0
        assert (await bench.report(said("down, still", Cause.API_UNAVAILABLE))).report_at == due
        assert (bench.client.calls, bench.events.told) == ([], [])
        bench.clock.now = due
        assert (await bench.report(said("down", Cause.API_UNAVAILABLE))).report_at is None
        assert conditions(bench.known.status)["Ready"][:2] == ("False", "Unavailable")
        assert bench.events.told == [("Warning", "shop", "Unavailable")]

    async def test_the_time_of_a_quiet_failure_begins_anew_when_one_look_does_not_find_it(self, bench: Bench) -> None:
        await bench.report(said("down", Cause.API_UNAVAILABLE))
        bench.clock.now += ERRORS_QUIET_SECONDS - 1.0
        await bench.report(NO_PROGRESS)
        bench.clock.now += 1.0
        found = await bench.report(said("down", Cause.API_UNAVAILABLE))
        assert found.report_at == bench.clock.now + ERRORS_QUIET_SECONDS
        assert bench.client.calls == []

    async def test_a_fact_that_names_its_own_beginning_keeps_it(self, bench: Bench) -> None:
        await bench.report(said("down", Cause.API_UNAVAILABLE))
        await bench.report(said("down", Cause.API_UNAVAILABLE, since=BEGIN - ERRORS_QUIET_SECONDS))
        assert bench.client.calls == [WRITE]

    async def test_facts_in_the_status_are_still_reported_after_a_restart(self, bench: Bench) -> None:
        """It lasts since the status says so."""
        told = await self.told_before_a_restart(bench)
        assert {note.reason for note in told.notes} == {"Conflict", "KindsHidden", "StillUnhealthy", "PruneHeldBack"}
        await bench.report(said("taken"), kept=applied(LASTING))
        assert bench.known.status == told

    async def test_no_event_is_told_again_after_a_restart(self, bench: Bench) -> None:
        await self.told_before_a_restart(bench)
        for _ in range(3):
            await bench.report(said("taken"), kept=applied(LASTING))
            bench.clock.now += ERRORS_QUIET_SECONDS
        assert bench.events.told == []

    @staticmethod
    async def told_before_a_restart(bench: Bench) -> BundleDeploymentStatus:
        await bench.report(NO_PROGRESS, kept=applied() + progress(reached=Reached.FINISHED))
        bench.clock.now += WRITE_INTERVAL_SECONDS
        since = bench.clock.now - HELD_BACK_SECONDS
        lasting = (dataclasses.replace(one, since=since) for one in LASTING.facts)
        await bench.report(said("taken"), kept=applied(progress(*lasting)))
        bench.clock.now += WRITE_INTERVAL_SECONDS
        bench.state = DeploymentState()
        bench.events.told.clear()
        return bench.known.status
