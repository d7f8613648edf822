"""A wait that a watch usually ends at once, and a request that fails once, are reported only when they last."""

import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.apply.results import namespace_wake
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.state_parts import QuietFacts
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.queue import Schedule, Turn
from rukpak_py.controllers.result.cause_table import (
    ERRORS_QUIET_SECONDS,
    HIDDEN_QUIET_SECONDS,
    LASTING_SECONDS,
    LOOK_AGAIN_SECONDS,
    WAIT_QUIET_SECONDS,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import Clock as Moment
from rukpak_py.controllers.result.progress import NO_PROGRESS, Progress, Reached
from rukpak_py.controllers.writes import WRITE_INTERVAL_SECONDS
from tests.unit.controllers.deployment.parts import ToldEvents
from tests.unit.controllers.fakes import Clock, FakeClient
from tests.unit.controllers.result.concluding import fact, installed, progress
from tests.unit.controllers.values import START, conditions, deployment

WAKES = frozenset({namespace_wake("n")})
WAITS = progress(fact(Cause.OBJECTS_PENDING, "Waiting for x", wakes=WAKES), reached=Reached.PARTLY)
OTHER_WAIT = progress(fact(Cause.KINDS_COMING, "Waiting for y"), reached=Reached.PARTLY)
FAILS = progress(fact(Cause.API_UNAVAILABLE, "the server is away"))
DENIED = progress(fact(Cause.API_DENIED, "may not get widgets"))
BEGIN = 1000.0


class Bench:
    """One key and its status. What is not told yet is in no status, so `state` is all that knows of it."""

    def __init__(self) -> None:
        self.client, self.events, self.waiting = FakeClient(), ToldEvents(), WaitingDeployments()
        self.clock, self.state = Clock(BEGIN), DeploymentState()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        writer = DeploymentStatusWriter(client=self.client.as_client(), deployments=self.deployments, pace=self.clock)
        self.reporting = Reporting(writer, self.waiting, self.events, clock=self.moment)
        stored = self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment()))
        self.deployments.put(read_bundle_deployment(stored))

    def moment(self) -> Moment:
        return Moment(loop=self.clock.now, wall=START + self.clock.now - BEGIN)

    async def report(
        self, wanted: Progress = NO_PROGRESS, kept: Progress = NO_PROGRESS, after: float = 0.0
    ) -> Schedule:
        """So many seconds after the last one."""
        self.clock.now += after
        return await self.reporting.report(self.known, self.state, Turn(), wanted=wanted, installed=kept)

    @property
    def known(self) -> BundleDeployment:
        found = self.deployments.get("shop")
        assert found is not None
        return found

    @property
    def ready(self) -> tuple[str, str, str] | None:
        """None: nothing was written yet."""
        return conditions(self.known.status).get("Ready")


@pytest.fixture
def bench() -> Bench:
    return Bench()


# What is remembered


def test_each_cause_is_counted_for_itself_as_long_as_every_look_finds_it() -> None:
    quiet = QuietFacts()
    quiet.found(WAITS.facts, 1.0)
    quiet.found((*WAITS.facts, *OTHER_WAIT.facts), 2.0)
    assert (quiet.since(Cause.OBJECTS_PENDING), quiet.since(Cause.KINDS_COMING)) == (1.0, 2.0)
    quiet.found(OTHER_WAIT.facts, 3.0)
    assert (quiet.since(Cause.OBJECTS_PENDING), quiet.since(Cause.KINDS_COMING)) == (None, 2.0)
    quiet.found(WAITS.facts, 4.0)
    assert quiet.since(Cause.OBJECTS_PENDING) == 4.0


def test_a_text_of_a_quiet_cause_may_change_meanwhile() -> None:
    quiet = QuietFacts()
    quiet.found([fact(Cause.OBJECTS_PENDING, "Waiting for x and y")], 1.0)
    quiet.found([fact(Cause.OBJECTS_PENDING, "Waiting for y")], 2.0)
    assert quiet.since(Cause.OBJECTS_PENDING) == 1.0


# What is told of it


async def test_the_first_second_is_quiet_and_the_key_comes_back_at_its_end(bench: Bench) -> None:
    for after in (0.0, 0.75):
        schedule = await bench.report(WAITS, after=after)
        assert (bench.ready, schedule.report_at) == (None, BEGIN + WAIT_QUIET_SECONDS)
    assert bench.client.calls == []


async def test_a_wait_that_lasts_is_reported_as_progress_and_looked_at_from_time_to_time(bench: Bench) -> None:
    await bench.report(WAITS)
    schedule = await bench.report(WAITS, after=WAIT_QUIET_SECONDS)
    assert bench.ready == ("Unknown", "Progressing", "Waiting for x")
    expected = Schedule(attempt_at=bench.clock.now + LOOK_AGAIN_SECONDS)
    assert schedule == expected, "a watch should end it, and may not"
    assert bench.events.told == [], "a wait is no news"


async def test_a_wait_that_is_over_begins_anew(bench: Bench) -> None:
    await bench.report(WAITS)
    await bench.report()
    schedule = await bench.report(WAITS, after=WAIT_QUIET_SECONDS)
    assert (bench.ready, schedule.report_at) == (None, bench.clock.now + WAIT_QUIET_SECONDS)


async def test_waits_for_different_things_are_counted_apart(bench: Bench) -> None:
    await bench.report(WAITS)
    await bench.report(OTHER_WAIT, after=WAIT_QUIET_SECONDS)
    assert bench.ready is None
    await bench.report(OTHER_WAIT, after=WAIT_QUIET_SECONDS)
    assert bench.ready == ("Unknown", "Progressing", "Waiting for y")


@pytest.mark.parametrize("after", [0.0, WAIT_QUIET_SECONDS])
async def test_a_wait_is_ended_by_what_it_waits_for_from_its_first_moment_on(bench: Bench, after: float) -> None:
    await bench.report(WAITS)
    await bench.report(WAITS, after=after)
    assert bench.waiting.for_namespace("n") == ["shop"]
    await bench.report(OTHER_WAIT)
    assert bench.waiting.for_namespace("n") == []


async def test_requests_that_fail_are_told_when_that_lasts_and_tried_again_all_the_while(bench: Bench) -> None:
    schedule = await bench.report(FAILS)
    assert (bench.ready, schedule.report_at, schedule.failures) == (None, BEGIN + ERRORS_QUIET_SECONDS, 1)
    assert schedule.attempt_at is not None
    await bench.report(FAILS, after=ERRORS_QUIET_SECONDS - 0.5)
    assert (bench.ready, bench.events.told) == (None, [])
    await bench.report(FAILS, after=0.5)
    assert bench.ready == ("False", "Unavailable", "the server is away")
    assert bench.events.told == [("Warning", "shop", "Unavailable")]


async def test_a_request_that_succeeds_between_two_failures_makes_them_quiet_again(bench: Bench) -> None:
    await bench.report(FAILS)
    await bench.report(WAITS, after=ERRORS_QUIET_SECONDS)
    await bench.report(FAILS)
    assert (bench.ready, bench.events.told) == (None, [])


async def test_requests_that_fail_for_another_reason_are_quiet_for_themselves(bench: Bench) -> None:
    await bench.report(FAILS)
    await bench.report(DENIED, after=ERRORS_QUIET_SECONDS)
    assert bench.ready is None


async def test_a_failure_on_both_sides_is_counted_once(bench: Bench) -> None:
    await bench.report(FAILS, FAILS)
    await bench.report(NO_PROGRESS, FAILS, after=ERRORS_QUIET_SECONDS)
    assert bench.ready == ("False", "Unavailable", "the server is away")


async def test_a_fact_that_knows_since_when_it_lasts_is_believed(bench: Bench) -> None:
    known = progress(fact(Cause.OBJECTS_PENDING, "Waiting for x", since=BEGIN - WAIT_QUIET_SECONDS))
    await bench.report(known)
    assert bench.ready == ("Unknown", "Progressing", "Waiting for x")


async def test_a_fact_reported_at_once_lasts_since_the_status_says_so_also_for_the_next_process(bench: Bench) -> None:
    pods = progress(fact(Cause.UNHEALTHY, "in progress"), reached=Reached.APPLIED, installed=installed())
    for _ in range(2):
        await bench.report(pods, after=WRITE_INTERVAL_SECONDS)
    assert bench.ready == ("Unknown", "Unhealthy", "in progress")
    bench.state = DeploymentState()
    await bench.report(pods, after=LASTING_SECONDS)
    assert bench.ready == ("Unknown", "StillUnhealthy", "in progress")


async def test_a_fact_in_the_status_is_kept_by_the_next_process_and_emits_no_event_again(bench: Bench) -> None:
    """A restart repeats no Event, also not of what is quiet at first and stands beside something that is not."""
    ill = progress(
        fact(Cause.UNHEALTHY_FAILED, "failed"),
        fact(Cause.KINDS_HIDDEN, "widgets are not served"),
        reached=Reached.APPLIED,
        installed=installed(),
    )
    for _ in range(2):
        await bench.report(ill, after=HIDDEN_QUIET_SECONDS)
    told = [reason for _, _, reason in bench.events.told]
    assert sorted(told) == ["Installed", "Unavailable", "Unhealthy"]
    bench.state = DeploymentState()
    for _ in range(2):
        await bench.report(NO_PROGRESS, ill, after=HIDDEN_QUIET_SECONDS)
        assert [reason for _, _, reason in bench.events.told] == told
