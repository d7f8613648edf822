"""The results of a look at hooks: `HooksOver`, or a `Progress` with facts about the hook that holds up what follows.

What was just recorded makes everything else that this look has found out of date: nothing but what has happened is told
then (`LookAgain`), and the next look begins with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rukpak_py.api.hook_status import HookRecord, RunningHook
from rukpak_py.apply.kinds import missing_kinds_brief, missing_kinds_text
from rukpak_py.apply.results import Failure, FailureKind, kind_wakes, wakes_of
from rukpak_py.controllers.deployment.facts import error_fact, in_seconds, look_again
from rukpak_py.controllers.deployment.hooks.hook_end import HookVerdict
from rukpak_py.controllers.result import hook_details as details
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import API_ERRORS
from rukpak_py.controllers.result.progress import Fact, Progress, Words
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.findings import advised
from rukpak_py.core.objects import GroupKind, Head, ObjectKey
from rukpak_py.formats.hook import HookEvent

STALE_SECONDS = 1.0  # the event that brings the newer version is usually faster
LEFT_SECONDS = 30.0  # until what may not be deleted is tried again
_CAUSES = {FailureKind.CONTENT: Cause.NOT_APPLICABLE, FailureKind.CONFLICT: Cause.CONFLICT}

HOOKS_SKIPPED = Fact(cause=Cause.HOOKS_SKIPPED, detail=details.HOOKS_SKIPPED)
HOOKS_BEGIN_AGAIN = Fact(cause=Cause.HOOKS_BEGIN_AGAIN, detail=details.HOOKS_BEGIN_AGAIN)


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownHook:
    """An object that this process has created, or has seen after its end. It counts once the object is gone, too."""

    key: ObjectKey
    run: str
    uid: str
    reconcile_at: str
    started_at: str
    created_at: float | None = None  # loop time; None: another process has created it
    end: HookVerdict | None = None


@dataclass(slots=True)
class HookState:
    """The memory of this process of a deployment's hooks. The status has what another process needs to know."""

    run: str = ""  # whose first hook was begun
    known: KnownHook | None = None  # the last one, until its end is recorded
    due_kind: GroupKind | None = None  # of the hook that the last look came to, until its end is recorded
    was_read: bool = False  # in this look
    leaving: tuple[str, float] = ("", 0.0)  # the object that has to be gone first: its uid, and since when (loop time)
    silent_since: float | None = None  # loop time; the server has not answered about the running hook since
    deleted: set[str] = field(default_factory=set)  # uids of objects whose deletion was asked for
    untold: tuple[Fact, ...] = ()  # notes about hooks that no status has shown yet ...
    untold_of: str = ""  # ... of this rendering

    def known_of(self, run: str, key: ObjectKey, uid: str, ended: Iterable[HookRecord]) -> KnownHook | None:
        """The known object of this hook. `uid`: as recorded. None: none is known, or it is one of the `ended`."""
        known = self.known
        if known is None or (known.run, known.key) != (run, key) or uid not in {"", known.uid}:
            return None
        return None if any(one.uid == known.uid for one in ended) else known


@dataclass(frozen=True, kw_only=True, slots=True)
class HooksOver:
    """All hooks that are due have ended well. `facts` are told beside what follows."""

    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LookAgain:
    """Something was recorded. `after`: seconds until the next look; `facts`: what has happened."""

    after: float = 0.0
    facts: tuple[Fact, ...] = ()

    @property
    def progress(self) -> Progress:
        return Progress(facts=(*self.facts, look_again(self.after)))


@dataclass(frozen=True, kw_only=True, slots=True)
class SupersededHookRuns:
    """A hook of a superseded installation. `error`: why it could not be looked at; what is known counts."""

    hook: RunningHook
    error: RukPakError | None = None

    @property
    def facts(self) -> tuple[Fact, ...]:
        key, detail = self.hook.key, details.SupersededHook(event=self.hook.event)
        waits = Fact(cause=Cause.FORMER_HOOK, detail=detail, objects=(key,))
        if self.error is None:
            return (waits,)
        words = Words(words=f"{detail.text((key,))}; {advised(self.error)}")
        return waits, error_fact(API_ERRORS, self.error, words)


def hook_not_run(event: HookEvent, failure: Failure, *, begins_again: bool = False) -> Fact:
    why = f"{failure.message}; {details.HOOKS_BEGIN_AGAIN.words}" if begins_again else failure.message
    return Fact(
        cause=_CAUSES.get(failure.kind, Cause.HOOK_NOT_RUN),
        detail=details.HookNotRun(event=event, why=why),
        objects=(failure.key,),
        at=in_seconds(failure.retry_after) if failure.retry_after else None,
        wakes=wakes_of(failure),
    )


def hook_kind_missing(head: Head) -> Fact:
    detail = Words(words=missing_kinds_text([head]), line=missing_kinds_brief([head]))
    return Fact(cause=Cause.KIND_MISSING, detail=detail, objects=(head.key,), wakes=kind_wakes([head.gvk.group_kind]))
