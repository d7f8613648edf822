"""Runs of hooks: those that an installation has to run, the next of them, and the mark by which a run is known.

Hooks belong to a rendering, not to a deployment: what is installed already runs none, whatever else of the spec
changes. An upgrade to content and options that the history has is a rollback, and has events of its own, as in helm.

The mark of a run stands in statuses and on objects of hooks. It has no version in front; another form gets one, and a
run is known by its former mark, too, for a release: a hook that is not known by its mark runs again.

The next step at one event follows from its hooks, in order, and from their records in the status:

* One hook runs at a time; the first without a record is next. A failure ends the event.
* What is deleted after a success is deleted once all have succeeded: an account is a hook that a later one uses. After
  a failure too, so what is deleted then without having run anything is created again before the failed hook is.
* A hook that failed runs again on request: there is one, and another one stands in its record.
* Definitions are never deleted.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.api.hook_status import HookInStatus, HookRecord, HookResult, RunningHook
from rukpak_py.api.installed import installed_of
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, SKIP_HOOKS_ANNOTATION
from rukpak_py.controllers.deployment.attempt import Attempt, former_entry, is_rendering_of
from rukpak_py.controllers.deployment.hooks.hook_end import has_verdict
from rukpak_py.controllers.deployment.kept_renderings import key_of
from rukpak_py.core.objects import ObjectKey, canonical_json
from rukpak_py.formats.hook import DELETE_EVENTS, DeletePolicy, Hook, HookEvent
from rukpak_py.kube.resources import CRDS

_MARK_DIGITS = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallEvents:
    before: HookEvent
    after: HookEvent


INSTALL = InstallEvents(before=HookEvent.PRE_INSTALL, after=HookEvent.POST_INSTALL)
UPGRADE = InstallEvents(before=HookEvent.PRE_UPGRADE, after=HookEvent.POST_UPGRADE)
ROLLBACK = InstallEvents(before=HookEvent.PRE_ROLLBACK, after=HookEvent.POST_ROLLBACK)


@dataclass(frozen=True, kw_only=True, slots=True)
class HookExecution:
    """One event of one installation. `since`: when what it replaces was installed, so that content that comes back is
    another installation. `rendering`: its digest, because a chart that was rendered anew is another one, too; empty for
    a deletion, which is not begun again half-way.
    """

    revision: str
    event: HookEvent
    since: str
    rendering: str = ""

    @property
    def mark(self) -> str:
        """Mark of the run, as it stands on the objects of its hooks, and in their records."""
        parts = [self.revision, self.event, self.since, *([self.rendering] if self.rendering else [])]
        return hashlib.sha256(canonical_json(parts)).hexdigest()[:_MARK_DIGITS]

    def records(self, status: BundleDeploymentStatus) -> tuple[HookRecord, ...]:
        return tuple(record for record in status.hooks if record.run == self.mark)

    def superseded(self, status: BundleDeploymentStatus) -> tuple[HookRecord, ...]:
        """Records of this installation as it was rendered before, at any of its events."""
        if not self.rendering:
            return ()
        return tuple(
            record for record in status.hooks if record.rendering_digest != self.rendering and self.is_of(record)
        )

    def is_of(self, hook: HookInStatus) -> bool:
        """Whether the hook is of this installation, at whatever event and however it was rendered."""
        return any(
            replace(self, event=event, rendering=hook.rendering_digest).mark == hook.run
            for event in HookEvent
            if event == hook.event
        )

    def replaced(self, record: HookRecord) -> bool:
        """Whether the record is of an installation that this one superseded."""
        return record.revision != self.revision and replace(self, revision=record.revision).is_of(record)


def run_of(attempt: Attempt, event: HookEvent) -> HookExecution:
    installed, facts = attempt.installed, attempt.facts
    return HookExecution(
        revision=key_of(attempt),
        event=event,
        since=installed.entry.time if installed is not None and installed.entry is not None else "",
        rendering=facts.rendering if facts is not None and event not in DELETE_EVENTS else "",
    )


def events_of(attempt: Attempt) -> InstallEvents | None:
    """None: it is installed. What the original operator installed, which left no history, has run its hooks.

    A release of helm that is taken over is upgraded: its hooks of the installation have run, and its data is there.
    """
    installed = attempt.installed
    if installed is None:
        takes_release = attempt.facts is not None and attempt.facts.made.is_upgrade
        return UPGRADE if takes_release else INSTALL
    if installed.entry is not None:
        is_installed = is_rendering_of(installed.entry, attempt)
    else:
        is_installed = installed.bundle == attempt.bundle.metadata.name
    if is_installed:
        return None
    return ROLLBACK if former_entry(attempt) is not None else UPGRADE


def hooks_at(hooks: Iterable[Hook], event: HookEvent) -> list[Hook]:
    return sorted((hook for hook in hooks if event in hook.events), key=lambda hook: hook.order)


def may_replace_left(deployment: BundleDeployment) -> bool:
    """Whether hooks without an owner may be replaced: of the original operator, or because the spec says so."""
    installed = installed_of(deployment.status)
    return (installed is not None and installed.was_taken_over) or deployment.spec.adopt is not Adopt.NEVER


def asked_of(deployment: BundleDeployment) -> str:
    """The request to reconcile as it is now; empty: there is none."""
    return deployment.metadata.annotations.get(RECONCILE_AT_ANNOTATION, "")


def skips_hooks(deployment: BundleDeployment) -> bool:
    return deployment.metadata.annotations.get(SKIP_HOOKS_ANNOTATION) == "true"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecuteHook:
    """`failed`: the record of its last run, after which it is run again."""

    hook: Hook
    failed: HookRecord | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EventHooksFailed:
    """`delete`: records of hooks whose objects go by their policy, here and below."""

    record: HookRecord
    delete: tuple[HookRecord, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EventHooksDone:
    delete: tuple[HookRecord, ...] = ()


def next_step(
    hooks: Sequence[Hook], records: Iterable[HookRecord], *, namespace: str, asked: str
) -> ExecuteHook | EventHooksFailed | EventHooksDone:
    """`namespace`: of hooks that name none. `asked`: the request to reconcile as it is now."""
    known = {record.key: record for record in records}
    ended = [(hook, record_of(hook, known, namespace)) for hook in hooks]
    failed = next((record for _, record in ended if record is not None and has_failed(record)), None)
    asked_again = failed is not None and is_asked_again(failed, asked)
    succeeded: list[tuple[Hook, HookRecord]] = []
    for hook, record in ended:
        if record is None:
            return ExecuteHook(hook=hook)
        if has_failed(record):
            if asked_again:
                return ExecuteHook(hook=hook, failed=record)
            own = [(hook, record)] if DeletePolicy.HOOK_FAILED in hook.delete_policies else []
            return EventHooksFailed(record=record, delete=_deleted([*_after_success(succeeded), *own]))
        if asked_again and record.reconcile_at != asked and _was_deleted_unused(hook):
            return ExecuteHook(hook=hook)
        succeeded.append((hook, record))
    return EventHooksDone(delete=_deleted(_after_success(succeeded)))


def record_of(hook: Hook, known: dict[ObjectKey, HookRecord], namespace: str) -> HookRecord | None:
    """Cluster-scoped objects are recorded without the namespace that a hook may name or be given."""
    key = hook.object.head.key
    return known.get(key._replace(namespace=key.namespace or namespace)) or known.get(key._replace(namespace=""))


def has_failed(record: HookRecord) -> bool:
    return record.result == HookResult.FAILED


def goes_by_policy(one: HookRecord | RunningHook) -> bool:
    """Whether it is deleted once its event has ended, or its installation was superseded. Definitions never are."""
    policy = DeletePolicy.HOOK_SUCCEEDED if one.result == HookResult.SUCCEEDED else DeletePolicy.HOOK_FAILED
    return bool(one.uid) and policy in one.delete_policies and one.gvk.group_kind != CRDS.group_kind


def is_asked_again(failed: HookRecord, asked: str) -> bool:
    """A request that came after it was begun runs it again."""
    return bool(asked) and failed.reconcile_at != asked


def _was_deleted_unused(hook: Hook) -> bool:
    """Whether it was deleted unused, after the failure of another hook; what runs to an end has had its effect."""
    return DeletePolicy.HOOK_SUCCEEDED in hook.delete_policies and not has_verdict(hook.object.head.gvk.group_kind)


def _after_success(succeeded: Iterable[tuple[Hook, HookRecord]]) -> list[tuple[Hook, HookRecord]]:
    return [(hook, record) for hook, record in succeeded if DeletePolicy.HOOK_SUCCEEDED in hook.delete_policies]


def _deleted(chosen: Iterable[tuple[Hook, HookRecord]]) -> tuple[HookRecord, ...]:
    return tuple(record for hook, record in chosen if hook.object.head.gvk.group_kind != CRDS.group_kind)
