"""Causes in the words of kubelet and scheduler: which container keeps a pod from running, and where its log is.

`apply.health` makes the sentence; this is the one word of it that a way out depends on.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rukpak_py.apply.health.fields import MalformedStatus, condition, mappings, number, text
from rukpak_py.core.text import excerpt
from rukpak_py.diagnosis.model import FailedContainer

Pod = Mapping[str, Any]
_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})
_WORD_CHARACTERS = 64


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
        not_ready = (text(one, "name") for one in containers if one.get("ready") is not True)
        yield _failed(pod, next(not_ready, ""), ready.reason)


def _failed(pod: Pod, name: str, reason: str, *, has_ended: bool = False) -> FailedContainer:
    return FailedContainer(
        namespace=text(pod, "metadata.namespace"),
        pod=text(pod, "metadata.name"),
        name=name,
        reason=excerpt(reason, _WORD_CHARACTERS),
        has_ended=has_ended,
    )
