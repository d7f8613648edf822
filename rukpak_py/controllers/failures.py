"""What went wrong, as reports: each names every object concerned and what to do about it."""

from collections.abc import Iterable, Mapping, Sequence

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary, summary_of
from rukpak_py.api.names import ConditionStatus, Reason
from rukpak_py.apply.ownership import belongs_to_deployment
from rukpak_py.apply.plan import Change
from rukpak_py.apply.results import Failure, Trouble
from rukpak_py.controllers.deployment_status import (
    NOT_INSTALLED_HENCE_NOT_HEALTHY,
    Aspect,
    Report,
    summary_of_trouble,
)
from rukpak_py.controllers.resolution import missing_kinds_text
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import Head, ObjectKey
from rukpak_py.kube.resources import Resource

NOT_FOUND = "required resource not found: "


def missing_kinds(deployment: BundleDeployment, missing: Iterable[Head]) -> Report:
    return not_installed(deployment, missing_kinds_text(missing), Summary.RETRYING)


def missing_namespaces(deployment: BundleDeployment, names: Sequence[str]) -> Report:
    absent = ", ".join(f'namespaces "{name}" not found' for name in names)
    message = (
        f"{NOT_FOUND}{absent}; create what is missing, put it into the bundle, "
        "or set spec.installNamespace and spec.createNamespace"
    )
    return not_installed(deployment, message, Summary.RETRYING)


def unkeepable(deployment: BundleDeployment, resources: Iterable[Resource]) -> Report:
    """Kinds that the server answers but does not store: nothing of them can be installed."""
    kinds = ", ".join(sorted(f'"{one.gvk.kind}" in version "{one.gvk.api_version}"' for one in resources))
    message = f"objects of the kind {kinds} cannot be kept in a cluster; take them out of the bundle"
    return not_installed(deployment, message, Summary.STALLED)


def refused(deployment: BundleDeployment, changes: Sequence[Change]) -> Report:
    """Nothing was written: every object that is not ours to take is named."""
    message = "; ".join(change.reason for change in changes)
    return not_installed(deployment, message, Summary.RETRYING, Reason.CONFLICT)


def claimed(deployment: BundleDeployment, owners: Mapping[ObjectKey, str]) -> Report:
    """Free at this moment, and not for us: their owner puts them back."""
    message = "; ".join(belongs_to_deployment(key, owners[key]) for key in sorted(owners))
    return not_installed(deployment, message, Summary.RETRYING, Reason.CONFLICT)


def failed(deployment: BundleDeployment, failures: Sequence[Failure], *, is_drift: bool = False) -> Report:
    text = " && ".join(failure.message for failure in failures)
    troubles = {failure.trouble for failure in failures}
    message = NOT_FOUND + text if troubles == {Trouble.MISSING} else text
    summary = Summary.RETRYING if is_drift else summary_of_trouble(troubles)
    return not_installed(deployment, message, summary, is_drift=is_drift)


def unloadable(error: RukPakError) -> Report:
    """The content cannot be rendered or normalised."""
    summary, reason = summary_of(error)
    valid = Aspect(status=ConditionStatus.FALSE, reason=Reason.BUNDLE_LOAD_FAILED, message=str(error))
    return Report(summary=summary, reason=reason, message=str(error), valid=valid)


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
        installed=Aspect(status=ConditionStatus.FALSE, reason=why, message=message),
        healthy=NOT_INSTALLED_HENCE_NOT_HEALTHY,
    )


def _reason(deployment: BundleDeployment) -> Reason:
    return Reason.UPGRADE_FAILED if deployment.status.active_bundle else Reason.INSTALL_FAILED
