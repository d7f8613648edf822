"""The status of a Bundle as a pure function of what happened to it (contract 2.3)."""

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.conditions import (
    BUNDLE_CONDITIONS,
    Conditions,
    Summary,
    complete,
    set_condition,
    summarise,
    summary_of,
)
from rukpak_py.api.names import ConditionStatus, ConditionType, Phase, Reason
from rukpak_py.api.source import Source
from rukpak_py.api.template_hash import spec_digest
from rukpak_py.core.errors import RukPakError


def unpacking(bundle: Bundle, now: str) -> BundleStatus:
    message = f"Unpacking the {bundle.spec.source.type} Bundle"
    conditions = _unpacked(bundle, ConditionStatus.FALSE, Reason.UNPACKING, "", now)
    conditions = _summary(bundle, conditions, Summary.PROGRESSING, Reason.UNPACKING, message, now)
    return _status(bundle, Phase.UNPACKING, conditions)


def unpacked(bundle: Bundle, digest: str, resolved: Source, now: str) -> BundleStatus:
    message = f"Successfully unpacked the {bundle.spec.source.type} Bundle"
    conditions = _unpacked(bundle, ConditionStatus.TRUE, Reason.UNPACK_SUCCESSFUL, message, now)
    conditions = _summary(bundle, conditions, Summary.READY, Reason.UNPACK_SUCCESSFUL, message, now)
    status = _status(bundle, Phase.UNPACKED, conditions)
    spec = bundle.status.spec_digest or spec_digest(bundle.spec)
    return replace(status, digest=digest, resolved_source=resolved, spec_digest=spec)


def failing(bundle: Bundle, message: str, error: RukPakError, now: str) -> BundleStatus:
    """Content that was pinned keeps its digest and its resolved source: it can still be fetched again."""
    summary, reason = summary_of(error)
    conditions = _unpacked(bundle, ConditionStatus.FALSE, Reason.UNPACK_FAILED, message, now)
    conditions = _summary(bundle, conditions, summary, reason, message, now)
    return _status(bundle, Phase.FAILING, conditions)


def content_changed(bundle: Bundle, found: str, now: str) -> BundleStatus:
    message = (
        f"the source now has other content ({found}) than this Bundle was unpacked with ({bundle.status.digest}), "
        "which is lost; nothing moves by itself: make a new Bundle, or bring the old content back"
    )
    conditions = _unpacked(bundle, ConditionStatus.FALSE, Reason.CONTENT_CHANGED, message, now)
    conditions = _summary(bundle, conditions, Summary.RETRYING, Reason.CONTENT_CHANGED, message, now)
    return _status(bundle, Phase.FAILING, conditions)


def spec_changed(bundle: Bundle, now: str) -> BundleStatus:
    """Somebody changed the spec while no webhook stood guard. What was unpacked stays what the Bundle is."""
    message = (
        "bundle.spec was changed although it is immutable; the content that was unpacked before stays. "
        "Put the old spec back, or make a new Bundle"
    )
    conditions = _summary(bundle, bundle.status.conditions, Summary.STALLED, Reason.SPEC_CHANGED, message, now)
    conditions = complete(conditions, BUNDLE_CONDITIONS, generation=bundle.metadata.generation, now=now)
    return replace(bundle.status, conditions=conditions, observed_generation=bundle.metadata.generation)


def _status(bundle: Bundle, phase: Phase, conditions: Conditions) -> BundleStatus:
    return replace(
        bundle.status, phase=phase.value, conditions=conditions, observed_generation=bundle.metadata.generation
    )


def _unpacked(bundle: Bundle, status: ConditionStatus, reason: Reason, message: str, now: str) -> Conditions:
    return set_condition(
        bundle.status.conditions,
        type=ConditionType.UNPACKED,
        status=status,
        reason=reason,
        message=message,
        generation=bundle.metadata.generation,
        now=now,
    )


def _summary(  # noqa: PLR0917 - a condition's parts, in the order of the API
    bundle: Bundle, conditions: Conditions, summary: Summary, reason: Reason, message: str, now: str
) -> Conditions:
    return summarise(
        conditions, summary, reason=reason, message=message, generation=bundle.metadata.generation, now=now
    )
