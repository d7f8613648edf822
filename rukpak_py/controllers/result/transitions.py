"""Events of a conclusion: one for what begins, fails otherwise, or ends; none for work in progress.

News is what has no note in the status, or what is worse than its note says; texts are compared nowhere. What does not
fit into the notes is not told, because it would be told again at each look.
"""

from collections.abc import Iterator

from rukpak_py.api.bundle import BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.conditions import Conditions, Note, find_condition
from rukpak_py.api.installed import installed_of
from rukpak_py.api.names import ConditionStatus, ConditionType, EventReason, Reason
from rukpak_py.controllers.events import EventNote, EventType, normal
from rukpak_py.controllers.result.cause_table import TABLE, Kind, Row
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.changes import has_same_content, is_other_installation
from rukpak_py.controllers.result.conclusion import AnyStatus
from rukpak_py.controllers.result.conditions import Told, installed_bundle, instantiated
from rukpak_py.controllers.result.reported_facts import HEALTH_ID, JudgedFact


def transitions(told: Told, after: AnyStatus) -> tuple[EventNote, ...]:
    """`after`: the status as it is written, with the notes of what is told."""
    events = [*_arrived(told, after), *_news(told, after), *_ended(told, after)]
    return tuple(dict.fromkeys(events))


def event_of(told: Told, one: JudgedFact) -> EventNote | None:
    reason: str | None = one.row.event
    if one.is_failure and told.key.is_deleted:
        reason = Reason.DELETING
    elif one.is_failure and reason is None:
        reason = told.reason_of(one)
    return EventNote(type=one.row.event_type, reason=reason, message=told.texts.line([one])) if reason else None


def _arrived(told: Told, after: AnyStatus) -> Iterator[EventNote]:
    before = told.before
    if isinstance(before, BundleStatus) and isinstance(after, BundleStatus):
        if after.is_unpacked and not before.is_unpacked:
            unpacked = find_condition(after.conditions, ConditionType.UNPACKED)
            message = unpacked.message.partition("\n")[0] if unpacked is not None else ""
            yield normal(EventReason.UNPACKED, f"{message}, {after.digest}")
    elif isinstance(after, BundleDeploymentStatus) and is_other_installation(before, after):
        yield _installation(before, after)


def _installation(before: AnyStatus, after: BundleDeploymentStatus) -> EventNote:
    """Event of an installation, with what an upgrade has found in the source, where that may change each time."""
    text = f"{instantiated(after.active_bundle)}, {after.digest}"
    if not isinstance(before, BundleDeploymentStatus) or not installed_bundle(before):
        return normal(EventReason.INSTALLED, text)
    if has_same_content(before, after):
        return normal(EventReason.REFRESHED, f"{text}: the content is the same as that of {before.active_bundle}")
    old, new = _pin(before), _pin(after)
    return normal(EventReason.UPGRADED, f"{text}, from {new}; before: {old}" if "" not in {old, new} else text)


def _pin(status: BundleDeploymentStatus) -> str:
    """Pin of the source of the installed content."""
    installed = installed_of(status)
    template = installed.template if installed is not None else None
    return template.spec.source.pin if template is not None else ""


def _news(told: Told, after: AnyStatus) -> Iterator[EventNote]:
    kept = set(after.notes)
    for one in told.facts:
        is_news = (
            one.is_news and one.note in kept and not (one.cause is Cause.KEPT and _keeps_nothing_more(told, after))
        )
        if is_news and (event := event_of(told, one)) is not None:
            yield event


def _keeps_nothing_more(told: Told, after: AnyStatus) -> bool:
    before = told.before
    if not isinstance(before, BundleDeploymentStatus) or not isinstance(after, BundleDeploymentStatus):
        return False
    return bool(before.kept) and set(after.kept) <= set(before.kept)


def _ended(told: Told, after: AnyStatus) -> Iterator[EventNote]:
    """Events for the end of failures that had a Warning, once everything is well again, and for the end of a pause."""
    lasting = {note.id for note in after.notes}
    ended = [note for note in told.before.notes if note.id not in lasting]
    if any(row.kind is Kind.PAUSE for row in map(_row_of, ended) if row is not None):
        yield normal(EventReason.RESUMED, "reconciling again")
        return
    ready = find_condition(after.conditions, ConditionType.READY)
    is_well = ready is not None and ready.status == ConditionStatus.TRUE
    if not is_well or is_other_installation(told.before, after) or _is_unpacked_now(told, after):
        return
    failed = [note for note in ended if _was_warned_of(note)]
    if any(note.id != HEALTH_ID for note in failed):
        yield _says(after.conditions, ConditionType.READY)
    elif failed:
        yield _says(after.conditions, ConditionType.HEALTHY)


def _is_unpacked_now(told: Told, after: AnyStatus) -> bool:
    was = isinstance(told.before, BundleStatus) and told.before.is_unpacked
    return isinstance(after, BundleStatus) and after.is_unpacked and not was


def _was_warned_of(note: Note) -> bool:
    row = _row_of(note)
    if row is None or row.event_type is not EventType.WARNING:
        return False
    return row.kind is Kind.FAILURE or (row.kind is Kind.WAIT and row.event is not None)


def _row_of(note: Note) -> Row | None:
    return TABLE[Cause(note.reason)] if note.reason in set(Cause) else None


def _says(conditions: Conditions, kind: ConditionType) -> EventNote:
    found = find_condition(conditions, kind)
    reason, message = (found.reason, found.message.partition("\n")[0]) if found is not None else ("", "")
    return normal(reason, message)
