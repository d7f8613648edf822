"""Hooks around an installation: before anything of it is applied, and once all of it is.

While a hook runs before it, or has failed, nothing was written, so what is installed is still kept as it should be.
The gates have passed before the first hook of a run is begun; until its last one has ended they are not asked again.
What is not wanted any more keeps what is wanted from being ready as long as its hook is at work.
"""

from dataclasses import replace

from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import Reason
from rukpak_py.controllers.deployment import failure_reports
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.hooks.given_up import GivenUpHooks, begun_last
from rukpak_py.controllers.deployment.hooks.results import HooksFailed, LookAgain, NotRun, Running, Unfinished
from rukpak_py.controllers.deployment.hooks.runs import INSTALL, events_of, hooks_at, run_of
from rukpak_py.controllers.deployment.hooks.stage import HookStage
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.stage import StageResult, waiting
from rukpak_py.controllers.outcome import WAIT, again, both, retry_unless_stalled

_BEFORE, _AFTER = "hooks before", "hooks after"  # what is waited for
_LEFT_SECONDS = 30.0  # until what may not be deleted is tried again
_GIVEN_UP_SECONDS = 5.0  # between two looks at a hook that no job of this process waits for


class ReleaseHooks:
    def __init__(self, stage: HookStage, given_up: GivenUpHooks) -> None:
        self._stage = stage
        self._given_up = given_up

    def are_due_before(self, attempt: Attempt, rendered: Rendered) -> bool:
        events = events_of(attempt) if rendered.hooks else None
        return events is not None and bool(hooks_at(rendered.hooks, events.before))

    async def proceed(self, attempt: Attempt, rendered: Rendered) -> StageResult | None:
        """The next step of what this process has begun; None: nothing was, or all of it has ended."""
        if not self.are_due_before(attempt, rendered) or _run(attempt) != attempt.state.hooks.run:
            return None
        return await self.before(attempt, rendered)

    async def before(self, attempt: Attempt, rendered: Rendered) -> StageResult | None:
        """None: all that comes before has ended well."""
        events = events_of(attempt)
        if events is None:
            return None
        attempt.state.hooks.run = _run(attempt)
        unfinished = await self._stage.run(attempt, rendered.hooks, events.before)
        result = _result(attempt, unfinished, _BEFORE)
        return replace(result, wrote_nothing=True) if result is not None else None

    async def after(self, attempt: Attempt, rendered: Rendered) -> StageResult | None:
        """None: all hooks have ended well."""
        events = events_of(attempt) if rendered.hooks else None
        if events is None:
            return None
        return _result(attempt, await self._stage.run(attempt, rendered.hooks, events.after), _AFTER)

    async def with_given_up(self, attempt: Attempt, result: StageResult) -> StageResult:
        """The same, with the hook of another installation that is still at work."""
        state = attempt.state.hooks
        if begun_last(attempt.deployment, state) is None:
            return await self._without_left(attempt, result)
        events = events_of(attempt)
        if events is not None and attempt.facts is None:
            return result  # what is not rendered yet may be what the hook is of
        wanted = [run_of(attempt, event) for event in (events.before, events.after)] if events is not None else []
        running = await self._given_up.at_work(attempt.deployment, state, wanted)
        if isinstance(running, LookAgain):  # what the report is made of is older than what was just recorded
            outcome = both(result.outcome, again(running.after))
            return replace(result, outcome=outcome, report=None, is_finished=False)
        if running is None:  # what has ended and may not be deleted is tried again
            is_left = begun_last(attempt.deployment, state) is not None
            return replace(result, outcome=both(result.outcome, again(_LEFT_SECONDS))) if is_left else result
        report, outcome = result.report, both(result.outcome, again(_GIVEN_UP_SECONDS))
        if report is not None and report.summary is Summary.READY:
            summary, reason = Summary.PROGRESSING, Reason.PROGRESSING
            report = replace(report, summary=summary, reason=reason, message=f"Waiting: {running.text}")
        if report is not None:
            report = replace(report, fields={**(report.fields or {}), "running_hook": running.hook})
        return replace(result, report=report, outcome=outcome, is_finished=False)

    async def _without_left(self, attempt: Attempt, result: StageResult) -> StageResult:
        """The same, without what an installation that was given up between two hooks has left."""
        hooks = attempt.deployment.status.hooks
        if not hooks:
            return result
        run = run_of(attempt, INSTALL.before)
        gone = await self._given_up.delete_between(attempt.deployment, attempt.state.hooks, run)
        if gone is None:
            return replace(result, outcome=both(result.outcome, again(_LEFT_SECONDS)))
        if not gone or result.report is None:
            return result
        fields = result.report.fields or {}
        left = tuple(one for one in fields.get("hooks", hooks) if one not in gone)
        return replace(result, report=replace(result.report, fields={**fields, "hooks": left}))


def _run(attempt: Attempt) -> str:
    events = events_of(attempt)
    return run_of(attempt, events.before).mark if events is not None else ""


def _result(attempt: Attempt, unfinished: Unfinished | None, what: str) -> StageResult | None:
    deployment = attempt.deployment
    if not isinstance(unfinished, Running):
        attempt.state.waits.over(what)
    match unfinished:
        case None:
            return None
        case Running() as running:
            return _waiting(attempt, what, running)
        case LookAgain(after=after):
            return StageResult(outcome=again(after))
        case NotRun(refusal=refusal):
            report = failure_reports.refused(deployment, refusal)
            outcome = retry_unless_stalled(report.summary, refusal.retry_after)
            return StageResult(outcome=outcome, report=report, waits_for=refusal.waits_for)
        case HooksFailed(text=text, is_left=is_left):
            outcome = again(_LEFT_SECONDS) if is_left else WAIT
            return StageResult(outcome=outcome, report=failure_reports.not_installed(deployment, text, Summary.STALLED))


def _waiting(attempt: Attempt, what: str, running: Running) -> StageResult:
    result = waiting(attempt.state, what, f"Waiting: {running.text}")
    if result.report is None:
        return result
    report = replace(result.report, fields=running.fields, handles_request=running.handles_request)
    return replace(result, report=report)
