"""Hooks of an installation that another one superseded: named, waited for, recorded and cleaned up.

A spec that changes supersedes an installation, and the hook that it is at is not stopped: it may be half a migration.
Until it has ended, or its time is over, the deployment names it, and begins no other hook. How it ended is recorded;
then what its run has left is deleted as the policies say, and what may not be deleted holds nothing up. The status
knows it before its object is created, so the next process does, too.

A hook of a deletion in the foreground has no reference to its deployment, because the collector would take it before it
ends. What is left of it is deleted by name when the deployment goes.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.hook_status import HookInStatus, HookRecord, RunningHook
from rukpak_py.controllers.deployment.hooks.facts import (
    STALE_SECONDS,
    HooksOver,
    HookState,
    LookAgain,
    SupersededHookRuns,
)
from rukpak_py.controllers.deployment.hooks.hook_end import HookVerdict, ended_hook
from rukpak_py.controllers.deployment.hooks.hook_object import HookSituation, LiveHook, is_object_of, situation
from rukpak_py.controllers.deployment.hooks.hook_objects import HookObjects
from rukpak_py.controllers.deployment.hooks.runs import HookExecution, goes_by_policy, has_failed, skips_hooks
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.hook_details import SupersededHookEnd, SupersededHookStays
from rukpak_py.controllers.result.progress import Fact, StatusChange
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.helm.rendered_objects import is_kept
from rukpak_py.formats.hook import DELETE_EVENTS
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.resources import CRDS

LOG = logging.getLogger(__name__)
_NO_REASON = "its status does not say why"
_DELETED = HookVerdict(succeeded=False, why="it was deleted")


class SupersededHooks:
    def __init__(self, objects: HookObjects, writer: DeploymentStatusWriter) -> None:
        self._objects = objects
        self._writer = writer

    def status(self, deployment: BundleDeployment) -> BundleDeploymentStatus:
        """Status as this process knows it now: this look may have recorded something."""
        return (self._writer.latest(deployment) or deployment).status

    async def proceed(
        self, deployment: BundleDeployment, state: HookState, wanted: Sequence[HookExecution]
    ) -> SupersededHookRuns | LookAgain | HooksOver:
        """The hook that is not of a `wanted` run, or what it has become. HooksOver: none has to be waited for."""
        hook = self.status(deployment).running_hook
        if hook is None or hook.run in {run.mark for run in wanted}:
            return HooksOver()
        failure: RukPakError | None = None
        try:
            live = await self._read(deployment, state, hook)
            match situation(hook, live, None):
                case HookSituation.SUPERSEDED_RECORDED:
                    return await self._clear(deployment, state, hook)
                case HookSituation.SUPERSEDED_ENDED:
                    is_of_wanted = any(run.is_of(hook) for run in wanted)
                    return await self._record(deployment, state, hook, live, is_of_wanted=is_of_wanted)
                case _:
                    pass
        except (NotFoundError, StaleError):
            return LookAgain(after=STALE_SECONDS)
        except RukPakError as error:
            failure = error
        return HooksOver() if skips_hooks(deployment) else SupersededHookRuns(hook=hook, error=failure)

    async def remember_end(self, deployment: BundleDeployment, state: HookState) -> None:
        """Read the running hook where this look has not come to it; its object may go before a later look does."""
        hook, was_read = self.status(deployment).running_hook, state.was_read
        state.was_read = False
        if not was_read:
            state.due_kind = None  # this look has read no hook
        if hook is None or was_read or hook.result:
            return
        known = state.known_of(hook.run, hook.key, hook.uid, self.status(deployment).hooks)
        if known is None or known.end is None:
            try:
                await self._read(deployment, state, hook)
            except RukPakError as error:
                LOG.debug("could not read the hook %s: %s", hook.key, error)

    async def delete_between(
        self, deployment: BundleDeployment, state: HookState, run: HookExecution
    ) -> LookAgain | HooksOver:
        """Delete what goes of an installation that `run` superseded between two hooks, and then its records.

        The record of a failure stays, with all of its run: it keeps what failed from being begun again unasked. Its
        deletions may not have come to their end.
        """
        hooks = self.status(deployment).hooks
        due = [one for one in hooks if goes_by_policy(one) and run.replaced(one)]
        if not due or skips_hooks(deployment):
            return HooksOver()
        stays = await self._delete(deployment, state, due)
        if stays is not None:
            return HooksOver(facts=(stays,))
        failed = {one.run for one in hooks if has_failed(one)}
        gone = [one for one in due if one.run not in failed]
        if not gone:
            return HooksOver()
        try:
            left = tuple(one for one in self.status(deployment).hooks if one not in gone)
            await self._writer.record_fields(deployment, StatusChange(hooks=left))
        except (NotFoundError, StaleError):
            return LookAgain(after=STALE_SECONDS)
        return LookAgain()

    async def delete_uncollected(self, deployment: BundleDeployment) -> list[tuple[ObjectKey, RukPakError]]:
        """Delete hooks of the deletion that have no reference to their deployment; return the failures."""
        status = self.status(deployment)
        running = (status.running_hook,) if status.running_hook is not None else ()
        failures: list[tuple[ObjectKey, RukPakError]] = []
        for one in (*status.hooks, *running):
            has_object = one.uid or isinstance(one, RunningHook)
            if one.event in DELETE_EVENTS and has_object and one.gvk.group_kind != CRDS.group_kind:
                try:
                    await self._delete_uncollected(deployment, one)
                except RukPakError as error:
                    failures.append((one.key, error))
        return failures

    async def _read(self, deployment: BundleDeployment, state: HookState, hook: RunningHook) -> LiveHook | None:
        """None: it is not there, or its end is known."""
        resource = await self._objects.resource_of(hook.gvk) if not hook.result else None
        if resource is None:
            return None
        self._objects.watch(resource)
        found = await self._objects.read(deployment, state, resource, hook.key)
        return found if found is not None and is_object_of(hook, found.metadata) else None

    async def _record(
        self,
        deployment: BundleDeployment,
        state: HookState,
        hook: RunningHook,
        live: LiveHook | None,
        *,
        is_of_wanted: bool,
    ) -> LookAgain:
        """Record its end before anything of it is deleted: an object that is gone tells nothing of its end.

        `is_of_wanted`: only its rendering is another by now, and after a failure nothing is begun again unasked.
        """
        end, uid, started_at = _DELETED, hook.uid, ""
        known = state.known_of(hook.run, hook.key, hook.uid, self.status(deployment).hooks)
        if live is not None and live.end is not None:
            end, uid, started_at = live.end, live.metadata.uid, live.metadata.creation_timestamp or ""
        elif known is not None:
            end, uid, started_at = known.end or _DELETED, known.uid, known.started_at
        ended = ended_hook(replace(hook, uid=uid), end, started_at=started_at, now=self._objects.now())
        change = StatusChange(running_hook=replace(hook, uid=uid, result=ended.result))
        if is_of_wanted and uid and not end.succeeded:
            others = (one for one in deployment.status.hooks if (one.run, one.key) != (hook.run, hook.key))
            change = replace(change, hooks=(*others, ended))
        await self._writer.record_fields(deployment, change)
        state.known = None
        if not uid or skips_hooks(deployment):
            return LookAgain()
        fact = Fact(
            cause=Cause.FORMER_HOOK_ENDED if end.succeeded else Cause.FORMER_HOOK_FAILED,
            detail=SupersededHookEnd(event=hook.event, why="" if end.succeeded else end.why or _NO_REASON),
            objects=(hook.key,),
        )
        return LookAgain(facts=(fact,))

    async def _clear(self, deployment: BundleDeployment, state: HookState, hook: RunningHook) -> LookAgain | HooksOver:
        """Delete by its policy what the run has left, and what ended before it. What stays is not waited for."""
        known: list[HookRecord | RunningHook] = [*self.status(deployment).hooks, hook]
        due = [one for one in known if one.run == hook.run and goes_by_policy(one)]
        stays = await self._delete(deployment, state, due)
        if stays is not None:
            return HooksOver(facts=(stays,))
        await self._writer.record_fields(deployment, StatusChange(running_hook=None))
        return LookAgain()

    async def _delete(self, deployment: BundleDeployment, state: HookState, due: Sequence[HookInStatus]) -> Fact | None:
        """Delete them; return a note of the first that may not be deleted. It is tried again."""
        for key, error in await self._objects.delete_recorded(deployment, state, due):
            event = next(one.event for one in due if one.key == key)
            detail = SupersededHookStays(event=event, why=str(error))
            return Fact(cause=Cause.FORMER_HOOK_LEFT, detail=detail, objects=(key,))
        return None

    async def _delete_uncollected(self, deployment: BundleDeployment, one: HookInStatus) -> None:
        resource = await self._objects.resource_of(one.gvk)
        live = await self._objects.metadata(deployment, resource, one) if resource is not None else None
        if resource is None or live is None:
            return
        is_collected = any(reference.uid == deployment.metadata.uid for reference in live.owner_references)
        stays = is_collected or is_kept({"metadata": {"annotations": live.annotations}})
        if is_object_of(one, live) and not stays:
            with suppress(StaleError):
                await self._objects.delete(deployment, resource, one.key, live.uid, "Background")
