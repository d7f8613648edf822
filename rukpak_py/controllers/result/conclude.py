"""One pure function from the results of all stages to status, Events and the times of the key.

* `wanted`: of what the template asks for, where that is not what is installed. `installed`: of what is. Whose a fact
  is decides between Install-, Upgrade- and ReconcileFailed, and no stage says so.
* While it is open how the wanted content does, nothing is written: with `Ready` of what is installed the status would
  carry the new generation. A side is open while all that is known of it is still quiet, or only when to look again.
* Notes alone decide nothing, and events that have happened are told whatever else is open.
* No text is read to decide anything. Texts are made last, and masked (`hide`) before anything is cut.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.changes import changed, is_other_installation, shortened, with_conditions
from rukpak_py.controllers.result.conclusion import AnyStatus, Clock, Conclusion, KeyFacts, Status
from rukpak_py.controllers.result.conditions import Told, conditions_of, installed_bundle, notes_of
from rukpak_py.controllers.result.judged import HEALTH_ID, Hide, JudgedFact, Side, judged
from rukpak_py.controllers.result.progress import Progress, Reached
from rukpak_py.controllers.result.table import Kind
from rukpak_py.controllers.result.texts import Texts
from rukpak_py.controllers.result.times import schedule_of
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
        texts=_texts(after, wanted.reached, key, hide),
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
    """With the last notes of an object that goes now: no status is written that could have them."""
    is_last = key.is_deleted and all(one.row.kind is Kind.NOTE for one in facts)
    return [one for one in facts if one.row.kind is Kind.EVENT or (is_last and one.is_news)]


def _judged(
    before: AnyStatus, after: AnyStatus, sides: dict[Side, Progress], clock: Clock, hide: Hide
) -> list[JudgedFact]:
    """By rank. Health is judged anew when other content is installed."""
    is_new = is_other_installation(before, after)
    known = {note.id: note for note in before.notes if not (is_new and note.id == HEALTH_ID)}
    found = [
        judged(fact, side, before=before, known=known, clock=clock, hide=hide)
        for side, progress in sides.items()
        for fact in progress.facts
    ]
    return sorted(found, key=lambda one: (one.cause.rank, one.side))


def _texts(after: AnyStatus, reached: Reached, key: KeyFacts, hide: Hide) -> Texts:
    return Texts(
        hide=hide,
        installed=installed_bundle(after),
        wanted=key.bundle,
        wanted_reached=reached,
        is_deleted=key.is_deleted,
    )


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
        if told.reached[side] < Reached.APPLIED and any(
            one.side is side and one.row.kind is Kind.SILENT for one in facts
        ):
            return False
    return Reached.FINISHED in told.reached.values()


def _handled(after: AnyStatus, facts: Sequence[JudgedFact], key: KeyFacts) -> dict[str, str]:
    is_open = any(one.cause is Cause.REQUEST_OPEN for one in facts)
    has_field = "last_handled_reconcile_at" in after.__struct_fields__
    return {"last_handled_reconcile_at": key.asked} if has_field and not is_open else {}
