"""When the key comes back: its failures in a row, the next attempt, the next look.

* Only an attempt that failed counts, and sets the time of the next one: a look changes neither.
* The time of a failure wins over "look again", and is never added to it: nothing makes a failing key try more often.
* A failure without a time, and a wait that holds the key, begin no other attempt before the key is woken.
* While the job of an attempt runs no attempt is counted, and none begins.
"""

from collections.abc import Sequence

from rukpak_py.controllers.queue import Schedule
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import Clock, KeyFacts
from rukpak_py.controllers.result.judged import JudgedFact
from rukpak_py.controllers.result.table import Kind, Then


def schedule_of(facts: Sequence[JudgedFact], key: KeyFacts, clock: Clock) -> Schedule:
    turn, causes = key.turn, {one.cause for one in facts}
    report_at = min((one.changes_at for one in facts if one.changes_at is not None), default=None)
    as_it_was = Schedule(failures=turn.failures, attempt_at=turn.attempt_at, report_at=report_at)
    if Cause.JOB_RUNNING in causes:
        return Schedule(failures=turn.failures, report_at=report_at, is_under_way=True)
    if Cause.NOT_DUE in causes:
        return as_it_was
    failing = [one for one in facts if one.is_failure]
    timed = [one for one in failing if _has_time(one)]
    looks = _looks(facts, clock)
    if failing and not turn.is_attempt and (turn.attempt_at is not None or not timed):
        return as_it_was
    if timed:
        failures = turn.failures + 1
        return Schedule(failures=failures, attempt_at=_next_attempt(timed, failures, key, clock), report_at=report_at)
    failures = _failures(facts, turn.failures)
    if failing:
        return Schedule(failures=failures, report_at=min([*looks, *_given(report_at)], default=None))
    return Schedule(failures=failures, attempt_at=min(looks, default=None), report_at=report_at)


def _has_time(one: JudgedFact) -> bool:
    return one.row.then not in {Then.NEVER, Then.WAKE}


def _next_attempt(timed: Sequence[JudgedFact], failures: int, key: KeyFacts, clock: Clock) -> float:
    pause = key.turn.back_off.delay(failures, key.turn.draw)
    soonest = min(pause if isinstance(one.row.then, Then) else one.row.then for one in timed)
    return max([clock.loop + soonest, *(one.fact.at for one in timed if one.fact.at is not None)])


def _looks(facts: Sequence[JudgedFact], clock: Clock) -> list[float]:
    """Of what is no failure: the loop times when to look again."""
    waits = [one for one in facts if one.row.kind in {Kind.WAIT, Kind.SILENT, Kind.NOTE}]
    own = [one.fact.at for one in waits if one.fact.at is not None]
    rows = [one.row.then for one in waits if one.fact.at is None]
    return [*own, *(clock.loop + then for then in rows if not isinstance(then, Then))]


def _failures(facts: Sequence[JudgedFact], failures: int) -> int:
    """In a row, where no time is set: one that is held counts as one."""
    if any(one.row.is_held for one in facts):
        return max(1, failures)
    return failures if any(one.row.kind is Kind.WAIT for one in facts) else 0


def _given(at: float | None) -> list[float]:
    return [at] if at is not None else []
