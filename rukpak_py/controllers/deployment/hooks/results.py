"""What came of a step at one event, before it is said in the words of an installation or of a deletion."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rukpak_py.api.conditions import cut
from rukpak_py.api.hook_status import HookRecord, HookResult, RunningHook
from rukpak_py.apply.preflight.refusal import Refusal
from rukpak_py.controllers.deployment.hooks.runner import HookEnd

MESSAGE_CHARACTERS = 1000  # of a record
STALE_SECONDS = 1.0  # the event that brings the newer version is usually faster


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """A hook is being run; the end of its job brings the key back. `hook`: its object, once it is there.

    `handles_request`: it was begun after the latest request to reconcile, so that has been acted on.
    """

    text: str
    hook: RunningHook | None = None
    handles_request: bool = True

    @property
    def fields(self) -> dict[str, Any] | None:
        """Of the status. Until the object is there, it may be the one that a former process has found."""
        return {"running_hook": self.hook} if self.hook is not None else None


@dataclass(frozen=True, kw_only=True, slots=True)
class LookAgain:
    """What is known changes at this moment: the next step is for the next reconcile. `after`: seconds until then."""

    after: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class NotRun:
    """A hook could not be run; it is tried again."""

    refusal: Refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class HooksFailed:
    """A hook has failed; it is run again when somebody asks. `is_left`: what goes by its policy is still there."""

    text: str
    is_left: bool = False


Unfinished = Running | LookAgain | NotRun | HooksFailed


def hook_record(
    end: HookEnd, *, revision: str, run: str, event: str, rendering: str, delete_policies: Iterable[str] = ()
) -> HookRecord:
    """As it stands in the status."""
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
