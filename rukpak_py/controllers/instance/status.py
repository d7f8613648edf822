"""The status of a BundleInstance as a pure function of what its BundleDeployment says."""

from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance, BundleInstanceStatus
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, ConditionStatus, ConditionType, EventReason
from rukpak_py.controllers.events import EventNote, normal


def copied(instance: BundleInstance, deployment: BundleDeployment) -> BundleInstanceStatus | None:
    """What the BundleDeployment says of the spec that both have. None: it has not said anything of it yet."""
    status, generation = deployment.status, instance.metadata.generation
    is_current = status.observed_generation == deployment.metadata.generation
    if not is_current or not status.conditions or deployment.spec != instance.spec:
        return None
    return BundleInstanceStatus(
        conditions=tuple(replace(one, observed_generation=generation) for one in status.conditions),
        active_bundle=status.active_bundle,
        installed_bundle_name=status.active_bundle,
        version=status.version,
        observed_generation=generation,
        last_handled_reconcile_at=_handled(instance, status.last_handled_reconcile_at),
    )


def awaits_verdict(_before: BundleInstanceStatus, after: BundleInstanceStatus) -> str:
    """Work in progress is written only when it lasts, so an install that goes well is one write."""
    ready = find_condition(after.conditions, ConditionType.READY)
    return "a verdict" if ready is not None and ready.status == ConditionStatus.UNKNOWN else ""


def reverted_event(instance: BundleInstance) -> EventNote:
    name = instance.metadata.name
    text = f'reverted the spec of BundleDeployment "{name}" to that of the BundleInstance; change the latter instead'
    return normal(EventReason.DRIFT_CORRECTED, text)


def _handled(instance: BundleInstance, handled: str) -> str:
    """What was asked of the instance: the BundleDeployment may have been asked directly."""
    asked = instance.metadata.annotations.get(RECONCILE_AT_ANNOTATION, "")
    return handled if handled == asked else instance.status.last_handled_reconcile_at
