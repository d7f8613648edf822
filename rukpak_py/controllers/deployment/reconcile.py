"""The life of a BundleDeployment: a Bundle for its template, its objects as they should be, and the truth in its
status.

Level-triggered: every look starts from what the caches show and does what is missing. A failing or slow new Bundle
never stops the active one from being kept as it should be. Nothing in here waits: what takes longer brings the key
back by a watch, by the end of a job, or by its back-off.
"""

from collections.abc import Collection
from dataclasses import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionType, Reason, is_unknown_class
from rukpak_py.api.upgrades import RolledBack
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.account_proof import AccountProof, is_held_by_us, without_account
from rukpak_py.controllers.deployment.attempt import Attempt, AttemptFactory
from rukpak_py.controllers.deployment.dependencies import Dependencies
from rukpak_py.controllers.deployment.external_values import ExternalValues, FoundValues, values_fact
from rukpak_py.controllers.deployment.facts import error_fact, is_open, look_again, with_failed_request
from rukpak_py.controllers.deployment.hooks.superseded import SupersededHooks
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.installed_keeper import InstalledKeeper, not_had
from rukpak_py.controllers.deployment.ownership_form import OwnershipForm
from rukpak_py.controllers.deployment.reconcile_content import ContentReconciler
from rukpak_py.controllers.deployment.remediation import is_finished, is_told, is_undone, refusal_of, undone_fact
from rukpak_py.controllers.deployment.rendering_stage import REFETCHING_CONTENT
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates
from rukpak_py.controllers.deployment.state_parts import UnmadeBundle
from rukpak_py.controllers.deployment.template_bundle import Templates, unpack_fact
from rukpak_py.controllers.deployment.undo import UPGRADE, Unavailable, Undo, Undone
from rukpak_py.controllers.deployment.uninstall import Uninstall
from rukpak_py.controllers.deployment.upgrade_approval import upgrade_change
from rukpak_py.controllers.judging import Judging
from rukpak_py.controllers.queue import SETTLED, Schedule, Turn
from rukpak_py.controllers.result.bundle_details import (
    UnknownClass,
)
from rukpak_py.controllers.result.cause_table import WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import (
    SUSPENDED,
    ClassNotServed,
)
from rukpak_py.controllers.result.errors import BUNDLE_ERRORS
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Reached, StatusChange
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.logs import hide_in_lines

STATUS_SECONDS = 1.0  # until the status tells that a rollback has come to its end
REFETCHING_SECONDS = 60.0  # that other content waits for the former one of a rollback which is not there
ROLLBACK = "rollback"  # in the waits of the state


class DeploymentReconciler:
    def __init__(
        self,
        *,
        deployments: Cache[BundleDeployment],
        instances: Cache[BundleInstance],
        states: DeploymentStates,
        identities: Identities,
        judging: Judging,
        templates: Templates,
        values: ExternalValues,
        attempts: AttemptFactory,
        content: ContentReconciler,
        undo: Undo,
        ownership_form: OwnershipForm,
        hooks: SupersededHooks,
        uninstall: Uninstall,
        dependencies: Dependencies,
        reporting: Reporting,
        classes: Collection[str],
    ) -> None:
        self._deployments = deployments
        self._states = states
        self._identities = identities
        self._proof = AccountProof(instances, identities, judging)
        self._templates = templates
        self._values = values
        self._attempts = attempts
        self._content = content
        self._undo = undo
        self._installed = InstalledKeeper(templates, attempts, content, undo, ownership_form)
        self._hooks = hooks
        self._uninstall = uninstall
        self._dependencies = dependencies
        self._reporting = reporting
        self._classes = classes

    async def reconcile(self, name: str, turn: Turn) -> Schedule:
        """Every look corrects drift. What could not be installed is tried again when `turn` is an attempt."""
        deployment = self._deployments.get(name)
        if deployment is None:
            return SETTLED
        state = self._states.of(deployment.metadata.uid)
        if state is None:
            return SETTLED
        hide_in_lines(state.mask.hide)
        schedule = await self._look(name, deployment, state, turn)
        is_served = deployment.spec.provisioner_class in self._classes and not self._identities.refuses(deployment)
        if is_served and state.verdict.fact is None:
            await self._hooks.remember_end(deployment, state.hooks)
        return replace(schedule, is_slow=state.pace.is_slow)

    async def _look(self, name: str, deployment: BundleDeployment, state: DeploymentState, turn: Turn) -> Schedule:
        if deployment.spec.provisioner_class not in self._classes and not is_held_by_us(deployment):
            return await self._reporting.report(deployment, state, turn, wanted=_about(*_not_served(deployment)))
        if self._identities.refuses(deployment):
            self._values.drop_former(deployment, state, is_proven=False)
            state.waits.over(UPGRADE)
            return await self._reporting.report(deployment, state, turn, wanted=_about(*without_account(deployment)))
        unproven = await with_failed_request(self._proof.unproven(deployment, state))
        self._values.drop_former(deployment, state, is_proven=not unproven.facts)
        if unproven.facts:
            state.waits.over(UPGRADE)
            return await self._reporting.report(deployment, state, turn, wanted=unproven)
        if deployment.metadata.is_deleted:
            if is_held_by_us(deployment) or not self._identities.need_proof(deployment):
                await self._values.of(deployment, state)  # what is secret of it is not told of while it goes
            progress = await with_failed_request(self._uninstall.proceed(deployment, state))
            return await self._reporting.report(deployment, state, turn, wanted=progress)
        deployment = await self._uninstall.prepare(deployment)
        if deployment.spec.suspend:
            state.waits.over(UPGRADE)
            converted = await with_failed_request(self._suspended(deployment, state))
            return await self._reporting.report(deployment, state, turn, wanted=_about(_SUSPENDED) + converted)
        deployment = await self._reporting.with_refresh(deployment)
        found = await self._values.of(deployment, state)
        wanted = await self._bundle(deployment, state, turn)
        if isinstance(wanted, Progress):
            state.failed.forget()
            installed = await self._installed.keep(deployment, state, found)
            return await self._reporting.report(deployment, state, turn, wanted=wanted, installed=installed)
        if wanted is None:
            return SETTLED  # the deployment is gone
        if wanted.status.is_unpacked and found.error is None:
            schedule = await self._install(deployment, wanted, state, found, turn)
        else:
            state.failed.forget()
            state.waits.over(UPGRADE)
            failure = _about(self._not_unpacked(deployment, wanted, found))
            installed = await self._installed.keep(deployment, state, found)
            schedule = await self._reporting.report(deployment, state, turn, wanted=failure, installed=installed)
        # Last, because a delete that is denied must not stop anything else.
        await self._templates.drop_never_installed(self._deployments.get(name) or deployment, wanted)
        return schedule

    async def _suspended(self, deployment: BundleDeployment, state: DeploymentState) -> Progress:
        await self._installed.converted(deployment, state)
        return NO_PROGRESS if state.is_converted else _about(look_again(WAIT_QUIET_SECONDS))

    async def _bundle(
        self, deployment: BundleDeployment, state: DeploymentState, turn: Turn
    ) -> Bundle | Progress | None:
        """The Bundle of the template, or why there is none; only an attempt makes it again. None: see `bundle_of`."""
        template = state.template_hash(deployment)
        if not turn.is_attempt and state.unmade is not None and state.unmade.template == template:
            found = self._templates.find(deployment, template)
            return found or _about(state.unmade.fact, Fact(cause=Cause.NOT_DUE))
        state.unmade = None
        try:
            return await self._templates.bundle_of(deployment, state)
        except RukPakError as error:
            state.unmade = UnmadeBundle(template, error_fact(BUNDLE_ERRORS, error))
            return _about(state.unmade.fact)

    async def _install(
        self, deployment: BundleDeployment, wanted: Bundle, state: DeploymentState, found: FoundValues, turn: Turn
    ) -> Schedule:
        """The wanted content is there: install it, or keep it as it should be."""
        attempt = self._attempts.wanted(deployment, wanted, state, found)
        active = self._installed.active(deployment, state, found)
        if (record := is_undone(attempt)) is not None:
            return await self._stay_undone(attempt, active, record, found, turn)
        unfinished = await self._finish_rollback(attempt, active, found, turn)
        if unfinished is not None:
            return unfinished
        state.wants(attempt.content)
        waits = self._dependencies.first_install_waits(deployment)
        if waits is not None:
            return await self._reporting.report(deployment, state, turn, wanted=_unpacked(wanted) + _about(waits))
        progress = await self._content.reconcile_content(attempt, active, is_due=turn.is_attempt)
        attempt = self._undo.as_recorded(attempt)
        judged = await self._undo.in_time(attempt, active, progress, found)
        if isinstance(judged, Undone):
            return await self._report_undone(attempt, active, judged, turn)
        progress = judged.progress
        if state.begun == attempt.content and progress.reached is Reached.NOTHING:
            progress = replace(progress, reached=Reached.PARTLY)  # by an attempt before this one
        change = StatusChange(valid=wanted.metadata.name) + upgrade_change(attempt, active, progress)
        of_wanted = Progress(change=change)
        unusable = self._dependencies.unusable(deployment) if progress.reached >= Reached.APPLIED else None
        progress += _about(unusable) if unusable is not None else NO_PROGRESS
        if active is not None and active.content == attempt.content:
            of_installed = progress
        else:
            of_wanted += progress
            of_installed = await self._installed.beside(attempt, active, progress)
        of_installed += judged.timer
        schedule = await self._reporting.report(deployment, state, turn, wanted=of_wanted, installed=of_installed)
        await self._drop_superseded(attempt, progress)
        return schedule

    async def _drop_superseded(self, attempt: Attempt, progress: Progress, *kept: Bundle) -> None:
        """Delete the Bundles of former content once the new one is healthy."""
        told = self._deployments.get(attempt.deployment.metadata.name)
        is_finished = progress.reached is Reached.FINISHED and not any(map(is_open, progress.facts))
        if is_finished and told is not None and told.status.active_bundle == attempt.bundle.metadata.name:
            await self._templates.drop_superseded(attempt.deployment, attempt.bundle, *kept)

    async def _stay_undone(
        self, attempt: Attempt, active: Attempt | None, record: RolledBack, found: FoundValues, turn: Turn
    ) -> Schedule:
        """The wanted content has failed: the revision before it is installed, or on its way."""
        deployment, state = attempt.deployment, attempt.state
        back = await self._undo.attempt_of(deployment, record, state, found)
        if isinstance(back, Unavailable):
            told = NO_PROGRESS if back.why else REFETCHING_CONTENT
            if is_told(deployment, record):
                told = _about(undone_fact(record))
            return await self._reporting.report(deployment, state, turn, wanted=told, installed=not_had(back, record))
        progress = await self._content.reconcile_content(back, active, is_due=turn.is_attempt)
        return await self._report_undone(attempt, active, Undone(record=record, back=back, progress=progress), turn)

    async def _finish_rollback(
        self, attempt: Attempt, active: Attempt | None, found: FoundValues, turn: Turn
    ) -> Schedule | None:
        """Bring a rollback that has begun to its end before other content begins, which may have to wait for long.

        None: there is none, it is over, or it cannot go on, and is given up for what the spec asks for.
        """
        deployment, state = attempt.deployment, attempt.state
        record = deployment.status.rollback
        if record is None or state.undone == record or is_finished(deployment, record):
            return None
        back = await self._undo.attempt_of(deployment, record, state, found)
        if isinstance(back, Unavailable):
            if back.why or state.waited(ROLLBACK, attempt.content) >= REFETCHING_SECONDS:
                return None
            of_wanted = _unpacked(attempt.bundle) + REFETCHING_CONTENT
            missing = not_had(back, record)
            return await self._reporting.report(deployment, state, turn, wanted=of_wanted, installed=missing)
        progress = await self._content.reconcile_content(back, active, is_due=turn.is_attempt)
        if refusal_of(progress):
            return None
        timer = NO_PROGRESS
        if progress.reached >= Reached.APPLIED:
            state.undone, timer = record, _about(look_again(STATUS_SECONDS))
        undone = Undone(record=record, back=back, progress=progress)
        return await self._report_undone(attempt, active, undone, turn, timer=timer)

    async def _report_undone(
        self, attempt: Attempt, active: Attempt | None, undone: Undone, turn: Turn, *, timer: Progress = NO_PROGRESS
    ) -> Schedule:
        deployment, state, back, progress = attempt.deployment, attempt.state, undone.back, undone.progress
        if state.begun == back.content and progress.reached is Reached.NOTHING:
            progress = replace(progress, reached=Reached.PARTLY)
        of_wanted, of_installed = Progress(change=StatusChange(valid=attempt.bundle.metadata.name)), NO_PROGRESS
        if progress.reached >= Reached.APPLIED:
            of_wanted += _about(undone_fact(undone.record))
        if active is not None and active.content == back.content:
            of_installed = progress
        elif progress.reached >= Reached.APPLIED:
            of_installed = progress  # by now
        else:
            of_wanted += progress
            of_installed = await self._installed.beside(back, active, progress)
        of_installed += timer
        schedule = await self._reporting.report(deployment, state, turn, wanted=of_wanted, installed=of_installed)
        await self._drop_superseded(back, progress, attempt.bundle)
        return schedule

    def _not_unpacked(self, deployment: BundleDeployment, wanted: Bundle, found: FoundValues) -> Fact:
        """Fact about content that cannot be installed (yet): its Bundle is not there, or the values of its chart."""
        if not wanted.status.is_unpacked or found.error is None:
            return unpack_fact(wanted, self._classes)
        fact = values_fact(found.error, found.objects)
        if fact.cause in {Cause.VALUES_CONTENT, Cause.VALUES_MISSING}:
            self._content.drop_renderings(deployment)
        return fact


def _not_served(deployment: BundleDeployment) -> list[Fact]:
    """Report a class that is served elsewhere: once, and only where this operator has reported something before.

    Ready is ours alone, so it tells; afterwards the status belongs to the operator that serves the class. One that
    looks like a class of ours is served nowhere.
    """
    if is_unknown_class(deployment.spec.provisioner_class):
        unknown = UnknownClass(class_name=deployment.spec.provisioner_class_name, field="spec.provisionerClassName")
        return [Fact(cause=Cause.CLASS_UNKNOWN, detail=unknown)] if not deployment.metadata.is_deleted else []
    ready = find_condition(deployment.status.conditions, ConditionType.READY)
    if ready is None or ready.reason == Reason.CLASS_NOT_SERVED:
        return []
    detail = ClassNotServed(class_name=deployment.spec.provisioner_class_name)
    return [Fact(cause=Cause.CLASS_NOT_SERVED, detail=detail)]


def _unpacked(wanted: Bundle) -> Progress:
    return Progress(change=StatusChange(valid=wanted.metadata.name))


def _about(*facts: Fact) -> Progress:
    return Progress(facts=facts)


_SUSPENDED = Fact(cause=Cause.SUSPENDED, detail=SUSPENDED)
