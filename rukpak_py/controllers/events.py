"""Events as values: what a transition tells, before it is told."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.controllers.ports import Recorder


class EventType(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"  # a failure, or something bad that lasts; work in progress is neither


@dataclass(frozen=True, kw_only=True, slots=True)
class EventNote:
    type: EventType
    reason: str
    message: str


def normal(reason: str, message: str) -> EventNote:
    return EventNote(type=EventType.NORMAL, reason=reason, message=message)


def warning(reason: str, message: str) -> EventNote:
    return EventNote(type=EventType.WARNING, reason=reason, message=message)


def emit(recorder: Recorder, kind: str, about: ObjectMeta, notes: Iterable[EventNote]) -> None:
    for note in notes:
        record = recorder.warning if note.type is EventType.WARNING else recorder.normal
        record(kind, about.name, about.uid, note.reason, note.message)
