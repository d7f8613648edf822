"""Keeps what is installed as it was, beside other content that is wanted and is not there, waits or fails.

It is kept with the options that it was installed with, whatever the spec says meanwhile. While a rollback stands, the
former revision is what is kept. Where that cannot be, the reason is reported.
"""

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import BundlePhase, ConditionType
from rukpak_py.api.upgrades import RolledBack
from rukpak_py.controllers.deployment.attempt import Attempt, AttemptFactory
from rukpak_py.controllers.deployment.external_values import NO_VALUES, FoundValues
from rukpak_py.controllers.deployment.facts import look_again, with_failed_request
from rukpak_py.controllers.deployment.ownership_form import OwnershipForm
from rukpak_py.controllers.deployment.reconcile_content import ContentReconciler
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.template_bundle import Templates
from rukpak_py.controllers.deployment.undo import AGAIN_SECONDS, Unavailable, Undo
from rukpak_py.controllers.result.bundle_details import (
    InstalledBundleFails,
    InstalledBundleMissing,
    InstalledBundleReplaced,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import OPTIONS_LOST
from rukpak_py.controllers.result.progress import NO_PROGRESS, Detail, Fact, Progress, Reached, Words


class InstalledKeeper:
    def __init__(
        self,
        templates: Templates,
        attempts: AttemptFactory,
        content: ContentReconciler,
        undo: Undo,
        ownership_form: OwnershipForm,
    ) -> None:
        self._templates = templates
        self._attempts = attempts
        self._content = content
        self._undo = undo
        self._ownership_form = ownership_form

    async def beside(self, attempt: Attempt, active: Attempt | None, progress: Progress) -> Progress:
        """Keep what is installed while its successor is not."""
        if progress.reached is Reached.NOTHING:
            # Nothing of its successor was written.
            correct = self._content.correct_drift(active) if active is not None else None
            return await (correct or self._not_corrected(attempt.deployment))
        if progress.reached is Reached.PARTLY and active is not None:
            return await self._content.correct_half(attempt, active)
        return NO_PROGRESS

    async def keep(
        self, deployment: BundleDeployment, state: DeploymentState, found: FoundValues = NO_VALUES
    ) -> Progress:
        """Keep the active content with the options that it was installed with, whatever the spec says meanwhile."""
        active = self.active(deployment, state, found)
        if (record := deployment.status.rollback) is not None:
            back = await self._undo.attempt_of(deployment, record, state, found)
            if isinstance(back, Unavailable):
                return not_had(back, record)
            return await self._content.reconcile_content(back, active)
        if active is not None:
            return await self._content.reconcile_content(active, active)
        converted = await with_failed_request(self.converted(deployment, state))
        return converted + await self._not_corrected(deployment)

    async def converted(self, deployment: BundleDeployment, state: DeploymentState) -> Progress:
        """Convert where nothing proves what was applied, and so nothing of it can be lost."""
        await self._ownership_form.convert(deployment, state)
        return NO_PROGRESS

    def active(self, deployment: BundleDeployment, state: DeploymentState, found: FoundValues) -> Attempt | None:
        bundle = self._templates.active(deployment)
        if bundle is None or not bundle.status.digest or has_other_content(bundle, deployment):
            return None
        return self._attempts.active(deployment, bundle, state, found)

    async def _not_corrected(self, deployment: BundleDeployment) -> Progress:
        """Report why the installed content cannot be kept as it was; nothing where what that needs is on its way."""
        name, bundle = deployment.status.active_bundle, self._templates.active(deployment)
        if not name:
            return NO_PROGRESS
        if bundle is None:
            why = await self._templates.restore_active(deployment)
            return _not_kept(InstalledBundleMissing(bundle=name, why=why)) if why else NO_PROGRESS
        if not bundle.status.digest:
            unpacked = find_condition(bundle.status.conditions, ConditionType.UNPACKED)
            if bundle.status.phase != BundlePhase.FAILING or unpacked is None:
                return NO_PROGRESS
            return _not_kept(InstalledBundleFails(bundle=name, why=unpacked.message))
        if has_other_content(bundle, deployment):
            return _not_kept(InstalledBundleReplaced(bundle=name))
        return Progress(facts=(Fact(cause=Cause.OPTIONS_LOST, detail=OPTIONS_LOST),))


def has_other_content(bundle: Bundle, deployment: BundleDeployment) -> bool:
    """Whether the Bundle was made again: content that was never installed is not kept, and has not passed the gates."""
    digest = deployment.status.digest
    return bool(digest) and bundle.status.digest != digest


def not_had(back: Unavailable, record: RolledBack) -> Progress:
    """Report that the revision cannot be had that a failed upgrade is undone by."""
    words = f"revision {record.revision}, by which the upgrade to {record.bundle} is undone, cannot be had: {back.why}"
    return _not_kept(Words(words=words)) if back.why else Progress(facts=(look_again(AGAIN_SECONDS),))


def _not_kept(detail: Detail) -> Progress:
    return Progress(facts=(Fact(cause=Cause.NOT_CORRECTED, detail=detail),))
