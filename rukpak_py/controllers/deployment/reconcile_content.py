"""Brings the content of one Bundle into the cluster and keeps it there.

Fast path: the watches show exactly what was applied; no call, nothing rendered. After a restart one hash in the status
proves the same. Otherwise: render, gates, look and plan, gates, hooks, apply, hooks, health and pruning. Each stage
returns a result, or the next stage runs. Nothing is written while a gate refuses anything.

Content that is installed already, by this process or one before it, is kept as far as it can be: what needs a kind that
cannot be used at the moment is left as it is, and everything else is corrected.
"""

from dataclasses import replace
from time import monotonic

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary, summary_of
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.preflight import Candidate, GatePhase, Refusal
from rukpak_py.apply.preflight.refusal import WaitsFor
from rukpak_py.apply.removed_objects import kept_for_instances, without_kept
from rukpak_py.apply.serving_certificates import CertificateResult
from rukpak_py.controllers.deployment import failure_reports
from rukpak_py.controllers.deployment.after_apply import KEPT_CRDS_SECONDS, AfterApply
from rukpak_py.controllers.deployment.applying import AppliedContent, Applier, lagging
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.certificates import CertificateStage, with_certificates
from rukpak_py.controllers.deployment.gates import Gates
from rukpak_py.controllers.deployment.hooks.install_and_upgrade import ReleaseHooks
from rukpak_py.controllers.deployment.kind_visibility import HIDDEN_QUIET_SECONDS, HiddenKinds, KindVisibility, names_of
from rukpak_py.controllers.deployment.planning import Planned, Planner
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.stage import StageResult, waiting
from rukpak_py.controllers.deployment.state import differences
from rukpak_py.controllers.deployment.status import Report
from rukpak_py.controllers.outcome import DONE, WAIT, again, both, retry, retry_unless_stalled
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import ApiError

ERRORS_QUIET_SECONDS = 10.0  # of requests that fail before it is reported: not each restart of the API server


class ContentReconciler:
    def __init__(
        self,
        *,
        visibility: KindVisibility,
        rendering: RenderingStage,
        planner: Planner,
        gates: Gates,
        applier: Applier,
        certificates: CertificateStage,
        hooks: ReleaseHooks,
        after_apply: AfterApply,
    ) -> None:
        self._visibility = visibility
        self._rendering = rendering
        self._planner = planner
        self._gates = gates
        self._applier = applier
        self._certificates = certificates
        self._hooks = hooks
        self._after_apply = after_apply

    async def reconcile_content(self, attempt: Attempt, active: Attempt | None) -> StageResult:
        """`active`: the same for what is installed; None when nothing is, or when its options are lost."""
        try:
            result = await self._stages(attempt, active)
        except ApiError as error:
            if attempt.state.waited("api server") < ERRORS_QUIET_SECONDS:
                raise
            _, reason = summary_of(error)
            report = Report(summary=Summary.RETRYING, reason=reason, message=str(error))
            return StageResult(outcome=retry(error.retry_after), report=report)
        attempt.state.waits.over("api server")
        if not attempt.is_wanted:
            return result
        # After its own rendering took over the place of a former one.
        self._rendering.drop_superseded(attempt.deployment.metadata.uid, attempt.content)
        return await self._hooks.with_given_up(attempt, result)

    def drop_renderings(self, deployment: BundleDeployment) -> None:
        """Of what was wanted, while nobody can say what is."""
        self._rendering.drop_superseded(deployment.metadata.uid)

    async def _stages(self, attempt: Attempt, active: Attempt | None) -> StageResult:
        hidden = await self._visibility.of_owned(attempt.deployment, attempt.state)
        if isinstance(hidden, StageResult):
            return hidden
        unfinished = await self._rendering.recall(attempt, active, self._owned(attempt))
        if unfinished is not None:
            return unfinished
        untouched = self._as_applied(attempt, hidden)
        if untouched is not None:
            return await self._kept(untouched, hidden)
        rendered = await self._rendering.rendered(attempt)
        if isinstance(rendered, StageResult):
            return rendered
        unfinished = await self._hooks.proceed(attempt, rendered)
        return unfinished or await self._applying(attempt, active, rendered, hidden)

    async def _applying(
        self, attempt: Attempt, active: Attempt | None, rendered: Rendered, hidden: HiddenKinds
    ) -> StageResult:
        """Everything after rendering."""
        target = self._planner.target_of(attempt, rendered.resolution)
        candidate = self._gates.candidate(attempt, rendered, active, target)
        lacking = await self._gates.refusal(GatePhase.CONTENT, attempt, candidate)
        if lacking is not None and not candidate.is_installed:
            return self._refused(attempt, lacking)
        seen = self._visibility.of_content(attempt.state, rendered.resolution, hidden)
        if isinstance(seen, StageResult):
            return seen
        planned = await self._planner.plan(attempt, rendered, seen)
        refusal = await self._refusal_of_plan(attempt, self._gates.looked_at(attempt, candidate, planned.plan))
        if refusal is not None:
            return await self._refused_plan(attempt, planned, refusal)
        unfinished = await self._run_hooks_before(attempt, rendered, planned)
        if unfinished is not None:
            return unfinished
        applied = await self._applier.apply(attempt, rendered, planned)
        kept = await self._certificates_of(attempt, applied)
        may_be_hidden = attempt.is_settled or (candidate.is_installed and rendered.resolution.knows_all_kinds)
        if lacking is not None:
            result = self._lacking(attempt, applied, lacking)
        elif isinstance(applied, StageResult):
            result = applied
        else:
            unfinished = self._set_apart(attempt, planned, may_be_hidden=may_be_hidden)
            unfinished = unfinished or await self._hooks.after(attempt, rendered)
            result = unfinished or await self._finished(applied, rendered, seen)
        return with_certificates(attempt, result, kept)

    async def _refusal_of_plan(self, attempt: Attempt, candidate: Candidate) -> Refusal | None:
        """What the content drops is released between the gates: our fields in it would make the server refuse."""
        refusal = await self._gates.refusal(GatePhase.PLAN, attempt, candidate)
        if refusal is not None:
            return refusal
        await self._certificates.release_dropped(attempt)
        return await self._gates.refusal(GatePhase.DRY_RUN, attempt, candidate)

    async def _run_hooks_before(self, attempt: Attempt, rendered: Rendered, planned: Planned) -> StageResult | None:
        """After what they may need is there; None: they have ended well."""
        if not self._hooks.are_due_before(attempt, rendered):
            return None
        unfinished = await self._applier.apply_before_hooks(attempt, rendered, planned)
        return unfinished or await self._hooks.before(attempt, rendered)

    async def _certificates_of(self, attempt: Attempt, applied: AppliedContent | StageResult) -> CertificateResult:
        """Also when it failed half-way: custom resources may need the very webhooks that lack a CA."""
        if isinstance(applied, StageResult) and applied.wrote_nothing:
            return CertificateResult()
        return await self._certificates.keep(attempt)

    async def _kept(self, untouched: AppliedContent, hidden: HiddenKinds) -> StageResult:
        """All objects are as they were applied; what becomes of certificates is not seen from them."""
        attempt = untouched.attempt
        if self._certificates.must_render(attempt):
            rendered = await self._rendering.rendered(attempt)
            if isinstance(rendered, StageResult):  # meanwhile everything else is as it should be
                result = await self._after_apply.run(untouched, hidden)
                return replace(result, outcome=both(result.outcome, rendered.outcome))
        kept = await self._certificates.keep(attempt)
        return with_certificates(attempt, await self._finish_with_secrets(untouched, hidden), kept)

    async def correct_drift(self, active: Attempt) -> StageResult:
        """Keep the active content as it should be while its successor is refused.

        Only when nothing of the successor was written since: half an upgrade is not drift, and to undo it here, to be
        done again at the next try, would go on for ever.
        """
        if active.is_untouched:
            return await self.reconcile_content(active, active)
        return StageResult(outcome=DONE, not_corrected=self._rendering.why_lost(active))

    def _as_applied(self, attempt: Attempt, hidden: HiddenKinds) -> AppliedContent | None:
        """The watches show what was applied, but for what somebody keeps changing and is left alone for now."""
        if not attempt.is_settled or must_judge_kept_crds(attempt, monotonic()):
            return None
        found = differences(attempt.state.applied, without_kept(self._owned(attempt), attempt.deployment.status.kept))
        different = {key for key in found if key not in hidden}
        resting = attempt.state.drift.resting(different, monotonic())
        if different - resting or not attempt.state.drift.is_reported(resting):
            return None
        return AppliedContent(attempt=attempt, resting=resting, kept=attempt.deployment.status.kept)

    async def _finished(self, applied: AppliedContent, rendered: Rendered, hidden: HiddenKinds) -> StageResult:
        state = applied.attempt.state
        state.mark_applied(applied.attempt.content, rendered.keys, hidden)
        state.kept_crds_judged_at = monotonic()
        return await self._finish_with_secrets(applied, hidden)

    async def _finish_with_secrets(self, applied: AppliedContent, hidden: HiddenKinds) -> StageResult:
        result = await self._after_apply.run(applied, hidden)
        if not result.is_finished:
            return result
        return with_certificates(applied.attempt, result, await self._certificates.remove_unwanted(applied.attempt))

    def _lacking(self, attempt: Attempt, applied: AppliedContent | StageResult, refusal: Refusal) -> StageResult:
        """Of installed content: everything else is as it should be, or could not be made so."""
        result = applied if isinstance(applied, StageResult) else self._refused(attempt, refusal)
        return replace(result, waits_for=result.waits_for | refusal.waits_for, wrote_nothing=False)

    def _set_apart(self, attempt: Attempt, planned: Planned, *, may_be_hidden: bool) -> StageResult | None:
        """A result while the content is not whole: kinds that it brings, or of new content, kinds that are hidden."""
        if planned.later:
            kinds = frozenset(one.head.gvk.group_kind for one in planned.later)
            text = f"Waiting: the API server does not serve {names_of(kinds)} yet, which the bundle brings"
            return waiting(attempt.state, "kinds", text, WaitsFor(kinds=kinds))
        attempt.state.waits.over("kinds")
        if planned.is_whole or may_be_hidden:
            return None
        text = planned.hidden.text()
        result = waiting(attempt.state, "hidden", text, planned.hidden.waits_for)
        if attempt.state.waited("hidden") < HIDDEN_QUIET_SECONDS:
            return replace(result, outcome=both(result.outcome, again(HIDDEN_QUIET_SECONDS)))
        return replace(result, report=failure_reports.held_back(attempt.deployment, text))

    async def _refused_plan(self, attempt: Attempt, planned: Planned, refusal: Refusal) -> StageResult:
        if refusal.is_gone:
            return StageResult(outcome=WAIT, is_gone=True)
        state = attempt.state
        state.applied.absent.clear()  # what was free may be why
        unfinished = lagging(attempt, refusal.failure_kinds, refusal.message)
        if unfinished is not None:
            return unfinished
        state.conflicts = refusal.waits_for.objects
        if planned.plan.refused:
            await self._applier.withdraw(attempt, planned, self._owned(attempt))
        return self._refused(attempt, refusal)

    @staticmethod
    def _refused(attempt: Attempt, refusal: Refusal) -> StageResult:
        report = failure_reports.refused(attempt.deployment, refusal)
        outcome = retry_unless_stalled(report.summary, refusal.retry_after)
        return StageResult(outcome=outcome, report=report, wrote_nothing=True, waits_for=refusal.waits_for)

    def _owned(self, attempt: Attempt) -> dict[ObjectKey, ObservedObject]:
        return self._planner.owned(attempt)


def must_judge_kept_crds(attempt: Attempt, now: float) -> bool:
    """No watch shows instances of others: those of kept CRDs are counted now and then, and when somebody asks."""
    status = attempt.deployment.status
    if not kept_for_instances(status.kept):
        return False
    asked = attempt.deployment.metadata.annotations.get(RECONCILE_AT_ANNOTATION, "")
    is_due = now - attempt.state.kept_crds_judged_at >= KEPT_CRDS_SECONDS
    return is_due or asked != status.last_handled_reconcile_at
