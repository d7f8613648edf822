"""Decides whether an upgrade may begin: by `spec.upgrades`, by approvals, and by windows.

An upgrade whose gates have let it pass is planned; its plan has a digest. It may begin when the plan is approved (by
itself where `spec.upgrades.approval` says so), everything in `spec.dependsOn` is Ready and a window is open. Else the
plan stands in `status.pendingUpgrade` and nothing is written. An approval counts for one digest: the plan is made anew
right before the first write, and what became of it meanwhile needs another one. That an upgrade has begun is recorded
before its first write, so it goes on after a restart, and no approval is used twice.

First installs, drift and deletion never wait. A deployment without history whose objects are in the cluster already,
restored from a backup, is no first install.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import UNSET, structs

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import APPROVED_ANNOTATION
from rukpak_py.api.upgrade_windows import windows_at
from rukpak_py.api.upgrades import (
    NOW_SUFFIX,
    PLAN_LINES_AT_MOST,
    PLAN_NAMES_AT_MOST,
    WITHDRAWN,
    Approval,
    BegunUpgrade,
    PendingReason,
    PendingUpgrade,
    PlanCounts,
    Verdict,
    counts_text,
)
from rukpak_py.apply.plan import Plan
from rukpak_py.apply.upgrade_plan import PlannedContent, UpgradeIdentity, UpgradePlan, upgrade_plan
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.dependencies import Dependencies
from rukpak_py.controllers.deployment.facts import look_again
from rukpak_py.controllers.deployment.history import version_of
from rukpak_py.controllers.deployment.hooks.runs import events_of, skips_hooks
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.remediation import goes_back, is_healthy, is_undone
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.result.cause_table import Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import Clock, read_clock
from rukpak_py.controllers.result.progress import NO_CHANGE, Fact, Progress, StatusChange
from rukpak_py.controllers.result.upgrade_details import DependencyNotReady, OutsideWindow, UpgradePending
from rukpak_py.formats.hook import HookEvent
from rukpak_py.kube.errors import NotFoundError, StaleError

STALE_SECONDS = 1.0


class UpgradeApproval:
    def __init__(
        self,
        rendering: RenderingStage,
        writer: DeploymentStatusWriter,
        dependencies: Dependencies,
        *,
        clock: Callable[[], Clock] = read_clock,
    ) -> None:
        self._rendering = rendering
        self._writer = writer
        self._dependencies = dependencies
        self._clock = clock

    def may_wait(self, attempt: Attempt, active: Attempt | None, plan: Plan) -> bool:
        """Whether it may have to wait: an upgrade that has not begun, where `spec.upgrades` or dependencies decide."""
        upgrades, depends_on = attempt.deployment.spec.upgrades, attempt.deployment.spec.depends_on
        is_decided = upgrades.approval is Approval.AUTOMATIC and not upgrades.windows and not depends_on
        if is_decided or not attempt.is_wanted or not is_upgrade(attempt, active, plan):
            return False
        return not has_begun(attempt)

    def must_record(self, attempt: Attempt, active: Attempt | None, plan: Plan) -> bool:
        """Whether its begin must stand in the status first: for `onFailure`, or where the status tells of another."""
        if attempt.undoes is not None:
            recorded = attempt.deployment.status.rollback
            return recorded is None or recorded.key != attempt.undoes.key
        deployment = attempt.deployment
        status = deployment.status
        is_told = status.rollback is not None or status.pending_upgrade is not None
        counts = deployment.spec.upgrades.on_failure is not None or is_told
        return attempt.is_wanted and counts and is_upgrade(attempt, active, plan) and not has_begun(attempt)

    async def decide(
        self, attempt: Attempt, active: Attempt | None, rendered: Rendered, planned: Planned
    ) -> Progress | None:
        """None: it may begin."""
        plan = await self.plan_of(attempt, active, rendered, planned)
        if isinstance(plan, Progress):
            return plan
        clock = self._clock()
        unmet = self._dependencies.unmet(attempt.deployment)
        decision = decide(attempt.deployment, plan, datetime.fromtimestamp(clock.wall, UTC), unmet)
        if decision.reason is not None:
            return _pending(attempt, plan, decision, clock)
        return None

    async def record(self, attempt: Attempt) -> Progress | None:
        """Record that it begins. None: that stands in the status."""
        if (undone := attempt.undoes) is not None:
            change = StatusChange(pending_upgrade=None, upgrade=None, rollback=undone)
            ready = f"Installing revision {undone.revision} again, because the upgrade to {undone.bundle} failed"
        else:
            begun = BegunUpgrade(
                revision=revision_of(attempt),
                content=attempt.bundle.status.digest,
                options=attempt.options.digest,
                bundle=attempt.bundle.metadata.name,
                started_at=self._clock().timestamp(),
                is_rollback=goes_back(attempt),
            )
            change, ready = (
                StatusChange(pending_upgrade=None, upgrade=begun, rollback=None),
                f"Upgrading to {begun.bundle}",
            )
        try:
            await self._writer.record(attempt.deployment, change, ready=ready)
        except (NotFoundError, StaleError):
            return Progress(facts=(look_again(STALE_SECONDS),))
        return None

    async def plan_of(
        self, attempt: Attempt, active: Attempt | None, rendered: Rendered, planned: Planned
    ) -> UpgradePlan | Progress:
        """The plan as people decide about it; Progress: the former content is still being rendered."""
        former = await self._rendering.rendered(active) if active is not None else None
        if isinstance(former, Progress):
            if any(fact.row.kind is Kind.WAIT for fact in former.facts):
                return former
            former = None  # it is lost
        only_replaced = planned.target.last_applied.only_replaced
        replaced = [one.key for one in planned.plan.writes if only_replaced.get(one.key) == one.payload.digest]
        run = events_of(attempt)
        events = frozenset({run.before, run.after} if run is not None else ())
        return await asyncio.to_thread(  # roles with many rules take their time
            upgrade_plan,
            UpgradeIdentity(
                deployment=attempt.deployment.metadata.uid,
                from_revision=revision_of(attempt),
                wanted_since=wanted_since(attempt),
                content=attempt.bundle.status.digest,
                options=attempt.options.digest,
                rendering=attempt.facts.rendering if attempt.facts is not None else "",
                bundle=attempt.bundle.metadata.name,
                version=version_of(attempt),
            ),
            planned.plan,
            new=_content_of(rendered, events),
            old=_content_of(former, events) if former is not None else _nothing_before(attempt, active, planned.plan),
            later=[one.key for one in planned.later],
            replaced=replaced,
            prunes=attempt.deployment.spec.prune.enabled,
            skips_hooks=skips_hooks(attempt.deployment),
            crds=attempt.warnings,
        )


class Decision(NamedTuple):
    """`reason` None: it may begin. `approved`: what is recorded of an approval. `opens`: when a window does."""

    reason: PendingReason | None
    approved: str = ""
    opens: datetime | None = None
    wrong: tuple[str, ...] = ()
    unmet: Fact | None = None


def decide(deployment: BundleDeployment, plan: UpgradePlan, now: datetime, unmet: Fact | None = None) -> Decision:
    """`unmet`: about dependencies that are not Ready."""
    upgrades = deployment.spec.upgrades
    approved = approval_of(deployment, plan.digest)
    needs_one = upgrades.approval is Approval.MANUAL or (
        upgrades.approval is Approval.WHEN_SAFE and plan.verdict is Verdict.NEEDS_REVIEW
    )
    if needs_one and not approved:
        return Decision(PendingReason.NOT_APPROVED)
    if unmet is not None:
        return Decision(PendingReason.DEPENDENCY_NOT_READY, approved, unmet=unmet)
    windows = windows_at(upgrades.windows, now)
    if windows.is_open or _is_now(approved):
        return Decision(None, approved)
    return Decision(PendingReason.OUTSIDE_WINDOW, approved, windows.opens, windows.wrong)


def approval_of(deployment: BundleDeployment, digest: str) -> str:
    """The approval of the plan: the annotation, or the record of one that is gone. Empty: there is none."""
    pending = deployment.status.pending_upgrade
    asked = deployment.metadata.annotations.get(APPROVED_ANNOTATION, "").replace(" ", "")
    if asked == WITHDRAWN:
        return ""
    recorded = pending.approved if pending is not None else ""
    return next((one for one in (asked, recorded) if one in {digest, f"{digest}{NOW_SUFFIX}"}), "")


def _is_now(approved: str) -> bool:
    return approved.endswith(NOW_SUFFIX)


def is_upgrade(attempt: Attempt, active: Attempt | None, plan: Plan) -> bool:
    """Whether it takes the place of other content or options, or of objects that a lost status knew of."""
    if attempt.is_settled:
        return False
    if attempt.installed is not None:
        return active is None or not active.content.has_same_objects(attempt.content)
    if attempt.deployment.status.kinds:
        return False  # a first install that has begun
    uid, name = attempt.owner.uid, attempt.owner.name
    lives = (change.live for change in plan.changes if change.live is not None)
    return bool(plan.prune) or any(live.owner_uid == uid or live.labelled_for == name for live in lives)


def has_begun(attempt: Attempt) -> bool:
    begun = attempt.deployment.status.upgrade
    return (
        begun is not None
        and begun.revision == revision_of(attempt)
        and begun.content == attempt.bundle.status.digest
        and begun.options == attempt.options.digest
    )


def revision_of(attempt: Attempt) -> int:
    """Revision that the upgrade leaves; 0: none is recorded."""
    installed = attempt.installed
    return installed.history[0].revision if installed is not None and installed.history else 0


def wanted_since(attempt: Attempt) -> int:
    """Generation in which content or options last changed. Where generations were missed it is the latest one."""
    generation, status = attempt.deployment.metadata.generation, attempt.deployment.status
    pending = status.pending_upgrade
    if pending is None or not is_about(pending, attempt) or generation - status.observed_generation > 1:
        return generation
    return pending.wanted_since


def has_waited(attempt: Attempt) -> bool:
    """Whether its plan was made at an earlier look."""
    pending = attempt.deployment.status.pending_upgrade
    return attempt.is_wanted and pending is not None and is_about(pending, attempt)


def is_about(pending: PendingUpgrade, attempt: Attempt) -> bool:
    return (pending.content, pending.options) == (attempt.bundle.status.digest, attempt.options.digest)


def upgrade_change(attempt: Attempt, active: Attempt | None, progress: Progress) -> StatusChange:
    """Change of the status by what is over: an upgrade that is not wanted any more, or that has ended well.

    A rollback that has begun comes to its end before other content is looked at; then it is over, too.
    """
    status, change = attempt.deployment.status, NO_CHANGE
    is_installed = active is not None and active.content.has_same_objects(attempt.content)
    pending = status.pending_upgrade
    is_over = pending is not None and (is_installed or not is_about(pending, attempt))
    if is_over and progress.change.pending_upgrade is UNSET:
        change += StatusChange(pending_upgrade=None)
    begun = status.upgrade
    if begun is not None and progress.change.upgrade is UNSET:
        is_other = (begun.content, begun.options) != (attempt.bundle.status.digest, attempt.options.digest)
        if is_other or is_healthy(progress):
            change += StatusChange(upgrade=None)
    if status.rollback is not None and is_undone(attempt) is None:
        change += StatusChange(rollback=None)
    return change


def _pending(attempt: Attempt, plan: UpgradePlan, decision: Decision, clock: Clock) -> Progress:
    former, objects, identity = attempt.deployment.status.pending_upgrade, plan.objects, plan.identity
    reason = decision.reason or PendingReason.NOT_APPROVED
    is_same = former is not None and (former.digest, former.reason) == (plan.digest, reason)
    names = (*objects.replaced, *objects.pruned, *objects.taken, *objects.kept, *objects.created, *objects.changed)
    pending = PendingUpgrade(
        digest=plan.digest,
        bundle=identity.bundle,
        content=identity.content,
        options=identity.options,
        version=identity.version,
        reason=reason,
        approved=decision.approved,
        verdict=plan.verdict,
        counts=_counts(plan),
        rights_gained=plan.rights_gained[:PLAN_LINES_AT_MOST],
        crds=tuple(plan.crds.values())[:PLAN_LINES_AT_MOST],
        hooks=plan.hooks[:PLAN_LINES_AT_MOST],
        names=tuple(map(str, names[:PLAN_NAMES_AT_MOST])),
        wanted_since=identity.wanted_since,
        since=former.since if former is not None and is_same else clock.timestamp(),
    )
    begun = attempt.deployment.status.upgrade
    change = StatusChange(pending_upgrade=pending)
    if begun is not None:  # of other content, which is given up
        change += StatusChange(upgrade=None)
    return Progress(facts=(_fact(attempt, plan, decision, clock),), change=change)


def _fact(attempt: Attempt, plan: UpgradePlan, decision: Decision, clock: Clock) -> Fact:
    detail = UpgradePending(
        deployment=attempt.deployment.metadata.name,
        bundle=plan.identity.bundle,
        version=plan.identity.version,
        digest=plan.digest,
        counts=counts_text(_counts(plan)),
        verdict=plan.verdict,
        reviews=plan.reviews,
    )
    if decision.reason is PendingReason.NOT_APPROVED:
        return Fact(cause=Cause.UPGRADE_NOT_APPROVED, detail=detail)
    if decision.unmet is not None:
        detail = DependencyNotReady(**structs.asdict(detail), unmet=decision.unmet.text)
        return Fact(cause=Cause.UPGRADE_DEPENDENCY, detail=detail, wakes=decision.unmet.wakes)
    opens = decision.opens
    told = f"{opens:%Y-%m-%dT%H:%M:%SZ}" if opens is not None else ""
    detail = OutsideWindow(**structs.asdict(detail), opens=told, wrong=decision.wrong)
    at = clock.loop + max(0.0, opens.timestamp() - clock.wall) if opens is not None else None
    return Fact(cause=Cause.UPGRADE_OUTSIDE_WINDOW, detail=detail, at=at)


def _counts(plan: UpgradePlan) -> PlanCounts:
    objects = plan.objects
    return PlanCounts(
        created=len(objects.created),
        changed=len(objects.changed),
        taken=len(objects.taken),
        pruned=len(objects.pruned),
        kept=len(objects.kept),
        replaced=len(objects.replaced),
    )


def _nothing_before(attempt: Attempt, active: Attempt | None, plan: Plan) -> PlannedContent | None:
    """Content before a first install. None: there is some, and it is not known."""
    if attempt.installed is not None or is_upgrade(attempt, active, plan):
        return None
    return PlannedContent(desired=(), hooks=[])


def _content_of(rendered: Rendered, events: frozenset[HookEvent]) -> PlannedContent:
    hooks = [one for one in rendered.hooks if not events.isdisjoint(one.events)]
    return PlannedContent(desired=rendered.desired, hooks=hooks)
