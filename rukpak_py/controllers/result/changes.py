"""Changes that stages make to a status beside its conditions, in the API's own types.

The history has 512 KiB at most, because the whole object has to fit into etcd. Templates and options are what is large.
The oldest installation loses both first, then the next one. The installed one loses its template last, and keeps its
options, whose values have a limit of their own: without them drift could not be corrected once the spec asks for
something else.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from rukpak_py.api.bundle import BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation, InstallOutcome
from rukpak_py.api.conditions import (
    BUNDLE_DEPLOYMENT_CONDITIONS,
    Conditions,
    Summary,
    brief,
    complete,
    find_condition,
    summarise,
)
from rukpak_py.api.install_options import mean_the_same, with_config_digest
from rukpak_py.api.installed import installed_of
from rukpak_py.api.names import BundlePhase, ConditionStatus, ConditionType, Reason
from rukpak_py.api.upgrades import PLAN_CHARACTERS, REASON_CHARACTERS, PendingUpgrade
from rukpak_py.controllers.result.conclusion import AnyStatus, Clock, KeyFacts, Status
from rukpak_py.controllers.result.progress import StatusChange
from rukpak_py.controllers.result.reported_facts import Hide
from rukpak_py.core.limits import KIB

HISTORY_BYTES = 512 * KIB
_NOTES_OF_A_SHORT_STATUS = 4
_AS_THEY_ARE = (
    "kinds",
    "delete_hooks",
    "running_hook",
    "pending_upgrade",
    "upgrade",
    "rollback",
    "judged",
    "last_handled_refresh_at",
)
_PHASES: Mapping[str, BundlePhase] = {
    Reason.UNPACKING: BundlePhase.UNPACKING,
    Reason.UNPACK_PENDING: BundlePhase.PENDING,
}


def changed(status: Status, change: StatusChange, hide: Hide) -> Status:
    fields = _of_bundle(change) if isinstance(status, BundleStatus) else _of_deployment(change, hide)
    return replace(status, **fields)


def with_conditions(status: Status, conditions: Conditions) -> Status:
    """The phase of a Bundle says what its condition does. Only unpacked content can be downloaded."""
    if not isinstance(status, BundleStatus):
        return replace(status, conditions=conditions)
    phase = _phase(conditions)
    url = status.content_url if phase == BundlePhase.UNPACKED else ""
    return replace(status, conditions=conditions, phase=phase, content_url=url)


def is_other_installation(before: AnyStatus, after: AnyStatus) -> bool:
    """Other content, or the same with other options; what the status learns of either later is none."""
    if not (isinstance(before, BundleDeploymentStatus) and isinstance(after, BundleDeploymentStatus)):
        return False
    return _has_other_content(before, after) or _has_other_options(before, after)


def has_same_content(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> bool:
    """Compare digest and options of the installations of two Bundles."""
    former, latest = installed_of(before), installed_of(after)
    old, new = (one.entry if one is not None else None for one in (former, latest))
    if old is None or new is None or old.bundle == new.bundle:
        return False
    return old.digest == new.digest and mean_the_same(old.options, new.options)


def shortened(status: Status) -> Status:
    """Shorten the status to what holds of this generation and what is installed, for a server that takes no more."""
    short = tuple(replace(one, message=brief(one.message)) for one in status.conditions)
    status = replace(status, conditions=short, notes=status.notes[:_NOTES_OF_A_SHORT_STATUS])
    if not isinstance(status, BundleDeploymentStatus):
        return status
    hooks = tuple(replace(one, message=brief(one.message)) for one in status.hooks)
    return replace(status, history=minimal_history(status.history), hooks=hooks)


def _of_bundle(change: StatusChange) -> dict[str, Any]:
    content = change.content
    if content is UNSET:
        return {}
    return {
        "digest": content.digest,
        "resolved_source": content.source,
        "artifact_type": content.artifact_type,
        "spec_digest": content.spec_digest,
        "content_url": content.url,
    }


def _of_deployment(change: StatusChange, hide: Hide) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if change.installed is not UNSET:
        fields = {name: getattr(change.installed, name) for name in change.installed.__struct_fields__}
        fields["active_bundle"] = fields.pop("bundle")
    fields |= {name: value for name in _AS_THEY_ARE if (value := getattr(change, name)) is not UNSET}
    if change.hooks is not UNSET:
        # Texts outside of conditions. Names are not masked.
        fields["hooks"] = tuple(replace(one, message=hide(one.message)) for one in change.hooks)
    if change.rollback is not UNSET and change.rollback is not None:
        fields["rollback"] = replace(change.rollback, reason=brief(hide(change.rollback.reason), REASON_CHARACTERS))
    if change.upgrade is not UNSET and change.upgrade is not None:
        kept_because = brief(hide(change.upgrade.kept_because), REASON_CHARACTERS)
        fields["upgrade"] = replace(change.upgrade, kept_because=kept_because)
    pending = change.pending_upgrade
    if pending is not UNSET and pending is not None:
        fields["pending_upgrade"] = _within_status(pending, hide)
    return fields


def _within_status(pending: PendingUpgrade, hide: Hide) -> PendingUpgrade:
    """Its lines masked, and cut after that: the content says what stands in them. Names are not masked."""
    return replace(
        pending,
        rights_gained=tuple(brief(hide(one), PLAN_CHARACTERS) for one in pending.rights_gained),
        crds=tuple(brief(hide(one), PLAN_CHARACTERS) for one in pending.crds),
        hooks=tuple(brief(one, PLAN_CHARACTERS) for one in pending.hooks),
        names=tuple(brief(one, PLAN_CHARACTERS) for one in pending.names),
    )


def _phase(conditions: Conditions) -> str:
    unpacked = find_condition(conditions, ConditionType.UNPACKED)
    if unpacked is None or unpacked.status == ConditionStatus.UNKNOWN:
        return ""
    if unpacked.status == ConditionStatus.TRUE:
        return BundlePhase.UNPACKED.value
    return _PHASES.get(unpacked.reason, BundlePhase.FAILING).value


def _has_other_content(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> bool:
    """Compare names and digests: a Bundle may be made again under its name. The original RukPak records no digest."""
    is_remade = "" not in {before.digest, after.digest} and before.digest != after.digest
    return after.active_bundle != before.active_bundle or is_remade


def _has_other_options(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> bool:
    """An entry learns its options, or digests under a new key, without that."""
    former, latest = installed_of(before), installed_of(after)
    old, new = (one.entry if one is not None else None for one in (former, latest))
    if old is None or new is None:
        return False
    return old.bundle == new.bundle and old.options is not None and not mean_the_same(old.options, new.options)


def recorded(
    before: BundleDeploymentStatus,
    change: StatusChange,
    key: KeyFacts,
    clock: Clock,
    *,
    ready: str,
    is_request_open: bool = False,
    hide: Hide,
) -> BundleDeploymentStatus:
    """The status with what the next process must know, whatever happens to this one. Only `conclude` makes others.

    `ready`: what Ready says meanwhile. `is_request_open`: the latest request is still to be handled.
    """
    generation, now = key.generation, clock.timestamp()
    conditions = summarise(
        before.conditions,
        Summary.PROGRESSING,
        reason=Reason.DELETING if key.is_deleted else Reason.PROGRESSING,
        message=hide(ready),
        generation=generation,
        now=now,
    )
    return replace(
        changed(before, change, hide),
        conditions=complete(conditions, BUNDLE_DEPLOYMENT_CONDITIONS, generation=generation, now=now),
        observed_generation=generation,
        last_handled_reconcile_at=before.last_handled_reconcile_at if is_request_open else key.asked,
    )


History = tuple[Installation, ...]


def within_limit(history: History, limit: int = HISTORY_BYTES) -> History:
    """`history`: the active one first."""
    for at in reversed(range(len(history))):
        if len(msgspec.json.encode(history)) <= limit:
            break
        history = (*history[:at], reduced(history[at], is_active=at == 0), *history[at + 1 :])
    return history


def reduced(entry: Installation, *, is_active: bool) -> Installation:
    """Entry without its template, and without its options unless it is active."""
    outcome = entry.outcome or InstallOutcome.HEALTHY  # tells it from an entry that never had a template
    return replace(entry, template=None, options=entry.options if is_active else None, outcome=outcome)


def minimal_history(history: History) -> History:
    """History without templates and values: the installed values stay known by their digest."""
    entries = (reduced(entry, is_active=at == 0) for at, entry in enumerate(history))
    return tuple(
        replace(entry, options=with_config_digest(entry.options)) if entry.options is not None else entry
        for entry in entries
    )


def is_reduced(entry: Installation) -> bool:
    """An entry of the first release had no options, but a template."""
    return bool(entry.outcome) and entry.template is None


def reduced_text(history: History) -> str:
    """Sentence about the parts that revisions lost; empty: none did."""
    former = [str(entry.revision) for entry in reversed(history[1:]) if is_reduced(entry)]
    revisions = "revision" if len(former) == 1 else "revisions"
    parts = [f"templates and options of {revisions} {', '.join(former)}"] if former else []
    parts += [f"the template of revision {entry.revision}" for entry in history[:1] if is_reduced(entry)]
    return f"status.history has no room for {' and '.join(parts)}" if parts else ""
