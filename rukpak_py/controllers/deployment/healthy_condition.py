"""Healthy, and what it means for Ready: in progress, in progress for too long, failed, or healthy.

An ordinary roll-out is in progress: Ready is Unknown, and nobody is warned. After two minutes it is `StillUnhealthy`,
which emits one Warning; a failure emits one immediately. How long it lasts is read from the status, so a restart of
the operator neither warns again nor starts the two minutes again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.conditions import Summary, find_condition
from rukpak_py.api.installed import installed_of
from rukpak_py.api.names import ConditionStatus, ConditionType, Reason
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.status import ConditionValue

LASTING_SECONDS = 120.0  # unhealthy for so long is worth a warning


@dataclass(frozen=True, kw_only=True, slots=True)
class UnhealthyObject:
    line: str  # upstream's text about it
    has_failed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class HealthVerdict:
    """`look_again`: seconds after which the same observation means something else."""

    summary: Summary
    reason: Reason
    message: str
    healthy: ConditionValue
    look_again: float | None = None


HEALTHY = ConditionValue(status=ConditionStatus.TRUE, reason=Reason.HEALTHY, message=messages.HEALTHY)


def judge_health(
    before: BundleDeploymentStatus,
    *,
    bundle: str,
    unhealthy: Sequence[UnhealthyObject],
    total: int,
    now: str,
    notes: Sequence[str] = (),
) -> HealthVerdict:
    """`before`: the status as it stands; `total`: objects of the content; `notes`: lines to say beside them."""
    if not unhealthy:
        return HealthVerdict(
            summary=Summary.READY, reason=Reason.SUCCEEDED, message=messages.instantiated(bundle), healthy=HEALTHY
        )
    failed = [one for one in unhealthy if one.has_failed]
    text = messages.unhealthy_text([one.line for one in unhealthy], total, (failed or unhealthy)[0].line)
    text = "\n".join([text, *filter(None, notes)])
    healthy = ConditionValue(status=ConditionStatus.FALSE, reason=Reason.UNHEALTHY, message=text)
    if failed:
        return HealthVerdict(summary=Summary.RETRYING, reason=Reason.UNHEALTHY, message=text, healthy=healthy)
    left = LASTING_SECONDS - _seconds_unhealthy(before, bundle, now)
    if left <= 0 or _is_told(before, bundle):
        return HealthVerdict(summary=Summary.PROGRESSING, reason=Reason.STILL_UNHEALTHY, message=text, healthy=healthy)
    return HealthVerdict(
        summary=Summary.PROGRESSING, reason=Reason.UNHEALTHY, message=text, healthy=healthy, look_again=left
    )


def _seconds_unhealthy(before: BundleDeploymentStatus, bundle: str, now: str) -> float:
    """With this content. `lastTransitionTime` also counts the time before it was installed, when it was not either."""
    installed, healthy = installed_of(before), find_condition(before.conditions, ConditionType.HEALTHY)
    if installed is None or installed.bundle != bundle or healthy is None or healthy.reason != Reason.UNHEALTHY:
        return 0.0
    times = [healthy.last_transition_time, *([installed.entry.time] if installed.entry is not None else [])]
    return (_time(now) - max(map(_time, times))).total_seconds()


def _is_told(before: BundleDeploymentStatus, bundle: str) -> bool:
    """A failure that is in progress again was told already."""
    ready = find_condition(before.conditions, ConditionType.READY)
    if before.active_bundle != bundle or ready is None:
        return False
    return ready.reason == Reason.STILL_UNHEALTHY or (
        ready.reason == Reason.UNHEALTHY and ready.status == ConditionStatus.FALSE
    )


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # the API takes leap seconds, and zones of 24 hours
        return datetime.max.replace(tzinfo=UTC)
