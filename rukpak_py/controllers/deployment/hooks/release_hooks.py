"""Hooks around an installation, and around the deletion of what is installed, or of a first installation half done.

Around an installation: before anything of it is applied, and once all of it is. While a hook runs before it, or has
failed, nothing but what hooks may need was written; where that was nothing, what is installed is still kept as it
should be. The gates have passed before the first hook of a run is begun; until its last one has ended they are not
asked again. What is not wanted any more keeps what is wanted from being ready as long as its hook is at work.

Around a deletion: the content is that of the active Bundle with the options it was installed with, else the wanted one.
Its hooks are run also when its rendering was lost and comes out differently now. While the content cannot be had, the
deletion waits.
"""

from dataclasses import dataclass, replace

from msgspec import structs

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.installed import installed_of
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import BundlePhase
from rukpak_py.controllers.deployment.attempt import Attempt, AttemptFactory
from rukpak_py.controllers.deployment.external_values import ExternalValues, FoundValues, ValuesMissingError
from rukpak_py.controllers.deployment.facts import error_fact, look_again
from rukpak_py.controllers.deployment.hooks.facts import (
    HOOKS_SKIPPED,
    LEFT_SECONDS,
    HooksOver,
    LookAgain,
    SupersededHookRuns,
)
from rukpak_py.controllers.deployment.hooks.runs import INSTALL, events_of, hooks_at, run_of, skips_hooks
from rukpak_py.controllers.deployment.hooks.stage import HookStage
from rukpak_py.controllers.deployment.hooks.superseded import SupersededHooks
from rukpak_py.controllers.deployment.kept_renderings import key_of
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.template_bundle import Templates
from rukpak_py.controllers.result.cause_table import Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import VALUES_ERRORS
from rukpak_py.controllers.result.hook_details import HooksLeft, UnknownHooks
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Reached
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.hook import Hook, HookEvent


class ReleaseHooks:
    def __init__(self, stage: HookStage, superseded: SupersededHooks) -> None:
        self._stage = stage
        self._superseded = superseded

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

    async def with_superseded(self, attempt: Attempt, progress: Progress) -> Progress:
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
                still = tuple(
                    fact for fact in progress.facts if fact.row.kind is Kind.EVENT or fact.cause is Cause.LOOK_AGAIN
                )
                return Progress(facts=still, reached=Reached.PARTLY) + again.progress
            case SupersededHookRuns() as former:
                reached = Reached.APPLIED if progress.reached is Reached.FINISHED else progress.reached
                return replace(progress, reached=reached) + Progress(facts=former.facts)
            case HooksOver(facts=facts):  # what has ended and may not be deleted is tried again
                is_left = facts or self._superseded.status(attempt.deployment).running_hook is not None
                return progress + Progress(facts=(*facts, look_again(LEFT_SECONDS)) if is_left else ())

    async def _former(self, attempt: Attempt) -> SupersededHookRuns | LookAgain | HooksOver:
        """Look after installations that were superseded while a hook was at work, or between two."""
        deployment, state, events = attempt.deployment, attempt.state.hooks, events_of(attempt)
        if self._superseded.status(deployment).running_hook is None:
            return await self._superseded.delete_between(deployment, state, run_of(attempt, INSTALL.before))
        if events is not None and attempt.facts is None:
            return HooksOver()  # what is not rendered yet may be what the hook is of
        wanted = [run_of(attempt, event) for event in (events.before, events.after)] if events is not None else []
        return await self._superseded.proceed(deployment, state, wanted)


@dataclass(frozen=True, kw_only=True)
class DeletedContent:
    """Content that is being deleted, as far as hooks are concerned. `attempt` None: there are none to be run.

    `facts` are told beside what follows.
    """

    attempt: Attempt | None = None
    hooks: tuple[Hook, ...] = ()
    facts: tuple[Fact, ...] = ()

    def has(self, event: HookEvent) -> bool:
        return bool(hooks_at(self.hooks, event))


class DeletionHooks:
    def __init__(
        self,
        stage: HookStage,
        superseded: SupersededHooks,
        *,
        templates: Templates,
        values: ExternalValues,
        attempts: AttemptFactory,
        rendering: RenderingStage,
    ) -> None:
        self._stage = stage
        self._superseded = superseded
        self._templates = templates
        self._values = values
        self._attempts = attempts
        self._rendering = rendering

    async def content(self, deployment: BundleDeployment, state: DeploymentState) -> DeletedContent | Progress:
        if not deployment.status.delete_hooks:
            return DeletedContent()
        if skips_hooks(deployment):
            return DeletedContent(facts=(HOOKS_SKIPPED,))
        found = await self._values.of(deployment, state)
        attempt = self._attempt(deployment, state, found)
        if attempt is None:
            return _unknown(found)
        self._rendering.drop_superseded(deployment.metadata.uid, attempt.content)
        rendered = await self._rendering.rendered(attempt)
        if isinstance(rendered, Rendered):
            return DeletedContent(attempt=attempt, hooks=rendered.hooks)
        return _unknown(found, rendered)

    async def run(self, content: DeletedContent, event: HookEvent) -> HooksOver | Progress:
        if content.attempt is None:
            return HooksOver()
        return await self._stage.run(content.attempt, content.hooks, event)

    async def clean_up(self, deployment: BundleDeployment) -> Progress | None:
        """Delete the hooks that the collector leaves, before the deployment goes. None: they are gone."""
        failures = await self._superseded.delete_uncollected(deployment)
        if not failures:
            return None
        detail = HooksLeft(why=tuple(str(error) for _, error in failures))
        keys = tuple(key for key, _ in failures)
        return Progress(facts=(Fact(cause=Cause.DELETION_FAILED, detail=detail, objects=keys),))

    def _attempt(self, deployment: BundleDeployment, state: DeploymentState, found: FoundValues) -> Attempt | None:
        status = deployment.status
        if not status.active_bundle:
            wanted = self._templates.find(deployment, state.template_hash(deployment))
            if wanted is None or not wanted.status.digest or found.error is not None:
                return None
            return self._attempts.wanted(deployment, wanted, state, found)
        bundle = self._templates.active(deployment) or _recorded(deployment)
        if bundle is None or not status.digest:
            return None
        if bundle.status.digest != status.digest:  # it was made again; what is installed was another Bundle's
            bundle = structs.replace(bundle, metadata=ObjectMeta(name=bundle.metadata.name))
        installed = structs.replace(bundle, status=structs.replace(bundle.status, digest=status.digest))
        return self._attempts.active(_without_rendering(deployment), installed, state, found)


def _unknown(found: FoundValues, rendered: Progress = NO_PROGRESS) -> Progress:
    """The hooks are not known: the chart cannot be `rendered` (yet), with advice how to delete without them.

    Values that could not be asked for may be had at the next try; a watch shows others when they can.
    """
    error = found.error
    why = str(error) if error is not None else ""
    if error is not None and not isinstance(error, ContentError | ValuesMissingError):
        return Progress(facts=(error_fact(VALUES_ERRORS, error, UnknownHooks(why=why)),))
    if not rendered.facts:
        return Progress(facts=(Fact(cause=Cause.HOOKS_UNKNOWN, detail=UnknownHooks(why=why)),))
    advised = (
        replace(fact, detail=UnknownHooks(why=why or fact.text)) if fact.row.kind in {Kind.FAILURE, Kind.WAIT} else fact
        for fact in rendered.facts
    )
    return replace(rendered, facts=tuple(advised))


def _recorded(deployment: BundleDeployment) -> Bundle | None:
    """Make the Bundle of the history again, where the collector was faster: its rendering may be kept."""
    installed = installed_of(deployment.status)
    template = installed.template if installed is not None else None
    if installed is None or template is None:
        return None
    status = BundleStatus(phase=BundlePhase.UNPACKED)
    return Bundle(metadata=ObjectMeta(name=installed.bundle), spec=template.spec, status=status)


def _without_rendering(deployment: BundleDeployment) -> BundleDeployment:
    """The deployment without recorded digests: any rendering counts as the installed one."""
    status = deployment.status
    history = tuple(structs.replace(entry, rendering_digest="") for entry in status.history)
    return structs.replace(deployment, status=structs.replace(status, history=history))


def _run(attempt: Attempt) -> str:
    events = events_of(attempt)
    return run_of(attempt, events.before).mark if events is not None else ""
