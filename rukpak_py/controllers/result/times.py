"""When the key comes back: its failures in a row, the next attempt, the next look.

* Only an attempt that failed counts, and sets the time of the next one: a look changes neither.
* The time of a failure wins over "look again" of the same side, and is never added to it: nothing makes a failing key
  try more often. The other side is looked at when it asks for that.
* A failure without a time, and a wait that holds the key, begin no other attempt before the key is woken.
* While the job of an attempt runs no attempt is counted, and none begins. What fails meanwhile is looked at again, but
  not soon; so is what fails beside a side whose attempt is not due. Nothing counts these tries.
* Where a stage has found out no more than when to look again, what was known of failures stays.
"""

from collections.abc import Mapping, Sequence

from rukpak_py.controllers.queue import Schedule
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import Clock, KeyFacts
from rukpak_py.controllers.result.judged import JudgedFact, Side
from rukpak_py.controllers.result.progress import Reached
from rukpak_py.controllers.result.table import LOOK_AGAIN_SECONDS, Kind, Then


def schedule_of(
    facts: Sequence[JudgedFact], key: KeyFacts, clock: Clock, *, reached: Mapping[Side, Reached]
) -> Schedule:
    turn = key.turn
    held = {one.side for one in facts if one.cause is Cause.NOT_DUE and not turn.is_attempt}
    if turn.attempt_at is None:  # whatever became of it: what is to be tried again has a time
        held -= {one.side for one in facts if one.is_failure and _has_time(one)}
    found_out = [one for one in facts if one.side not in held]
    failing = [one for one in found_out if one.is_failure]
    timed = [one for one in failing if _has_time(one)]
    looks = _looks([one for one in found_out if one.side not in {failed.side for failed in timed}], clock)
    changes = [one.changes_at for one in facts if one.changes_at is not None]
    is_under_way = not held and any(one.cause is Cause.JOB_RUNNING for one in facts)
    if is_under_way or (held and not (timed and turn.attempt_at is None)):
        retries = [max(clock.loop + LOOK_AGAIN_SECONDS, _next_attempt(timed, 1, key, clock))] if timed else []
        look_at = min([*changes, *looks, *retries], default=None)
        attempt_at = None if is_under_way else turn.attempt_at
        return Schedule(failures=turn.failures, attempt_at=attempt_at, report_at=look_at, is_under_way=is_under_way)
    is_open = any(one.cause is Cause.LOOK_AGAIN and reached[one.side] < Reached.APPLIED for one in facts)
    is_look = not turn.is_attempt and turn.attempt_at is not None
    if is_look and (failing or is_open):
        report_at = min([*changes, *looks], default=None)
        return Schedule(failures=turn.failures, attempt_at=turn.attempt_at, report_at=report_at)
    report_at = min([*changes, *(looks if failing else [])], default=None)
    if timed:
        failures = turn.failures + 1
        return Schedule(failures=failures, attempt_at=_next_attempt(timed, failures, key, clock), report_at=report_at)
    failures = turn.failures if is_open and not failing else _failures(facts, turn.failures)
    return Schedule(failures=failures, attempt_at=None if failing else min(looks, default=None), report_at=report_at)


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
