"""Installs the revision again that a failed upgrade has left; `remediation` decides when.

Once `status.rollback` says so, the content that the spec asks for is not looked at any more, and neither is what the
failed upgrade has installed: of the two, only the former revision is brought into the cluster and kept.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from msgspec import structs

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.upgrades import RolledBack
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.attempt import Attempt, AttemptFactory
from rukpak_py.controllers.deployment.external_values import FoundValues
from rukpak_py.controllers.deployment.facts import failed_request, look_again
from rukpak_py.controllers.deployment.reconcile_content import ContentReconciler
from rukpak_py.controllers.deployment.remediation import (
    TEMPLATE_LOST,
    begun_of,
    entry_of,
    is_healthy,
    kept_fact,
    refusal_of,
    rollback_of,
    seconds_left,
)
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.template_bundle import Templates
from rukpak_py.controllers.deployment.upgrade_approval import UpgradeApproval
from rukpak_py.controllers.result.conclusion import Clock, read_clock
from rukpak_py.controllers.result.progress import NO_PROGRESS, Progress, Reached, StatusChange
from rukpak_py.kube.errors import ApiError

UPGRADE = "upgrade"  # to become healthy, among the waits
AGAIN_SECONDS = 5.0  # to the next look at a rollback that waits, and has not begun


@dataclass(frozen=True, kw_only=True)
class Undone:
    """A failed upgrade in whose place the former revision is installed: `back`, with what came of it."""

    record: RolledBack
    back: Attempt
    progress: Progress


@dataclass(frozen=True, kw_only=True)
class GoesOn:
    """The upgrade goes on. `timer`: when it is looked at again, which is no affair of its own attempts."""

    progress: Progress
    timer: Progress = NO_PROGRESS


@dataclass(frozen=True, kw_only=True)
class Unavailable:
    """The former revision cannot be had. `why` empty: it is on its way. `told`: what went wrong with that."""

    why: str = ""
    told: Progress = NO_PROGRESS


class Undo:
    def __init__(
        self,
        *,
        deployments: Cache[BundleDeployment],
        templates: Templates,
        attempts: AttemptFactory,
        content: ContentReconciler,
        approval: UpgradeApproval,
        clock: Callable[[], Clock] = read_clock,
    ) -> None:
        self._deployments = deployments
        self._templates = templates
        self._attempts = attempts
        self._content = content
        self._approval = approval
        self._clock = clock

    def as_recorded(self, attempt: Attempt) -> Attempt:
        """The same with the newest status: that it has begun may have been recorded a moment ago.

        Spec and metadata stay as they were judged in this look.
        """
        deployment = attempt.deployment
        latest = self._deployments.get(deployment.metadata.name)
        if latest is None or latest.metadata.uid != deployment.metadata.uid:
            return attempt
        return replace(attempt, deployment=structs.replace(deployment, status=latest.status))

    async def in_time(
        self, attempt: Attempt, active: Attempt | None, progress: Progress, found: FoundValues
    ) -> GoesOn | Undone:
        """Undo the upgrade if it has failed by now."""
        begun, clock = begun_of(attempt), self._clock()
        if begun is None:
            attempt.state.waits.over(UPGRADE)
            return GoesOn(progress=progress)
        left = seconds_left(attempt, progress, clock, seen_for=attempt.state.waited(UPGRADE, attempt.content))
        if left is None:
            is_kept = begun.kept_because and not is_healthy(progress)
            return GoesOn(progress=progress + Progress(facts=(kept_fact(begun),) if is_kept else ()))
        if left > 0:
            return GoesOn(progress=progress, timer=Progress(facts=(look_again(left),)))
        record = rollback_of(attempt, begun, progress, clock)
        undone = await self._begin(attempt, active, record, found)
        match undone:
            case Undone():
                return undone
            case Unavailable(why="", told=told):
                return GoesOn(progress=progress + told, timer=Progress(facts=(look_again(AGAIN_SECONDS),)))
            case Unavailable(why=why):
                kept = structs.replace(begun, kept_because=why)
                change = StatusChange(upgrade=kept)
                return GoesOn(progress=progress + Progress(facts=(kept_fact(kept),), change=change))

    async def attempt_of(
        self, deployment: BundleDeployment, record: RolledBack, state: DeploymentState, found: FoundValues
    ) -> Attempt | Unavailable:
        """Attempt to install the revision of the record."""
        entry = entry_of(deployment, record)
        if entry is None:
            return Unavailable(why=TEMPLATE_LOST)
        bundle = self._templates.of_entry(deployment, entry)
        if bundle is None:
            return Unavailable(why=await self._templates.restore_entry(deployment, entry))
        attempt = self._attempts.former(deployment, bundle, entry, state, found)
        return replace(attempt, undoes=record) if attempt is not None else Unavailable(why=TEMPLATE_LOST)

    async def _begin(
        self, attempt: Attempt, active: Attempt | None, record: RolledBack, found: FoundValues
    ) -> Undone | Unavailable:
        back = await self.attempt_of(attempt.deployment, record, attempt.state, found)
        if isinstance(back, Unavailable):
            return back
        progress = await self._content.reconcile_content(back, active)
        if not self._has_begun(back, record):
            if progress.reached < Reached.APPLIED:
                return Unavailable(why=refusal_of(progress))
            try:  # nothing had to be written: the upgrade had not begun to
                waits = await self._approval.record(back)
            except ApiError as error:
                return Unavailable(told=failed_request(error))
            if waits is not None:
                return Unavailable()
        return Undone(record=record, back=back, progress=progress)

    def _has_begun(self, back: Attempt, record: RolledBack) -> bool:
        latest = self._deployments.get(back.deployment.metadata.name)
        recorded = latest.status.rollback if latest is not None else None
        return recorded is not None and recorded.key == record.key
