"""Hooks around the deletion of what is installed, or of a first installation that is half done.

The content is that of the active Bundle with the options it was installed with, else the wanted one. Its hooks are run
also when its rendering was lost and comes out differently now. While the content cannot be had, the deletion waits.
"""

import dataclasses
from dataclasses import dataclass

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary
from rukpak_py.api.installed import installed_of
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import BundlePhase, Reason
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.attempt_factory import AttemptFactory
from rukpak_py.controllers.deployment.external_values import ExternalValues, FoundValues, ValuesMissingError
from rukpak_py.controllers.deployment.hooks.given_up import GivenUpHooks
from rukpak_py.controllers.deployment.hooks.results import HooksFailed, LookAgain, NotRun, Running
from rukpak_py.controllers.deployment.hooks.runs import hooks_at, skips_hooks
from rukpak_py.controllers.deployment.hooks.stage import HookStage
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.stage import LOOK_AGAIN_SECONDS, StageResult
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status import Report
from rukpak_py.controllers.deployment.templates import Templates
from rukpak_py.controllers.outcome import WAIT, again, retry
from rukpak_py.core.errors import ContentError
from rukpak_py.core.wording import joined
from rukpak_py.formats.hook import Hook, HookEvent


@dataclass(frozen=True, kw_only=True)
class DeletedContent:
    """What is being deleted, as far as hooks are concerned."""

    attempt: Attempt
    hooks: tuple[Hook, ...]

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

    async def content(
        self, deployment: BundleDeployment, state: DeploymentState
    ) -> DeletedContent | StageResult | None:
        """None: there are no hooks to be run."""
        if not deployment.status.delete_hooks:
            return None
        if skips_hooks(deployment):
            self._stage.emit_skipped(deployment, state.hooks, "deletion")
            return None
        found = await self._values.of(deployment, state)
        attempt = self._attempt(deployment, state, found)
        if attempt is None:
            return _without_content(found, StageResult(outcome=WAIT), Summary.STALLED)
        self._rendering.drop_superseded(deployment.metadata.uid, attempt.content)
        rendered = await self._rendering.rendered(attempt)
        if isinstance(rendered, Rendered):
            return DeletedContent(attempt=attempt, hooks=rendered.hooks)
        if rendered.report is None:
            return StageResult(outcome=rendered.outcome, waits_for=rendered.waits_for)
        return _without_content(found, rendered, rendered.report.summary)

    async def run(self, content: DeletedContent, event: HookEvent) -> StageResult | None:
        """None: all of them have ended well."""
        match await self._stage.run(content.attempt, content.hooks, event):
            case None:
                return None
            case Running() as running:
                return StageResult(outcome=again(LOOK_AGAIN_SECONDS), report=_running(running))
            case LookAgain(after=after):
                return StageResult(outcome=again(after))
            case NotRun(refusal=refusal):
                report = _of(f"Deleting: {refusal.brief or refusal.message}", Summary.RETRYING)
                outcome = retry(refusal.retry_after)
                return StageResult(outcome=outcome, report=report, waits_for=refusal.waits_for)
            case HooksFailed(text=text, is_left=is_left):
                outcome = again(LOOK_AGAIN_SECONDS) if is_left else WAIT
                return StageResult(outcome=outcome, report=_of(f"Deleting: {text}", Summary.STALLED))

    async def clean_up(self, deployment: BundleDeployment, state: DeploymentState) -> StageResult | None:
        """Before the deployment goes: hooks that nobody else deletes. None: they are gone."""
        failures = await self._given_up.delete_uncollected(deployment, state.hooks)
        if not failures:
            return None
        text = joined(f"could not delete the hook {key}: {error}" for key, error in failures)
        return StageResult(outcome=retry(), report=_of(f"Deleting: {text}", Summary.RETRYING))

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


def _without_content(found: FoundValues, result: StageResult, summary: Summary) -> StageResult:
    """Nobody knows the hooks. Values that could not be asked for may be had at the next try."""
    error = found.error
    why = str(error) if error is not None else result.report.message if result.report is not None else ""
    text = f"Deleting: {messages.HOOKS_UNKNOWN}{f': {why}' if why else ''}"
    if error is not None and not isinstance(error, ContentError | ValuesMissingError):
        return StageResult(outcome=retry(error.retry_after), report=_of(text, Summary.RETRYING))
    return StageResult(outcome=result.outcome, report=_of(text, summary), waits_for=result.waits_for)


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


def _of(text: str, summary: Summary = Summary.PROGRESSING) -> Report:
    return Report(summary=summary, reason=Reason.DELETING, message=text)


def _running(running: Running) -> Report:
    report = _of(f"Deleting: {running.text}")
    return dataclasses.replace(report, fields=running.fields, handles_request=running.handles_request)
