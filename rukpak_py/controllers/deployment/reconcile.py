"""The life of a BundleDeployment: a Bundle for its template, its objects as they should be, and the truth in its
status.

Level-triggered: every look starts from what the caches show and does what is missing. A failing or slow new Bundle
never stops the active one from being kept as it should be. Nothing in here waits: what takes longer brings the key
back by a watch, by the end of a job, or by its back-off.
"""

from dataclasses import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER, ConditionStatus
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment import status as statuses
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.attempt_factory import AttemptFactory
from rukpak_py.controllers.deployment.external_values import NO_VALUES, ExternalValues, FoundValues, ValuesMissingError
from rukpak_py.controllers.deployment.failure_reports import unloadable
from rukpak_py.controllers.deployment.reconcile_content import ERRORS_QUIET_SECONDS, ContentReconciler
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.stage import QUIET_SECONDS, StageResult
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates
from rukpak_py.controllers.deployment.templates import Templates
from rukpak_py.controllers.deployment.uninstall import Uninstall
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, again, both, retry
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.logs import hide_in_lines


class DeploymentReconciler:
    def __init__(
        self,
        *,
        deployments: Cache[BundleDeployment],
        states: DeploymentStates,
        templates: Templates,
        values: ExternalValues,
        attempts: AttemptFactory,
        content: ContentReconciler,
        uninstall: Uninstall,
        reporting: Reporting,
    ) -> None:
        self._deployments = deployments
        self._states = states
        self._templates = templates
        self._values = values
        self._attempts = attempts
        self._content = content
        self._uninstall = uninstall
        self._reporting = reporting

    async def reconcile(self, name: str) -> Outcome:
        deployment = self._deployments.get(name)
        if deployment is None:
            return DONE
        state = self._states.of(deployment.metadata.uid)
        if state is None:
            return DONE
        hide_in_lines(state.mask.hide)
        if not self._reporting.serves(deployment) and not _is_held_by_us(deployment):
            return await self._reporting.not_served(deployment, state)
        if deployment.metadata.is_deleted:
            await self._values.of(deployment, state)  # what is secret of it is not told of while it goes
            return await self._reporting.report(deployment, state, await self._uninstall.proceed(deployment, state))
        if deployment.spec.suspend:
            return await self._reporting.report(deployment, state, SUSPENDED)
        found = await self._values.of(deployment, state)
        try:
            wanted = await self._templates.bundle_of(deployment, state)
        except RukPakError as error:
            return await self._keep_active_after_error(deployment, state, error)
        if wanted is None:
            return WAIT
        if not wanted.status.is_unpacked:
            outcome = await self._keep_active_while_unpacking(deployment, wanted, state, found)
        elif found.error is not None:
            outcome = await self._keep_active_without_values(deployment, state, found.error)
        else:
            outcome = await self._install_new(deployment, wanted, state, found)
        # Last, because a delete that is denied must not stop anything else.
        await self._templates.drop_never_installed(self._deployments.get(name) or deployment, wanted)
        return outcome

    async def _install_new(
        self, deployment: BundleDeployment, wanted: Bundle, state: DeploymentState, found: FoundValues
    ) -> Outcome:
        """The wanted content is there: install it, or keep it as it should be."""
        state.waits.over("values")
        attempt = self._attempts.wanted(deployment, wanted, state, found)
        active = self._active(deployment, state, found)
        result = await self._content.reconcile_content(attempt, active)
        kept = StageResult(outcome=DONE)
        if result.wrote_nothing and active is not None and active.content != attempt.content:
            kept = await self._content.correct_drift(active)
        why = await self._why_not_corrected(deployment, active) if result.wrote_nothing else ""
        why = why or kept.not_corrected
        if why and result.report is not None:
            kept = StageResult(outcome=_look_again(why))
            result = replace(result, report=statuses.with_not_corrected(result.report, why))
        result = _with_kept(result, kept)
        outcome = await self._reporting.report(deployment, state, result, valid=statuses.validity(wanted))
        told = self._deployments.get(deployment.metadata.name)
        if result.is_finished and told is not None and told.status.active_bundle == wanted.metadata.name:
            await self._templates.drop_superseded(deployment, wanted)
        return both(outcome, kept.outcome)

    async def _keep_active_while_unpacking(
        self, deployment: BundleDeployment, wanted: Bundle, state: DeploymentState, found: FoundValues
    ) -> Outcome:
        """The wanted content is not there (yet): keep what is installed, and report about both."""
        valid = self._reporting.validity(wanted)
        result = await self._keep_active(deployment, state, found)
        if valid.status is ConditionStatus.UNKNOWN and state.waited(wanted.metadata.uid) < QUIET_SECONDS:
            return both(result.outcome, again(QUIET_SECONDS))
        state.waits.over(wanted.metadata.uid)
        report = statuses.with_installed(statuses.summary_of_bundle(wanted, valid), result.report)
        return await self._reporting.report(deployment, state, replace(result, report=report))

    async def _keep_active_without_values(
        self, deployment: BundleDeployment, state: DeploymentState, error: RukPakError
    ) -> Outcome:
        """The values of the chart cannot be had: the same. A watch shows when they can."""
        result = await self._keep_active(deployment, state)
        is_watched = isinstance(error, ContentError | ValuesMissingError)
        if is_watched:
            self._content.drop_renderings(deployment)
        outcome = both(WAIT if is_watched else retry(error.retry_after), result.outcome)
        if not is_watched and state.waited("values") < ERRORS_QUIET_SECONDS:
            return await self._reporting.report(deployment, state, replace(result, outcome=outcome, report=None))
        report = statuses.with_installed(unloadable(error), result.report)
        return await self._reporting.report(deployment, state, replace(result, outcome=outcome, report=report))

    async def _keep_active_after_error(
        self, deployment: BundleDeployment, state: DeploymentState, error: RukPakError
    ) -> Outcome:
        """The wanted Bundle cannot be had: the same, with what kept it."""
        result = await self._keep_active(deployment, state)
        outcome = both(retry(error.retry_after), result.outcome)
        report = statuses.with_installed(statuses.no_bundle(error), result.report)
        return await self._reporting.report(deployment, state, replace(result, outcome=outcome, report=report))

    async def _keep_active(
        self, deployment: BundleDeployment, state: DeploymentState, found: FoundValues = NO_VALUES
    ) -> StageResult:
        """With the options that it was installed with, whatever the spec says meanwhile."""
        active = self._active(deployment, state, found)
        if active is not None:
            return await self._content.reconcile_content(active, active)
        why = await self._why_not_corrected(deployment, active)
        if why:
            report = statuses.not_corrected(deployment.status.active_bundle, why)
            return StageResult(outcome=_look_again(why), report=report)
        return StageResult(outcome=WAIT)

    def _active(self, deployment: BundleDeployment, state: DeploymentState, found: FoundValues) -> Attempt | None:
        bundle = self._templates.active(deployment)
        if bundle is None or not bundle.status.digest or _has_other_content(bundle, deployment):
            return None
        return self._attempts.active(deployment, bundle, state, found)

    async def _why_not_corrected(self, deployment: BundleDeployment, active: Attempt | None) -> str:
        """Empty: nothing is installed, or it is kept as it should be, or what that needs is on its way."""
        name, bundle = deployment.status.active_bundle, self._templates.active(deployment)
        if active is not None or not name:
            return ""
        if bundle is None:
            why = await self._templates.restore_active(deployment)
            return messages.bundle_missing(name, why) if why else ""
        if not bundle.status.digest:
            valid = statuses.validity(bundle)
            return messages.bundle_not_unpacked(name, valid.message) if valid.status is ConditionStatus.FALSE else ""
        if _has_other_content(bundle, deployment):
            return messages.bundle_has_other_content(name)
        return messages.OPTIONS_LOST


def _is_held_by_us(deployment: BundleDeployment) -> bool:
    """Of another class by now, and being deleted with our finalizer, which nobody else takes away."""
    return deployment.metadata.is_deleted and ORDERED_DELETION_FINALIZER in deployment.metadata.finalizers


def _has_other_content(bundle: Bundle, deployment: BundleDeployment) -> bool:
    """It was made again: content that was never installed is not what is kept, and not past the gates."""
    digest = deployment.status.digest
    return bool(digest) and bundle.status.digest != digest


def _look_again(why: str) -> Outcome:
    return WAIT if why in {messages.OPTIONS_LOST, messages.RENDERING_LOST} else retry()


def _with_kept(result: StageResult, kept: StageResult) -> StageResult:
    """A refusal, with what the status records of the content that is kept: a correction changes its digest."""
    report = result.report
    if report is not None and kept.report is not None and kept.report.fields is not None:
        report = replace(report, fields={**kept.report.fields, **(report.fields or {})})
    is_gone = result.is_gone or kept.is_gone
    return replace(result, report=report, waits_for=result.waits_for | kept.waits_for, is_gone=is_gone)


SUSPENDED = StageResult(outcome=DONE, report=statuses.SUSPENDED)
