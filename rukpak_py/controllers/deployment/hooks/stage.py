"""The hooks of one event of one deployment, a step for each reconcile that comes to it.

The record of how a hook ended is written before anything else happens, and ends its reconcile. What goes by its policy
is deleted after that, once by each process. An event is over when the server has accepted these deletions: what stays
would be in the way of the next hook of that name. After a failure they are tried again, too.
"""

import logging
from collections.abc import Iterable

from rukpak_py.api.hook_status import HookRecord
from rukpak_py.apply.results import failure_of
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.facts import look_again
from rukpak_py.controllers.deployment.hooks.given_up import GivenUpHooks
from rukpak_py.controllers.deployment.hooks.hook_facts import (
    HOOKS_BEGIN_AGAIN,
    HOOKS_SKIPPED,
    LEFT_SECONDS,
    STALE_SECONDS,
    HooksOver,
    LookAgain,
    hook_not_run,
)
from rukpak_py.controllers.deployment.hooks.hook_jobs import HookJobs
from rukpak_py.controllers.deployment.hooks.hook_record import hook_record
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
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.hook_details import FailedHook
from rukpak_py.controllers.result.progress import Fact, Progress, StatusChange
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.hook import Hook, HookEvent
from rukpak_py.kube.errors import NotFoundError, StaleError

LOG = logging.getLogger(__name__)


class HookStage:
    def __init__(self, jobs: HookJobs, given_up: GivenUpHooks, writer: DeploymentStatusWriter) -> None:
        self._given_up = given_up
        self._jobs = jobs
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
        superseded = run.superseded(deployment.status)
        failed = next((one for one in superseded if has_failed(one) and not is_asked_again(one, asked)), None)
        if failed is not None:
            return Progress(facts=(_failed(failed, is_lost=True),))
        again = (HOOKS_BEGIN_AGAIN,) if superseded else ()
        if again:
            state.untold, state.untold_of = again, run.revision
        match next_step(due, records, namespace=attempt.namespace, asked=asked):
            case ExecuteHook() as step:
                return await self._proceed(attempt, run, step) + Progress(facts=again)
            case EventHooksFailed(record=record, delete=delete):
                failures = await self._delete(state, delete)
                for key, error in failures:
                    LOG.warning("could not delete the hook %s, as its policy says: %s", key, error)
                left = (look_again(LEFT_SECONDS),) if failures else ()
                return Progress(facts=(_failed(record), *left, *again))
            case EventHooksDone(delete=delete):
                failures = await self._delete(state, delete)
                refused = [hook_not_run(event, failure_of(*one)) for one in failures[:1]]
                return Progress(facts=(*refused, *again)) if refused else HooksOver(facts=again)

    async def _proceed(self, attempt: Attempt, run: HookExecution, step: ExecuteHook) -> Progress:
        """No two hooks are at work at once, also when one of them is of an installation that was given up."""
        former = await self._given_up.at_work(attempt.deployment, attempt.state.hooks, [run])
        if not isinstance(former, HooksOver):
            return former.progress
        end = await self._jobs.end_of(attempt, run, step)
        if isinstance(end, HookEnd):
            end = (await self._recorded(attempt, run, step, end)).progress
        return end + Progress(facts=former.facts)

    async def _recorded(self, attempt: Attempt, run: HookExecution, step: ExecuteHook, end: HookEnd) -> LookAgain:
        known = hook_record(
            end,
            revision=run.revision,
            run=run.mark,
            event=run.event,
            rendering=run.rendering,
            delete_policies=step.hook.delete_policies,
        )
        try:
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
        await self._writer.record(
            deployment,
            StatusChange(hooks=(*others, record), running_hook=None),
            ready=messages.hook_ended(run.event, record.key, record.result),
            is_request_open=asked_of(deployment) not in {"", record.reconcile_at},
        )

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


def _failed(record: HookRecord, *, is_lost: bool = False) -> Fact:
    detail = FailedHook(event=HookEvent(record.event), why=record.message, is_lost=is_lost)
    return Fact(cause=Cause.HOOK_FAILED, detail=detail, objects=(record.key,))
