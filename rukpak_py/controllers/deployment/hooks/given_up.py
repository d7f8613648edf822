"""What becomes of hooks that nobody waits for any more.

A spec that changes gives an installation up, and the hook that it is at is not stopped: it may be half a migration.
Until it has ended, or its time is over, the deployment names it, and begins no other hook. Then it is deleted where its
policy says so. The status knows it, so the next process does, too.

A hook of a deletion in the foreground has no reference to its deployment, because the collector would take it before it
ends. What is left of it is deleted by name when the deployment goes.
"""

from collections.abc import Callable, Sequence

import orjson

from rukpak_py.api.bundle_deployment import BundleDeployment, HookRecord, RunningHook
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, EventReason, Reason
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.hooks.hook_jobs import HookJobs
from rukpak_py.controllers.deployment.hooks.results import STALE_SECONDS, LookAgain, Running, hook_record
from rukpak_py.controllers.deployment.hooks.runner import HookEnd, age_of
from rukpak_py.controllers.deployment.hooks.runs import HookExecution, skips_hooks
from rukpak_py.controllers.deployment.hooks.verdict import HookVerdict, time_limit, verdict
from rukpak_py.controllers.deployment.status import Report
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.ports import Recorder
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.formats.helm.hooks import is_kept
from rukpak_py.formats.hook import DELETE_EVENTS, DeletePolicy
from rukpak_py.kube.answers import live_object
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.resources import CRDS, Resource

_Known = HookRecord | RunningHook
_DELETED = HookVerdict(succeeded=False, why="it was deleted")


class GivenUpHooks:
    def __init__(
        self,
        client: Client,
        jobs: HookJobs,
        writer: DeploymentStatusWriter,
        events: Recorder,
        *,
        now: Callable[[], str],
        seconds: float,
    ) -> None:
        """`seconds`: a hook must end within."""
        self._client = client
        self._jobs = jobs
        self._writer = writer
        self._events = events
        self._now = now
        self._seconds = seconds
        self._named: dict[str, str] = {}  # by deployment: the uid of what was told
        self._over_uids: dict[str, str] = {}  # by deployment: of what has ended, which an older status still shows

    def known(self, deployment: BundleDeployment) -> RunningHook | None:
        """The hook that was begun last and has no record yet, of whatever run."""
        uid = deployment.metadata.uid
        hook = self._jobs.begun(uid) or deployment.status.running_hook
        return hook if hook is not None and hook.uid != self._over_uids.get(uid) else None

    async def at_work(
        self, deployment: BundleDeployment, wanted: Sequence[HookExecution]
    ) -> Running | LookAgain | None:
        """One that is not of a `wanted` run, or what it has become. None: there is none, or nobody waits for it."""
        hook = self.known(deployment)
        if hook is None or hook.run in {run.mark for run in wanted}:
            return None
        text = messages.hook_given_up(hook.event, _key_of(hook))
        try:
            end = await self._end_of(hook)
            if end is not None:
                await self._over(deployment, hook, end, is_of_wanted=any(run.is_of(hook) for run in wanted))
                return LookAgain()
        except (NotFoundError, StaleError):
            return LookAgain(after=STALE_SECONDS)
        except RukPakError as error:
            text = f"{text}; {error}"
        if skips_hooks(deployment):
            return None
        if self._named.get(deployment.metadata.uid) != hook.uid:
            self._named[deployment.metadata.uid] = hook.uid
            self._emit(self._events.warning, deployment, EventReason.HOOK_GIVEN_UP, text)
        return Running(text=text, hook=hook)

    async def delete_uncollected(self, deployment: BundleDeployment) -> list[tuple[ObjectKey, RukPakError]]:
        uid, running = deployment.metadata.uid, self.known(deployment)
        known: list[_Known] = [*deployment.status.hooks, *([running] if running is not None else [])]
        failures: list[tuple[ObjectKey, RukPakError]] = []
        for one in known:
            if one.event in DELETE_EVENTS and one.uid and (one.group, one.kind) != CRDS.group_kind:
                try:
                    await self._delete_uncollected(one, uid)
                except RukPakError as error:
                    failures.append((_key_of(one), error))
        return failures

    def forget(self, uid: str) -> None:
        """The deployment is gone."""
        self._named.pop(uid, None)
        self._over_uids.pop(uid, None)

    async def _end_of(self, hook: RunningHook) -> HookEnd | None:
        """None: it is at work."""
        resource = await self._resource_of(hook)
        try:
            found = await self._client.get(resource, hook.namespace, hook.name) if resource is not None else b""
        except NotFoundError:
            found = b""
        if resource is None or not found:
            return self._ended(hook, _DELETED)
        live, manifest = live_object(resource, found, full=True).metadata, orjson.loads(found)
        if live.uid != hook.uid or live.is_deleted:
            return self._ended(hook, _DELETED)
        seconds = time_limit(resource.group_kind, manifest, self._seconds)
        ended = verdict(resource.group_kind, manifest)
        if ended is None and age_of(live, self._now()) >= seconds:
            ended = HookVerdict(succeeded=False, why=f"it did not end within {seconds:g} s")
        return self._ended(hook, ended, live.creation_timestamp or "") if ended is not None else None

    def _ended(self, hook: RunningHook, found: HookVerdict, started_at: str = "") -> HookEnd:
        now = self._now()
        return HookEnd(
            key=_key_of(hook),
            version=hook.version,
            verdict=found,
            uid=hook.uid,
            started_at=started_at or now,
            finished_at=now,
            asked=hook.reconcile_at,
        )

    async def _over(self, deployment: BundleDeployment, hook: RunningHook, end: HookEnd, *, is_of_wanted: bool) -> None:
        """`is_of_wanted`: only its rendering is another by now, and after a failure nothing is begun again unasked."""
        succeeded, status = end.verdict.succeeded, deployment.status
        if (DeletePolicy.HOOK_SUCCEEDED if succeeded else DeletePolicy.HOOK_FAILED) in hook.delete_policies:
            await self._delete(hook)
        text = messages.given_up_hook_ended(hook.event, end.key, "" if succeeded else end.verdict.why)
        records = status.hooks
        if is_of_wanted and not succeeded:
            run = {"revision": hook.revision, "run": hook.run, "event": hook.event, "rendering": hook.rendering_digest}
            records = (*records, hook_record(end, **run))
        if status.running_hook is not None or records != status.hooks:
            fields = {"running_hook": None, "hooks": records}
            summary, reason = Summary.PROGRESSING, Reason.PROGRESSING
            await self._writer.record(deployment, Report(summary=summary, reason=reason, message=text, fields=fields))
        self._jobs.forget(deployment.metadata.uid)
        self._over_uids[deployment.metadata.uid] = hook.uid
        if not skips_hooks(deployment):
            emit = self._events.normal if succeeded else self._events.warning
            self._emit(emit, deployment, EventReason.HOOK_ENDED, text)

    async def _delete_uncollected(self, one: _Known, owner_uid: str) -> None:
        resource = await self._resource_of(one)
        if resource is None:
            return
        try:
            live = await self._client.get_metadata(resource, one.namespace, one.name)
        except NotFoundError:
            return
        is_collected = any(reference.uid == owner_uid for reference in live.owner_references)
        if live.uid == one.uid and not is_collected and not is_kept({"metadata": {"annotations": live.annotations}}):
            await self._delete(one)

    async def _delete(self, one: _Known) -> None:
        resource = await self._resource_of(one)
        if resource is None:
            return
        try:
            await self._client.delete(resource, one.namespace, one.name, uid=one.uid, propagation="Background")
        except (NotFoundError, StaleError):
            return  # it is gone

    async def _resource_of(self, one: _Known) -> Resource | None:
        return await self._jobs.resource_of(GroupVersionKind(one.group, one.version, one.kind))

    @staticmethod
    def _emit(emit: Callable[[str, str, str, str, str], None], of: BundleDeployment, reason: str, text: str) -> None:
        emit(BUNDLE_DEPLOYMENT_KIND, of.metadata.name, of.metadata.uid, reason, text)


def _key_of(one: _Known) -> ObjectKey:
    return ObjectKey(one.group, one.kind, one.namespace, one.name)
