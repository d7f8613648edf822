"""An unpack pod as the API server shows it: which situation that is, and what its words mean for the Bundle.

Also what is remembered of pods that failed: when the next may come, and which has to be root.
"""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from time import monotonic
from typing import Final

import msgspec

from rukpak_py.api.names import BUNDLE_KIND, UNPACK_POD_ANNOTATION
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.pull_failures import PULLING, cause_of_pull
from rukpak_py.sources.image.pod_manifest import CONTAINER, USER

_FIRST_PAUSE: Final = 5.0  # seconds, doubled with each failure
_LONGEST_PAUSE: Final = 60.0
_FORGOTTEN_AFTER: Final = 1800.0  # seconds without another failure


@dataclass(frozen=True, kw_only=True)
class _Failure:
    count: int
    until: float
    message: str


class PodFailures:
    """Failures of unpack pods, by the uid of the Bundle."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, _Failure] = {}
        self._root: dict[str, float] = {}

    def failed(self, uid: str, message: str) -> UnavailableError:
        """The error for it, with the pause."""
        now = self._clock()
        self._forget_old(now)
        count = self._failures[uid].count + 1 if uid in self._failures else 1
        pause = min(_FIRST_PAUSE * 2.0 ** min(count - 1, 16), _LONGEST_PAUSE)
        self._failures[uid] = _Failure(count=count, until=now + pause, message=message)
        return UnavailableError(message, retry_after=pause)

    def check(self, uid: str) -> None:
        """UnavailableError while it is too early for another pod; it says what the last one said."""
        failure = self._failures.get(uid)
        if failure is not None and (left := failure.until - self._clock()) > 0:
            raise UnavailableError(failure.message, retry_after=left)

    def wants_root(self, uid: str) -> None:
        self._root[uid] = self._clock()

    def needs_root(self, uid: str) -> bool:
        return uid in self._root

    def forget(self, uid: str) -> None:
        """Forget the failures of a Bundle: all is well."""
        self._failures.pop(uid, None)
        self._root.pop(uid, None)

    def _forget_old(self, now: float) -> None:
        for uid in [uid for uid, one in self._failures.items() if now - one.until > _FORGOTTEN_AFTER]:
            del self._failures[uid]
        for uid in [uid for uid, since in self._root.items() if now - since > _FORGOTTEN_AFTER]:
            del self._root[uid]


_CANNOT: Final = "the node cannot pull the image"
_NORMAL: Final = frozenset({"", "PodInitializing", "ContainerCreating"})


class PodSituation(Enum):
    ABSENT = auto()
    FOREIGN = auto()  # a pod of another owner has the name
    OUTDATED = auto()  # ours, but for another image, or of other settings
    LEAVING = auto()  # it is being deleted
    PENDING = auto()
    RUNNING = auto()  # and can be asked
    SUCCEEDED = auto()
    FAILED = auto()


class _Waiting(msgspec.Struct):
    reason: str = ""
    message: str = ""


class _Terminated(msgspec.Struct, rename="camel"):
    exit_code: int = 0
    reason: str = ""
    message: str = ""


class _ContainerState(msgspec.Struct):
    waiting: _Waiting | None = None
    running: dict[str, object] | None = None
    terminated: _Terminated | None = None


class _Container(msgspec.Struct, rename="camel"):
    name: str = ""
    image_id: str = msgspec.field(default="", name="imageID")
    state: _ContainerState | None = None


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _Status(msgspec.Struct, rename="camel"):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: list[_Condition] | None = None
    init_container_statuses: list[_Container] | None = None
    container_statuses: list[_Container] | None = None


class _Owner(msgspec.Struct):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


_NO_OWNER: Final = _Owner()


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None


class _SecurityContext(msgspec.Struct, rename="camel"):
    run_as_user: int | None = None


class _Spec(msgspec.Struct, rename="camel"):
    security_context: _SecurityContext | None = None


class Pod(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def owner(self) -> _Owner:
        """Its controller."""
        return next((one for one in self.metadata.owner_references or () if one.controller), _NO_OWNER)

    @property
    def is_root(self) -> bool:
        context = self.spec.security_context
        return context is not None and context.run_as_user not in {None, USER}

    @property
    def image_id(self) -> str:
        """The id of the bundle image, as the container runtime names it."""
        return next((one.image_id for one in self.status.container_statuses or () if one.name == CONTAINER), "")

    @property
    def is_running(self) -> bool:
        """Its container can be asked; the phase alone says little."""
        return self.main is not None and self.main.running is not None

    @property
    def main(self) -> _ContainerState | None:
        """The state of the bundle image's container."""
        return next((one.state for one in self.status.container_statuses or () if one.name == CONTAINER), None)

    def containers(self) -> Iterator[_Container]:
        yield from self.status.init_container_statuses or ()
        yield from self.status.container_statuses or ()


def read_pod(json: bytes) -> Pod:
    try:
        return msgspec.json.decode(json, type=Pod)
    except msgspec.MsgspecError as error:
        raise UnavailableError(f"the unpack pod cannot be read: {error}") from error


def situation(pod: Pod | None, bundle_uid: str, digests: AbstractSet[str]) -> PodSituation:
    """`digests`: what the annotation of the wanted pod may say."""
    if pod is None:
        return PodSituation.ABSENT
    if pod.metadata.deletion_timestamp:
        return PodSituation.LEAVING
    if pod.owner.uid != bundle_uid:  # of a former Bundle of this name: the collector would delete it, too
        is_former = pod.owner.kind == BUNDLE_KIND and pod.owner.name == pod.metadata.name
        return PodSituation.OUTDATED if is_former else PodSituation.FOREIGN
    if (pod.metadata.annotations or {}).get(UNPACK_POD_ANNOTATION) not in digests:
        return PodSituation.OUTDATED
    match pod.status.phase:
        case "Succeeded":
            return PodSituation.SUCCEEDED
        case "Failed":
            return PodSituation.FAILED
        case "Running" if pod.is_running:
            return PodSituation.RUNNING
        case _:
            return PodSituation.PENDING


def waiting_message(pod: Pod) -> str:
    """The reason that the pod waits, in the words of the kubelet or the scheduler; empty while it makes progress."""
    return _told(pod, _said)


def waiting_brief(pod: Pod) -> str:
    """The same for one line, without the references that stand before the cause of a pull that fails."""
    return _told(pod, _said_briefly)


def _told(pod: Pod, said: Callable[[str, _Waiting], str]) -> str:
    states = [(one.name, one.state.waiting) for one in pod.containers() if one.state is not None]
    told = [(name, waiting) for name, waiting in states if waiting is not None and waiting.reason not in _NORMAL]
    if told:
        return "; ".join(dict.fromkeys(said(name, waiting) for name, waiting in told))
    conditions = pod.status.conditions or ()
    unscheduled = next((one for one in conditions if one.type == "PodScheduled" and one.status == "False"), None)
    if unscheduled is not None:
        return f"the unpack pod is not scheduled: {unscheduled.message or unscheduled.reason}"
    return ""


def is_pulling(pod: Pod) -> bool:
    """Whether it waits for the image of the bundle, which cannot be pulled. Its tool has another one."""
    bundles = (one.state for one in pod.status.container_statuses or () if one.state is not None)
    return any(one.waiting is not None and one.waiting.reason in PULLING for one in bundles)


def failure_message(pod: Pod) -> str:
    """The reason that it failed: evicted, too late, its node gone, or the container that ended and must not."""
    said = [part for part in (pod.status.reason, pod.status.message) if part]
    for one in pod.containers():
        ended = one.state.terminated if one.state is not None else None
        if ended is not None and (ended.exit_code != 0 or ended.reason == "Error"):
            parts = [f"container {one.name} ended with exit code {ended.exit_code}", ended.reason, ended.message]
            said.append(" ".join(": ".join(part for part in parts if part).split()))
    return f"unpack failed: {': '.join(said) or 'the kubelet does not say why'}"


def _said(_container: str, waiting: _Waiting) -> str:
    if waiting.reason in PULLING and waiting.message:
        return waiting.message
    return ": ".join(part for part in (waiting.reason, waiting.message) if part)


def _said_briefly(container: str, waiting: _Waiting) -> str:
    """The image of the tool is another one, so its reference stays."""
    is_bundle = container == CONTAINER and waiting.reason in PULLING
    if not is_bundle:
        return _said(container, waiting)
    cause = cause_of_pull(waiting.message)
    return f"{_CANNOT}: {cause}" if cause else _CANNOT
