"""Causes in one word each, as kubelet, scheduler and controllers give them: a way out depends on that word.

`apply.health` makes the sentence. Here is which container keeps a pod from running, and where its log is. A claim has
no such word: ours say whether it names a class of storage.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rukpak_py.apply.health.fields import MalformedStatus, condition, mappings, number, text, value_at
from rukpak_py.apply.health.result import Health
from rukpak_py.core.text import excerpt
from rukpak_py.diagnosis.model import FailedContainer

Pod = Mapping[str, Any]
CREATING, INITIALIZING = "ContainerCreating", "PodInitializing"
_STARTING = frozenset({"", CREATING, INITIALIZING})
_WORD_CHARACTERS = 64
NO_STORAGE_CLASS, NO_VOLUME, CLAIM_PENDING = "NoStorageClass", "NoVolume", "ClaimPending"


def reason_of(manifest: Mapping[str, Any], health: Health, container: FailedContainer | None) -> str:
    """The word for what is wrong with an object; empty: there is none."""
    if container is not None:
        return container.reason
    try:
        if manifest.get("kind") == "PersistentVolumeClaim" and text(manifest, "status.phase") == "Pending":
            match value_at(manifest, "spec.storageClassName"):
                case None:
                    return NO_STORAGE_CLASS
                case "":
                    return NO_VOLUME
                case _:
                    return CLAIM_PENDING
    except MalformedStatus:
        return ""
    word = health.cause.partition(":")[0].partition(",")[0]
    is_word = word.isascii() and word.isalpha() and word[0].isupper() and len(word) <= _WORD_CHARACTERS
    return word if is_word else ""


def claims_of(pod: Pod) -> list[str]:
    """Names of the claims of a pod that has no node; empty: it has one, or needs no claim."""
    try:
        scheduled = condition(pod, "PodScheduled")
        if scheduled is None or not scheduled.is_false:
            return []
        names = (text(volume, "persistentVolumeClaim.claimName") for volume in mappings(pod, "spec.volumes"))
        return [name for name in names if name]
    except MalformedStatus:
        return []


def failed_container(pod: Pod) -> FailedContainer | None:
    """None: nothing is known to be wrong with it."""
    try:
        return next(_failures(pod), None)
    except MalformedStatus:
        return None


def _failures(pod: Pod) -> Iterator[FailedContainer]:
    containers = [*mappings(pod, "status.initContainerStatuses"), *mappings(pod, "status.containerStatuses")]
    for one in containers:
        if (reason := text(one, "state.waiting.reason")) not in _STARTING:
            ended = number(one, "lastState.terminated.exitCode", 0) != 0
            told = text(one, "lastState.terminated.reason") if reason == "CrashLoopBackOff" else ""
            yield _failed(pod, text(one, "name"), told if told == "OOMKilled" else reason, has_ended=ended)
    for one in containers:
        if number(one, "state.terminated.exitCode", 0) != 0:
            yield _failed(pod, text(one, "name"), text(one, "state.terminated.reason", "Error"))
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.is_false:
        yield _failed(pod, "", scheduled.reason)
    if reason := text(pod, "status.reason"):
        yield _failed(pod, "", reason)
    ready = condition(pod, "Ready")
    if ready is not None and ready.is_false and ready.reason:
        yield from _starting(pod, containers)
        not_ready = (text(one, "name") for one in containers if one.get("ready") is not True)
        yield _failed(pod, next(not_ready, ""), ready.reason)


def _starting(pod: Pod, containers: Sequence[Mapping[str, Any]]) -> Iterator[FailedContainer]:
    """Containers that have not begun say nothing of a probe: the Events of the pod tell what they wait for."""
    for one in containers:
        if text(one, "state.waiting.reason") == CREATING:
            yield _failed(pod, text(one, "name"), CREATING)
    if any(text(one, "state.waiting.reason") == INITIALIZING for one in containers):
        running = (text(one, "name") for one in containers if isinstance(value_at(one, "state.running"), dict))
        yield _failed(pod, next(running, ""), INITIALIZING)


def _failed(pod: Pod, name: str, reason: str, *, has_ended: bool = False) -> FailedContainer:
    return FailedContainer(
        namespace=text(pod, "metadata.namespace"),
        pod=text(pod, "metadata.name"),
        name=name,
        reason=excerpt(reason, _WORD_CHARACTERS),
        has_ended=has_ended,
    )
