"""A job for each hook that is due: begun once, waited for by nobody, and its end kept until it is recorded.

A deployment has one at a time. One of another run ends when the next begins: what it was to create is not created.
What runs to an end stands in the status before it is created, so whoever comes next knows of it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.hook_status import HookInStatus, RunningHook
from rukpak_py.apply.deletions import FOREGROUND
from rukpak_py.apply.results import failure_of
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.hooks.hook_facts import (
    STALE_SECONDS,
    LookAgain,
    hook_kind_missing,
    hook_not_run,
    hook_runs,
)
from rukpak_py.controllers.deployment.hooks.hook_object import HookObject, hook_object
from rukpak_py.controllers.deployment.hooks.runner import GONE_SECONDS, HookEnd, HookRunner
from rukpak_py.controllers.deployment.hooks.runs import HookExecution, asked_of, may_replace_left, skips_hooks
from rukpak_py.controllers.deployment.hooks.state import HookJob
from rukpak_py.controllers.deployment.hooks.steps import ExecuteHook
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.jobs import Jobs, Key
from rukpak_py.controllers.result.progress import Progress, StatusChange
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.formats.hook import DELETE_EVENTS, HookEvent
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.resources import Resource

MARGIN_SECONDS = 60.0  # of a job, over what its parts may take
UNWANTED_SECONDS = 1.0  # the event that says why is on its way


class HookJobs:
    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        deployments: Cache[BundleDeployment],
        writer: DeploymentStatusWriter,
        *,
        now: Callable[[], str],
        seconds: float,
        jobs: Jobs[HookEnd | None],
    ) -> None:
        """`seconds`: a hook must end within."""
        self._client = client
        self._cluster = cluster
        self._deployments = deployments
        self._writer = writer
        self._seconds = seconds
        self._runner = HookRunner(client, now=now)
        self._jobs = jobs

    async def end_of(self, attempt: Attempt, run: HookExecution, step: ExecuteHook) -> HookEnd | Progress:
        """How the hook has ended; it is begun, unless it was. The same until that is recorded."""
        uid, job = attempt.deployment.metadata.uid, attempt.state.hooks.job
        failed = step.failed.uid if step.failed is not None else ""
        key = (uid, run.mark, failed, *step.hook.object.head.key)
        if job.ended is not None and job.ended[0] == key:
            return job.ended[1]
        finished = self._jobs.take(key)
        if finished is None:
            return await self._running(attempt, run, step, key)
        if finished.error is not None:
            return _not_run(attempt, run, step, finished.error)
        if finished.value is None:
            return LookAgain(after=UNWANTED_SECONDS).progress
        job.ended = key, finished.value
        return finished.value

    def is_at_work(self, job: HookJob) -> bool:
        """It looks after a hook of the deployment, and may be creating it."""
        return job.key is not None and self._jobs.is_running(job.key)

    def stop(self, uid: str, job: HookJob) -> None:
        """Its hook is not waited for any more."""
        self._jobs.drop(uid)
        job.stopped()

    async def resource_of(self, gvk: GroupVersionKind) -> Resource | None:
        """Asked for again when it is unknown: an object of the same chart may have brought it."""
        found = self._cluster.resource_of(gvk)
        if found is None:
            await self._cluster.refresh()
            found = self._cluster.resource_of(gvk)
        return found

    async def delete(self, one: HookInStatus) -> bool:
        """Nobody waits for it to be gone, and it may be gone already. False: its kind is not served."""
        resource = await self.resource_of(one.gvk)
        if resource is None:
            return False
        with suppress(NotFoundError, StaleError):
            await self._client.delete(resource, one.namespace, one.name, uid=one.uid, propagation="Background")
        return True

    async def _running(self, attempt: Attempt, run: HookExecution, step: ExecuteHook, key: Key) -> Progress:
        head = step.hook.object.head
        if not self._jobs.is_running(key):
            resource = await self.resource_of(head.gvk)
            if resource is None:
                return Progress(facts=(hook_kind_missing(head),))
            try:
                wanted = self._hook_object(attempt, run, step, resource)
            except RukPakError as error:
                return _not_run(attempt, run, step, error)
            if not attempt.state.has_ended:  # the result would never be taken
                self._start(attempt, run, step, wanted, key)
        return hook_runs(
            run.event,
            _place(step, attempt),
            attempt.state.hooks.job.begun,
            asked=asked_of(attempt.deployment),
            begins_again=_begins_again(attempt, run),
        )

    def _start(self, attempt: Attempt, run: HookExecution, step: ExecuteHook, wanted: HookObject, key: Key) -> None:
        deployment, job, event = attempt.deployment, attempt.state.hooks.job, run.event
        metadata = deployment.metadata
        self._jobs.drop(metadata.uid)
        job.start(key)

        async def begun(uid: str, asked: str) -> None:
            job.begun = hook = _running_hook(run, step, wanted, uid=uid, asked=asked)
            await self._remember(deployment, hook)

        async def work() -> HookEnd | None:
            return await self._runner.run(wanted, is_wanted=lambda: self._is_wanted(deployment, event), on_begin=begun)

        deadline = 2 * wanted.seconds + GONE_SECONDS + MARGIN_SECONDS  # a former run may have to end first
        self._jobs.start(metadata.name, key, work, lane=f"hooks of {metadata.uid}", deadline=deadline, width=1)

    async def _remember(self, deployment: BundleDeployment, hook: RunningHook) -> None:
        """Until it stands in the status; the deadline of the job bounds it."""
        while True:
            latest = self._deployments.get(deployment.metadata.name)
            known = latest.status.running_hook if latest is not None else None
            if known is not None and not known.result and identity(known) == identity(hook):
                return None
            try:
                return await self._writer.record_fields(deployment, StatusChange(running_hook=hook))
            except NotFoundError:
                return None  # the deployment is gone, so the hook is not wanted
            except (StaleError, UnavailableError):
                await asyncio.sleep(STALE_SECONDS)

    def _is_wanted(self, deployment: BundleDeployment, event: HookEvent) -> bool:
        """By what is known now; the job was begun a while ago."""
        latest = self._deployments.get(deployment.metadata.name)
        if latest is None or latest.metadata.uid != deployment.metadata.uid or skips_hooks(latest):
            return False
        if event in DELETE_EVENTS:
            return latest.metadata.is_deleted
        is_same = latest.metadata.generation == deployment.metadata.generation
        return is_same and not latest.metadata.is_deleted and not latest.spec.suspend

    def _hook_object(self, attempt: Attempt, run: HookExecution, step: ExecuteHook, resource: Resource) -> HookObject:
        deployment, failed_uid = attempt.deployment, step.failed.uid if step.failed is not None else ""
        return hook_object(
            step.hook,
            resource,
            owner=attempt.owner,
            namespace=attempt.namespace,
            mark=run.mark,
            seconds=self._seconds,
            collected=FOREGROUND not in deployment.metadata.finalizers,  # it would go before it ends
            asked=asked_of(deployment),
            failed_uid=failed_uid,
            takes_left=may_replace_left(deployment),
            begun=_created_before(deployment.status.running_hook, run, _place(step, attempt), failed_uid),
        )


def identity(hook: RunningHook) -> tuple[str, ...]:
    """Of one run of it, also before its object has a uid."""
    return hook.run, hook.group, hook.kind, hook.namespace, hook.name, hook.reconcile_at


def _place(step: ExecuteHook, attempt: Attempt) -> ObjectKey:
    key = step.hook.object.head.key
    return key._replace(namespace=key.namespace or attempt.namespace)


def _created_before(
    known: RunningHook | None, run: HookExecution, key: ObjectKey, failed_uid: str
) -> RunningHook | None:
    """What this run has created and the status has no end of."""
    if known is None or known.result or known.uid in {"", failed_uid}:
        return None
    return known if (known.run, known.key) == (run.mark, key) else None


def _running_hook(run: HookExecution, step: ExecuteHook, wanted: HookObject, *, uid: str, asked: str) -> RunningHook:
    key = wanted.key
    return RunningHook(
        revision=run.revision,
        run=run.mark,
        event=run.event,
        group=key.group,
        version=wanted.resource.gvk.version,
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        uid=uid,
        delete_policies=tuple(sorted(step.hook.delete_policies)),
        reconcile_at=asked,
        rendering_digest=run.rendering,
    )


def _not_run(attempt: Attempt, run: HookExecution, step: ExecuteHook, error: RukPakError) -> Progress:
    failure = failure_of(_place(step, attempt), error)
    return Progress(facts=(hook_not_run(run.event, failure, begins_again=_begins_again(attempt, run)),))


def _begins_again(attempt: Attempt, run: HookExecution) -> bool:
    """Hooks of another rendering of this installation have run."""
    return bool(run.superseded(attempt.deployment.status))
