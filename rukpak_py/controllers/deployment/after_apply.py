"""After everything is applied: health, then pruning, then the final word.

Health comes from the watches; nothing is asked. What left the content goes when the new content is healthy (or applied,
if the deployment says so), within its budget. What may not be deleted is released: it loses our marks and stays. What
cannot be had again is kept until somebody allows its deletion. None of this waits for what somebody keeps changing, or
for kinds that cannot be seen: those are reported beside it.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import Enum, auto

from rukpak_py.api.bundle_deployment import InstallOutcome, Prune, PruneWhen
from rukpak_py.api.conditions import Summary
from rukpak_py.api.install_options import options_of
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, ConditionStatus, EventReason, Reason
from rukpak_py.apply.health import HealthStatus, describe, has_health
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import Plan
from rukpak_py.apply.prune import prune, release
from rukpak_py.apply.read_live import field_managers, owned_but_unlabelled
from rukpak_py.apply.removed_objects import kept_for_instances, still_kept, without_kept
from rukpak_py.apply.results import ChangeSet
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.applying import AppliedContent
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.drift_backoff import DRIFT_BACKOFF_SECONDS
from rukpak_py.controllers.deployment.healthy_condition import HealthVerdict, UnhealthyObject, judge_health
from rukpak_py.controllers.deployment.history import installed_fields
from rukpak_py.controllers.deployment.history_size import reduced_text
from rukpak_py.controllers.deployment.kind_visibility import HIDDEN_QUIET_SECONDS, HiddenKinds
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.stage import LOOK_AGAIN_SECONDS, QUIET_SECONDS, StageResult
from rukpak_py.controllers.deployment.state import differences
from rukpak_py.controllers.deployment.status import ConditionValue, Report, installed
from rukpak_py.controllers.outcome import DONE, WAIT, again, both, retry
from rukpak_py.controllers.ports import Recorder
from rukpak_py.core.metrics import PRUNED
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.wording import joined, named

LOG = logging.getLogger(__name__)
HELD_BACK_SECONDS = 600.0  # of waiting for health before the condition names what is not pruned
HIDDEN_SECONDS = 60.0  # between two looks at kinds that cannot be seen
KEPT_CRDS_SECONDS = 300.0  # between two looks at the instances of CRDs that are kept for theirs
NAMED_CONFLICTS = 5


class AfterApply:
    def __init__(self, inventory: Inventory, events: Recorder, *, now: Callable[[], str]) -> None:
        self._inventory = inventory
        self._events = events
        self._now = now

    async def run(self, applied: AppliedContent, hidden: HiddenKinds) -> StageResult:
        attempt = applied.attempt
        lives = self._installed(attempt, hidden)
        if self._is_unseen(attempt, lives):
            return StageResult(outcome=again(QUIET_SECONDS))
        verdict = self._judge(applied, lives)
        pruned = await self._prune(replace(applied, hidden=hidden), verdict.healthy)
        if isinstance(pruned, StageResult):
            return pruned
        applied = pruned
        if self._is_changed_meanwhile(applied, hidden):
            return StageResult(outcome=again(QUIET_SECONDS))  # the next look is on its way and has the last word
        attempt.state.waits.over("first health", "pruned", "others")
        return await self._result(applied, hidden, verdict)

    # Health

    def _installed(self, attempt: Attempt, hidden: HiddenKinds) -> list[ObservedObject]:
        owned = self._owned(attempt)
        return [owned[key] for key in sorted(attempt.state.applied.fields) if key in owned and key not in hidden]

    def _is_unseen(self, attempt: Attempt, lives: Sequence[ObservedObject]) -> bool:
        """The watch has not shown some object whole yet; it usually does in a moment."""
        unseen = [live for live in lives if live.health is None and has_health(live.gvk)]
        return bool(unseen) and attempt.state.waited("first health") < QUIET_SECONDS

    def _is_changed_meanwhile(self, applied: AppliedContent, hidden: HiddenKinds) -> bool:
        attempt = applied.attempt
        found = differences(attempt.state.applied, without_kept(self._owned(attempt), applied.kept))
        plan = applied.planned.plan if applied.planned is not None else None
        leaving = {live.key for live in (*plan.prune, *plan.release)} if plan is not None else set[ObjectKey]()
        left = {key for key in found - applied.resting - leaving if key not in hidden}
        return bool(left) and attempt.state.waited("others") < QUIET_SECONDS

    # Pruning

    async def _prune(self, applied: AppliedContent, healthy: ConditionValue) -> AppliedContent | StageResult:
        """Delete, keep or release what left the content. A result: it is not finished."""
        attempt, planned = applied.attempt, applied.planned
        spec = attempt.deployment.spec.prune
        is_healthy = healthy.status is ConditionStatus.TRUE
        if planned is None or not may_prune(spec, is_whole=planned.is_whole, is_healthy=is_healthy):
            return applied
        planned = await self._with_unlabelled(attempt, planned)
        plan, leaving = planned.plan, planned.plan.prune
        match prune_step(spec, len(leaving)):
            case PruneStep.LEAVE:
                attempt.state.applied.trust([*leaving, *plan.release, *(kept.live for kept in plan.keep)])
                return replace(applied, kept=())
            case PruneStep.OVER_BUDGET:
                return self._over_budget(applied, leaving, healthy)
            case PruneStep.DELETE:
                for kept in plan.keep:
                    if kept.entry not in attempt.deployment.status.kept:
                        LOG.info("%s is no longer in the bundle and is kept: %s", kept.key, kept.detail)
                applied = replace(applied, kept=tuple(kept.entry for kept in plan.keep))
                return await self._delete(applied, planned, leaving, healthy) or applied

    async def _with_unlabelled(self, attempt: Attempt, planned: Planned) -> Planned:
        """With what the watch does not show of former content, because a label was stripped."""
        owned, plan = self._owned(attempt), planned.plan
        hidden = [key for key in attempt.state.former.keys if key not in owned]
        found = await owned_but_unlabelled(planned.target, hidden)
        if not found:
            return planned
        kept = (one.live for one in plan.keep)
        leaving = plan.prune_policy.divide([*plan.prune, *kept, *plan.release, *found])  # in the order of deletion
        plan = replace(plan, prune=leaving.prune, keep=leaving.keep, release=leaving.release)
        return replace(planned, plan=plan)

    async def _delete(
        self, applied: AppliedContent, planned: Planned, leaving: Sequence[ObservedObject], healthy: ConditionValue
    ) -> StageResult | None:
        attempt, change_set = applied.attempt, ChangeSet()
        await prune(planned.target, leaving, change_set)
        self._inventory.deleted(change_set.gone)
        for live in planned.plan.release:
            await release(planned.target, live, change_set)
        if change_set.pruned:
            PRUNED.inc(len(change_set.pruned))
            text = f"deleted {named(change_set.pruned)}, no longer in the bundle"
            self._emit_normal(attempt, EventReason.PRUNED, text)
        for text in _released_texts(planned.plan, change_set):
            self._emit_normal(attempt, EventReason.RELEASED, text)
        if change_set.failures:
            text = "could not prune: " + joined(failure.message for failure in change_set.failures)
            report = self._report(applied, Summary.RETRYING, Reason.RETRYING, text, healthy, note=text)
            return StageResult(outcome=retry(), report=report)
        if change_set.waiting:
            text = f"Waiting: {'; '.join(change_set.waiting[:10])}"
            report = self._report(applied, Summary.PROGRESSING, Reason.PROGRESSING, text, healthy)
            return StageResult(outcome=again(LOOK_AGAIN_SECONDS), report=report)  # an unlabelled one is not watched
        attempt.state.former.clear()
        if (leaving or planned.plan.release) and attempt.state.waited("pruned") < QUIET_SECONDS:
            return StageResult(outcome=again(QUIET_SECONDS))  # their deletions are on the way
        return None

    def _over_budget(
        self, applied: AppliedContent, leaving: Sequence[ObservedObject], healthy: ConditionValue
    ) -> StageResult:
        most = applied.attempt.deployment.spec.prune.max_objects or 0
        text = messages.over_budget([live.key for live in leaving], most)
        report = self._report(applied, Summary.RETRYING, Reason.PRUNE_BUDGET_EXCEEDED, text, healthy, note=text)
        return StageResult(outcome=WAIT, report=report)

    # The final word

    def _judge(self, applied: AppliedContent, lives: Sequence[ObservedObject]) -> HealthVerdict:
        attempt, unhealthy = applied.attempt, _unhealthy(lives)
        if not unhealthy:
            attempt.state.waits.over("health")
        return judge_health(
            attempt.deployment.status,
            bundle=attempt.bundle.metadata.name,
            unhealthy=[_described(live) for live in unhealthy],
            total=len(lives),
            now=self._now(),
            notes=[self._held_back_text(applied) if unhealthy else ""],
        )

    async def _result(self, applied: AppliedContent, hidden: HiddenKinds, verdict: HealthVerdict) -> StageResult:
        planned = applied.planned
        is_healthy = verdict.healthy.status is ConditionStatus.TRUE
        outcome = DONE if is_healthy else WAIT
        if not is_healthy and planned is not None and planned.plan.prune:
            left = HELD_BACK_SECONDS - applied.attempt.state.waited("health")
            if left > 0:  # what is held back is named then
                outcome = both(outcome, again(max(1.0, left)))
        if verdict.look_again is not None:
            outcome = both(outcome, again(verdict.look_again))
        if kept_for_instances(applied.kept):
            outcome = both(outcome, again(KEPT_CRDS_SECONDS))
        report = self._report(applied, verdict.summary, verdict.reason, verdict.message, verdict.healthy)
        is_finished = is_healthy and (planned is None or planned.is_whole)
        result = StageResult(outcome=outcome, report=report, is_finished=is_finished)
        return await self._with_problems(result, applied, hidden)

    async def _with_problems(self, result: StageResult, applied: AppliedContent, hidden: HiddenKinds) -> StageResult:
        """What lasts beside it: somebody else insists, or kinds that cannot be seen."""
        if hidden:
            result = self._with_hidden(result, applied.attempt, hidden)
        else:
            applied.attempt.state.waits.over("hidden")
        if applied.resting and result.report is not None:
            text = await self._conflict_text(applied)
            report = replace(result.report, summary=Summary.RETRYING, reason=Reason.CONFLICT, message=text)
            outcome = both(result.outcome, again(DRIFT_BACKOFF_SECONDS))
            result = replace(result, report=report, outcome=outcome, is_finished=False)
        return result

    @staticmethod
    def _with_hidden(result: StageResult, attempt: Attempt, hidden: HiddenKinds) -> StageResult:
        result = replace(result, waits_for=hidden.waits_for, is_finished=False)
        left = HIDDEN_QUIET_SECONDS - attempt.state.waited("hidden")
        if left > 0 or result.report is None:
            return replace(result, report=None, outcome=both(result.outcome, again(max(left, 0.0))))
        report = replace(result.report, summary=Summary.RETRYING, reason=Reason.UNAVAILABLE, message=hidden.text())
        return replace(result, report=report, outcome=both(result.outcome, again(HIDDEN_SECONDS)))

    async def _conflict_text(self, applied: AppliedContent) -> str:
        """Who else writes is asked once for a conflict, not each time somebody writes."""
        drift, planned = applied.attempt.state.drift, applied.planned
        if not drift.is_reported(applied.resting) and planned is not None:
            named = sorted(applied.resting)[:NAMED_CONFLICTS]
            managers = {key: await field_managers(planned.target, key) for key in named}
            drift.report(applied.resting, messages.kept_changing(managers))
        return drift.text

    def _held_back_text(self, applied: AppliedContent) -> str:
        plan = applied.planned.plan if applied.planned is not None else None
        if plan is None or not plan.prune or applied.attempt.state.waited("health") < HELD_BACK_SECONDS:
            return ""
        return messages.held_back([live.key for live in plan.prune])

    def _report(  # noqa: PLR0917 - a report's parts
        self,
        applied: AppliedContent,
        summary: Summary,
        reason: Reason,
        message: str,
        healthy: ConditionValue,
        note: str = "",
    ) -> Report:
        attempt = applied.attempt
        owned = self._owned(attempt)
        kept = still_kept(applied.kept, owned)
        outcome = _outcome(healthy, [owned[key] for key in attempt.state.applied.fields if key in owned])
        fields = installed_fields(attempt, owned, kept, self._now(), outcome=outcome, all_is_seen=not applied.hidden)
        return Report(
            summary=summary,
            reason=reason,
            message=message,
            installed=installed(
                attempt.bundle.metadata.name,
                note,
                messages.kept_text(kept),
                reduced_text(fields["history"]),
                *self._unmatched(attempt),
            ),
            healthy=healthy,
            fields=fields,
        )

    def _unmatched(self, attempt: Attempt) -> list[str]:
        """Overrides of the spec that are about nothing that the deployment has; of other options they say nothing."""
        spec = attempt.deployment.spec
        if not spec.overrides or options_of(spec).overrides != attempt.options.overrides:
            return []
        keys = attempt.state.applied.fields.keys() | self._owned(attempt).keys()
        return messages.unmatched_overrides(spec.overrides, keys, attempt.namespace)

    def _owned(self, attempt: Attempt) -> dict[ObjectKey, ObservedObject]:
        return dict(self._inventory.owned_by(attempt.deployment.metadata.uid))

    def _emit_normal(self, attempt: Attempt, reason: str, message: str) -> None:
        metadata = attempt.deployment.metadata
        self._events.normal(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, reason, message)


class PruneStep(Enum):
    DELETE = auto()
    OVER_BUDGET = auto()  # more would go than the deployment allows: nothing does
    LEAVE = auto()  # the deployment says that nothing is deleted: what left the content stays, as if it had not


def may_prune(spec: Prune, *, is_whole: bool, is_healthy: bool) -> bool:
    """Whether it is time. `is_whole`: all kinds can be seen, so that what is not wanted is really not wanted."""
    return is_whole and (is_healthy or spec.when is PruneWhen.AFTER_APPLY)


def prune_step(spec: Prune, leaving: int) -> PruneStep:
    """What becomes of objects, this many, that left the content."""
    if not spec.enabled:
        return PruneStep.LEAVE
    if spec.max_objects is not None and leaving > spec.max_objects:
        return PruneStep.OVER_BUDGET
    return PruneStep.DELETE


def _released_texts(plan: Plan, change_set: ChangeSet) -> list[str]:
    """One for each way in which it was said that they stay."""
    by_detail: dict[str, list[ObjectKey]] = {}
    for live in plan.release:
        if live.key in change_set.released:
            by_detail.setdefault(plan.prune_policy.fate(live).detail, []).append(live.key)
    return [messages.released(keys, detail) for detail, keys in by_detail.items()]


def _unhealthy(lives: Sequence[ObservedObject]) -> list[ObservedObject]:
    return [live for live in lives if has_health(live.gvk) and not (live.health and live.health.is_healthy)]


def _outcome(healthy: ConditionValue, lives: Iterable[ObservedObject]) -> InstallOutcome:
    if healthy.status is ConditionStatus.TRUE:
        return InstallOutcome.HEALTHY
    has_failed = any(live.health is not None and live.health.status is HealthStatus.FAILED for live in lives)
    return InstallOutcome.FAILED if has_failed else InstallOutcome.INSTALLED


def _described(live: ObservedObject) -> UnhealthyObject:
    if live.health is None:
        return UnhealthyObject(line=f"{live.key} has not been observed since it was applied")
    return UnhealthyObject(
        line=describe(live.gvk, live.key, live.health), has_failed=live.health.status is HealthStatus.FAILED
    )
