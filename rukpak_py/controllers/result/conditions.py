"""The conditions that follow from what is told, for each of our kinds.

* An aspect that nothing is known about stays as it was, and so do the notes about it.
* Ready has the reason of the first fact that is told, by rank: failures before waits, on either side.
* Stalled stands beside Ready if, and only if, all failures of the side that has Ready never come back by themselves.
* A wait of the wanted content ends no refusal of the same spec: it stands until the attempt has come to its end.
* A deletion leaves the aspects as they are: Ready alone speaks of it. Those of a BundleInstance are copies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rukpak_py.api.bundle import BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.bundle_instance import BundleInstanceStatus
from rukpak_py.api.conditions import (
    BUNDLE_CONDITIONS,
    BUNDLE_DEPLOYMENT_CONDITIONS,
    NOTES_AT_MOST,
    Conditions,
    Notes,
    Summary,
    complete,
    find_condition,
    set_condition,
    summarise,
)
from rukpak_py.api.installed import installed_of
from rukpak_py.api.names import ConditionStatus, ConditionType, Reason
from rukpak_py.controllers.queue import Schedule
from rukpak_py.controllers.result.cause_table import TABLE, Kind, Then
from rukpak_py.controllers.result.causes import UNPACK_FAILURES, Cause
from rukpak_py.controllers.result.conclusion import AnyStatus, Clock, KeyFacts
from rukpak_py.controllers.result.progress import Reached, StatusChange
from rukpak_py.controllers.result.reported_facts import JudgedFact, Side
from rukpak_py.controllers.result.texts import Texts, with_next_attempt

_SUMMARIES = {
    ConditionStatus.UNKNOWN: Summary.NOT_SERVED,
    None: Summary.SUSPENDED,
}
_OF_UNPACKING = UNPACK_FAILURES | {Cause.BUNDLE_UNPACKING, Cause.REFETCHING}


class ConditionValue(NamedTuple):
    status: ConditionStatus
    reason: Reason
    message: str


_NO_UPGRADE = ConditionValue(ConditionStatus.FALSE, Reason.NO_UPGRADE, "No upgrade waits")


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """Everything that conditions follow from. `facts`: those that are told, by rank, of the wanted content first.

    `after`: the status with what the stages have changed of it; its conditions are still the former ones.
    """

    before: AnyStatus
    after: AnyStatus
    facts: Sequence[JudgedFact]
    change: StatusChange
    reached: Mapping[Side, Reached]
    texts: Texts
    schedule: Schedule
    key: KeyFacts
    clock: Clock

    @property
    def chief(self) -> JudgedFact | None:
        """The fact that has Ready."""
        return next((one for one in self.facts if one.row.kind is not Kind.NOTE), None)

    @property
    def is_applied(self) -> bool:
        return max(self.reached.values()) >= Reached.APPLIED

    def about(self, aspect: ConditionType) -> list[JudgedFact]:
        """The facts that the condition is about: of one side, because they share its reason."""
        found = [one for one in self.facts if one.row.aspect is aspect and not one.row.is_line]
        return [one for one in found if one.side is found[0].side]

    def lines(self, aspect: ConditionType) -> list[JudgedFact]:
        return [one for one in self.facts if one.row.aspect is aspect and one.row.is_line]

    def reason_of(self, one: JudgedFact) -> Reason:
        """Reason of the condition that the fact is about; the reason of Ready where it is about none."""
        if one.row.reason is not None:
            return one.row.reason
        if one.row.aspect is None and one.row.ready is not None:
            return one.row.ready
        if one.side is Side.INSTALLED:
            return Reason.RECONCILE_FAILED
        return Reason.UPGRADE_FAILED if installed_bundle(self.before) else Reason.INSTALL_FAILED


def installed_bundle(status: AnyStatus) -> str:
    found = installed_of(status) if isinstance(status, BundleDeploymentStatus) else None
    return found.bundle if found is not None else ""


def conditions_of(told: Told) -> Conditions:
    conditions = told.before.conditions
    for kind, value in decided_aspects(told).items():
        conditions = set_condition(
            conditions,
            type=kind,
            status=value.status,
            reason=value.reason,
            message=value.message,
            generation=told.key.generation,
            now=told.clock.timestamp(),
        )
    summary, reason, message = _ready(told, conditions)
    now, generation = told.clock.timestamp(), told.key.generation
    conditions = summarise(conditions, summary, reason=reason, message=message, generation=generation, now=now)
    kinds = BUNDLE_CONDITIONS if isinstance(told.before, BundleStatus) else BUNDLE_DEPLOYMENT_CONDITIONS
    return complete(conditions, kinds, generation=generation, now=now)


def decided_aspects(told: Told) -> dict[ConditionType, ConditionValue]:
    if told.key.is_deleted or isinstance(told.before, BundleInstanceStatus):
        return {}
    if isinstance(told.before, BundleStatus):
        found = {ConditionType.UNPACKED: _aspect(told, ConditionType.UNPACKED, _unpacked(told))}
    else:
        found = {
            ConditionType.HAS_VALID_BUNDLE: _aspect(told, ConditionType.HAS_VALID_BUNDLE, _valid(told)),
            ConditionType.INSTALLED: _aspect(told, ConditionType.INSTALLED, _installed(told)),
        }
        found[ConditionType.UPGRADE_PENDING] = _aspect(told, ConditionType.UPGRADE_PENDING, _no_upgrade(told))
        well = _healthy(told, found[ConditionType.INSTALLED])
        found[ConditionType.HEALTHY] = _aspect(told, ConditionType.HEALTHY, well)
    return {kind: value for kind, value in found.items() if value is not None}


def notes_of(told: Told) -> Notes:
    """Notes of the facts, and of those that unchanged aspects still report. The worst ones where room ends."""
    decided = decided_aspects(told).keys()
    notes = {one.note.id: one.note for one in told.facts}
    for note in told.before.notes:
        row = TABLE[Cause(note.reason)] if note.reason in set(Cause) else None
        if row is not None and row.aspect is not None and row.aspect not in decided:
            notes.setdefault(note.id, note)
    return tuple(notes.values())[:NOTES_AT_MOST]


def _aspect(told: Told, kind: ConditionType, well: ConditionValue | None) -> ConditionValue | None:
    """`well`: what it says where no fact is about it. None: it stays as it was."""
    about, lines = told.about(kind), told.lines(kind)
    value = well
    if about:
        status = about[0].row.status or ConditionStatus.UNKNOWN
        value = ConditionValue(status, told.reason_of(about[0]), told.texts.whole(about))
    if value is None:
        return None
    message = "\n".join([value.message, *(told.texts.whole([one]) for one in lines)])
    return value._replace(message=message)


def _unpacked(told: Told) -> ConditionValue | None:
    content = told.change.content
    if not content:
        return None
    message = f"Successfully unpacked the {content.source.type} Bundle"
    return ConditionValue(ConditionStatus.TRUE, Reason.UNPACK_SUCCESSFUL, message)


def _valid(told: Told) -> ConditionValue | None:
    if not told.change.valid:
        return None
    message = f"Successfully unpacked the {told.change.valid} Bundle"
    return ConditionValue(ConditionStatus.TRUE, Reason.UNPACK_SUCCESSFUL, message)


def _installed(told: Told) -> ConditionValue | None:
    bundle = installed_bundle(told.after)
    is_known = told.is_applied and not _refusal_stands(told)
    if not bundle or not (is_known or told.lines(ConditionType.INSTALLED)):
        return None
    return ConditionValue(ConditionStatus.TRUE, Reason.INSTALLATION_SUCCEEDED, _instantiated(told, bundle))


def _no_upgrade(told: Told) -> ConditionValue | None:
    """None while an upgrade is on record and something else is told of it: it may go on to wait."""
    waits = isinstance(told.after, BundleDeploymentStatus) and told.after.pending_upgrade is not None
    return None if waits else _NO_UPGRADE


def _instantiated(told: Told, bundle: str) -> str:
    """Text of Installed. It carries the generation of the spec, and must say where it is about other content."""
    if not isinstance(told.after, BundleDeploymentStatus) or not _is_other_wanted(told, bundle):
        return instantiated(bundle)
    found = installed_of(told.after)
    of = found.entry.generation if found is not None and found.entry is not None else 0
    return told.texts.hide(instantiated_before(bundle, _described(told.after), of, told.key.generation))


def _is_other_wanted(told: Told, bundle: str) -> bool:
    """And not installed yet. The Bundle that brought what is installed may have to be fetched once more."""
    waits = [
        one
        for one in told.facts
        if one.side is Side.WANTED and one.row.kind in {Kind.WAIT, Kind.FAILURE, Kind.HOLD} and not one.row.is_line
    ]
    is_same_bundle = told.key.bundle == bundle
    return told.reached[Side.WANTED] < Reached.APPLIED and any(
        not is_same_bundle or one.cause not in _OF_UNPACKING for one in waits
    )


def _described(status: BundleDeploymentStatus) -> str:
    """The name of a ClusterServiceVersion has its version already."""
    content = status.content
    if content is None:
        return status.version
    return content.name if content.package else f"{content.name} {content.version}".strip()


def _refusal_stands(told: Told) -> bool:
    former = find_condition(told.before.conditions, ConditionType.INSTALLED)
    is_same_spec = told.before.observed_generation == told.key.generation
    is_waiting = any(one.side is Side.WANTED and one.row.kind is Kind.WAIT for one in told.facts)
    is_refusal = former is not None and former.status == ConditionStatus.FALSE
    is_drift = former is not None and former.reason == Reason.RECONCILE_FAILED
    return is_refusal and not is_drift and is_same_spec and is_waiting


def _healthy(told: Told, installed: ConditionValue | None) -> ConditionValue | None:
    if told.is_applied:
        return ConditionValue(ConditionStatus.TRUE, Reason.HEALTHY, "BundleDeployment is healthy")
    former = find_condition(told.before.conditions, ConditionType.INSTALLED)
    status = installed.status if installed is not None else former.status if former is not None else ""
    if not installed_bundle(told.after) and status == ConditionStatus.FALSE:
        return ConditionValue(ConditionStatus.FALSE, Reason.INSTALLATION_STATUS_FALSE, "Installed condition is false")
    return None


def _ready(told: Told, conditions: Conditions) -> tuple[Summary, Reason, str]:
    chief = told.chief
    if chief is None:
        return _all_is_well(told, conditions)
    beside = [one for one in told.facts if (one.side, one.row.kind) == (chief.side, chief.row.kind)]
    about = [one for one in beside if one.row.aspect is chief.row.aspect]
    reason = chief.row.ready or told.reason_of(chief)
    if told.key.is_deleted:
        reason = Reason.DELETING
    message = told.texts.of_ready(about)
    if chief.is_failure:
        message = with_next_attempt(message, told.schedule, told.clock)
    if chief.row.kind is Kind.HOLD and not installed_bundle(told.after):
        return Summary.PROGRESSING, reason, message  # a lost status: nothing is known of what is there
    return _summary(chief, beside), reason, message


def _summary(chief: JudgedFact, beside: Sequence[JudgedFact]) -> Summary:
    match chief.row.kind:
        case Kind.PAUSE:
            return _SUMMARIES[chief.row.status]
        case Kind.FAILURE if all(one.row.then is Then.NEVER for one in beside):
            return Summary.STALLED
        case Kind.FAILURE:
            return Summary.RETRYING
        case Kind.HOLD:
            return Summary.READY
        case _:
            return Summary.PROGRESSING


def _all_is_well(told: Told, conditions: Conditions) -> tuple[Summary, Reason, str]:
    if not isinstance(told.after, BundleStatus):
        return Summary.READY, Reason.SUCCEEDED, instantiated(installed_bundle(told.after))
    unpacked = find_condition(conditions, ConditionType.UNPACKED)
    return Summary.READY, Reason.UNPACK_SUCCESSFUL, unpacked.message if unpacked is not None else ""


def instantiated(bundle: str) -> str:
    return f"Instantiated bundle {bundle} successfully"


def instantiated_before(bundle: str, what: str, installed: int, wanted: int) -> str:
    """Message while other content is wanted. `what`: name and version of the installed content, where it says them.

    `installed`: the generation that asked for it; 0: unknown. Another one may ask for the same content, and the same
    for other content: a branch has moved, or values in a Secret were changed.
    """
    of = f"of generation {installed}" if installed else ""
    is_what = " ".join(part for part in (what, of) if part)
    missing = "what the same generation asks for now" if installed == wanted else f"what generation {wanted} asks for"
    return f"{instantiated(bundle)}{': ' if is_what else ''}{is_what}; {missing} is not installed yet"
