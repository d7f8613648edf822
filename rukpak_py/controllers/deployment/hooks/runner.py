"""One hook, from a look at its name to its end.

What has the mark of this run is waited for, whoever created it; once it stands in the status with its uid it is not
created once more, and what is gone before anybody saw its end has failed. What another run left is deleted and created
again where the hook says so, once it has ended or its time is over: no two of them work at once. A foreign object is
left alone. Failures to look, to delete or to create are errors: the hook has not run, and is tried again. How the
object ended is a result, and so is that it did not in time; its time counts from its creation, over restarts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

import orjson

from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.apply.marks import holds_what_cannot_be_had_again
from rukpak_py.controllers.deployment.hooks.hook_object import HookObject, HookObjectSituation, refusal, situation
from rukpak_py.controllers.deployment.hooks.verdict import JOB, SUCCEEDED, HookVerdict, has_verdict, verdict
from rukpak_py.core.errors import ConflictError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.answers import live_object
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from rukpak_py.kube.metadata import LiveObject, Metadata

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0
GONE_SECONDS = 60.0  # for what is deleted to be gone
_DELETED = HookVerdict(succeeded=False, why="it was deleted before it ended")

Sleep = Callable[[float], Awaitable[None]]
OnBegin = Callable[[str, str], Awaitable[None]]  # the uid of the object, and the request to reconcile that it answers


async def _nothing(_uid: str, _asked: str) -> None:
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class HookEnd:
    """`asked`: the request to reconcile that it answers, which a later one may have followed since."""

    key: ObjectKey
    version: str
    verdict: HookVerdict
    uid: str
    started_at: str
    finished_at: str
    asked: str = ""


class HookRunner:
    def __init__(self, client: Client, *, now: Callable[[], str], sleep: Sleep = asyncio.sleep) -> None:
        self._client = client
        self._now = now
        self._sleep = sleep

    async def run(
        self, hook: HookObject, *, is_wanted: Callable[[], bool], on_begin: OnBegin = _nothing
    ) -> HookEnd | None:
        """`is_wanted` is asked before anything is changed. None: nothing was, because it is not wanted any more.

        `on_begin` is called with what has to be waited for: before it is created, without a uid, and once it is there.
        """
        live = await self._read(hook)
        if live is None:
            return _lost(hook, self._now()) or await self._created(hook, None, is_wanted, on_begin)
        is_going = live.metadata.is_deleted and (hook.begun is None or live.metadata.uid != hook.begun.uid)
        match situation(live.metadata, hook):
            case HookObjectSituation.FOREIGN:
                raise ConflictError(refusal(live.metadata, hook))
            case HookObjectSituation.THERE | HookObjectSituation.OF_THIS_RUN if not is_going:
                return await self._ended(hook, live, on_begin, age=self._age(live.metadata))
            case HookObjectSituation.HAS_FAILED if _has_succeeded(hook, live):
                return self._end(hook, live.metadata, SUCCEEDED, hook.asked)
            case HookObjectSituation.OURS | HookObjectSituation.LEFT_BY_HELM if not hook.replaces and not is_going:
                raise ConflictError(_not_replaced(hook))
            case HookObjectSituation.OURS | HookObjectSituation.LEFT_BY_HELM if not is_going:
                return await self._created(hook, await self._once_over(hook, live, is_wanted), is_wanted, on_begin)
            case _:
                return await self._created(hook, live, is_wanted, on_begin)

    async def _once_over(self, hook: HookObject, live: LiveObject, is_wanted: Callable[[], bool]) -> LiveObject | None:
        """A former run of it may be at work: nobody stops half a migration to begin another one. As it is then."""
        left, pause = hook.seconds - self._age(live.metadata), FIRST_PAUSE_SECONDS
        found: LiveObject | None = live
        while found is not None and left > 0 and _verdict(hook, found) is None and is_wanted():
            await self._sleep(pause)
            left, pause = left - pause, _longer(pause)
            found = await self._read_again(hook)
        return found

    async def _created(
        self, hook: HookObject, live: LiveObject | None, is_wanted: Callable[[], bool], on_begin: OnBegin
    ) -> HookEnd | None:
        """In the place of what is there, once that is gone."""
        if not is_wanted():
            return None
        if live is not None:
            await self._delete(hook, live)
        if not is_wanted():
            return None
        if has_verdict(hook.resource.group_kind):
            await on_begin("", hook.asked)
            if not is_wanted():
                return None
        try:
            created = await self._client.create(
                hook.resource, hook.key.namespace, hook.body, field_manager=hook.owner.manager
            )
        except AlreadyExistsError as error:
            raise UnavailableError(f"{hook.key} appeared while it was being created; it is looked at again") from error
        return await self._ended(hook, created, on_begin, age=0.0)

    async def _delete(self, hook: HookObject, live: LiveObject) -> None:
        """Only what was looked at. A Job that may still be at work goes after its Pods."""
        metadata = live.metadata
        is_at_work = hook.resource.group_kind == JOB and _verdict(hook, live) is None
        until = monotonic() + GONE_SECONDS
        pause = FIRST_PAUSE_SECONDS
        try:
            left = await self._client.delete(
                hook.resource,
                hook.key.namespace,
                hook.key.name,
                uid=metadata.uid,
                propagation="Foreground" if is_at_work else "Background",
            )
        except (NotFoundError, StaleError):
            return
        while left is not None:
            found = await self._read(hook)
            if found is None or found.metadata.uid != metadata.uid:
                return
            if monotonic() > until:
                held = ", ".join(found.metadata.finalizers) or "nobody says what"
                raise UnavailableError(f"{hook.key}, which was left by a former hook, does not go: held by {held}")
            await self._sleep(pause)
            pause = _longer(pause)

    async def _ended(self, hook: HookObject, live: LiveObject, on_begin: OnBegin, *, age: float) -> HookEnd:
        first, began, pause = live.metadata, monotonic() - age, FIRST_PAUSE_SECONDS
        asked = hook.asked
        if has_verdict(hook.resource.group_kind):
            asked = first.annotations.get(RECONCILE_AT_ANNOTATION, "")
            await on_begin(first.uid, asked)
        while True:
            found = _verdict(hook, live)
            if found is None and monotonic() - began >= hook.seconds:
                found = HookVerdict(succeeded=False, why=f"it did not end within {hook.seconds:g} s")
            if found is not None:
                return self._end(hook, first, found, asked)
            await self._sleep(min(pause, max(0.0, began + hook.seconds - monotonic())))
            pause = _longer(pause)
            now = await self._read_again(hook)
            if now is None or now.metadata.uid != first.uid:
                return self._end(hook, first, _DELETED, asked)
            live = now

    async def _read(self, hook: HookObject) -> LiveObject | None:
        try:
            body = await self._client.get(hook.resource, hook.key.namespace, hook.key.name)
        except NotFoundError:
            return None
        return live_object(hook.resource, body, full=True)

    async def _read_again(self, hook: HookObject) -> LiveObject | None:
        """However long the server does not answer, as the hook may end well meanwhile; the job has a deadline."""
        while True:
            try:
                return await self._read(hook)
            except UnavailableError:
                await self._sleep(LONGEST_PAUSE_SECONDS)

    def _age(self, metadata: Metadata) -> float:
        return age_of(metadata, self._now())

    def _end(self, hook: HookObject, metadata: Metadata, found: HookVerdict, asked: str) -> HookEnd:
        now = self._now()
        return HookEnd(
            key=hook.key,
            version=hook.resource.gvk.version,
            verdict=found,
            uid=metadata.uid,
            started_at=metadata.creation_timestamp or now,
            finished_at=now,
            asked=asked,
        )


def _lost(hook: HookObject, now: str) -> HookEnd | None:
    """Created by a process before this one, and gone while nobody looked: nobody knows what it has done."""
    begun = hook.begun
    if begun is None:
        return None
    return HookEnd(
        key=hook.key,
        version=begun.version,
        verdict=_DELETED,
        uid=begun.uid,
        started_at=now,
        finished_at=now,
        asked=begun.reconcile_at,
    )


def age_of(metadata: Metadata, now: str) -> float:
    """Seconds since the server created it, as far as two clocks can tell."""
    try:
        created = datetime.fromisoformat(metadata.creation_timestamp or now)
        return max(0.0, (datetime.fromisoformat(now) - created).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _verdict(hook: HookObject, live: LiveObject) -> HookVerdict | None:
    return verdict(hook.resource.group_kind, orjson.loads(live.json or b"{}"))


def _has_succeeded(hook: HookObject, live: LiveObject) -> bool:
    found = _verdict(hook, live)
    return found is not None and found.succeeded


def _not_replaced(hook: HookObject) -> str:
    holds = holds_what_cannot_be_had_again(hook.resource.group_kind)
    way_out = "give the hook another name" if holds else "delete it, or add before-hook-creation to the policy"
    return (
        f"{hook.key} was left by a former hook, and its helm.sh/hook-delete-policy does not allow to replace it; "
        f"{way_out}"
    )


def _longer(pause: float) -> float:
    return min(pause * 1.5, LONGEST_PAUSE_SECONDS)
