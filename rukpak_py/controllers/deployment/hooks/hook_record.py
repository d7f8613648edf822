"""How a hook has ended, as it stands in the status."""

from collections.abc import Iterable

from rukpak_py.api.conditions import cut
from rukpak_py.api.hook_status import HookRecord, HookResult
from rukpak_py.controllers.deployment.hooks.runner import HookEnd

MESSAGE_CHARACTERS = 1000  # of a record


def hook_record(
    end: HookEnd, *, revision: str, run: str, event: str, rendering: str, delete_policies: Iterable[str] = ()
) -> HookRecord:
    key, found = end.key, end.verdict
    return HookRecord(
        revision=revision,
        run=run,
        event=event,
        group=key.group,
        version=end.version,
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        uid=end.uid,
        result=HookResult.SUCCEEDED if found.succeeded else HookResult.FAILED,
        message="" if found.succeeded else cut(found.why, MESSAGE_CHARACTERS),
        started_at=end.started_at,
        finished_at=end.finished_at,
        reconcile_at=end.asked,
        rendering_digest=rendering,
        delete_policies=tuple(sorted(delete_policies)),
    )
