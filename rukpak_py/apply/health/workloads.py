"""Deployment, StatefulSet, DaemonSet, ReplicaSet: counts against what the spec asks for, then revisions, conditions."""

from rukpak_py.apply.health.fields import Manifest, condition, conditions, number, optional_number, text
from rukpak_py.apply.health.result import CURRENT, Health, failed, in_progress

_NO_DEADLINE = 2**31 - 1


def deployment(obj: Manifest) -> Health:
    found = conditions(obj)
    if any(c.type == "Progressing" and c.reason == "ProgressDeadlineExceeded" for c in found):
        return failed("Progress deadline exceeded")
    wanted = number(obj, "spec.replicas", 1)
    replicas = number(obj, "status.replicas", 0)
    updated = number(obj, "status.updatedReplicas", 0)
    counts = (
        _fewer("Replicas", replicas, wanted)
        or _fewer("Updated", updated, wanted)
        or _surplus(replicas, wanted)
        or _fewer("Available", number(obj, "status.availableReplicas", 0), updated)
        or _fewer("Ready", number(obj, "status.readyReplicas", 0), wanted)
    )
    if counts is not None:
        return counts
    has_deadline = optional_number(obj, "spec.progressDeadlineSeconds") not in {None, _NO_DEADLINE}
    is_complete = any(c.type == "Progressing" and c.is_true and c.reason == "NewReplicaSetAvailable" for c in found)
    if has_deadline and not is_complete:
        return in_progress("ReplicaSet not Available")
    if not any(c.type == "Available" and c.is_true for c in found):
        return in_progress("Deployment not Available")
    return CURRENT


def stateful_set(obj: Manifest) -> Health:
    if text(obj, "spec.updateStrategy.type") == "OnDelete":
        return CURRENT
    wanted = number(obj, "spec.replicas", 1)
    replicas = number(obj, "status.replicas", 0)
    return (
        _fewer("Replicas", replicas, wanted)
        or _fewer("Ready", number(obj, "status.readyReplicas", 0), wanted)
        or _surplus(replicas, wanted)
        or _stateful_set_revision(obj, wanted)
    )


def _stateful_set_revision(obj: Manifest, wanted: int) -> Health:
    partition = optional_number(obj, "spec.updateStrategy.rollingUpdate.partition")
    if partition is not None:
        return _fewer("updated", number(obj, "status.updatedReplicas", 0), wanted - partition) or CURRENT
    if text(obj, "status.currentRevision") != text(obj, "status.updateRevision"):
        waiting = in_progress("Waiting for updated revision to match current")
    else:
        waiting = CURRENT
    return _fewer("current", number(obj, "status.currentReplicas", 0), wanted) or waiting


def daemon_set(obj: Manifest) -> Health:
    for path in ("metadata.generation", "status.observedGeneration"):
        if optional_number(obj, path) is None:
            return in_progress(f"DaemonSet {path} not found")
    wanted = optional_number(obj, "status.desiredNumberScheduled")
    if wanted is None:
        return in_progress("Missing .status.desiredNumberScheduled")
    return (
        _fewer("Current", number(obj, "status.currentNumberScheduled", 0), wanted)
        or _fewer("Updated", number(obj, "status.updatedNumberScheduled", 0), wanted)
        or _fewer("Available", number(obj, "status.numberAvailable", 0), wanted)
        or _fewer("Ready", number(obj, "status.numberReady", 0), wanted)
        or CURRENT
    )


def replica_set(obj: Manifest) -> Health:
    failure = condition(obj, "ReplicaFailure")
    if failure is not None and failure.is_true:
        return in_progress("Replica Failure condition. Check Pods")
    wanted = number(obj, "spec.replicas", 1)
    return (
        _fewer("Labelled", number(obj, "status.fullyLabeledReplicas", 0), wanted)
        or _fewer("Available", number(obj, "status.availableReplicas", 0), wanted)
        or _fewer("Ready", number(obj, "status.readyReplicas", 0), wanted)
        or _surplus(number(obj, "status.replicas", 0), wanted)
        or CURRENT
    )


def _fewer(word: str, found: int, wanted: int) -> Health | None:
    return in_progress(f"{word}: {found}/{wanted}") if found < wanted else None


def _surplus(found: int, wanted: int) -> Health | None:
    return in_progress(f"Pending termination: {found - wanted}") if found > wanted else None
