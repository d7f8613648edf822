"""A fact as it counts now: whether it is told, as which cause, since when, and as what it is known afterwards.

* A fact that is new is quiet for as long as its row says; one that has lasted for long may count as another cause.
* Unhealthy objects are one thing while that lasts, whichever they are, and never become milder: what has failed and is
  in progress again was told already.
* The identity of a fact is a digest of what it tells, with secrets masked, as canonical JSON. It outlives the process.
* A status of a release without notes says by its conditions what was told.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from msgspec import to_builtins

from rukpak_py.api.conditions import Note, find_condition
from rukpak_py.api.names import ConditionStatus, ConditionType, Reason
from rukpak_py.controllers.result.cause_table import Kind, Row, Then
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import AnyStatus, Clock
from rukpak_py.controllers.result.progress import Fact
from rukpak_py.core.objects import canonical_json

Hide = Callable[[str], str]
HEALTH_ID = "health"
_VERSION = "v1"  # of the form of an identity
_ID_DIGITS = 12


class Side(IntEnum):
    """Content that a fact is about: what the template asks for, where that is not installed, or what is installed."""

    WANTED = 0
    INSTALLED = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedFact:
    """`cause` and `row` as they count now. `changes_at`: loop time when they count otherwise; None: they stay."""

    fact: Fact
    side: Side
    cause: Cause
    row: Row
    note: Note
    is_told: bool
    is_news: bool
    changes_at: float | None

    @property
    def is_failure(self) -> bool:
        return self.row.kind is Kind.FAILURE


def judged(
    fact: Fact, side: Side, *, before: AnyStatus, known: Mapping[str, Note], clock: Clock, hide: Hide
) -> JudgedFact:
    identity = identity_of(fact, hide)
    former = known.get(identity) or _told_without_note(fact, identity, before)
    lasted = _lasted(fact, former, clock)
    was = _cause_of(former) or fact.cause
    cause = _counts_as(fact, lasted, was)
    worst = min(cause, was, key=lambda one: one.rank)
    row = replace(fact, cause=cause).row
    return JudgedFact(
        fact=fact,
        side=side,
        cause=cause,
        row=_of_installed(row) if side is Side.INSTALLED else row,
        note=Note(
            reason=worst.value,
            object=hide(str(fact.objects[0])) if fact.objects and identity != HEALTH_ID else "",
            since=former.since if former is not None else clock.timestamp(lasted),
            id=identity,
        ),
        is_told=lasted >= fact.row.quiet,
        is_news=former is None or was.rank > worst.rank,
        changes_at=_changes_at(fact, lasted, clock) if cause is fact.cause else None,
    )


def identity_of(fact: Fact, hide: Hide) -> str:
    if _is_health(fact.row):
        return HEALTH_ID
    told = {"cause": fact.cause, "detail": to_builtins(fact.detail), "objects": sorted(map(list, fact.objects))}
    return hashlib.sha256(f"{_VERSION}:".encode() + canonical_json(_masked(told, hide))).hexdigest()[:_ID_DIGITS]


def _is_health(row: Row) -> bool:
    return row.aspect is ConditionType.HEALTHY and row.kind is not Kind.NOTE


def _masked(value: Any, hide: Hide) -> Any:
    match value:
        case str():
            return hide(value)
        case Mapping():
            return {name: _masked(one, hide) for name, one in value.items()}
        case Sequence():
            return [_masked(one, hide) for one in value]
        case _:
            return value


def _lasted(fact: Fact, former: Note | None, clock: Clock) -> float:
    told = clock.seconds_since(former.since) if former is not None else 0.0
    return max(told, clock.loop - fact.since if fact.since is not None else 0.0)


def _counts_as(fact: Fact, lasted: float, was: Cause) -> Cause:
    """Cause that a fact counts as: the later one when it has lasted, or was reported as worse before."""
    if fact.later is None:
        return fact.cause
    seconds, cause = fact.later
    return cause if lasted >= seconds or was.rank < fact.cause.rank else fact.cause


def _changes_at(fact: Fact, lasted: float, clock: Clock) -> float | None:
    later = fact.later[0] if fact.later is not None else 0.0
    due = [seconds - lasted for seconds in (fact.row.quiet, later) if seconds > lasted]
    return clock.loop + min(due) if due else None


def _of_installed(row: Row) -> Row:
    """Drift is corrected again and again, whatever is wrong with it."""
    is_drift = row.aspect is ConditionType.INSTALLED and row.status is ConditionStatus.FALSE
    return replace(row, then=Then.BACKOFF) if is_drift and row.then is Then.NEVER else row


def _cause_of(note: Note | None) -> Cause | None:
    """None also for what another release knows, and this one does not."""
    return Cause(note.reason) if note is not None and note.reason in set(Cause) else None


def _told_without_note(fact: Fact, identity: str, before: AnyStatus) -> Note | None:
    """Note of a fact in a status without notes, which an older release wrote."""
    ready = find_condition(before.conditions, ConditionType.READY)
    about = find_condition(before.conditions, fact.row.aspect or ConditionType.READY)
    is_lasting = fact.row.kind in {Kind.FAILURE, Kind.WAIT}
    if before.notes or ready is None or about is None or not is_lasting:
        return None
    cause = _health_told_by(ready.status, ready.reason) if _is_health(fact.row) else fact.cause
    reason = fact.row.reason or fact.row.ready
    if cause is None or about.status != fact.row.status or reason not in {None, about.reason}:
        return None
    return Note(reason=cause.value, since=about.last_transition_time, id=identity)


def _health_told_by(status: str, reason: str) -> Cause | None:
    match status, reason:
        case ConditionStatus.FALSE, Reason.UNHEALTHY:
            return Cause.UNHEALTHY_FAILED
        case ConditionStatus.UNKNOWN, Reason.STILL_UNHEALTHY:
            return Cause.STILL_UNHEALTHY
        case ConditionStatus.UNKNOWN, Reason.UNHEALTHY:
            return Cause.UNHEALTHY
        case _:
            return None
