"""The hooks of one event of one deployment, a step for each reconcile that comes to it.

The record of how a hook ended is written before anything else happens, and ends its reconcile. What goes by its policy
is deleted after that, once by each process. An event is over when the server has accepted these deletions: what stays
would be in the way of the next hook of that name. After a failure they are tried again, too.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary
from rukpak_py.api.hook_status import HookRecord
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, EventReason, Reason
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.hooks.given_up import GivenUpHooks
from rukpak_py.controllers.deployment.hooks.hook_jobs import HookJobs, not_run
from rukpak_py.controllers.deployment.hooks.results import (
    STALE_SECONDS,
    HooksFailed,
    LookAgain,
    NotRun,
    Running,
    Unfinished,
    hook_record,
)
from rukpak_py.controllers.deployment.hooks.runner import HookEnd
from rukpak_py.controllers.deployment.hooks.runs import HookExecution, asked_of, hooks_at, run_of, skips_hooks
from rukpak_py.controllers.deployment.hooks.state import HookState
from rukpak_py.controllers.deployment.hooks.steps import (
    EventHooksDone,
    EventHooksFailed,
    ExecuteHook,
    goes_by_policy,
    has_failed,
    is_asked_again,
    next_step,
)
from rukpak_py.controllers.deployment.status import Report
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.ports import Recorder
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.hook import DELETE_EVENTS, Hook, HookEvent
from rukpak_py.kube.errors import NotFoundError, StaleError

LOG = logging.getLogger(__name__)


class HookStage:
    def __init__(
        self,
        jobs: HookJobs,
        given_up: GivenUpHooks,
        writer: DeploymentStatusWriter,
        events: Recorder,
    ) -> None:
        self._given_up = given_up
        self._jobs = jobs
        self._writer = writer
        self._events = events

    async def run(self, attempt: Attempt, hooks: Iterable[Hook], event: HookEvent) -> Unfinished | None:
        """None: nothing is left to be run."""
        due = hooks_at(hooks, event)
        if not due:
            return None
        run, deployment, state = run_of(attempt, event), attempt.deployment, attempt.state.hooks
        if skips_hooks(deployment):
            self.emit_skipped(deployment, state, f"{run.revision} {run.since}")
            return None
        records, asked = run.records(deployment.status), asked_of(deployment)
        superseded = run.superseded(deployment.status)
        failed = next((one for one in superseded if has_failed(one) and not is_asked_again(one, asked)), None)
        if failed is not None:
            return HooksFailed(text=messages.hook_failed_and_lost(failed.event, failed.key, failed.message))
        match next_step(due, records, namespace=attempt.namespace, asked=asked):
            case ExecuteHook() as step:
                unfinished = await self._proceed(attempt, run, step)
                return self._begun_again(attempt, run, unfinished) if superseded else unfinished
            case EventHooksFailed(record=record, delete=delete):
                failures = await self._delete(state, delete)
                for key, error in failures:
                    LOG.warning("could not delete the hook %s, as its policy says: %s", key, error)
                text = messages.hook_failed(event, record.key, record.message)
                return HooksFailed(text=text, is_left=bool(failures))
            case EventHooksDone(delete=delete):
                failures = await self._delete(state, delete)
                return not_run(event, *failures[0]) if failures else None

    def emit_skipped(self, deployment: BundleDeployment, state: HookState, what: str) -> None:
        """Once for each installation, and for the deletion."""
        metadata = deployment.metadata
        if state.skipped != what:
            state.skipped = what
            reason, text = EventReason.HOOKS_SKIPPED, messages.HOOKS_SKIPPED
            self._events.normal(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, reason, text)

    def _begun_again(self, attempt: Attempt, run: HookExecution, unfinished: Unfinished) -> Unfinished:
        """With why hooks that have records are run again; as an Event once."""
        metadata, state, text = attempt.deployment.metadata, attempt.state.hooks, messages.HOOKS_BEGIN_AGAIN
        if state.begun_again != run.rendering:
            state.begun_again = run.rendering
            reason = EventReason.HOOKS_BEGIN_AGAIN
            self._events.warning(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, reason, text)
        match unfinished:
            case Running(text=what):
                return replace(unfinished, text=f"{what}; {text}")
            case NotRun(refusal=refusal):
                return NotRun(refusal=replace(refusal, message=f"{refusal.message}; {text}"))
            case _:
                return unfinished

    async def _proceed(self, attempt: Attempt, run: HookExecution, step: ExecuteHook) -> Unfinished:
        """No two hooks are at work at once, also when one of them is of an installation that was given up."""
        given_up = await self._given_up.at_work(attempt.deployment, attempt.state.hooks, [run])
        if given_up is not None:
            return given_up
        end = await self._jobs.end_of(attempt, run, step)
        if not isinstance(end, HookEnd):
            return end
        try:
            known = hook_record(
                end,
                revision=run.revision,
                run=run.mark,
                event=run.event,
                rendering=run.rendering,
                delete_policies=step.hook.delete_policies,
            )
            await self._write(attempt, run, known)
        except (NotFoundError, StaleError):
            return LookAgain(after=STALE_SECONDS)
        attempt.state.hooks.job.recorded()
        return LookAgain()

    async def _write(self, attempt: Attempt, run: HookExecution, record: HookRecord) -> None:
        """Of one revision only, and of one rendering of it; and of each run of a hook the last.

        What others have left goes by its policy, because nobody knows of it afterwards; it stays while it cannot.
        """
        deployment, superseded = attempt.deployment, run.superseded(attempt.deployment.status)
        others = [
            one
            for one in deployment.status.hooks
            if one.revision == run.revision and one not in superseded and (one.run, one.key) != (record.run, record.key)
        ]
        left = [one for one in deployment.status.hooks if one.run != run.mark and one not in others]
        refused = {key for key, _ in await self._delete(attempt.state.hooks, filter(goes_by_policy, left))}
        others += [one for one in left if one.key in refused and one not in superseded]
        report = Report(
            summary=Summary.PROGRESSING,
            reason=Reason.DELETING if run.event in DELETE_EVENTS else Reason.PROGRESSING,
            message=messages.hook_ended(run.event, record.key, record.result),
            fields={"hooks": (*others, record), "running_hook": None},
            handles_request=asked_of(deployment) in {"", record.reconcile_at},
        )
        await self._writer.record(deployment, report)

    async def _delete(self, state: HookState, records: Iterable[HookRecord]) -> list[tuple[ObjectKey, RukPakError]]:
        """Nobody waits for them to be gone. The answer: what could not be deleted."""
        deleted, failures = state.deleted, list[tuple[ObjectKey, RukPakError]]()
        for record in records:
            if record.uid in deleted:
                continue
            try:
                if await self._jobs.delete(record):
                    deleted.add(record.uid)
            except RukPakError as error:
                failures.append((record.key, error))
        return failures
