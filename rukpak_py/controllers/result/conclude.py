"""One pure function from the results of all stages to status, Events and the times at which the key comes back.

* `wanted`: of what the template asks for, where that is not what is installed. `installed`: of what is. Whose a fact
  is decides between Install-, Upgrade- and ReconcileFailed, and no stage says so.
* While it is open how the wanted content does, nothing is written: with `Ready` of what is installed the status would
  carry the new generation. A side is open while all that is known of it is still quiet, or only when to look again.
* Notes alone decide nothing, and events that have happened are told whatever else is open.
* No text is read to decide anything. Texts are made last, and masked (`hide`) before anything is cut.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rukpak_py.controllers.queue import Schedule
from rukpak_py.controllers.result.cause_table import LOOK_AGAIN_SECONDS, Kind, Then
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.changes import changed, is_other_installation, shortened, with_conditions
from rukpak_py.controllers.result.conclusion import AnyStatus, Clock, Conclusion, KeyFacts, Status
from rukpak_py.controllers.result.conditions import Told, conditions_of, installed_bundle, notes_of
from rukpak_py.controllers.result.progress import Progress, Reached
from rukpak_py.controllers.result.reported_facts import HEALTH_ID, Hide, JudgedFact, Side, judged
from rukpak_py.controllers.result.texts import Texts
from rukpak_py.controllers.result.transitions import event_of, transitions
from rukpak_py.core.objects import ObjectKey

_DECIDES_ALONE = frozenset({Kind.PAUSE, Kind.FAILURE})


def as_it_is(text: str) -> str:
    return text


def conclude(
    before: Status, wanted: Progress, installed: Progress, key: KeyFacts, clock: Clock, *, hide: Hide = as_it_is
) -> Conclusion[Status]:
    if Reached.GONE in {wanted.reached, installed.reached}:
        return Conclusion(status=before)
    change = wanted.change + installed.change
    after = changed(before, change, hide)
    facts = _judged(before, after, {Side.WANTED: wanted, Side.INSTALLED: installed}, clock, hide)
    reached = {Side.WANTED: wanted.reached, Side.INSTALLED: installed.reached}
    schedule = schedule_of(facts, key, clock, reached=reached)
    told = Told(
        before=before,
        after=after,
        facts=[one for one in facts if one.is_told and one.row.kind not in {Kind.EVENT, Kind.SILENT}],
        change=change,
        reached=reached,
        texts=Texts(
            hide=hide,
            installed=installed_bundle(after),
            wanted=key.bundle,
            wanted_reached=wanted.reached,
            is_deleted=key.is_deleted,
        ),
        schedule=schedule,
        key=key,
        clock=clock,
    )
    conclusion = Conclusion(
        status=before,
        happened=tuple(event for one in _happened(facts, key) if (event := event_of(told, one))),
        schedule=schedule,
        wakes=frozenset[ObjectKey]().union(*(one.fact.wakes for one in facts)),
    )
    if not _is_decided(facts, told):
        return conclusion
    after = with_conditions(after, conditions_of(told))
    after = replace(after, observed_generation=key.generation, notes=notes_of(told), **_handled(after, facts, key))
    is_too_large = any(one.cause is Cause.STATUS_TOO_LARGE for one in facts)
    status = shortened(after) if is_too_large else after
    return Conclusion(
        status=status,
        happened=conclusion.happened,
        events=transitions(told, status),
        schedule=schedule,
        wakes=conclusion.wakes,
    )


def _happened(facts: Sequence[JudgedFact], key: KeyFacts) -> list[JudgedFact]:
    """Facts that happened, and the last notes of an object that goes: no status is written that could have them."""
    is_last = key.is_deleted and all(one.row.kind is Kind.NOTE for one in facts)
    return [one for one in facts if one.row.kind is Kind.EVENT or (is_last and one.is_news)]


def _judged(
    before: AnyStatus, after: AnyStatus, sides: dict[Side, Progress], clock: Clock, hide: Hide
) -> list[JudgedFact]:
    """Judge the facts, and sort them by rank. Health is judged anew when other content is installed."""
    is_new = is_other_installation(before, after)
    known = {note.id: note for note in before.notes if not (is_new and note.id == HEALTH_ID)}
    found = [
        judged(fact, side, before=before, known=known, clock=clock, hide=hide)
        for side, progress in sides.items()
        for fact in progress.facts
    ]
    return sorted(found, key=lambda one: (one.cause.rank, one.side))


def _is_decided(facts: Sequence[JudgedFact], told: Told) -> bool:
    """Whether it is known what Ready says."""
    for side in Side:
        of_side = [one for one in facts if one.side is side and one.row.kind in {*_DECIDES_ALONE, Kind.WAIT}]
        if any(one.is_told and one.row.kind in _DECIDES_ALONE for one in of_side):
            return True
        if any(not one.is_told for one in of_side):
            return False
        if of_side:
            return True
        if any(one.side is side and one.row.kind is Kind.HOLD for one in facts):
            continue
        if told.reached[side] < Reached.APPLIED and any(
            one.side is side and one.row.kind is Kind.SILENT for one in facts
        ):
            return False
    is_held = any(one.row.kind is Kind.HOLD for one in facts)
    return Reached.FINISHED in told.reached.values() or (is_held and not installed_bundle(told.after))


def _handled(after: AnyStatus, facts: Sequence[JudgedFact], key: KeyFacts) -> dict[str, str]:
    is_open = any(one.cause is Cause.REQUEST_OPEN for one in facts)
    has_field = "last_handled_reconcile_at" in after.__struct_fields__
    return {"last_handled_reconcile_at": key.asked} if has_field and not is_open else {}


def schedule_of(
    facts: Sequence[JudgedFact], key: KeyFacts, clock: Clock, *, reached: Mapping[Side, Reached]
) -> Schedule:
    """The failures in a row, the next attempt and the next look.

    * Only an attempt that failed counts, and sets the time of the next one: a look changes neither.
    * The time of a failure wins over "look again" of the same side, and is never added to it: nothing makes a failing
      key try more often. The other side is looked at when it asks for that.
    * A failure without a time, and a wait that holds the key, begin no other attempt before the key is woken.
    * While the job of an attempt runs no attempt is counted, and none begins. What fails meanwhile is looked at again,
      but not soon; so is what fails beside a side whose attempt is not due. Nothing counts these tries.
    * Where a stage has found out no more than when to look again, what was known of failures stays.
    """
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
    """Loop times when to look again, for facts that are no failures."""
    waits = [one for one in facts if one.row.kind in {Kind.WAIT, Kind.HOLD, Kind.SILENT, Kind.NOTE}]
    own = [one.fact.at for one in waits if one.fact.at is not None]
    rows = [one.row.then for one in waits if one.fact.at is None]
    return [*own, *(clock.loop + then for then in rows if not isinstance(then, Then))]


def _failures(facts: Sequence[JudgedFact], failures: int) -> int:
    """Number of failures in a row, where no time is set: one that is held counts as one."""
    if any(one.row.is_held for one in facts):
        return max(1, failures)
    return failures if any(one.row.kind is Kind.WAIT for one in facts) else 0
