"""Events as values, and the recorder that tells them: as Events of the cluster, and in the log in the same words."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, EventReason, Reason
from rukpak_py.core.logs import about, log_event
from rukpak_py.core.metrics import UPGRADES
from rukpak_py.kube.events import EventRecorder, EventSubject
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES
from rukpak_py.sources.source import FetchRequest

_ROOMS = {BUNDLES.gvk: "bundle", BUNDLE_DEPLOYMENTS.gvk: "deployment", BUNDLE_INSTANCES.gvk: "instance"}

OUTCOMES: Mapping[str, str] = {
    EventReason.INSTALLED: "installed",
    EventReason.UPGRADED: "upgraded",
    Reason.INSTALL_FAILED: "failed",
    Reason.UPGRADE_FAILED: "failed",
    Reason.ROLLED_BACK: "rolled_back",
}  # of Events about BundleDeployments, in the metric of upgrades


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


class Recorder:
    """Tells Events about our own objects. It never fails and never waits."""

    def __init__(self, recorder: EventRecorder, *, hide: Callable[[str, str], str] = lambda _uid, text: text) -> None:
        """`hide`: takes the secret values of the object with this uid out of a text."""
        self._recorder = recorder
        self._hide = hide

    def about(self, obj: Bundle | BundleDeployment | BundleInstance | FetchRequest) -> "ObjectEvents":
        """The Events of this object; those of a fetch are about its Bundle."""
        match obj:
            case FetchRequest(bundle=name, uid=uid):
                return ObjectEvents(self, EventSubject(gvk=BUNDLES.gvk, name=name, uid=uid))
            case Bundle(metadata=metadata):
                gvk = BUNDLES.gvk
            case BundleDeployment(metadata=metadata):
                gvk = BUNDLE_DEPLOYMENTS.gvk
            case BundleInstance(metadata=metadata):
                gvk = BUNDLE_INSTANCES.gvk
        return ObjectEvents(self, EventSubject(gvk=gvk, name=metadata.name, uid=metadata.uid))

    def record(self, subject: EventSubject, note: EventNote) -> None:
        if subject.gvk == BUNDLE_DEPLOYMENTS.gvk and note.reason in OUTCOMES:
            UPGRADES.labels(OUTCOMES[note.reason]).inc()
        message = self._hide(subject.uid, note.message)
        with about(subject.gvk.kind, subject.name):
            logger = logging.getLogger(f"rukpak_py.controllers.{_ROOMS[subject.gvk]}")
            log_event(logger, _level(subject, note), note.reason, message)
        self._recorder.record(subject, type=note.type, reason=note.reason, message=message)


@dataclass(frozen=True, slots=True)
class ObjectEvents:
    recorder: Recorder
    subject: EventSubject

    def emit(self, notes: Iterable[EventNote]) -> None:
        for note in notes:
            self.recorder.record(self.subject, note)


def _level(subject: EventSubject, note: EventNote) -> int:
    """A deployment repeats of its Bundle why that could not be unpacked: that line is in the log already."""
    if note.type is EventType.NORMAL:
        return logging.INFO
    is_repeated = (subject.gvk.kind, note.reason) == (BUNDLE_DEPLOYMENT_KIND, Reason.UNPACK_FAILED)
    return logging.DEBUG if is_repeated else logging.WARNING
