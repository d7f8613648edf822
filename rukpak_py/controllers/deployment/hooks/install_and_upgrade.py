"""Hooks around an installation: before anything of it is applied, and once all of it is.

While a hook runs before it, or has failed, nothing but what hooks may need was written; where that was nothing, what is
installed is still kept as it should be.
The gates have passed before the first hook of a run is begun; until its last one has ended they are not asked again.
What is not wanted any more keeps what is wanted from being ready as long as its hook is at work.
"""

from dataclasses import replace

from msgspec import structs

from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.facts import look_again
from rukpak_py.controllers.deployment.hooks.given_up import GivenUpHooks, begun_last
from rukpak_py.controllers.deployment.hooks.hook_facts import LEFT_SECONDS, FormerHookAtWork, HooksOver, LookAgain
from rukpak_py.controllers.deployment.hooks.runs import INSTALL, events_of, hooks_at, run_of
from rukpak_py.controllers.deployment.hooks.stage import HookStage
from rukpak_py.controllers.deployment.kept_renderings import key_of
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress, Reached
from rukpak_py.controllers.result.table import Kind


class ReleaseHooks:
    def __init__(self, stage: HookStage, given_up: GivenUpHooks) -> None:
        self._stage = stage
        self._given_up = given_up

    def are_due_before(self, attempt: Attempt, rendered: Rendered) -> bool:
        events = events_of(attempt) if rendered.hooks else None
        return events is not None and bool(hooks_at(rendered.hooks, events.before))

    async def proceed(self, attempt: Attempt, rendered: Rendered) -> HooksOver | Progress:
        """The next step of what this process has begun before the installation, if it has begun anything."""
        if not self.are_due_before(attempt, rendered) or _run(attempt) != attempt.state.hooks.run:
            return HooksOver()
        return await self.before(attempt, rendered)

    async def before(self, attempt: Attempt, rendered: Rendered) -> HooksOver | Progress:
        events = events_of(attempt)
        if events is None:
            return HooksOver()
        attempt.state.hooks.run = _run(attempt)
        return await self._stage.run(attempt, rendered.hooks, events.before)

    async def after(self, attempt: Attempt, rendered: Rendered) -> HooksOver | Progress:
        events = events_of(attempt) if rendered.hooks else None
        if events is None:
            return HooksOver()
        found = await self._stage.run(attempt, rendered.hooks, events.after)
        return found + Progress(reached=Reached.PARTLY) if isinstance(found, Progress) else found

    async def with_given_up(self, attempt: Attempt, progress: Progress) -> Progress:
        """The same, with the hook of another installation that is still at work, or was until just now.

        Notes about hooks that no status has shown yet are told with it: once all is applied no stage finds them again.
        """
        if progress.reached is Reached.GONE:
            return progress
        state = attempt.state.hooks
        noted = {note.reason for note in attempt.deployment.status.notes}
        is_of_another = state.untold_of != key_of(attempt)
        state.untold = () if is_of_another else tuple(one for one in state.untold if one.cause not in noted)
        progress += Progress(facts=state.untold)
        match await self._former(attempt):
            case LookAgain() as again:  # what the rest is made of is older than what was just recorded
                still = tuple(filter(_outlasts_a_record, progress.facts))
                return Progress(facts=still, reached=Reached.PARTLY) + again.progress
            case FormerHookAtWork() as former:
                change = structs.replace(progress.change, running_hook=former.hook)
                reached = Reached.APPLIED if progress.reached is Reached.FINISHED else progress.reached
                return replace(progress, change=change, reached=reached) + Progress(facts=former.facts)
            case HooksOver(facts=facts):  # what has ended and may not be deleted is tried again
                is_left = facts or begun_last(attempt.deployment, state) is not None
                return progress + Progress(facts=(*facts, look_again(LEFT_SECONDS)) if is_left else ())

    async def _former(self, attempt: Attempt) -> FormerHookAtWork | LookAgain | HooksOver:
        """Of installations that were given up while a hook was at work, or between two."""
        deployment, state, events = attempt.deployment, attempt.state.hooks, events_of(attempt)
        if begun_last(deployment, state) is None:
            return await self._given_up.delete_between(deployment, state, run_of(attempt, INSTALL.before))
        if events is not None and attempt.facts is None:
            return HooksOver()  # what is not rendered yet may be what the hook is of
        wanted = [run_of(attempt, event) for event in (events.before, events.after)] if events is not None else []
        return await self._given_up.at_work(deployment, state, wanted)


def _run(attempt: Attempt) -> str:
    events = events_of(attempt)
    return run_of(attempt, events.before).mark if events is not None else ""


def _outlasts_a_record(fact: Fact) -> bool:
    return fact.row.kind is Kind.EVENT or fact.cause is Cause.LOOK_AGAIN
