"""Pod and Job. A Pod that ended is healthy, however it ended: its owner decides what that means.

The rule for Jobs is stricter than kstatus, to which a Job that has started is current: former content is pruned when
the new one is healthy, and a Job may fail after hours.
"""

from datetime import datetime, timedelta

from rukpak_py.apply.health.fields import MalformedStatus, Manifest, condition, conditions, mappings, number, text
from rukpak_py.apply.health.result import CURRENT, ENDED, Health, failed, in_progress

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
