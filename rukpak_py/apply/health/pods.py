"""Pod and Job. A Pod that ended is healthy, however it ended: whoever owns it decides what that means."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from rukpak_py.apply.health.fields import Live, OddStatus, condition, conditions, mappings, number, text
from rukpak_py.apply.health.result import CURRENT, Health, failed, in_progress

_TIME_TO_SCHEDULE = timedelta(seconds=15)


def pod(obj: Live, now: datetime) -> Health:
    match phase := text(obj, "status.phase"):
        case "Succeeded" | "Failed":
            return CURRENT
        case "Running":
            return _running(obj)
        case "Pending":
            return _pending(obj, now)
        case "":
            return in_progress("Pod phase not available")
        case _:
            raise OddStatus(f"the Pod is in the unknown phase {phase[:40]!r}")


def _running(obj: Live) -> Health:
    ready = condition(obj, "Ready")
    if ready is not None and ready.is_true:
        return CURRENT
    crashing = list(_crashing_containers(obj))
    if crashing:
        return failed(f"Containers in CrashLoop state: {','.join(crashing)}")
    return in_progress("Pod is running but is not Ready")


def _crashing_containers(obj: Live) -> Iterator[str]:
    for path in ("status.initContainerStatuses", "status.containerStatuses"):
        for container in mappings(obj, path):
            if text(container, "state.waiting.reason") == "CrashLoopBackOff":
                yield text(container, "name")


def _pending(obj: Live, now: datetime) -> Health:
    scheduled = condition(obj, "PodScheduled")
    if scheduled is None or not scheduled.is_false or scheduled.reason != "Unschedulable":
        return in_progress("Pod is in the Pending phase")
    if now - _created(obj, now) < _TIME_TO_SCHEDULE:
        return in_progress("Pod has not been scheduled")
    return failed("Pod could not be scheduled")


def _created(obj: Live, now: datetime) -> datetime:
    stamp = text(obj, "metadata.creationTimestamp")
    if not stamp:
        return now
    try:
        created = datetime.fromisoformat(stamp)
    except ValueError as error:
        raise OddStatus("metadata.creationTimestamp is not a time") from error
    if created.tzinfo is None:
        raise OddStatus("metadata.creationTimestamp has no time zone")
    return created


def job(obj: Live) -> Health:
    for found in conditions(obj):
        if found.type == "Complete" and found.is_true:
            return CURRENT
        if found.type == "Failed" and found.is_true:
            wanted = number(obj, "spec.completions", number(obj, "spec.parallelism", 1))
            return failed(f"Job Failed. failed: {number(obj, 'status.failed', 0)}/{wanted}")
    return CURRENT if text(obj, "status.startTime") else in_progress("Job not started")
