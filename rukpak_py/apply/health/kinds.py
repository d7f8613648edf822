"""The rules of single kinds.

Deployment, StatefulSet, DaemonSet, ReplicaSet: counts against what the spec asks for, then revisions, conditions.

A Pod that ended is healthy, however it ended: its owner decides what that means. The rule for Jobs is stricter than
kstatus, to which a Job that has started is current: former content is pruned when the new one is healthy, and a Job may
fail after hours.

Healthy are a Service of type LoadBalancer that has its cluster IP, a PersistentVolumeClaim that is bound, and a
CustomResourceDefinition that is established. An APIService is judged by its condition Available alone, before every
other rule; upstream prints the message bare.
"""

from datetime import datetime, timedelta

from rukpak_py.apply.health.fields import (
    MalformedStatus,
    Manifest,
    condition,
    conditions,
    mappings,
    number,
    optional_number,
    text,
)
from rukpak_py.apply.health.result import CURRENT, ENDED, Health, failed, in_progress

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


_TIME_TO_SCHEDULE = timedelta(seconds=15)


def pod(obj: Manifest, now: datetime) -> Health:
    match phase := text(obj, "status.phase"):
        case "Succeeded":
            return ENDED
        case "Failed":
            return CURRENT
        case "Running":
            return _running(obj)
        case "Pending":
            return _pending(obj, now)
        case "":
            return in_progress("Pod phase not available")
        case _:
            raise MalformedStatus(f"the Pod is in the unknown phase {phase[:40]!r}")


def _running(obj: Manifest) -> Health:
    ready = condition(obj, "Ready")
    if ready is not None and ready.is_true:
        return CURRENT
    crashing = [
        text(container, "name")
        for path in ("status.initContainerStatuses", "status.containerStatuses")
        for container in mappings(obj, path)
        if text(container, "state.waiting.reason") == "CrashLoopBackOff"
    ]
    if crashing:
        return failed(f"Containers in CrashLoop state: {','.join(crashing)}")
    return in_progress("Pod is running but is not Ready")


def _pending(obj: Manifest, now: datetime) -> Health:
    scheduled = condition(obj, "PodScheduled")
    if scheduled is None or not scheduled.is_false or scheduled.reason != "Unschedulable":
        return in_progress("Pod is in the Pending phase")
    if now - _created(obj, now) < _TIME_TO_SCHEDULE:
        return in_progress("Pod has not been scheduled")
    return failed("Pod could not be scheduled")


def _created(obj: Manifest, now: datetime) -> datetime:
    stamp = text(obj, "metadata.creationTimestamp")
    if not stamp:
        return now
    try:
        created = datetime.fromisoformat(stamp)
    except ValueError as error:
        raise MalformedStatus("metadata.creationTimestamp is not a time") from error
    if created.tzinfo is None:
        raise MalformedStatus("metadata.creationTimestamp has no time zone")
    return created


def job(obj: Manifest) -> Health:
    """Healthy when it is complete. A Job that runs may still fail, and one that is suspended has done nothing."""
    found = {one.type: one for one in conditions(obj) if one.is_true}
    wanted = number(obj, "spec.completions", number(obj, "spec.parallelism", 1))
    if "Complete" in found:
        is_deleted_by_server = number(obj, "spec.ttlSecondsAfterFinished", -1) >= 0
        return ENDED if is_deleted_by_server else CURRENT
    if "Failed" in found:
        return failed(f"Job Failed. failed: {number(obj, 'status.failed', 0)}/{wanted}")
    if "Suspended" in found:
        return in_progress("Job is suspended")
    if "FailureTarget" in found:
        return in_progress(f"Job is failing. {found['FailureTarget'].message}".rstrip())
    if not text(obj, "status.startTime"):
        return in_progress("Job not started")
    return in_progress(f"Job in progress. succeeded: {number(obj, 'status.succeeded', 0)}/{wanted}")


def service(obj: Manifest) -> Health:
    kind = text(obj, "spec.type")
    if kind == "LoadBalancer" and not text(obj, "spec.clusterIP"):
        return in_progress(f"ClusterIP not set. Service type: {kind}")
    return CURRENT


def persistent_volume_claim(obj: Manifest) -> Health:
    phase = text(obj, "status.phase", "unknown")
    return CURRENT if phase == "Bound" else in_progress(f"PVC is not Bound. phase: {phase}")


def custom_resource_definition(obj: Manifest) -> Health:
    names = condition(obj, "NamesAccepted")
    if names is not None and names.is_false:
        return failed(names.message)
    established = condition(obj, "Established")
    if established is None:
        return in_progress("Install in progress")
    if established.is_false and established.reason != "Installing":
        return failed(established.message)
    return CURRENT if established.is_true else in_progress("Install in progress")


def api_service(obj: Manifest) -> Health:
    available = condition(obj, "Available")
    if available is None:
        return in_progress("Available condition not found")
    return in_progress(available.message) if available.is_false else CURRENT  # Unknown counts as healthy
