"""The status of a Bundle as a pure function of what happened to it, and the Events that a change of it tells."""

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.conditions import (
    BUNDLE_CONDITIONS,
    Conditions,
    Summary,
    complete,
    find_condition,
    first_line,
    set_condition,
    summarise,
    summary_of,
)
from rukpak_py.api.names import BundlePhase, ConditionStatus, ConditionType, EventReason, Reason
from rukpak_py.api.source import Source
from rukpak_py.api.template_hash import spec_digest
from rukpak_py.controllers.events import EventNote, normal, warning
from rukpak_py.core.errors import RukPakError


def unpacking(bundle: Bundle, now: str) -> BundleStatus:
    message = f"Unpacking the {bundle.spec.source.type} Bundle"
    conditions = _unpacked(bundle, ConditionStatus.FALSE, Reason.UNPACKING, "", now)
    conditions = _summary(bundle, conditions, Summary.PROGRESSING, Reason.UNPACKING, message, now)
    return _status(bundle, BundlePhase.UNPACKING, conditions)


def pending(bundle: Bundle, message: str, now: str) -> BundleStatus:
    """Somebody else is at work: a node that pulls an image. The message is theirs."""
    conditions = _unpacked(bundle, ConditionStatus.FALSE, Reason.UNPACK_PENDING, message, now)
    summary = message or f"Waiting for the content of the {bundle.spec.source.type} Bundle"
    conditions = _summary(bundle, conditions, Summary.PROGRESSING, Reason.UNPACK_PENDING, summary, now)
    return _status(bundle, BundlePhase.PENDING, conditions)


def unpacked(
    bundle: Bundle, digest: str, resolved: Source, now: str, *, url: str = "", unpacked_by: str = ""
) -> BundleStatus:
    """`url`: where the content can be downloaded. `unpacked_by`: the digest of the spec; empty: as the status says."""
    message = f"Successfully unpacked the {bundle.spec.source.type} Bundle"
    conditions = _unpacked(bundle, ConditionStatus.TRUE, Reason.UNPACK_SUCCESSFUL, message, now)
    conditions = _summary(bundle, conditions, Summary.READY, Reason.UNPACK_SUCCESSFUL, message, now)
    status = _status(bundle, BundlePhase.UNPACKED, conditions)
    spec = unpacked_by or bundle.status.spec_digest or spec_digest(bundle.spec)
    return replace(status, digest=digest, resolved_source=resolved, content_url=url, spec_digest=spec)


def failing(bundle: Bundle, message: str, error: RukPakError, now: str) -> BundleStatus:
    """Content that was pinned keeps its digest and its resolved source: it can still be fetched again."""
    summary, reason = summary_of(error)
    conditions = _unpacked(bundle, ConditionStatus.FALSE, Reason.UNPACK_FAILED, message, now)
    conditions = _summary(bundle, conditions, summary, reason, message, now)
    return _status(bundle, BundlePhase.FAILING, conditions)


def content_changed(bundle: Bundle, pinned: str, found: str, now: str) -> BundleStatus:
    message = (
        "the unpacked content is lost, and the source has other content now: restore the old content in the source, "
        "or create a new Bundle "
        f"(found {found}, unpacked {pinned})"
    )
    conditions = _unpacked(bundle, ConditionStatus.FALSE, Reason.CONTENT_CHANGED, message, now)
    conditions = _summary(bundle, conditions, Summary.RETRYING, Reason.CONTENT_CHANGED, message, now)
    return _status(bundle, BundlePhase.FAILING, conditions)


def digest_changed(bundle: Bundle, recorded: str, now: str) -> BundleStatus:
    """Another client wrote the status. It stays as they wrote it, and is not believed."""
    message = (
        "status.digest was changed, and is not the digest of the content that was unpacked: set it back to "
        f"{recorded}, or delete the Bundle (a BundleDeployment creates its Bundle again)"
    )
    conditions = _unpacked(bundle, ConditionStatus.FALSE, Reason.CONTENT_CHANGED, message, now)
    conditions = _summary(bundle, conditions, Summary.STALLED, Reason.CONTENT_CHANGED, message, now)
    return _status(bundle, BundlePhase.FAILING, conditions)


def content_lost(bundle: Bundle, pinned: str, now: str) -> BundleStatus:
    message = f"the uploaded content is lost: upload the same content again, or create a new Bundle (unpacked {pinned})"
    conditions = _unpacked(bundle, ConditionStatus.FALSE, Reason.CONTENT_LOST, message, now)
    conditions = _summary(bundle, conditions, Summary.STALLED, Reason.CONTENT_LOST, message, now)
    return _status(bundle, BundlePhase.FAILING, conditions)


def spec_changed(bundle: Bundle, now: str) -> BundleStatus:
    """Somebody changed the spec while no webhook stood guard. What was unpacked stays what the Bundle is."""
    message = (
        "bundle.spec was changed although it is immutable; the content that was unpacked before stays. "
        "Restore the old spec, or create a new Bundle"
    )
    conditions = _summary(bundle, bundle.status.conditions, Summary.STALLED, Reason.SPEC_CHANGED, message, now)
    conditions = complete(conditions, BUNDLE_CONDITIONS, generation=bundle.metadata.generation, now=now)
    return replace(bundle.status, conditions=conditions, observed_generation=bundle.metadata.generation)


def bundle_transitions(before: BundleStatus, after: BundleStatus) -> list[EventNote]:
    """One for each transition: unpacked, failed (or failed otherwise), changed past the webhook and restored."""
    if after.is_unpacked and not before.is_unpacked:
        message = _message(after, ConditionType.UNPACKED)
        return [normal(EventReason.UNPACKED, f"{message}, {after.digest}")]
    for kind in (ConditionType.UNPACKED, ConditionType.READY):
        old, new = find_condition(before.conditions, kind), find_condition(after.conditions, kind)
        is_news = old is None or new is None or (old.reason, old.message) != (new.reason, new.message)
        if new is None or not is_news:
            continue
        if new.reason in _WARNINGS:
            return [warning(new.reason, first_line(new.message))]
        if kind is ConditionType.READY and old is not None and old.reason == Reason.SPEC_CHANGED:
            return [normal(new.reason, new.message)]
    return []


_WARNINGS = frozenset({Reason.UNPACK_FAILED, Reason.CONTENT_CHANGED, Reason.CONTENT_LOST, Reason.SPEC_CHANGED})


def _message(status: BundleStatus, kind: ConditionType) -> str:
    condition = find_condition(status.conditions, kind)
    return condition.message if condition is not None else ""


def _status(bundle: Bundle, phase: BundlePhase, conditions: Conditions) -> BundleStatus:
    """Without a URL: nothing can be downloaded there but unpacked content."""
    return replace(
        bundle.status,
        phase=phase.value,
        content_url="",
        conditions=conditions,
        observed_generation=bundle.metadata.generation,
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
