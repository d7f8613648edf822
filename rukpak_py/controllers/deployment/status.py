"""The status of a BundleDeployment as a pure function of what was found and done.

A condition that a report does not name keeps what it said before: while a new Bundle is unpacked, or cannot be, the old
content is still reported as installed and healthy. An upgrade that is refused sets `Installed` to False with
`UpgradeFailed`, as the original does; `activeBundle` names what runs.

The full text of a failure stands in the aspect that failed; Ready, Reconciling and Stalled have its first line.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.conditions import (
    BUNDLE_DEPLOYMENT_CONDITIONS,
    Conditions,
    Summary,
    complete,
    find_condition,
    first_line,
    set_condition,
    summarise,
    summary_of,
)
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, BundlePhase, ConditionStatus, ConditionType, Reason
from rukpak_py.apply.results import FailureKind
from rukpak_py.controllers.deployment import messages
from rukpak_py.core.errors import RukPakError


@dataclass(frozen=True, kw_only=True, slots=True)
class ConditionValue:
    status: ConditionStatus
    reason: Reason
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What is to be said. `fields` are other fields of the status that change with it.

    `handles_request`: the latest request to reconcile was acted on; else it is still to come.
    """

    summary: Summary
    reason: Reason
    message: str
    valid: ConditionValue | None = None
    installed: ConditionValue | None = None
    healthy: ConditionValue | None = None
    fields: Mapping[str, Any] | None = None
    handles_request: bool = True

    def with_texts(self, change: Callable[[str], str]) -> "Report":
        """The same with each of its messages changed."""
        aspects = (self.valid, self.installed, self.healthy)
        valid, installed, healthy = (
            dataclasses.replace(aspect, message=change(aspect.message)) if aspect is not None else None
            for aspect in aspects
        )
        message = change(self.message)
        return dataclasses.replace(self, message=message, valid=valid, installed=installed, healthy=healthy)


def status_of(deployment: BundleDeployment, report: Report, now: str) -> BundleDeploymentStatus:
    generation, status = deployment.metadata.generation, deployment.status
    conditions = status.conditions
    aspects = (
        (ConditionType.HAS_VALID_BUNDLE, report.valid),
        (ConditionType.INSTALLED, report.installed),
        (ConditionType.HEALTHY, report.healthy),
    )
    for kind, aspect in aspects:
        if aspect is not None:
            conditions = _with(conditions, kind, aspect, generation, now)
    conditions = summarise(
        conditions, report.summary, reason=report.reason, message=report.message, generation=generation, now=now
    )
    asked, handled = deployment.metadata.annotations.get(RECONCILE_AT_ANNOTATION, ""), status.last_handled_reconcile_at
    return replace(
        status,
        conditions=complete(conditions, BUNDLE_DEPLOYMENT_CONDITIONS, generation=generation, now=now),
        observed_generation=generation,
        last_handled_reconcile_at=asked if report.handles_request else handled,
        **(report.fields or {}),
    )


def validity(bundle: Bundle) -> ConditionValue:
    """HasValidBundle: Unknown while the Bundle is on its way, upstream's texts otherwise."""
    name = bundle.metadata.name
    if bundle.status.is_unpacked:
        return ConditionValue(
            status=ConditionStatus.TRUE,
            reason=Reason.UNPACK_SUCCESSFUL,
            message=f"Successfully unpacked the {name} Bundle",
        )
    if bundle.status.phase == BundlePhase.FAILING:
        condition = find_condition(bundle.status.conditions, ConditionType.UNPACKED)
        why = f": {condition.message}" if condition is not None else ""
        return ConditionValue(
            status=ConditionStatus.FALSE,
            reason=Reason.UNPACK_FAILED,
            message=f"Failed to unpack the {name} Bundle{why}",
        )
    return ConditionValue(
        status=ConditionStatus.UNKNOWN,
        reason=Reason.UNPACK_PENDING,
        message=f"Waiting for the {name} Bundle to be unpacked",
    )


def summary_of_bundle(bundle: Bundle, valid: ConditionValue) -> Report:
    """What a deployment whose wanted Bundle is not there says as a whole."""
    if valid.status is ConditionStatus.UNKNOWN:
        unpacked = find_condition(bundle.status.conditions, ConditionType.UNPACKED)
        is_held_up = unpacked is not None and unpacked.reason == Reason.UNPACK_PENDING
        why = f": {first_line(unpacked.message)}" if unpacked is not None and is_held_up else ""
        return Report(summary=Summary.PROGRESSING, reason=valid.reason, message=f"{valid.message}{why}", valid=valid)
    stalled = find_condition(bundle.status.conditions, ConditionType.STALLED) is not None
    summary = Summary.STALLED if stalled else Summary.RETRYING
    return Report(summary=summary, reason=valid.reason, message=valid.message, valid=valid)


def summary_of_failures(failure_kinds: set[FailureKind]) -> Summary:
    """Only content that can never be applied stalls; everything else may be well at the next try."""
    return Summary.STALLED if failure_kinds == {FailureKind.CONTENT} else Summary.RETRYING


def installed(bundle: str, *notes: str) -> ConditionValue:
    """Installed: upstream's text, then a line for everything else worth knowing about the installation."""
    lines = (messages.instantiated(bundle), *filter(None, notes))
    return ConditionValue(status=ConditionStatus.TRUE, reason=Reason.INSTALLATION_SUCCEEDED, message="\n".join(lines))


SUSPENDED = Report(summary=Summary.SUSPENDED, reason=Reason.SUSPENDED, message=messages.SUSPENDED)


def not_corrected(bundle: str, why: str) -> Report:
    """What is installed runs, and cannot be kept as it was."""
    return Report(summary=Summary.RETRYING, reason=Reason.UNAVAILABLE, message=why, installed=installed(bundle, why))


def with_not_corrected(refused: Report, why: str) -> Report:
    """Its successor is refused, and meanwhile nothing of it is corrected."""
    if refused.installed is None:
        return refused
    aspect = dataclasses.replace(refused.installed, message=f"{refused.installed.message}\n{why}")
    return dataclasses.replace(refused, installed=aspect)


def no_bundle(error: RukPakError) -> Report:
    """The Bundle of the template cannot be made or found."""
    summary, reason = summary_of(error)
    valid = ConditionValue(status=ConditionStatus.UNKNOWN, reason=Reason.RECONCILE_FAILED, message=str(error))
    return Report(summary=summary, reason=reason, message=str(error), valid=valid)


def with_installed(about: Report, installed: Report | None) -> Report:
    """What is to be said about the wanted content, together with what there is to say about the installed one."""
    if installed is None:
        return about
    return dataclasses.replace(about, installed=installed.installed, healthy=installed.healthy, fields=installed.fields)


def not_served(deployment: BundleDeployment, classes: Collection[str]) -> Report | None:
    """A class that changed to one of others: said once, and only where this operator had said something before.

    `Ready` is ours alone, so it tells; afterwards the status belongs to whoever serves the class.
    """
    ready = find_condition(deployment.status.conditions, ConditionType.READY)
    if ready is None or ready.reason == Reason.CLASS_NOT_SERVED or deployment.spec.provisioner_class in classes:
        return None
    message = messages.class_not_served(deployment.spec.provisioner_class_name)
    return Report(summary=Summary.NOT_SERVED, reason=Reason.CLASS_NOT_SERVED, message=message)


NOT_INSTALLED_HENCE_NOT_HEALTHY = ConditionValue(
    status=ConditionStatus.FALSE,
    reason=Reason.INSTALLATION_STATUS_FALSE,
    message="Installed condition is false",
)


def _with(conditions: Conditions, kind: ConditionType, aspect: ConditionValue, generation: int, now: str) -> Conditions:
    return set_condition(
        conditions,
        type=kind,
        status=aspect.status,
        reason=aspect.reason,
        message=aspect.message,
        generation=generation,
        now=now,
    )
