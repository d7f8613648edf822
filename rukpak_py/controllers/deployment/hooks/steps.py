"""What to do next at one event: a pure function of its hooks, in order, and of what the status records of them.

* One hook runs at a time; the first without a record is next. A failure ends the event.
* What is deleted after a success is deleted once all have succeeded: an account is a hook that a later one uses. After
  a failure too, so what is deleted then without having run anything is created again before the failed hook is.
* A hook that failed runs again when somebody asks: there is a request, and another one stands in its record.
* Definitions are never deleted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rukpak_py.api.hook_status import HookRecord, HookResult, RunningHook
from rukpak_py.controllers.deployment.hooks.verdict import has_verdict
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.hook import DeletePolicy, Hook
from rukpak_py.kube.resources import CRDS


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


Step = ExecuteHook | EventHooksFailed | EventHooksDone


def next_step(hooks: Sequence[Hook], records: Iterable[HookRecord], *, namespace: str, asked: str) -> Step:
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
    """Once its event has ended, or was given up. Definitions are never deleted."""
    policy = DeletePolicy.HOOK_SUCCEEDED if one.result == HookResult.SUCCEEDED else DeletePolicy.HOOK_FAILED
    return bool(one.uid) and policy in one.delete_policies and one.gvk.group_kind != CRDS.group_kind


def is_asked_again(failed: HookRecord, asked: str) -> bool:
    """Somebody wants it to be run again, and has said so since it was begun."""
    return bool(asked) and failed.reconcile_at != asked


def _was_deleted_unused(hook: Hook) -> bool:
    """After the failure of another one; what runs to an end has had its effect."""
    return DeletePolicy.HOOK_SUCCEEDED in hook.delete_policies and not has_verdict(hook.object.head.gvk.group_kind)


def _after_success(succeeded: Iterable[tuple[Hook, HookRecord]]) -> list[tuple[Hook, HookRecord]]:
    return [(hook, record) for hook, record in succeeded if DeletePolicy.HOOK_SUCCEEDED in hook.delete_policies]


def _deleted(chosen: Iterable[tuple[Hook, HookRecord]]) -> tuple[HookRecord, ...]:
    return tuple(record for hook, record in chosen if hook.object.head.gvk.group_kind != CRDS.group_kind)
