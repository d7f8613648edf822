"""What becomes of hooks that nobody waits for any more.

A spec that changes gives an installation up, and the hook that it is at is not stopped: it may be half a migration.
Until it has ended, or its time is over, the deployment names it, and begins no other hook. How it ended is recorded;
then what its run has left is deleted as the policies say, and what may not be deleted holds nobody up. The status knows
it before its object is created, so the next process does, too.

A hook of a deletion in the foreground has no reference to its deployment, because the collector would take it before it
ends. What is left of it is deleted by name when the deployment goes.
"""

from collections.abc import Callable, Iterable, Sequence

import orjson
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.hook_status import HookInStatus, HookRecord, RunningHook
from rukpak_py.api.names import HOOK_RUN_ANNOTATION
from rukpak_py.controllers.deployment.hooks.hook_facts import STALE_SECONDS, FormerHookAtWork, HooksOver, LookAgain
from rukpak_py.controllers.deployment.hooks.hook_jobs import HookJobs, identity
from rukpak_py.controllers.deployment.hooks.hook_record import hook_record
from rukpak_py.controllers.deployment.hooks.runner import HookEnd, age_of
from rukpak_py.controllers.deployment.hooks.runs import HookExecution, skips_hooks
from rukpak_py.controllers.deployment.hooks.state import HookState, SupersededHook
from rukpak_py.controllers.deployment.hooks.steps import goes_by_policy, has_failed
from rukpak_py.controllers.deployment.hooks.verdict import HookVerdict, time_limit, verdict
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.hook_details import FormerHookEnd, FormerHookStays
from rukpak_py.controllers.result.progress import Fact, StatusChange
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.helm.hooks import is_kept
from rukpak_py.formats.hook import DELETE_EVENTS
from rukpak_py.kube.answers import live_object
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import CRDS

_NO_REASON = "its status does not say why"
_DELETED = HookVerdict(succeeded=False, why="it was deleted")


class GivenUpHooks:
    def __init__(
        self,
        client: Client,
        jobs: HookJobs,
        writer: DeploymentStatusWriter,
        *,
        now: Callable[[], str],
        seconds: float,
    ) -> None:
        """`seconds`: a hook must end within."""
        self._client = client
        self._jobs = jobs
        self._writer = writer
        self._now = now
        self._seconds = seconds

    async def at_work(
        self, deployment: BundleDeployment, state: HookState, wanted: Sequence[HookExecution]
    ) -> FormerHookAtWork | LookAgain | HooksOver:
        """One that is not of a `wanted` run, or what it has become. HooksOver: there is none to be waited for."""
        hook = begun_last(deployment, state)
        if hook is None or hook.run in {run.mark for run in wanted}:
            return HooksOver()
        failure: RukPakError | None = None
        try:
            if hook.result:
                return await self._clear(deployment, state, hook)
            end = await self._end_of(state, hook)
            if end is not None:
                is_of_wanted = any(run.is_of(hook) for run in wanted)
                return await self._record(deployment, state, hook, end, is_of_wanted=is_of_wanted)
        except (NotFoundError, StaleError):
            return LookAgain(after=STALE_SECONDS)
        except RukPakError as error:
            failure = error
        return HooksOver() if skips_hooks(deployment) else FormerHookAtWork(hook=hook, error=failure)

    async def delete_between(
        self, deployment: BundleDeployment, state: HookState, run: HookExecution
    ) -> LookAgain | HooksOver:
        """Of an installation that was given up for that of `run` between two hooks: what goes, and then its records.

        The record of a failure stays, with all of its run: it keeps what failed from being begun again unasked. Its
        deletions may not have come to their end.
        """
        hooks, superseded = deployment.status.hooks, state.superseded
        due = [one for one in hooks if goes_by_policy(one) and run.replaced(one)]
        if not due or skips_hooks(deployment):
            return HooksOver()
        stays = await self._delete([one for one in due if one.uid not in superseded.deleted])
        if stays is not None:
            return HooksOver(facts=(stays,))
        failed = {one.run for one in hooks if has_failed(one)}
        superseded.deleted = frozenset(one.uid for one in due if one.run in failed)
        gone = [one for one in due if one.run not in failed]
        return await self._forget(deployment, gone) if gone else HooksOver()

    async def _forget(self, deployment: BundleDeployment, gone: Sequence[HookRecord]) -> LookAgain:
        """By the latest status: this look may have recorded another hook."""
        latest = self._writer.latest(deployment) or deployment
        left = tuple(one for one in latest.status.hooks if one not in gone)
        try:
            await self._writer.record_fields(deployment, StatusChange(hooks=left))
        except (NotFoundError, StaleError):
            return LookAgain(after=STALE_SECONDS)
        return LookAgain()

    async def delete_uncollected(
        self, deployment: BundleDeployment, state: HookState
    ) -> list[tuple[ObjectKey, RukPakError]]:
        uid, running = deployment.metadata.uid, begun_last(deployment, state)
        known: list[HookInStatus] = [*deployment.status.hooks, *([running] if running is not None else [])]
        failures: list[tuple[ObjectKey, RukPakError]] = []
        for one in known:
            has_object = one.uid or isinstance(one, RunningHook)
            if one.event in DELETE_EVENTS and has_object and one.gvk.group_kind != CRDS.group_kind:
                try:
                    await self._delete_uncollected(one, uid)
                except RukPakError as error:
                    failures.append((one.key, error))
        return failures

    async def _end_of(self, state: HookState, hook: RunningHook) -> HookEnd | None:
        """None: it is at work, or about to be. One that is being deleted is at work until it is gone."""
        resource = await self._jobs.resource_of(hook.gvk)
        try:
            found = await self._client.get(resource, hook.namespace, hook.name) if resource is not None else b""
        except NotFoundError:
            found = b""
        if resource is None or not found:
            is_coming = resource is not None and self._jobs.is_at_work(state.job)
            return None if is_coming else self._ended(hook, _DELETED)
        live, manifest = live_object(resource, found, full=True).metadata, orjson.loads(found)
        if not _is_object_of(hook, live):
            return self._ended(hook, _DELETED)
        seconds = time_limit(resource.group_kind, manifest, self._seconds)
        ended = verdict(resource.group_kind, manifest)
        if ended is None and age_of(live, self._now()) >= seconds:
            ended = HookVerdict(succeeded=False, why=f"it did not end within {seconds:g} s")
        if ended is None:
            return None
        return self._ended(replace(hook, uid=live.uid), ended, live.creation_timestamp or "")

    def _ended(self, hook: RunningHook, found: HookVerdict, started_at: str = "") -> HookEnd:
        now = self._now()
        return HookEnd(
            key=hook.key,
            version=hook.version,
            verdict=found,
            uid=hook.uid,
            started_at=started_at or now,
            finished_at=now,
            asked=hook.reconcile_at,
        )

    async def _record(
        self, deployment: BundleDeployment, state: HookState, hook: RunningHook, end: HookEnd, *, is_of_wanted: bool
    ) -> LookAgain:
        """How it has ended, before anything of it is deleted: what is gone tells nobody how it has ended.

        `is_of_wanted`: only its rendering is another by now, and after a failure nothing is begun again unasked.
        """
        succeeded = end.verdict.succeeded
        ended = hook_record(
            end,
            revision=hook.revision,
            run=hook.run,
            event=hook.event,
            rendering=hook.rendering_digest,
            delete_policies=hook.delete_policies,
        )
        change = StatusChange(running_hook=replace(hook, uid=end.uid, result=ended.result))
        if is_of_wanted and end.uid and not succeeded:
            others = (one for one in deployment.status.hooks if (one.run, one.key) != (hook.run, end.key))
            change = replace(change, hooks=(*others, ended))
        await self._writer.record_fields(deployment, change)
        self._jobs.stop(deployment.metadata.uid, state.job)
        is_told = end.uid and not skips_hooks(deployment)
        return LookAgain(facts=(_end_fact(hook, end),) if is_told else ())

    async def _clear(self, deployment: BundleDeployment, state: HookState, hook: RunningHook) -> LookAgain | HooksOver:
        """What goes by its policy, with what ended before it in its run. What stays is not waited for."""
        known: list[HookRecord | RunningHook] = [*deployment.status.hooks, hook]
        stays = await self._delete(one for one in known if one.run == hook.run and goes_by_policy(one))
        if stays is not None:
            return HooksOver(facts=(stays,))
        await self._writer.record_fields(deployment, StatusChange(running_hook=None))
        state.superseded = SupersededHook(over=(*identity(hook), hook.uid))
        return LookAgain()

    async def _delete(self, due: Iterable[HookInStatus]) -> Fact | None:
        """A fact: what may not be deleted; the rest is for the next try."""
        for one in due:
            try:
                await self._jobs.delete(one)
            except RukPakError as error:
                detail = FormerHookStays(event=one.event, why=str(error))
                return Fact(cause=Cause.FORMER_HOOK_LEFT, detail=detail, objects=(one.key,))
        return None

    async def _delete_uncollected(self, one: HookInStatus, owner_uid: str) -> None:
        resource = await self._jobs.resource_of(one.gvk)
        if resource is None:
            return
        try:
            live = await self._client.get_metadata(resource, one.namespace, one.name)
        except NotFoundError:
            return
        is_collected = any(reference.uid == owner_uid for reference in live.owner_references)
        stays = is_collected or is_kept({"metadata": {"annotations": live.annotations}})
        if _is_object_of(one, live) and not stays:
            await self._jobs.delete(replace(one, uid=live.uid))


def begun_last(deployment: BundleDeployment, state: HookState) -> RunningHook | None:
    """The hook that was begun last and has no record yet, of whatever run."""
    hook, begun = deployment.status.running_hook, state.job.begun
    if begun is not None:  # perhaps once more, where the same content came back
        return begun
    return hook if hook is not None and (*identity(hook), hook.uid) != state.superseded.over else None


def _is_object_of(one: HookInStatus, live: Metadata) -> bool:
    """By the mark of its run where its uid is not known yet."""
    return live.uid == one.uid if one.uid else live.annotations.get(HOOK_RUN_ANNOTATION) == one.run


def _end_fact(hook: RunningHook, end: HookEnd) -> Fact:
    succeeded = end.verdict.succeeded
    return Fact(
        cause=Cause.FORMER_HOOK_ENDED if succeeded else Cause.FORMER_HOOK_FAILED,
        detail=FormerHookEnd(event=hook.event, why="" if succeeded else end.verdict.why or _NO_REASON),
        objects=(end.key,),
    )
