"""The answer to "why is it not ready?": the first failing thing, in one sentence.

Decided by what the status records as causes (`status.notes`), never by its texts: the worst cause names a stage, and
the stage names who knows more: the Bundle of the template, an unhealthy object, or a condition of the deployment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import islice

from rukpak_py.api.bundle import BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.conditions import Note, find_condition, first_line, is_cut
from rukpak_py.api.names import ConditionType, Reason
from rukpak_py.controllers.events import EventType
from rukpak_py.controllers.result.cause_table import TABLE, Kind
from rukpak_py.controllers.result.causes import UNPACK_FAILURES, Cause
from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.model import BundleView, DeploymentView, Explanation, ObjectView, State
from rukpak_py.diagnosis.ways_out import FOREIGN_CLASS, NOT_SEEN, NOT_SEEN_YET, WAYS_OUT, way_out
from rukpak_py.diagnosis.workloads import CLAIM_PENDING, NO_STORAGE_CLASS, NO_VOLUME
from rukpak_py.formats.by_class import CLASSES
from rukpak_py.kube.resources import PODS

EVENTS = 5  # of the failing object
OTHERS = 10  # further objects that are not healthy
_TOLD = {Kind.PAUSE, Kind.FAILURE, Kind.WAIT, Kind.HOLD}
_UNPACKING = UNPACK_FAILURES | {Cause.UNPACK_CLASS, Cause.BUNDLE_UNPACKING}
_UNHEALTHY = {Cause.UNHEALTHY_FAILED, Cause.STILL_UNHEALTHY, Cause.UNHEALTHY}


class _Stage(Enum):
    NOT_SEEN = auto()
    FOREIGN = auto()  # the same, and its class is none of ours
    OUTDATED = auto()  # the status is that of a former spec
    BUNDLE = auto()  # it cannot be unpacked, and knows why
    HEALTH = auto()  # an object does not work
    CONDITION = auto()  # a condition of the deployment says it
    NOTHING = auto()  # nothing is wrong


def explain(view: DeploymentView) -> Explanation:
    status = view.deployment.status
    causes = _causes(status.notes)
    first = causes[0] if causes else None
    worst = next(view.unhealthy(), None)
    match _stage(view, first, worst):
        case _Stage.NOT_SEEN:
            found = _explanation(view, view.key, NOT_SEEN, "no operator has looked at it yet")
        case _Stage.FOREIGN:
            said = f'no operator has looked at it yet, and its class "{view.summary.class_name}" is none of rukpak-py'
            found = _explanation(view, view.key, FOREIGN_CLASS, said, reason=Reason.CLASS_NOT_SERVED)
        case _Stage.OUTDATED:
            generation = view.deployment.metadata.generation
            said = f"the operator has not looked at its generation {generation} yet"
            found = _explanation(view, view.key, NOT_SEEN_YET, said, reason=Reason.PROGRESSING)
        case _Stage.BUNDLE if view.wanted is not None:
            found = _of_bundle(view, view.wanted, first)
        case _Stage.HEALTH if worst is not None:
            found = _of_object(view, worst)
        case _Stage.BUNDLE:
            found = _explanation(view, view.key, first.cause if first is not None else "", _line_of(status, None))
        case _Stage.NOTHING:
            return _explanation(view, view.key, "", "nothing is wrong")
        case _:
            about = first.about if first is not None and first.about is not None else view.key
            found = _explanation(view, about, first.cause if first is not None else "", _first_line_of(status, first))
    others = [_line_of(status, one) for one in causes[1:] if one.cause not in _UNHEALTHY]
    others += [_object_line(one) for one in islice(view.unhealthy(), OTHERS) if one.key != found.about]
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
    deployment, state = view.deployment, view.summary.verdict.state
    match state:
        case State.UNKNOWN:
            is_ours = deployment.spec.provisioner_class in CLASSES
            return _Stage.NOT_SEEN if is_ours else _Stage.FOREIGN
        case State.DELETING | State.SUSPENDED:
            return _Stage.CONDITION
    if deployment.status.observed_generation < deployment.metadata.generation:
        return _Stage.OUTDATED
    if first is None:
        if worst is not None:
            return _Stage.HEALTH
        return _Stage.NOTHING if state is State.READY else _Stage.CONDITION
    if first.cause in _UNPACKING:
        return _Stage.BUNDLE
    return _Stage.HEALTH if first.cause in _UNHEALTHY else _Stage.CONDITION


def _of_bundle(view: DeploymentView, wanted: BundleView, first: _Told | None) -> Explanation:
    """The Bundle knows more than its deployment: the cause of its failure, and the object that is missing."""
    status = wanted.bundle.status
    causes = _causes(status.notes) or ([first] if first is not None else [])
    told = causes[0] if causes else None
    about = told.about if told is not None and told.about is not None else wanted.key
    return _explanation(view, about, told.cause if told is not None else "", _line_of(status, told))


def _of_object(view: DeploymentView, worst: ObjectView) -> Explanation:
    claim = next((one for one in worst.claims if _is_stuck(view, one)), None)
    if claim is not None:
        said = f"{worst.key} waits for {claim.key}: {first_line(claim.message) or claim.state}"
        return _explanation(view, claim.key, claim.reason, said)
    cause = worst.reason if worst.reason in WAYS_OUT else Cause.UNHEALTHY
    failed = worst.container
    pod = PODS.key(failed.namespace, failed.pod) if failed is not None else None
    found = _explanation(view, worst.key, cause, first_line(worst.message) or worst.state, pod=pod)
    pods = {worst.key, *(one.key for one in worst.children)}
    events = tuple(one for one in view.events if one.about in pods)
    return replace(found, container=worst.container, events=events[:EVENTS])


def _is_stuck(view: DeploymentView, claim: ObjectView) -> bool:
    """Whether the pod waits for the claim. A claim of a class may wait for the pod; a Warning says that it does not."""
    is_warned = any(one.about == claim.key and one.type == EventType.WARNING for one in view.events)
    return claim.reason in {NO_STORAGE_CLASS, NO_VOLUME} or (claim.reason == CLAIM_PENDING and is_warned)


def _object_line(one: ObjectView) -> str:
    return f"{one.key}: {first_line(one.message) or one.state}"


def _first_line_of(status: BundleDeploymentStatus, first: _Told | None) -> str:
    """Ready speaks of the first cause, and names its object where upstream's text of a condition does not.

    It is cut where it is long; and while an upgrade waits it speaks of the installed content.
    """
    ready = _line_of(status, None)
    is_whole = bool(ready) and not is_cut(ready) and (first is None or TABLE[first.cause].kind is not Kind.HOLD)
    return ready if is_whole else _line_of(status, first)


def _line_of(status: BundleDeploymentStatus | BundleStatus, told: _Told | None) -> str:
    """First line of the condition that has the whole message; of Ready where that is about something else."""
    row = TABLE[told.cause] if told is not None else None
    aspect = row.aspect if row is not None and row.aspect is not None and not row.is_line else ConditionType.READY
    for kind in (aspect, ConditionType.READY):
        found = find_condition(status.conditions, kind)
        if found is not None and found.message:
            return first_line(found.message)
    return ""


def _explanation(
    view: DeploymentView, about: ObjectKey, cause: str, said: str, *, reason: str = "", pod: ObjectKey | None = None
) -> Explanation:
    reason = reason or view.summary.verdict.reason
    return Explanation(
        state=view.summary.verdict.state,
        sentence=(said or reason) if about == view.key or str(about) in said else f"{about}: {said or reason}",
        cause=cause,
        reason=reason,
        about=about,
        to_do=way_out(cause, name=view.summary.name, about=about, pod=pod),
        anchor=reason.lower(),
        events=tuple(one for one in view.events if one.about == about)[:EVENTS],
    )
