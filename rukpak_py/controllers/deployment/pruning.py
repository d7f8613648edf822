"""Pruning: what left the content goes, once it is time, within its budget.

What may not be deleted is released: it loses our marks and stays. What cannot be had again is kept until its deletion
is allowed.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from rukpak_py.api.deployment_spec import Prune, PruneWhen
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import Plan
from rukpak_py.apply.prune import prune, release
from rukpak_py.apply.read_live import owned_but_unlabelled
from rukpak_py.apply.results import ChangeSet
from rukpak_py.controllers.deployment.applying import AppliedContent
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.facts import fact_of, look_again
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.result import object_details as details
from rukpak_py.controllers.result.cause_table import WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import PendingObjects, PruneFailures
from rukpak_py.controllers.result.progress import Fact, Progress, Reached
from rukpak_py.core.metrics import PRUNED

if TYPE_CHECKING:
    from rukpak_py.core.objects import ObjectKey

LOG = logging.getLogger(__name__)


class Pruning:
    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    async def run(self, applied: AppliedContent, *, is_healthy: bool) -> AppliedContent | Progress:
        """Delete, keep or release what left the content. A Progress: the deletions are on their way."""
        attempt, planned = applied.attempt, applied.planned
        spec = attempt.deployment.spec.prune
        if planned is None or not may_prune(spec, is_whole=planned.is_whole, is_healthy=is_healthy):
            return applied
        planned = await self._with_unlabelled(attempt, planned)
        plan, leaving = planned.plan, planned.plan.prune
        match prune_step(spec, len(leaving)):
            case PruneStep.LEAVE:
                attempt.state.applied.trust([*leaving, *plan.release, *(kept.live for kept in plan.keep)])
                return replace(applied, kept=())
            case PruneStep.OVER_BUDGET:
                detail = details.OverBudget(most=spec.max_objects or 0)
                over = Fact(cause=Cause.PRUNE_BUDGET, detail=detail, objects=tuple(live.key for live in leaving))
                return replace(applied, facts=(*applied.facts, over))
            case PruneStep.DELETE:
                for kept in plan.keep:
                    if kept.entry not in attempt.deployment.status.kept:
                        LOG.info("%s is no longer in the bundle and is kept: %s", kept.key, kept.detail)
                applied = replace(applied, kept=tuple(kept.entry for kept in plan.keep))
                return await self._delete(applied, planned, leaving)

    async def _with_unlabelled(self, attempt: Attempt, planned: Planned) -> Planned:
        """Add objects of former content to the plan that the watch does not show, because a label was stripped."""
        owned, plan = self._inventory.ours(attempt.deployment.metadata.uid, attempt.state.applied.fields), planned.plan
        hidden = [key for key in attempt.state.former.keys if key not in owned]
        found = await owned_but_unlabelled(planned.target, hidden)
        if not found:
            return planned
        kept = (one.live for one in plan.keep)
        leaving = plan.prune_policy.divide([*plan.prune, *kept, *plan.release, *found])  # in the order of deletion
        plan = replace(plan, prune=leaving.prune, keep=leaving.keep, release=leaving.release)
        return replace(planned, plan=plan)

    async def _delete(
        self, applied: AppliedContent, planned: Planned, leaving: Sequence[ObservedObject]
    ) -> AppliedContent | Progress:
        attempt, change_set = applied.attempt, ChangeSet()
        await prune(planned.target, leaving, change_set)
        self._inventory.deleted(change_set.gone)
        for live in planned.plan.release:
            await release(planned.target, live, change_set)
        PRUNED.inc(len(change_set.pruned))
        applied = replace(applied, facts=(*applied.facts, *_left(planned.plan, change_set)))
        if not change_set.is_complete:
            return applied
        attempt.state.former.clear()
        if (leaving or planned.plan.release) and attempt.state.waited("pruned") < WAIT_QUIET_SECONDS:
            return unfinished(applied)  # their deletions are on the way
        return applied


class PruneStep(Enum):
    DELETE = auto()
    OVER_BUDGET = auto()  # more would go than the deployment allows: nothing does
    LEAVE = auto()  # the deployment says that nothing is deleted: what left the content stays, as if it had not


def may_prune(spec: Prune, *, is_whole: bool, is_healthy: bool) -> bool:
    """Whether it is time. `is_whole`: all kinds can be seen, so that what is not wanted is really not wanted."""
    return is_whole and (is_healthy or spec.when is PruneWhen.AFTER_APPLY)


def prune_step(spec: Prune, leaving: int) -> PruneStep:
    """Decide about objects that left the content, `leaving` in number."""
    if not spec.enabled:
        return PruneStep.LEAVE
    if spec.max_objects is not None and leaving > spec.max_objects:
        return PruneStep.OVER_BUDGET
    return PruneStep.DELETE


def unfinished(applied: AppliedContent) -> Progress:
    """Report an unfinished step and look again: the objects in progress decide what is reported."""
    return Progress(facts=(*applied.facts, look_again(WAIT_QUIET_SECONDS)), reached=Reached.PARTLY)


def _left(plan: Plan, change_set: ChangeSet) -> Iterator[Fact]:
    """Report pruned, released and remaining objects that left the content; one fact for each reason of a release."""
    if change_set.pruned:
        yield Fact(cause=Cause.PRUNED, detail=details.Pruned(), objects=tuple(change_set.pruned))
    released: dict[str, list[ObjectKey]] = {}
    for live in plan.release:
        if live.key in change_set.released:
            released.setdefault(plan.prune_policy.fate(live).detail, []).append(live.key)
    for why, keys in released.items():
        yield Fact(cause=Cause.RELEASED, detail=details.Released(why=why), objects=tuple(keys))
    if change_set.failures:
        yield fact_of(Cause.PRUNE_FAILED, change_set.failures, lambda texts: PruneFailures(messages=texts))
    elif change_set.waiting:  # an unlabelled one is not watched
        yield Fact(cause=Cause.PRUNING, detail=PendingObjects(waits=tuple(change_set.waiting)))
