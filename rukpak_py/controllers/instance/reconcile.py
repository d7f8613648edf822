"""The life of a BundleInstance: a BundleDeployment of its name that it owns, and what that says as its own status.

* Whatever is installed, corrected and pruned is the BundleDeployment's work; nothing of it is repeated here.
* Deletion is the collector's: the BundleDeployment goes by its owner reference, and stays with `--cascade=orphan`.
* A class that changes away is mirrored too: the BundleDeployment then says that no controller serves it.
"""

import dataclasses
from collections.abc import Callable, Collection

from msgspec import UNSET
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance, BundleInstanceStatus
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, ConditionStatus, ConditionType, EventReason, is_unknown_class
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.events import EventNote, Recorder, normal
from rukpak_py.controllers.instance.child_deployment import ChildDeployment, is_ours
from rukpak_py.controllers.judging import NO_VERDICT, Judging, Verdict
from rukpak_py.controllers.queue import SETTLED, Schedule, Turn
from rukpak_py.controllers.reconcile_loop import failed
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import Clock, KeyFacts, read_clock
from rukpak_py.controllers.result.errors import MIRROR_ERRORS
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Words
from rukpak_py.controllers.writes import StatusWriter, StatusWrites
from rukpak_py.core.errors import RukPakError
from rukpak_py.kube.errors import StaleError
from rukpak_py.kube.resources import BUNDLE_INSTANCES


class InstanceReconciler:
    def __init__(
        self,
        *,
        instances: Cache[BundleInstance],
        deployments: Cache[BundleDeployment],
        identities: Identities,
        judging: Judging,
        child: ChildDeployment,
        writer: StatusWriter[BundleInstance],
        events: Recorder,
        classes: Collection[str],
        clock: Callable[[], Clock] = read_clock,
    ) -> None:
        self._instances = instances
        self._deployments = deployments
        self._identities = identities
        self._judging = judging
        self._child = child
        self._writer = writer
        self._writes: dict[str, StatusWrites] = {}  # by uid
        self._events = events
        self._classes = classes
        self._clock = clock

    async def reconcile(self, name: str, turn: Turn) -> Schedule:
        instance = self._instances.get(name)
        if instance is None:
            return SETTLED
        known = self._deployments.get(name)
        if instance.metadata.is_deleted:
            return await self._copy(instance, known) if known is not None and is_ours(known, instance) else SETTLED
        requested = instance.spec.provisioner_class
        is_served = requested in self._classes or is_unknown_class(requested)  # its deployment tells of a misspelt one
        if not is_served and not is_ours(known, instance):
            return SETTLED
        try:
            verdict = await self._judge(instance, known)
            if verdict.fact is not None:
                return _also_at(await self._report(instance, verdict.fact, turn, verdict), verdict.look_at)
            deployment = await self._child.deployment_of(instance)
        except StaleError:
            return failed(turn)
        except RukPakError as error:
            return await self._report(instance, self._error_fact(error), turn)
        schedule = await self._copy(instance, deployment, verdict) if deployment is not None else SETTLED
        return _also_at(schedule, verdict.look_at)

    def gone(self, instance: BundleInstance) -> None:
        self._writes.pop(instance.metadata.uid, None)
        self._child.forget(instance.metadata.uid)
        self._judging.forget(instance.metadata.uid)

    async def _judge(self, instance: BundleInstance, known: BundleDeployment | None) -> Verdict:
        """Its BundleDeployment is written as the operator, which no policy judges: so the instance is.

        One without an account is, too, when its BundleDeployment would lose one by it.
        """
        uid, is_free = instance.metadata.uid, not self._identities.need_proof(instance)
        self._judging.noticed(uid, is_free=is_free)
        takes_away = is_ours(known, instance) and known is not None and self._identities.need_proof(known)
        if is_free and not takes_away and not self._judging.is_asked(uid):
            return NO_VERDICT
        has_account = takes_away or self._identities.account_of(instance) is not None
        return await self._judging.judge(BUNDLE_INSTANCES, instance, instance.status.judged, has_account=has_account)

    async def _copy(
        self, instance: BundleInstance, deployment: BundleDeployment, verdict: Verdict = NO_VERDICT
    ) -> Schedule:
        status = copied(instance, deployment)
        if status is None:
            return SETTLED
        status = _judged(status, verdict)
        pause = await self._write(instance, status)
        return Schedule(report_at=self._clock().loop + pause) if pause is not None else SETTLED

    async def _write(self, instance: BundleInstance, status: BundleInstanceStatus) -> float | None:
        """The seconds after which to come back; None: it is written, or there was nothing to write."""
        writes = self._writes.setdefault(instance.metadata.uid, StatusWrites())
        written = await self._writer.write(instance, status, writes)
        if written.error is not None:
            raise written.error
        return written.pause

    def _error_fact(self, error: RukPakError) -> Fact:
        at = self._clock().loop + error.retry_after if error.retry_after else None
        return Fact(cause=MIRROR_ERRORS.cause_of(error), detail=Words(words=str(error)), at=at)

    async def _report(
        self, instance: BundleInstance, fact: Fact, turn: Turn, verdict: Verdict = NO_VERDICT
    ) -> Schedule:
        """Report an instance that is not passed on. The conditions of an earlier BundleDeployment stay beside Ready."""
        clock, key = self._clock(), self._key(instance, turn)
        conclusion = conclude(instance.status, Progress(facts=(fact,)), NO_PROGRESS, key, clock)
        pause = await self._write(instance, _judged(conclusion.status, verdict))
        if pause is not None:
            return dataclasses.replace(conclusion.schedule, report_at=clock.loop + pause)
        self._events.about(instance).emit(conclusion.events)
        return conclusion.schedule

    @staticmethod
    def _key(instance: BundleInstance, turn: Turn) -> KeyFacts:
        """A request that its BundleDeployment has not handled is still open."""
        handled = instance.status.last_handled_reconcile_at
        return KeyFacts(generation=instance.metadata.generation, asked=handled, turn=turn)


def copied(instance: BundleInstance, deployment: BundleDeployment) -> BundleInstanceStatus | None:
    """Status of the BundleDeployment about the spec that both have. None: it has none about this spec yet."""
    status, generation = deployment.status, instance.metadata.generation
    is_current = status.observed_generation == deployment.metadata.generation
    if not is_current or not status.conditions or deployment.spec != instance.spec:
        return None
    return BundleInstanceStatus(
        conditions=tuple(replace(one, observed_generation=generation) for one in status.conditions),
        active_bundle=status.active_bundle,
        installed_bundle_name=status.active_bundle,
        version=status.version,
        observed_generation=generation,
        last_handled_reconcile_at=_handled(instance, status.last_handled_reconcile_at),
        judged=instance.status.judged,
    )


def _judged(status: BundleInstanceStatus, verdict: Verdict) -> BundleInstanceStatus:
    return status if verdict.judged is UNSET else replace(status, judged=verdict.judged)


def _also_at(schedule: Schedule, at: float | None) -> Schedule:
    if at is None:
        return schedule
    return dataclasses.replace(schedule, report_at=at if schedule.report_at is None else min(at, schedule.report_at))


def awaits_verdict(_before: BundleInstanceStatus, after: BundleInstanceStatus) -> str:
    """Work in progress is written only when it lasts, so an install that goes well is one write."""
    ready = find_condition(after.conditions, ConditionType.READY)
    return "a verdict" if ready is not None and ready.status == ConditionStatus.UNKNOWN else ""


def reverted_event(instance: BundleInstance) -> EventNote:
    name = instance.metadata.name
    text = f"reverted the spec of BundleDeployment {name} to that of the BundleInstance; change the latter instead"
    return normal(EventReason.DRIFT_CORRECTED, text)


def _handled(instance: BundleInstance, handled: str) -> str:
    """Request of the instance that was handled: the BundleDeployment may have been asked directly."""
    asked = instance.metadata.annotations.get(RECONCILE_AT_ANNOTATION, "")
    return handled if handled == asked else instance.status.last_handled_reconcile_at
