"""Hooks around the deletion of what is installed, or of a first installation that is half done.

The content is that of the active Bundle with the options it was installed with, else the wanted one. Its hooks are run
also when its rendering was lost and comes out differently now. While the content cannot be had, the deletion waits.
"""

from dataclasses import dataclass
from dataclasses import replace as replace_fields

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.installed import installed_of
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import BundlePhase
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.attempt_factory import AttemptFactory
from rukpak_py.controllers.deployment.external_values import ExternalValues, FoundValues, ValuesMissingError
from rukpak_py.controllers.deployment.facts import error_fact
from rukpak_py.controllers.deployment.hooks.given_up import GivenUpHooks
from rukpak_py.controllers.deployment.hooks.hook_facts import HOOKS_SKIPPED, HooksOver
from rukpak_py.controllers.deployment.hooks.runs import hooks_at, skips_hooks
from rukpak_py.controllers.deployment.hooks.stage import HookStage
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.templates import Templates
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import VALUES_ERRORS
from rukpak_py.controllers.result.hook_details import HooksLeft, UnknownHooks
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress
from rukpak_py.controllers.result.table import Kind
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.hook import Hook, HookEvent


@dataclass(frozen=True, kw_only=True)
class DeletedContent:
    """What is being deleted, as far as hooks are concerned. `attempt` None: there are none to be run.

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
        given_up: GivenUpHooks,
        *,
        templates: Templates,
        values: ExternalValues,
        attempts: AttemptFactory,
        rendering: RenderingStage,
    ) -> None:
        self._stage = stage
        self._given_up = given_up
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

    async def clean_up(self, deployment: BundleDeployment, state: DeploymentState) -> Progress | None:
        """Before the deployment goes: hooks that nobody else deletes. None: they are gone."""
        failures = await self._given_up.delete_uncollected(deployment, state.hooks)
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
            bundle = replace(bundle, metadata=ObjectMeta(name=bundle.metadata.name))
        installed = replace(bundle, status=replace(bundle.status, digest=status.digest))
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
    return replace_fields(rendered, facts=tuple(_advised(fact, why or fact.text) for fact in rendered.facts))


def _advised(fact: Fact, why: str) -> Fact:
    is_read = fact.row.kind in {Kind.FAILURE, Kind.WAIT}
    return replace_fields(fact, detail=UnknownHooks(why=why)) if is_read else fact


def _recorded(deployment: BundleDeployment) -> Bundle | None:
    """Of the history, where the collector was faster than we are: its rendering may be kept."""
    installed = installed_of(deployment.status)
    template = installed.template if installed is not None else None
    if installed is None or template is None:
        return None
    status = BundleStatus(phase=BundlePhase.UNPACKED)
    return Bundle(metadata=ObjectMeta(name=installed.bundle), spec=template.spec, status=status)


def _without_rendering(deployment: BundleDeployment) -> BundleDeployment:
    """Whatever is rendered now counts as what was installed."""
    status = deployment.status
    history = tuple(replace(entry, rendering_digest="") for entry in status.history)
    return replace(deployment, status=replace(status, history=history))
