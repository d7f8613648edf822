"""What went wrong, as reports: each names every object concerned and what to do about it."""

from collections.abc import Sequence
from dataclasses import replace

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary, summary_of
from rukpak_py.api.names import ConditionStatus, Reason
from rukpak_py.apply.preflight.dry_run import NOT_FOUND
from rukpak_py.apply.preflight.refusal import Refusal
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.controllers.deployment.status import (
    NOT_INSTALLED_HENCE_NOT_HEALTHY,
    ConditionValue,
    Report,
    summary_of_failures,
)
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.findings import advised
from rukpak_py.core.wording import joined


def refused(deployment: BundleDeployment, refusal: Refusal) -> Report:
    """A gate did not let the content pass: nothing was written."""
    reason = Reason.CONFLICT if refusal.failure_kinds == {FailureKind.CONFLICT} else None
    summary = summary_of_failures(set(refusal.failure_kinds))
    report = not_installed(deployment, refusal.message, summary, reason)
    return replace(report, message=refusal.brief or refusal.message)


def failed(deployment: BundleDeployment, failures: Sequence[Failure], *, is_drift: bool = False) -> Report:
    text = joined(failure.message for failure in failures)
    failure_kinds = {failure.kind for failure in failures}
    message = NOT_FOUND + text if failure_kinds == {FailureKind.MISSING} else text
    summary = Summary.RETRYING if is_drift else summary_of_failures(failure_kinds)
    return not_installed(deployment, message, summary, is_drift=is_drift)


def held_back(deployment: BundleDeployment, message: str) -> Report:
    """Everything else is applied; some kinds cannot be worked with at the moment."""
    return not_installed(deployment, message, Summary.RETRYING, Reason.UNAVAILABLE)


def unloadable(error: RukPakError) -> Report:
    """The content cannot be rendered or normalised."""
    summary, reason = summary_of(error)
    message = advised(error)
    valid = ConditionValue(status=ConditionStatus.FALSE, reason=Reason.BUNDLE_LOAD_FAILED, message=message)
    return Report(summary=summary, reason=reason, message=message, valid=valid)


def not_installed(
    deployment: BundleDeployment,
    message: str,
    summary: Summary,
    reason: Reason | None = None,
    *,
    is_drift: bool = False,
) -> Report:
    why = Reason.RECONCILE_FAILED if is_drift else _reason(deployment)
    return Report(
        summary=summary,
        reason=reason or why,
        message=message,
        installed=ConditionValue(status=ConditionStatus.FALSE, reason=why, message=message),
        healthy=NOT_INSTALLED_HENCE_NOT_HEALTHY,
    )


def _reason(deployment: BundleDeployment) -> Reason:
    return Reason.UPGRADE_FAILED if deployment.status.active_bundle else Reason.INSTALL_FAILED
