"""The life of a BundleDeployment (design section 9): a Bundle for its template, its objects as they should be, and the
truth about both in its status.

Level-triggered: every look starts from what the caches show and does what is missing. A failing or slow new Bundle
never stops the active one from being kept as it should be. Nothing in here waits for more than a few seconds: what
takes longer brings the key back by a watch, by the end of a job, or by its back-off.
"""

from collections.abc import Collection
from dataclasses import replace
from time import monotonic

from msgspec import structs

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.conditions import Summary, find_condition, summary_of
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    ORDERED_DELETION_FINALIZER,
    ConditionStatus,
    ConditionType,
    Reason,
)
from rukpak_py.controllers.books import Books
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment_status import Aspect, Report, summary_of_bundle, validity
from rukpak_py.controllers.installation import PATIENCE, Installation
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, again, both, retry
from rukpak_py.controllers.ports import Recorder
from rukpak_py.controllers.session import Session
from rukpak_py.controllers.step import Step
from rukpak_py.controllers.templates import Templates
from rukpak_py.controllers.uninstall import Uninstall
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey


class BundleDeploymentController:
    def __init__(
        self,
        *,
        deployments: Cache[BundleDeployment],
        templates: Templates,
        installation: Installation,
        uninstall: Uninstall,
        books: Books,
        events: Recorder,
        classes: Collection[str],
    ) -> None:
        self._deployments = deployments
        self._templates = templates
        self._installation = installation
        self._uninstall = uninstall
        self._books = books
        self._events = events
        self._classes = classes
        self._sessions: dict[str, Session] = {}
        self.blocked: set[str] = set()  # names of those that wait for a kind or a namespace
        self._contested: dict[str, frozenset[ObjectKey]] = {}  # by name: what belongs to somebody else

    async def reconcile(self, name: str) -> Outcome:
        deployment = self._deployments.get(name)
        if deployment is None or not self._is_ours(deployment):
            return DONE
        if deployment.metadata.generation < deployment.status.observed_generation:
            return WAIT  # a stale read; the newer event is on its way
        if deployment.metadata.is_deleted:
            return await self._say(deployment, await self._uninstall.carry_on(deployment))
        if deployment.spec.suspend:
            return await self._say(deployment, SUSPENDED)
        try:
            wanted = await self._bundle_of_template(deployment)
        except RukPakError as error:
            return await self._do_without(deployment, error)
        if wanted is None:
            return WAIT
        active = self._templates.active(deployment)
        bring = self._pivot if wanted.status.is_unpacked else self._hold
        outcome = await bring(deployment, wanted, active)
        # Last, because a delete that is denied must not stop anything else.
        await self._templates.drop_never_installed(self._deployments.get(name) or deployment, wanted)
        return outcome

    def _is_ours(self, deployment: BundleDeployment) -> bool:
        """Of our class, or of another by now and held by our finalizer, which nobody else takes away."""
        is_held = deployment.metadata.is_deleted and ORDERED_DELETION_FINALIZER in deployment.metadata.finalizers
        return is_held or deployment.spec.provisioner_class in self._classes

    def seen(self, deployment: BundleDeployment) -> None:
        """Every event, also those that a newer one overtakes before anybody looks."""
        self._uninstall.seen(deployment)

    def gone(self, deployment: BundleDeployment) -> None:
        """The deployment was deleted; the collector sees to its objects."""
        self._uninstall.gone(deployment)
        self._sessions.pop(deployment.metadata.uid, None)
        self.blocked.discard(deployment.metadata.name)
        self._contested.pop(deployment.metadata.name, None)

    def waiting_for(self, key: ObjectKey) -> list[str]:
        """The deployments that want this object, which belongs to somebody else."""
        return [name for name, keys in self._contested.items() if key in keys]

    def claimant(self, key: ObjectKey, uid: str) -> str | None:
        """Another deployment that applied this object, and will put it back when it is missing."""
        for other, session in self._sessions.items():
            name = self._deployments.name_of(other) if other != uid and key in session.memory.uids else None
            deployment = self._deployments.get(name) if name is not None else None
            if deployment is not None and not deployment.metadata.is_deleted and not deployment.spec.suspend:
                return name
        return None

    async def _bundle_of_template(self, deployment: BundleDeployment) -> Bundle | None:
        """A Bundle that was there and is not may have been collected: its deployment may be gone, unseen by us."""
        session, name = self._session(deployment), self._templates.name(deployment)
        found = self._templates.find(deployment)
        if found is None:
            was_there = name in {session.bundle, deployment.status.active_bundle}
            if not await self._books.still_exists(deployment, is_suspicious=was_there):
                return None
            session.bundle = name
            return await self._templates.create(deployment)
        session.bundle = name
        return found

    async def _pivot(self, deployment: BundleDeployment, wanted: Bundle, active: Bundle | None) -> Outcome:
        """The wanted content is there: install it, or keep it as it should be."""
        session = self._session(deployment)
        step = await self._installation.bring(deployment, wanted, session)
        kept = Step(outcome=DONE)
        if step.wrote_nothing and active is not None and active is not wanted:
            kept = await self._installation.keep(deployment, active, session)
        self._note_blocked(deployment, step, kept)
        outcome = both(await self._say(deployment, step, valid=validity(wanted)), kept.outcome)
        if step.is_finished:
            await self._templates.drop_superseded(deployment, wanted)
        return outcome

    async def _hold(self, deployment: BundleDeployment, wanted: Bundle, active: Bundle | None) -> Outcome:
        """The wanted content is not there (yet): keep what is installed, and tell about both."""
        session, valid = self._session(deployment), validity(wanted)
        waiting = valid.status is ConditionStatus.UNKNOWN
        if waiting and wanted.spec.provisioner_class not in self._classes:
            text = f'{valid.message}; this operator does not serve its class "{wanted.spec.provisioner_class_name}"'
            valid = replace(valid, message=text)
        step = Step(outcome=WAIT)
        if active is not None and active.status.digest:
            step = await self._installation.bring(deployment, active, session)
            self._note_blocked(deployment, step)
        if waiting and session.waited(wanted.metadata.uid, monotonic()) < PATIENCE:
            return both(step.outcome, again(PATIENCE))
        session.no_longer_waits(wanted.metadata.uid)
        report = _with_installed(summary_of_bundle(wanted, valid), step)
        return await self._say(deployment, Step(outcome=step.outcome, report=report))

    async def _do_without(self, deployment: BundleDeployment, error: RukPakError) -> Outcome:
        """The wanted Bundle cannot be had: the same, with what kept it."""
        active, step = self._templates.active(deployment), Step(outcome=WAIT)
        if active is not None and active.status.digest:
            step = await self._installation.bring(deployment, active, self._session(deployment))
            self._note_blocked(deployment, step)
        outcome = both(retry(getattr(error, "retry_after", None) or 0.0), step.outcome)
        return await self._say(deployment, Step(outcome=outcome, report=_with_installed(_no_bundle(error), step)))

    def _session(self, deployment: BundleDeployment) -> Session:
        return self._sessions.setdefault(deployment.metadata.uid, Session())

    def _note_blocked(self, deployment: BundleDeployment, *steps: Step) -> None:
        name = deployment.metadata.name
        if any(step.is_blocked for step in steps):
            self.blocked.add(name)
        else:
            self.blocked.discard(name)
        contested = frozenset[ObjectKey]().union(*(step.contested for step in steps))
        if contested:
            self._contested[name] = contested
        else:
            self._contested.pop(name, None)

    async def _say(self, deployment: BundleDeployment, step: Step, *, valid: Aspect | None = None) -> Outcome:
        """Write the status when it says something new, and tell transitions as Events."""
        if step.report is None:
            return step.outcome
        latest = self._deployments.get(deployment.metadata.name)
        if latest is None or latest.metadata.uid != deployment.metadata.uid:
            return DONE
        report = step.report if step.report.valid is not None else replace(step.report, valid=valid)
        # What was looked at is the spec of `deployment`; its status may have been written since.
        looked_at = structs.replace(deployment, status=latest.status)
        after = await self._books.write(looked_at, report)
        if after is not None:
            self._tell(deployment, latest.status, after)
        return step.outcome

    def _tell(
        self, deployment: BundleDeployment, before: BundleDeploymentStatus, after: BundleDeploymentStatus
    ) -> None:
        name, uid = deployment.metadata.name, deployment.metadata.uid
        if after.active_bundle != before.active_bundle:
            reason = "Upgraded" if before.active_bundle else "Installed"
            text = f"Instantiated bundle {after.active_bundle} successfully, {after.digest}"
            self._events.normal(BUNDLE_DEPLOYMENT_KIND, name, uid, reason, text)
        for kind in (ConditionType.HAS_VALID_BUNDLE, ConditionType.INSTALLED, ConditionType.HEALTHY):
            old, new = find_condition(before.conditions, kind), find_condition(after.conditions, kind)
            if new is None or (old is not None and (old.status, old.message) == (new.status, new.message)):
                continue
            is_failure = new.status == ConditionStatus.FALSE or new.reason == Reason.RECONCILE_FAILED
            if is_failure and new.reason != Reason.INSTALLATION_STATUS_FALSE:
                self._events.warning(BUNDLE_DEPLOYMENT_KIND, name, uid, new.reason, new.message)
            elif kind is ConditionType.HEALTHY and new.status == ConditionStatus.TRUE:
                self._events.normal(BUNDLE_DEPLOYMENT_KIND, name, uid, new.reason, new.message)


SUSPENDED = Step(
    outcome=DONE,
    report=Report(
        summary=Summary.SUSPENDED,
        reason=Reason.SUSPENDED,
        message="spec.suspend is true: nothing is applied, corrected or pruned",
    ),
)


def _no_bundle(error: RukPakError) -> Report:
    summary, reason = summary_of(error)
    valid = Aspect(status=ConditionStatus.UNKNOWN, reason=Reason.RECONCILE_FAILED, message=str(error))
    return Report(summary=summary, reason=reason, message=str(error), valid=valid)


def _with_installed(about: Report, step: Step) -> Report:
    """What is to be said about the wanted content, together with what there is to say about the installed one."""
    installed = step.report
    if installed is None:
        return about
    return replace(about, installed=installed.installed, healthy=installed.healthy, fields=installed.fields)
