"""A key with two sides over time: what one of them finds neither stops the other one nor drives it round and round."""

from collections.abc import Callable

from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionType
from rukpak_py.controllers.queue import Schedule, Turn
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import KeyFacts
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Reached
from tests.unit.controllers.result.concluding import (
    FINISHED,
    FIRST,
    KEPT,
    MAP,
    NOW,
    POD,
    READY,
    SECOND,
    after,
    at,
    fact,
    progress,
)

NOT_DUE, JOB = Fact(cause=Cause.NOT_DUE), Fact(cause=Cause.JOB_RUNNING)
REFUSED = fact(Cause.REFUSED, "no", MAP)
DRIFT = progress(REFUSED, reached=Reached.PARTLY)
Finds = Callable[[Turn], Progress]


def turn_of(schedule: Schedule, now: float) -> Turn:
    """Turn as the queue has it at this time."""
    is_due = schedule.attempt_at is not None and schedule.attempt_at <= now
    is_attempt = not schedule.failures or is_due or schedule.is_under_way
    return Turn(is_attempt=is_attempt, failures=schedule.failures, attempt_at=schedule.attempt_at)


def next_schedule(wanted: Progress, installed: Progress, former: Schedule, now: float = NOW) -> Schedule:
    key = KeyFacts(generation=2, bundle="b2", turn=turn_of(former, now))
    return conclude(READY, wanted, installed, key, at(now)).schedule


def turns_in(seconds: float, wanted: Finds, installed: Finds, start: Schedule | None = None) -> list[Turn]:
    """Each turn that the times bring, without any event."""
    now, schedule, turns = NOW, start or Schedule(), list[Turn]()
    while now < NOW + seconds:
        turns.append(turn := turn_of(schedule, now))
        schedule = next_schedule(wanted(turn), installed(turn), schedule, now)
        assert schedule.next_at is not None
        now = max(schedule.next_at, now)
    return turns


def always(found: Progress) -> Finds:
    return lambda _: found


def test_drift_that_is_refused_beside_a_hook_is_tried_now_and_then() -> None:
    hook = progress(fact(Cause.HOOK_RUNNING, since=NOW - 10), JOB)
    assert 10 <= len(turns_in(600, always(hook), always(DRIFT))) <= 25


def test_a_refusal_beside_a_job_for_what_is_installed_is_no_storm_of_attempts() -> None:
    rendering = progress(fact(Cause.RENDERING, since=NOW - 10), JOB)
    turns = turns_in(600, always(progress(fact(Cause.BUNDLE_REFUSED, "no"))), always(rendering))
    assert sum(turn.is_attempt for turn in turns) <= 25


def test_drift_beside_an_attempt_that_is_far_away_is_tried_now_and_then() -> None:
    def wanted(turn: Turn) -> Progress:
        busy = fact(Cause.UNAVAILABLE, "busy", MAP, at=NOW + 300.0)
        return progress(busy) if turn.is_attempt else progress(busy, NOT_DUE)

    start = Schedule(failures=1, attempt_at=NOW + 300.0)
    assert len(turns_in(290, wanted, always(DRIFT), start)) <= 25


def test_a_job_for_what_is_installed_does_not_end_the_back_off_of_what_is_wanted() -> None:
    former = Schedule(failures=9, attempt_at=NOW + 60)
    schedule = next_schedule(progress(REFUSED, NOT_DUE), progress(fact(Cause.RENDERING), JOB), former)
    assert (schedule.failures, schedule.attempt_at) == (9, NOW + 60)
    assert not turn_of(schedule, NOW + 1).is_attempt


def test_a_look_that_finds_out_only_when_to_look_again_changes_no_back_off() -> None:
    former, again = Schedule(failures=9, attempt_at=NOW + 60), Fact(cause=Cause.LOOK_AGAIN, at=NOW + 1)
    schedule = next_schedule(progress(again, reached=Reached.PARTLY), NO_PROGRESS, former)
    assert schedule == Schedule(failures=9, attempt_at=NOW + 60, report_at=NOW + 1)


def test_an_attempt_that_finds_out_only_when_to_look_again_forgets_no_failures() -> None:
    former, again = Schedule(failures=9, attempt_at=NOW), Fact(cause=Cause.LOOK_AGAIN, at=NOW + 1)
    assert next_schedule(progress(again), NO_PROGRESS, former).failures == 9
    assert next_schedule(NO_PROGRESS, progress(again, reached=FINISHED), former).failures == 0, "all is well"


def test_a_refusal_that_stands_while_its_bundle_comes_again_is_not_held_without_a_time() -> None:
    refused = next_schedule(progress(REFUSED), KEPT, Schedule())
    waits = next_schedule(progress(fact(Cause.BUNDLE_UNPACKING, since=NOW - 10)), KEPT, refused, NOW + 0.1)
    held = next_schedule(progress(REFUSED, NOT_DUE), KEPT, waits, NOW + 30)
    assert held.attempt_at is not None


def test_drift_that_is_corrected_is_well_again_while_the_wanted_bundle_is_waited_for() -> None:
    waits = progress(fact(Cause.BUNDLE_UNPACKING, since=NOW - 10))
    broken = after(READY, waits, DRIFT, SECOND)
    told = find_condition(broken.conditions, ConditionType.INSTALLED)
    assert told is not None
    assert (told.status, told.reason) == ("False", "ReconcileFailed")
    well = find_condition(after(broken, waits, KEPT, SECOND, now=NOW + 5).conditions, ConditionType.INSTALLED)
    assert well is not None
    assert well.status == "True"


def test_a_note_without_room_in_a_short_status_emits_no_event_at_each_write() -> None:
    lines = [fact(Cause.OVERRIDE_UNMATCHED, f"entry {number}") for number in range(6)]
    large = fact(Cause.STATUS_TOO_LARGE)
    first = conclude(READY, NO_PROGRESS, progress(large, *lines, reached=FINISHED), FIRST, at(NOW))
    ill = progress(large, fact(Cause.UNHEALTHY, "ill", POD), *lines, reached=Reached.APPLIED)
    assert conclude(first.status, NO_PROGRESS, ill, FIRST, at(NOW + 100)).events == ()


def test_the_last_notes_of_an_object_that_goes_are_told_without_a_status() -> None:
    key = KeyFacts(generation=2, is_deleted=True)
    skipped = progress(fact(Cause.HOOKS_SKIPPED, "skipped"))
    found = conclude(READY, skipped, NO_PROGRESS, key, at(NOW))
    assert [(event.reason, event.message) for event in found.happened] == [("HooksSkipped", "Deleting: skipped")]
    assert found.status == READY
