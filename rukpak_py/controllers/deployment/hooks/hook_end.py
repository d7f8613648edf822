"""End of a hook, as helm sees it: a Job with the condition Complete or Failed, a Pod with its phase, and every other
object when it is there; or when its time is over, which counts from its creation. A status that cannot be read is no
end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rukpak_py.api.conditions import cut
from rukpak_py.api.hook_status import HookInStatus, HookRecord, HookResult, RunningHook
from rukpak_py.apply.health.fields import MalformedStatus, condition, mappings, optional_number, text
from rukpak_py.core.objects import GroupKind

JOB = GroupKind("batch", "Job")
POD = GroupKind("", "Pod")
ACTIVE_GRACE_SECONDS = 30.0  # for its controller to say that a Job has been active for too long
MESSAGE_CHARACTERS = 1000  # of a record


@dataclass(frozen=True, kw_only=True, slots=True)
class HookVerdict:
    succeeded: bool
    why: str = ""


SUCCEEDED = HookVerdict(succeeded=True)


def has_verdict(kind: GroupKind) -> bool:
    return kind in {JOB, POD}


def verdict(kind: GroupKind, manifest: Mapping[str, Any]) -> HookVerdict | None:
    """None: it has not ended."""
    try:
        if kind == JOB:
            return _of_job(manifest)
        return _of_pod(manifest) if kind == POD else SUCCEEDED
    except MalformedStatus:
        return None


def time_limit(kind: GroupKind, manifest: Mapping[str, Any], seconds: float) -> float:
    """A Job that may be active for longer has that time."""
    try:
        active = optional_number(manifest, "spec.activeDeadlineSeconds") if kind == JOB else None
    except MalformedStatus:
        active = None
    return max(seconds, active + ACTIVE_GRACE_SECONDS) if active is not None and active > seconds else seconds


def _of_job(job: Mapping[str, Any]) -> HookVerdict | None:
    for kind in ("Complete", "Failed"):
        found = condition(job, kind)
        if found is not None and found.is_true:
            return HookVerdict(succeeded=kind == "Complete", why=_joined(found.reason, found.message))
    return None


def _of_pod(pod: Mapping[str, Any]) -> HookVerdict | None:
    match text(pod, "status.phase"):
        case "Succeeded":
            return SUCCEEDED
        case "Failed":
            why = _joined(text(pod, "status.reason"), text(pod, "status.message")) or _exit_codes(pod)
            return HookVerdict(succeeded=False, why=why)
        case _:
            return None


def _exit_codes(pod: Mapping[str, Any]) -> str:
    found = [
        f"container {text(one, 'name')} ended with exit code {code}"
        for path in ("status.initContainerStatuses", "status.containerStatuses")
        for one in mappings(pod, path)
        if (code := optional_number(one, "state.terminated.exitCode"))
    ]
    return ", ".join(found)


def _joined(*parts: str) -> str:
    return ": ".join(filter(None, parts))


def seconds_since(then: str | None, now: str) -> float:
    """The time between two clocks; 0 where it cannot be told."""
    try:
        return max(0.0, (datetime.fromisoformat(now) - datetime.fromisoformat(then or now)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def ended_hook(hook: RunningHook, end: HookVerdict, *, started_at: str, now: str) -> HookRecord:
    """The record of its end, as it stands in the status."""
    fields: dict[str, Any] = {name: getattr(hook, name) for name in HookInStatus.__struct_fields__}
    return HookRecord(
        **fields,
        result=HookResult.SUCCEEDED if end.succeeded else HookResult.FAILED,
        message="" if end.succeeded else cut(end.why, MESSAGE_CHARACTERS),
        started_at=started_at or now,
        finished_at=now,
    )
