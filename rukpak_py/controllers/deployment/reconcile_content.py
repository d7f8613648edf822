"""Brings the content of one Bundle into the cluster and keeps it there.

Fast path: the watches show exactly what was applied; no call, nothing rendered. After a restart one hash in the status
proves the same. Otherwise: render, gates, look and plan, gates, hooks, apply, hooks, health and pruning. Each stage
returns a result, or the next stage runs. Nothing is written while a gate refuses anything.

Content that is installed already, by this process or one before it, is kept as far as it can be: what needs a kind that
cannot be used at the moment is left as it is, and everything else is corrected.
"""

from dataclasses import replace
from time import monotonic

from msgspec import structs

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.apply.preflight import GatePhase
from rukpak_py.apply.removed_objects import kept_for_instances, without_kept
from rukpak_py.certificates.deployments import CertificateResult
from rukpak_py.controllers.deployment.after_apply import KEPT_CRDS_SECONDS, AfterApply
from rukpak_py.controllers.deployment.applying import AppliedContent, Applier
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.certificates import CertificateStage, certificate_progress
from rukpak_py.controllers.deployment.clearance import Clearance
from rukpak_py.controllers.deployment.facts import (
    failed_request,
    look_again,
    refusal_facts,
    with_failed_request,
)
from rukpak_py.controllers.deployment.gate_stage import Gates
from rukpak_py.controllers.deployment.generated_secrets import GeneratedSecrets
from rukpak_py.controllers.deployment.half_upgrade import HalfUpgrade
from rukpak_py.controllers.deployment.hooks.facts import HooksOver
from rukpak_py.controllers.deployment.hooks.release_hooks import ReleaseHooks
from rukpak_py.controllers.deployment.kinds import HiddenKinds, Kinds
from rukpak_py.controllers.deployment.ownership_form import OwnershipForm
from rukpak_py.controllers.deployment.planning import Planned, Planner, completed_now, done_and_gone
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.state import differences
from rukpak_py.controllers.deployment.upgrade_approval import UpgradeApproval
from rukpak_py.controllers.result.cause_table import LOOK_AGAIN_SECONDS, Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import AccountMissing
from rukpak_py.controllers.result.errors import API_ERRORS
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Reached
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import SERVICE_ACCOUNTS

_REFUSED_RIGHTS = frozenset({Cause.ACCESS, Cause.API_DENIED})


class ContentReconciler:
    def __init__(
        self,
        *,
        kinds: Kinds,
        ownership_form: OwnershipForm,
        rendering: RenderingStage,
        planner: Planner,
        gates: Gates,
        applier: Applier,
        certificates: CertificateStage,
        hooks: ReleaseHooks,
        after_apply: AfterApply,
        half_upgrade: HalfUpgrade,
        generated: GeneratedSecrets,
        approval: UpgradeApproval,
    ) -> None:
        self._kinds = kinds
        self._ownership_form = ownership_form
        self._rendering = rendering
        self._planner = planner
        self._gates = gates
        self._applier = applier
        self._certificates = certificates
        self._hooks = hooks
        self._after_apply = after_apply
        self._half_upgrade = half_upgrade
        self._clearance = Clearance(
            planner=planner,
            gates=gates,
            applier=applier,
            certificates=certificates,
            generated=generated,
            approval=approval,
        )

    async def reconcile_content(self, attempt: Attempt, active: Attempt | None, *, is_due: bool = True) -> Progress:
        """`active`: the same for what is installed; None when nothing is, or when its options are lost.

        `is_due` False: content that could not be installed at its last attempt is not tried again yet.
        """
        is_installed = active is not None and active.content == attempt.content
        progress = attempt.state.failed.of(attempt.content) if not is_due and not is_installed else None
        if progress is None:
            progress = await with_failed_request(self._stages(attempt, active))
            if any(fact.cause in _REFUSED_RIGHTS for fact in progress.facts):
                self._gates.review_permissions_again(attempt)
            if attempt.is_leading and not _only_asks(attempt, progress):
                attempt.state.failed.keep(attempt.content, NO_PROGRESS if is_installed else progress)
        if not attempt.is_leading or any(fact.cause in _NOTHING_WRITTEN for fact in progress.facts):
            return progress
        if _only_asks(attempt, progress):
            return progress
        # After its own rendering took over the place of a former one.
        self._rendering.drop_superseded(attempt.deployment.metadata.uid, attempt.content)
        return await with_failed_request(self._hooks.with_superseded(attempt, progress), progress)

    def drop_renderings(self, deployment: BundleDeployment) -> None:
        """Drop the renderings of former templates while it is not known what is wanted."""
        self._rendering.drop_superseded(deployment.metadata.uid)

    async def _stages(self, attempt: Attempt, active: Attempt | None) -> Progress:
        hidden = await self._kinds.hidden_of_owned(attempt.deployment, attempt.state)
        if isinstance(hidden, Progress):
            return hidden
        unfinished = await self._rendering.recall(attempt, active, self._planner.owned(attempt))
        if unfinished is not None:
            return unfinished
        deployment = attempt.deployment
        asked = deployment.metadata.annotations.get(RECONCILE_AT_ANNOTATION, "")
        attempt.state.asked_for(asked, deployment.status.last_handled_reconcile_at)
        await self._ownership_form.convert(attempt.deployment, attempt.state)
        untouched = self._as_applied(attempt, hidden)
        if untouched is not None:
            return await self._kept(untouched)
        rendered = await self._rendering.rendered(attempt)
        if isinstance(rendered, Progress):
            return await self._not_applied_again(attempt, hidden, rendered)
        if lacking := await self._without_account(deployment):
            return lacking
        begun = await self._hooks.proceed(attempt, rendered)
        if isinstance(begun, Progress):
            return begun
        progress = Progress(facts=begun.facts) + await self._applying(attempt, active, rendered, hidden)
        return self._half_upgrade.told(attempt, active, rendered, progress)

    async def _without_account(self, deployment: BundleDeployment) -> Progress | None:
        """A failure where the account is missing: from here on may be written."""
        account = await self._kinds.missing_account(deployment)
        if account is None:
            return None
        detail, key = AccountMissing(account=str(account)), SERVICE_ACCOUNTS.key(*account)
        return Progress(facts=(Fact(cause=Cause.ACCOUNT_MISSING, detail=detail, objects=(key,)),))

    async def _not_applied_again(self, attempt: Attempt, hidden: HiddenKinds, rendered: Progress) -> Progress:
        """Report content that cannot be applied again without its rendering, also where its objects have failures.

        What waits comes back; what has failed is left until everything is to be applied again the next time.
        """
        untouched = self._as_applied(attempt, hidden, again=False)
        if untouched is None:
            return rendered
        if any(fact.row.kind is Kind.FAILURE for fact in rendered.facts):
            attempt.state.applied.again.clear()
            attempt.state.shared = ()
        return await self._after_apply.run(untouched) + Progress(facts=(look_again(LOOK_AGAIN_SECONDS),))

    async def _applying(
        self, attempt: Attempt, active: Attempt | None, rendered: Rendered, hidden: HiddenKinds
    ) -> Progress:
        """Everything after rendering."""
        if not attempt.is_settled:  # what has ended of a half installation may be gone at its next attempt
            attempt.state.completed = completed_now(attempt.completed, self._planner.owned(attempt), None)
        target = self._planner.target_of(attempt, rendered.resolution)
        candidate = self._gates.candidate(attempt, rendered, active, target)
        lacking = await self._gates.refusals(GatePhase.CONTENT, attempt, candidate)
        if lacking and not candidate.is_installed:
            return Progress(facts=refusal_facts(lacking))
        seen = self._kinds.hidden_of_content(attempt.state, rendered.resolution, rendered.desired, hidden)
        if isinstance(seen, Progress):
            return seen
        planned = await self._planner.plan(attempt, rendered, seen, is_installed=candidate.is_installed)
        candidate = self._gates.looked_at(attempt, candidate, planned.plan)
        told = await self._clearance.ask(attempt, active, rendered, planned, candidate)
        if isinstance(told, Progress):
            return told
        told = (*self._gates.warnings(attempt), *told)
        before = await self._hooks_before(attempt, rendered, planned, is_upgrade=candidate.is_upgrade)
        if isinstance(before, Progress):
            return Progress(facts=told) + before
        applied = await self._applier.apply(attempt, rendered, planned, is_upgrade=candidate.is_upgrade)
        may_be_hidden = attempt.is_settled or (candidate.is_installed and rendered.resolution.knows_all_kinds)
        if isinstance(applied, Progress):
            progress = applied
        elif lacking:  # of installed content: everything else is as it should be
            progress = Progress(facts=applied.facts, reached=Reached.PARTLY)
        else:
            progress = await with_failed_request(
                self._after(applied, rendered, may_be_hidden=may_be_hidden),
                Progress(facts=applied.facts, reached=Reached.PARTLY),
            )
        progress = Progress(facts=(*told, *before.facts, *refusal_facts(lacking))) + progress
        if progress.reached is Reached.NOTHING:
            return progress
        # Also of half-applied content: custom resources may need the very webhooks that lack a CA.
        return _with_certificates(progress, await self._certificates.keep(attempt))

    async def _after(self, applied: AppliedContent, rendered: Rendered, *, may_be_hidden: bool) -> Progress:
        """All that could be applied is: what is still to come, and the final word."""
        attempt, planned = applied.attempt, applied.planned
        apart = self._set_apart(planned, may_be_hidden=may_be_hidden) if planned is not None else None
        if apart is not None:
            return Progress(facts=(*applied.facts, apart), reached=Reached.PARTLY)
        after = await self._hooks.after(attempt, rendered)
        if isinstance(after, Progress):
            return Progress(facts=applied.facts, reached=Reached.PARTLY) + after
        state = attempt.state
        state.mark_applied(attempt.content, rendered.owned_keys, applied.hidden)
        if planned is not None:
            state.shares(planned.plan.shared)
        state.kept_crds_judged_at = monotonic()
        return Progress(facts=after.facts) + await self._finish_with_secrets(applied)

    async def _hooks_before(
        self, attempt: Attempt, rendered: Rendered, planned: Planned, *, is_upgrade: bool
    ) -> HooksOver | Progress:
        """Run hooks after the objects that they may need are applied."""
        if not self._hooks.are_due_before(attempt, rendered):
            return HooksOver()
        first = await self._applier.apply_before_hooks(attempt, rendered, planned, is_upgrade=is_upgrade)
        if isinstance(first, Progress):
            return first
        done = Progress(facts=first.facts, reached=Reached.PARTLY if first.facts else Reached.NOTHING)
        try:
            before = await self._hooks.before(attempt, rendered)
        except ApiError as error:
            return done + failed_request(error)
        if isinstance(before, Progress):
            return Progress(facts=first.facts) + before
        return HooksOver(facts=(*first.facts, *before.facts))

    async def _kept(self, untouched: AppliedContent) -> Progress:
        """All objects are as they were applied; what becomes of certificates is not seen from them."""
        attempt = untouched.attempt
        if self._certificates.must_render(attempt):
            rendered = await self._rendering.rendered(attempt)
            if isinstance(rendered, Progress):  # meanwhile everything else is as it should be
                later = tuple(fact for fact in rendered.facts if fact.row.kind is Kind.SILENT)
                later = later or (look_again(LOOK_AGAIN_SECONDS),)
                return await self._after_apply.run(untouched) + Progress(facts=later)
        kept = await self._certificates.keep(attempt)
        return _with_certificates(await self._finish_with_secrets(untouched), kept)

    async def correct_drift(self, active: Attempt) -> Progress:
        """Keep the active content as it should be while its successor is refused.

        Only when nothing of the successor was written since: half an upgrade is not drift, and to undo it here, to be
        done again at the next try, would go on for ever.
        """
        if active.is_untouched:
            return await self.reconcile_content(active, active)
        return self._rendering.lost(active)

    async def correct_half(self, attempt: Attempt, active: Attempt) -> Progress:
        """The same where some of the successor was written."""
        if lacking := await self._without_account(attempt.deployment):
            return lacking
        return await with_failed_request(self._half_upgrade.correct_drift(attempt, active))

    def _as_applied(self, attempt: Attempt, hidden: HiddenKinds, *, again: bool = True) -> AppliedContent | None:
        """The watches show what was applied, but for what another client keeps changing and is left alone for now.

        `again` False: also when everything is to be applied again, or another deployment has what is shared.
        """
        must_plan = again and (attempt.applies_all or not self._planner.shows_shared(attempt))
        if not attempt.is_settled or must_plan or must_judge_kept_crds(attempt, monotonic()):
            return None
        status, owned = attempt.deployment.status, self._planner.owned(attempt)
        for key in done_and_gone(attempt.completed, owned):
            if key not in hidden:
                attempt.state.applied.forget(key)
        found = differences(attempt.state.applied, without_kept(owned, status.kept))
        different = {key for key in found if key not in hidden}
        resting = attempt.state.drift.resting(different, monotonic())
        if different - resting or not attempt.state.drift.is_reported(resting):
            return None
        return AppliedContent(attempt=attempt, resting=resting, kept=status.kept, hidden=hidden)

    async def _finish_with_secrets(self, applied: AppliedContent) -> Progress:
        progress = await self._after_apply.run(applied)
        if progress.reached is not Reached.FINISHED:
            return progress
        return _with_certificates(progress, await self._certificates.remove_unwanted(applied.attempt))

    @staticmethod
    def _set_apart(planned: Planned, *, may_be_hidden: bool) -> Fact | None:
        """Fact about content that is not whole: kinds that it brings, or of new content, kinds that are hidden."""
        if (coming := planned.coming()) is not None:
            return coming
        if planned.is_whole or may_be_hidden:
            return None
        return planned.hidden.fact(Cause.KINDS_HELD_BACK)


_NOTHING_WRITTEN = API_ERRORS.causes | {Cause.ACCOUNT_MISSING}  # nor is it now


def must_judge_kept_crds(attempt: Attempt, now: float) -> bool:
    """Whether to count instances of kept CRDs: now and then, and on request. No watch shows instances of others."""
    status = attempt.deployment.status
    if not kept_for_instances(status.kept):
        return False
    asked = attempt.deployment.metadata.annotations.get(RECONCILE_AT_ANNOTATION, "")
    is_due = now - attempt.state.kept_crds_judged_at >= KEPT_CRDS_SECONDS
    return is_due or asked != status.last_handled_reconcile_at


def _with_certificates(progress: Progress, kept: CertificateResult) -> Progress:
    """Add the result of the certificates. Where one could not be made, the digest of the objects is cleared: after a
    restart it must not pass for all of the content.
    """
    change = progress.change
    if kept.failures and change.installed:
        change = structs.replace(change, installed=structs.replace(change.installed, applied_digest=""))
    return replace(progress, change=change) + certificate_progress(kept)


def _only_asks(attempt: Attempt, progress: Progress) -> bool:
    """Whether it is a rollback that has not begun, which may be refused: it leaves what the upgrade has, and knows."""
    recorded, undone = attempt.deployment.status.rollback, attempt.undoes
    has_begun = undone is None or (recorded is not None and recorded.key == undone.key)
    return not has_begun and progress.reached is Reached.NOTHING
