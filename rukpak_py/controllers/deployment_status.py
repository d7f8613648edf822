"""The status of a BundleDeployment as a pure function of what was found and done (contract 6.11).

An `Aspect` is one condition; an aspect that a report does not name keeps what it said before: while a new Bundle is
unpacked, or cannot be, the old content is still told as installed and healthy. An upgrade that is refused tells
`Installed` False with `UpgradeFailed`, as the original does; `activeBundle` names what runs.
"""

from collections.abc import Mapping
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
    set_condition,
    summarise,
)
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, ConditionStatus, ConditionType, Phase, Reason
from rukpak_py.apply.results import Trouble


@dataclass(frozen=True, kw_only=True, slots=True)
class Aspect:
    status: ConditionStatus
    reason: Reason
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What is to be said. `fields` are other fields of the status that change with it."""

    summary: Summary
    reason: Reason
    message: str
    valid: Aspect | None = None
    installed: Aspect | None = None
    healthy: Aspect | None = None
    fields: Mapping[str, Any] | None = None


def status_of(deployment: BundleDeployment, report: Report, now: str) -> BundleDeploymentStatus:
    generation = deployment.metadata.generation
    conditions = deployment.status.conditions
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
    return replace(
        deployment.status,
        conditions=complete(conditions, BUNDLE_DEPLOYMENT_CONDITIONS, generation=generation, now=now),
        observed_generation=generation,
        last_handled_reconcile_at=deployment.metadata.annotations.get(RECONCILE_AT_ANNOTATION, ""),
        **(report.fields or {}),
    )


def validity(bundle: Bundle) -> Aspect:
    """HasValidBundle: Unknown while the Bundle is on its way, upstream's texts otherwise."""
    name = bundle.metadata.name
    if bundle.status.is_unpacked:
        return Aspect(
            status=ConditionStatus.TRUE,
            reason=Reason.UNPACK_SUCCESSFUL,
            message=f"Successfully unpacked the {name} Bundle",
        )
    if bundle.status.phase == Phase.FAILING:
        condition = find_condition(bundle.status.conditions, ConditionType.UNPACKED)
        why = f": {condition.message}" if condition is not None else ""
        return Aspect(
            status=ConditionStatus.FALSE,
            reason=Reason.UNPACK_FAILED,
            message=f"Failed to unpack the {name} Bundle{why}",
        )
    return Aspect(
        status=ConditionStatus.UNKNOWN,
        reason=Reason.UNPACK_PENDING,
        message=f"Waiting for the {name} Bundle to be unpacked",
    )


def summary_of_bundle(bundle: Bundle, valid: Aspect) -> Report:
    """What a deployment whose wanted Bundle is not there says as a whole."""
    if valid.status is ConditionStatus.UNKNOWN:
        return Report(summary=Summary.PROGRESSING, reason=valid.reason, message=valid.message, valid=valid)
    stalled = find_condition(bundle.status.conditions, ConditionType.STALLED) is not None
    summary = Summary.STALLED if stalled else Summary.RETRYING
    return Report(summary=summary, reason=valid.reason, message=valid.message, valid=valid)


def summary_of_trouble(troubles: set[Trouble]) -> Summary:
    """Only content that can never be applied stalls; everything else may be well at the next try."""
    return Summary.STALLED if troubles == {Trouble.CONTENT} else Summary.RETRYING


NOT_INSTALLED_HENCE_NOT_HEALTHY = Aspect(
    status=ConditionStatus.FALSE,
    reason=Reason.INSTALLATION_STATUS_FALSE,
    message="Installed condition is false",
)


def _with(conditions: Conditions, kind: ConditionType, aspect: Aspect, generation: int, now: str) -> Conditions:
    return set_condition(
        conditions,
        type=kind,
        status=aspect.status,
        reason=aspect.reason,
        message=aspect.message,
        generation=generation,
        now=now,
    )
