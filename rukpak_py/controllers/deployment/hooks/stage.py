"""The hooks of one event of one deployment: each look does one thing, and what changes brings the key back.

The record and the live object are in one situation, which has one effect. What runs to an end stands in the status
before it is created. The record of how it ended is written before anything else happens. What goes by its policy is
deleted after that, once by each process. An event is over when the server has accepted these deletions: what stays
would be in the way of the next hook of that name. After a failure they are tried again, too.

Failures to look, to delete or to create are no end: the hook has not run, and is tried again.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace

from rukpak_py.api.hook_status import HookRecord, RunningHook
from rukpak_py.api.names import HOOK_LABEL, RECONCILE_AT_ANNOTATION
from rukpak_py.apply.results import failure_of
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.facts import look_again
from rukpak_py.controllers.deployment.hooks.due_hook import DueHook, running_hook
from rukpak_py.controllers.deployment.hooks.facts import (
    HOOKS_BEGIN_AGAIN,
    HOOKS_SKIPPED,
    LEFT_SECONDS,
    STALE_SECONDS,
    HooksOver,
    KnownHook,
    LookAgain,
    hook_kind_missing,
    hook_not_run,
)
from rukpak_py.controllers.deployment.hooks.hook_end import JOB, HookVerdict, ended_hook, has_verdict
from rukpak_py.controllers.deployment.hooks.hook_object import (
    HookObject,
    HookSituation,
    LiveHook,
    not_replaceable,
    refusal,
    situation,
)
from rukpak_py.controllers.deployment.hooks.hook_objects import HookObjects
from rukpak_py.controllers.deployment.hooks.runs import (
    EventHooksDone,
    EventHooksFailed,
    ExecuteHook,
    HookExecution,
    asked_of,
    goes_by_policy,
    has_failed,
    hooks_at,
    is_asked_again,
    next_step,
    run_of,
    skips_hooks,
)
from rukpak_py.controllers.deployment.hooks.superseded import SupersededHooks
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.result import hook_details as details
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import reason_of_request
from rukpak_py.controllers.result.progress import Fact, Progress, StatusChange
from rukpak_py.core.errors import ConflictError, RukPakError, UnavailableError
from rukpak_py.core.logs import LASTING
from rukpak_py.core.text import with_finalizers
from rukpak_py.formats.hook import DELETE_EVENTS, Hook, HookEvent
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from rukpak_py.kube.resources import Resource

LOG = logging.getLogger(__name__)
GONE_SECONDS = 60.0  # for what is deleted to be gone
UNWANTED_SECONDS = 1.0  # the event that says why is on its way
UNWATCHED_SECONDS = 5.0  # between two looks at what no watch shows
_DELETED = HookVerdict(succeeded=False, why="it was deleted before it ended")
_CHANGES = frozenset({HookSituation.UNANNOUNCED, HookSituation.ABSENT, HookSituation.FORMER})


class HookStage:
    def __init__(self, objects: HookObjects, superseded: SupersededHooks, writer: DeploymentStatusWriter) -> None:
        self._objects = objects
        self._superseded = superseded
        self._writer = writer

    async def run(self, attempt: Attempt, hooks: Iterable[Hook], event: HookEvent) -> HooksOver | Progress:
        due = hooks_at(hooks, event)
        if not due:
            return HooksOver()
        run, deployment, state = run_of(attempt, event), attempt.deployment, attempt.state.hooks
        if skips_hooks(deployment):
            state.untold, state.untold_of = (HOOKS_SKIPPED,), run.revision
            return HooksOver(facts=state.untold)
        records, asked = run.records(deployment.status), asked_of(deployment)
        former = run.superseded(deployment.status)
        failed = next((one for one in former if has_failed(one) and not is_asked_again(one, asked)), None)
        if failed is not None:
            return Progress(facts=(_failed(failed, is_lost=True),))
        again = (HOOKS_BEGIN_AGAIN,) if former else ()
        if again:
            state.untold, state.untold_of = again, run.revision
        match next_step(due, records, namespace=attempt.namespace, asked=asked):
            case ExecuteHook() as step:
                return await self._proceed(attempt, run, step) + Progress(facts=again)
            case EventHooksFailed(record=record, delete=delete):
                failures = await self._objects.delete_recorded(deployment, state, delete)
                for key, error in failures:
                    said = f"could not delete the hook {key}, as its policy says: {error}"
                    LASTING.tell(LOG, logging.WARNING, reason_of_request(error), said)
                left = (look_again(LEFT_SECONDS),) if failures else ()
                return Progress(facts=(_failed(record), *left, *again))
            case EventHooksDone(delete=delete):
                failures = await self._objects.delete_recorded(deployment, state, delete)
                refused = [hook_not_run(event, failure_of(*one)) for one in failures[:1]]
                return Progress(facts=(*refused, *again)) if refused else HooksOver(facts=again)

    async def _proceed(self, attempt: Attempt, run: HookExecution, step: ExecuteHook) -> Progress:
        """Proceed with a hook. No two run at once, also when one of them is of a superseded installation."""
        former = await self._superseded.proceed(attempt.deployment, attempt.state.hooks, [run])
        if isinstance(former, LookAgain):
            return former.progress
        if not isinstance(former, HooksOver):
            return Progress(facts=former.facts)
        resource = await self._objects.resource_of(step.hook.object.head.gvk)
        if resource is None:
            return Progress(facts=(hook_kind_missing(step.hook.object.head), *former.facts))
        latest = self._writer.latest(attempt.deployment) or attempt.deployment
        due = DueHook(attempt=attempt, run=run, step=step, recorded=latest.status.running_hook)
        return await self._look(due, resource) + Progress(facts=former.facts)

    async def _look(self, due: DueHook, resource: Resource) -> Progress:
        state = due.attempt.state.hooks
        state.due_kind = resource.group_kind
        try:
            wanted = due.object(resource)
        except RukPakError as error:
            return due.not_run(error)
        known = self._known(due, wanted)
        if known is not None and known.end is not None:
            return await self._record_known(due, wanted, known, known.end)
        try:
            if has_verdict(resource.group_kind):
                self._objects.watch(resource)  # before the read, so that no change falls between them
            live = await self._objects.read(due.deployment, state, resource, wanted.key)
        except UnavailableError as error:
            return self._unanswered(due, wanted, error)
        except RukPakError as error:
            state.silent_since = None  # a refusal is an answer
            return due.not_run(error)
        state.silent_since = None
        if live is None and known is not None:
            return await self._record_known(due, wanted, known, _DELETED)
        return await self._act(due, wanted, live)

    def _unanswered(self, due: DueHook, wanted: HookObject, error: UnavailableError) -> Progress:
        """The hook runs, and may end well, for as long as it has; a server that is silent for longer is told."""
        state, recorded, now = due.attempt.state.hooks, due.recorded, asyncio.get_running_loop().time()
        if recorded is None or recorded.run != due.run.mark or not recorded.uid:
            return due.not_run(error)
        if state.silent_since is None:
            state.silent_since = now
        if now - state.silent_since >= self._objects.limit_of(wanted):
            return due.not_run(error)
        return due.runs(recorded, look=UNWATCHED_SECONDS)

    async def _act(self, due: DueHook, wanted: HookObject, live: LiveHook | None) -> Progress:
        """Have one effect, which the next look sees."""
        found = situation(due.recorded, live, wanted)
        if found in _CHANGES and not self._is_wanted(due):
            return LookAgain(after=UNWANTED_SECONDS).progress
        match found, live:
            case HookSituation.UNANNOUNCED, _:
                return await self._announce(due, due.running(wanted, uid="", asked=wanted.asked))
            case HookSituation.ABSENT, _:
                return await self._create(due, wanted)
            case HookSituation.UNRECORDED, LiveHook():
                asked = live.metadata.annotations.get(RECONCILE_AT_ANNOTATION, "")
                return await self._announce(due, running_hook(due, wanted, live.metadata.uid, asked))
            case HookSituation.FORMER, LiveHook():
                return await self._replace(due, wanted, live)
            case ((HookSituation.RUNNING | HookSituation.FORMER_RUNNING), LiveHook()):
                begun = due.recorded if found is HookSituation.RUNNING else None
                return self._waiting(due, wanted, live, live.limit - live.age, begun)
            case HookSituation.LEAVING, LiveHook():
                return self._leaving(due, wanted, live)
            case ((HookSituation.NOT_REPLACEABLE | HookSituation.FOREIGN), LiveHook()):
                is_foreign = found is HookSituation.FOREIGN
                return due.not_run(ConflictError((refusal if is_foreign else not_replaceable)(live.metadata, wanted)))
            case HookSituation.ENDED, LiveHook(metadata=metadata, end=HookVerdict() as end):
                hook = running_hook(due, wanted, metadata.uid, metadata.annotations.get(RECONCILE_AT_ANNOTATION, ""))
                return await self._record_end(due, hook, end, metadata.creation_timestamp or "")
            case _:  # lost
                return await self._record_end(due, due.recorded, _DELETED)

    async def _announce(self, due: DueHook, hook: RunningHook) -> Progress:
        """Record what is about to be created, and its uid when it is: the next process needs both."""
        look = 0.0
        try:
            await self._writer.record_fields(due.deployment, StatusChange(running_hook=hook))
        except (NotFoundError, StaleError):
            look = STALE_SECONDS
        return due.runs(hook if hook.uid else None, look=look)

    async def _create(self, due: DueHook, wanted: HookObject) -> Progress:
        try:
            created = await self._objects.create(due.deployment, due.attempt.state.hooks, wanted)
        except AlreadyExistsError:
            return due.not_run(_appeared(wanted))
        except RukPakError as error:
            return due.not_run(error)
        if not has_verdict(wanted.resource.group_kind):
            return due.runs(look=0.0)
        return await self._announce(due, due.running(wanted, uid=created.uid, asked=wanted.asked))

    async def _replace(self, due: DueHook, wanted: HookObject, live: LiveHook) -> Progress:
        """Delete what is in its place; a Job that may still be at work goes after its Pods."""
        is_at_work = wanted.resource.group_kind == JOB and live.verdict is None
        propagation = "Foreground" if is_at_work else "Background"
        try:
            await self._objects.delete(due.deployment, wanted.resource, wanted.key, live.metadata.uid, propagation)
        except StaleError:  # of a webhook it may be the answer to every try
            return due.not_run(_appeared(wanted))
        except RukPakError as error:
            return due.not_run(error)
        return due.runs(look=0.0)

    def _waiting(
        self, due: DueHook, wanted: HookObject, live: LiveHook, left: float, begun: RunningHook | None = None
    ) -> Progress:
        """Wait for the watch to bring the key back; it brings that of the deployment that the label names, if any."""
        is_watched = self._objects.watch(wanted.resource) and live.metadata.labels.get(HOOK_LABEL) == wanted.owner.uid
        return due.runs(begun, look=left if is_watched else min(left, UNWATCHED_SECONDS))

    def _leaving(self, due: DueHook, wanted: HookObject, live: LiveHook) -> Progress:
        """Wait for a time from our first look at its deletion: the server's stamp is of another clock, and may lie
        ahead by the grace period of a Pod.
        """
        state, uid, now = due.attempt.state.hooks, live.metadata.uid, asyncio.get_running_loop().time()
        if state.leaving[0] != uid:
            state.leaving = uid, now
        left = GONE_SECONDS - (now - state.leaving[1])
        if left > 0:
            return self._waiting(due, wanted, live, left)
        held_by = with_finalizers(live.metadata.finalizers)
        text = f"{wanted.key}, which was left by a former hook, is still being deleted{held_by}"
        (fact,) = due.not_run(UnavailableError(text)).facts
        return Progress(facts=(replace(fact, wakes=frozenset({wanted.key})),))

    async def _record_known(self, due: DueHook, wanted: HookObject, known: KnownHook, end: HookVerdict) -> Progress:
        hook = running_hook(due, wanted, known.uid, known.reconcile_at)
        return await self._record_end(due, hook, end, known.started_at)

    async def _record_end(
        self, due: DueHook, hook: RunningHook | None, end: HookVerdict, started_at: str = ""
    ) -> Progress:
        """Record the end; records are of one revision, of one rendering of it, and of the last run of each hook.

        Objects of other records are deleted by their policy before these go; a record stays while that is refused.
        """
        if hook is None:
            raise AssertionError("a hook that is lost was recorded")
        record = ended_hook(hook, end, started_at=started_at, now=self._objects.now())
        deployment, run, state = due.deployment, due.run, due.attempt.state.hooks
        superseded = run.superseded(deployment.status)
        others = [
            one
            for one in deployment.status.hooks
            if one.revision == run.revision and one not in superseded and (one.run, one.key) != (record.run, record.key)
        ]
        left = [one for one in deployment.status.hooks if one.run != run.mark and one not in others]
        failures = await self._objects.delete_recorded(deployment, state, [one for one in left if goes_by_policy(one)])
        refused = {key for key, _ in failures}
        others += [one for one in left if one.key in refused and one not in superseded]
        try:
            await self._writer.record(
                deployment,
                StatusChange(hooks=(*others, record), running_hook=None),
                ready=f"the {run.event} hook {record.key} has {record.result.lower()}",
                is_request_open=asked_of(deployment) not in {"", record.reconcile_at},
            )
        except (NotFoundError, StaleError):
            return LookAgain(after=STALE_SECONDS).progress
        state.known = state.due_kind = state.silent_since = None
        return LookAgain().progress

    def _known(self, due: DueHook, wanted: HookObject) -> KnownHook | None:
        """The object of this run that this process knows, which may be gone by now."""
        latest = self._writer.latest(due.deployment) or due.deployment
        recorded = latest.status.running_hook
        is_recorded = recorded is not None and (recorded.run, recorded.key) == (wanted.mark, wanted.key)
        uid = recorded.uid if recorded is not None and is_recorded else ""
        return due.attempt.state.hooks.known_of(wanted.mark, wanted.key, uid, latest.status.hooks)

    def _is_wanted(self, due: DueHook) -> bool:
        """Whether the deployment, as it is known now, still asks for it; the look was begun a while ago."""
        deployment, latest = due.deployment, self._writer.latest(due.deployment)
        if latest is None or due.attempt.state.has_ended or skips_hooks(latest):
            return False
        if due.run.event in DELETE_EVENTS:
            return latest.metadata.is_deleted
        is_same = latest.metadata.generation == deployment.metadata.generation
        return is_same and not latest.metadata.is_deleted and not latest.spec.suspend


def _appeared(wanted: HookObject) -> UnavailableError:
    return UnavailableError(f"{wanted.key} appeared while it was being created; it is looked at again")


def _failed(record: HookRecord, *, is_lost: bool = False) -> Fact:
    detail = details.FailedHook(event=HookEvent(record.event), why=record.message, is_lost=is_lost)
    return Fact(cause=Cause.HOOK_FAILED, detail=detail, objects=(record.key,))
