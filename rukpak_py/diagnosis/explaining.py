"""The answer to "why is it not ready?": the first failing thing, in one sentence.

Decided by what the status records as causes (`status.notes`), never by its texts: the worst cause names a stage, and
the stage names who knows more: the Bundle of the template, an unhealthy object, or a condition of the deployment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from rukpak_py.api.conditions import Note, find_condition, first_line
from rukpak_py.api.names import ConditionType
from rukpak_py.controllers.result.cause_table import TABLE, Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.model import BundleView, DeploymentView, Explanation, ObjectView, State
from rukpak_py.diagnosis.ways_out import NOT_SEEN, WAYS_OUT, way_out

EVENTS = 5  # of the failing object
_TOLD = {Kind.PAUSE, Kind.FAILURE, Kind.WAIT, Kind.HOLD}
_UNPACKING = {
    Cause.UNPACK_CLASS,
    Cause.UNPACK_CONTENT,
    Cause.UNPACK_DENIED,
    Cause.UNPACK_CONFLICT,
    Cause.UNPACK_UNAVAILABLE,
    Cause.UNPACK_FAILED,
    Cause.UNPACK_CHANGED,
    Cause.UNPACK_LOST,
    Cause.BUNDLE_UNPACKING,
}
_UNHEALTHY = {Cause.UNHEALTHY_FAILED, Cause.STILL_UNHEALTHY, Cause.UNHEALTHY}


class _Stage(Enum):
    NOT_SEEN = auto()
    BUNDLE = auto()  # it cannot be unpacked, and knows why
    HEALTH = auto()  # an object does not work
    CONDITION = auto()  # a condition of the deployment says it
    NOTHING = auto()  # nothing is wrong


def explain(view: DeploymentView) -> Explanation:
    causes = _causes(view.deployment.status.notes)
    first = causes[0] if causes else None
    worst = next(view.unhealthy(), None)
    match _stage(view, first, worst):
        case _Stage.NOT_SEEN:
            found = _explanation(view, view.key, NOT_SEEN, "no operator has looked at it yet")
        case _Stage.BUNDLE if view.wanted is not None:
            found = _of_bundle(view, view.wanted, first)
        case _Stage.HEALTH if worst is not None:
            found = _of_object(view, worst)
        case _Stage.NOTHING:
            found = _explanation(view, view.key, "", "nothing is wrong with it")
        case _:
            found = _of_condition(view, first)
    others = (_line_of(view, one) for one in causes[1:] if one.cause not in _UNHEALTHY)
    return replace(found, others=tuple(dict.fromkeys(line for line in others if line not in found.sentence)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    cause: Cause
    about: ObjectKey | None


def _causes(notes: Sequence[Note]) -> list[_Told]:
    """Those that the conditions are about, the worst first."""
    known = [note for note in notes if note.reason in set(Cause)]
    told = [_Told(cause=Cause(note.reason), about=ObjectKey.parse(note.object)) for note in known]
    return sorted((one for one in told if TABLE[one.cause].kind in _TOLD), key=lambda one: one.cause.rank)


def _stage(view: DeploymentView, first: _Told | None, worst: ObjectView | None) -> _Stage:
    match view.summary.verdict.state:
        case State.UNKNOWN:
            return _Stage.NOT_SEEN
        case State.DELETING:
            return _Stage.CONDITION
    if first is None:
        if worst is not None:
            return _Stage.HEALTH
        return _Stage.NOTHING if view.summary.verdict.state is State.READY else _Stage.CONDITION
    if first.cause in _UNPACKING:
        return _Stage.BUNDLE
    return _Stage.HEALTH if first.cause in _UNHEALTHY else _Stage.CONDITION


def _of_bundle(view: DeploymentView, wanted: BundleView, first: _Told | None) -> Explanation:
    causes = _causes(wanted.bundle.status.notes) or ([first] if first is not None else [])
    told = find_condition(wanted.bundle.status.conditions, ConditionType.UNPACKED)
    sentence = first_line(told.message) if told is not None else ""
    cause = causes[0].cause if causes else ""
    return _explanation(view, wanted.key, cause, sentence or wanted.verdict.message, reason=wanted.verdict.reason)


def _of_object(view: DeploymentView, worst: ObjectView) -> Explanation:
    cause = worst.reason if worst.reason in WAYS_OUT else Cause.UNHEALTHY
    found = _explanation(view, worst.key, cause, worst.message or worst.state)
    pods = {worst.key, *(one.key for one in worst.children)}
    events = tuple(one for one in view.events if one.about in pods)
    return replace(found, container=worst.container, events=events[:EVENTS])


def _of_condition(view: DeploymentView, first: _Told | None) -> Explanation:
    about = first.about if first is not None and first.about is not None else view.key
    cause = first.cause if first is not None else ""
    return _explanation(view, about, cause, _line_of(view, first))


def _line_of(view: DeploymentView, told: _Told | None) -> str:
    """First line of the condition that has the whole message."""
    aspect = (TABLE[told.cause].aspect if told is not None else None) or ConditionType.READY
    found = find_condition(view.deployment.status.conditions, aspect)
    return (first_line(found.message) if found is not None else "") or view.summary.verdict.message


def _explanation(view: DeploymentView, about: ObjectKey, cause: str, said: str, *, reason: str = "") -> Explanation:
    reason = reason or view.summary.verdict.reason
    name = view.summary.name
    return Explanation(
        state=view.summary.verdict.state,
        sentence=said if str(about) in said else f"{about}: {said or reason}",
        cause=cause,
        reason=reason,
        about=about,
        to_do=way_out(cause, name=name, about=about),
        anchor=reason.lower(),
        events=tuple(one for one in view.events if one.about == about)[:EVENTS],
    )
