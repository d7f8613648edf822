"""The plan of what a deployment wants, for people who decide about it: all of it, with the fields that change.

It is planned and judged as a reconcile does, by the same parts and from the same rendering, with a copy of what the
process remembers: nothing is written, and no reconcile sees what a report has found. So the digest is that of
`status.pendingUpgrade`. The fields of an object are found by a dry run (`plan_fields`); they are remembered until the
object or what is sent of it is another, so a plan that stands still is asked for once.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.upgrades import PendingReason
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.apply.preflight import AnyRefusal, Candidate, GatePhase, RefusedObjects
from rukpak_py.apply.trying_out import not_checkable
from rukpak_py.apply.upgrade_document import PlanState, Sides, UpgradeDocument
from rukpak_py.apply.upgrade_plan import UpgradePlan
from rukpak_py.apply.upgrade_report import UpgradeSides, upgrade_document
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.attempt import Attempt, AttemptFactory
from rukpak_py.controllers.deployment.certificates import CertificateStage
from rukpak_py.controllers.deployment.dependencies import Dependencies
from rukpak_py.controllers.deployment.external_values import ExternalValues, values_fact
from rukpak_py.controllers.deployment.facts import refusal_facts
from rukpak_py.controllers.deployment.gate_stage import Gates
from rukpak_py.controllers.deployment.history import version_of
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.installed_keeper import has_other_content
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.plan_fields import PlanFields
from rukpak_py.controllers.deployment.planning import Planned, Planner
from rukpak_py.controllers.deployment.remediation import is_undone, undone_fact
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.report_errors import MayImpersonate, check_reader, error_of, error_of_bundle
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates
from rukpak_py.controllers.deployment.template_bundle import Templates
from rukpak_py.controllers.deployment.upgrade_approval import (
    UpgradeApproval,
    approval_of,
    decide,
    has_begun,
    revision_of,
)
from rukpak_py.controllers.result.cause_table import Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.errors import AccessError, ConflictError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import ApiError

_UNSEEN = "the objects of the deployment are not all seen yet"
_WAITS: Mapping[str, str] = {PendingReason.NOT_APPROVED: "it waits for an approval"}


class PlanReports:
    def __init__(
        self,
        identities: Identities,
        *,
        deployments: Cache[BundleDeployment],
        states: DeploymentStates,
        templates: Templates,
        values: ExternalValues,
        attempts: AttemptFactory,
        rendering: RenderingStage,
        kinds: Kinds,
        planner: Planner,
        gates: Gates,
        certificates: CertificateStage,
        approval: UpgradeApproval,
        dependencies: Dependencies,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._identities = identities
        self._deployments = deployments
        self._states = states
        self._templates = templates
        self._values = values
        self._attempts = attempts
        self._rendering = rendering
        self._kinds = kinds
        self._planner = planner
        self._gates = gates
        self._certificates = certificates
        self._approval = approval
        self._dependencies = dependencies
        self._now = now
        self._fields = PlanFields()

    def ended(self, uid: str) -> None:
        """The deployment is gone."""
        self._fields.ended(uid)

    async def of(self, name: str, may_impersonate: MayImpersonate) -> UpgradeDocument | None:
        """None: there is no such deployment."""
        deployment = self._deployments.get(name)
        state = self._states.of(deployment.metadata.uid) if deployment is not None else None
        if deployment is None or state is None:
            return None
        await check_reader(self._identities, deployment, state, may_impersonate)
        if deployment.metadata.is_deleted:
            raise ConflictError(f"BundleDeployment {name} is being deleted: nothing is planned for it")
        attempt, active = await self._contents(deployment, state)
        if _is_installed(attempt, active):
            return _base(attempt, active, PlanState.INSTALLED)
        rendered = await self._rendering.rendered(attempt)
        if isinstance(rendered, Progress):
            raise error_of(rendered.facts, state.mask)
        attempt = replace(attempt, state=state.for_a_report())
        try:
            return await self._document(attempt, active, rendered)
        except ApiError as error:
            text = state.mask.hide(str(error))
            if isinstance(error, AccessError):  # it is the account that lacks the right, not the caller
                raise ConflictError(text) from error
            raise UnavailableError(text) from error

    async def _contents(self, deployment: BundleDeployment, state: DeploymentState) -> tuple[Attempt, Attempt | None]:
        """The wanted content, and the installed one."""
        values = await self._values.of(deployment, state)
        bundle = self._templates.find(deployment, state.template_hash(deployment))
        if bundle is None or not bundle.status.is_unpacked:
            raise error_of_bundle(bundle)
        if values.error is not None:
            raise error_of([values_fact(values.error, values.objects)], state.mask)
        installed, active = self._templates.active(deployment), None
        if installed is not None and installed.status.digest and not has_other_content(installed, deployment):
            active = self._attempts.active(deployment, installed, state, values)
        return self._attempts.wanted(deployment, bundle, state, values), active

    async def _document(self, attempt: Attempt, active: Attempt | None, rendered: Rendered) -> UpgradeDocument:
        planned, candidate, refusals = await self._planned(attempt, active, rendered)
        plan = await self._approval.plan_of(attempt, active, rendered, planned)
        if isinstance(plan, Progress):
            raise error_of(plan.facts, attempt.state.mask)
        former = await self._rendering.rendered(active) if active is not None else None
        old = former.desired if isinstance(former, Rendered) else ()
        skip = not_checkable(planned.plan, makes_namespace=candidate.makes_namespace, has_account=candidate.has_account)
        compared = await self._fields.compared(attempt, planned, plan.objects, {one.key: one for one in old}, skip)
        state, why = self._state(attempt, active, planned, plan, refusals)
        base = msgspec.structs.replace(
            _base(attempt, active, state), why=why, approved=approval_of(attempt.deployment, plan.digest)
        )
        return await asyncio.to_thread(
            lambda: upgrade_document(
                base,
                plan,
                UpgradeSides.of(old, rendered.desired, rendered.hooks),
                compared,
                hide=attempt.state.mask.hide,
                refused_crds=_refused_crds(refusals),
            )
        )

    async def _planned(
        self, attempt: Attempt, active: Attempt | None, rendered: Rendered
    ) -> tuple[Planned, Candidate, Sequence[AnyRefusal]]:
        """The plan and what the gates say of it, as a reconcile asks them."""
        hidden = await self._kinds.hidden_of_owned(attempt.deployment, attempt.state)
        if not isinstance(hidden, Progress):
            hidden = self._kinds.hidden_of_content(attempt.state, rendered.resolution, rendered.desired, hidden)
        if isinstance(hidden, Progress):
            raise UnavailableError(_UNSEEN)
        candidate = self._gates.candidate(
            attempt, rendered, active, self._planner.target_of(attempt, rendered.resolution)
        )
        refusals = await self._gates.refusals(GatePhase.CONTENT, attempt, candidate)
        planned = await self._planner.plan(attempt, rendered, hidden, is_installed=candidate.is_installed)
        if planned.held:
            raise UnavailableError(planned.hidden.fact(Cause.KINDS_HELD_BACK).text)
        candidate = self._gates.looked_at(attempt, candidate, planned.plan)
        refusals = refusals or await self._gates.refusals(GatePhase.PLAN, attempt, candidate)
        if not refusals:
            found = await self._gates.refusals(GatePhase.DRY_RUN, attempt, candidate)
            refusals = self._certificates.without_held(attempt, found)
        return planned, candidate, refusals

    def _state(
        self,
        attempt: Attempt,
        active: Attempt | None,
        planned: Planned,
        plan: UpgradePlan,
        refusals: Sequence[AnyRefusal],
    ) -> tuple[PlanState, list[str]]:
        deployment = attempt.deployment
        if deployment.spec.suspend:
            return PlanState.SUSPENDED, ["spec.suspend is set: nothing is applied"]
        if (record := is_undone(attempt)) is not None:
            return PlanState.REFUSED, [undone_fact(record).text]
        if (unmet := self._dependencies.first_install_waits(deployment)) is not None:
            return PlanState.WAITING, [unmet.text]
        failed = attempt.state.failed.of(attempt.content)
        facts = refusal_facts(refusals) or [
            one for one in (failed.facts if failed is not None else ()) if one.row.kind is Kind.FAILURE
        ]
        if facts:
            return PlanState.REFUSED, [line for one in facts for line in one.text.splitlines()]
        if not self._approval.may_wait(attempt, active, planned.plan):
            return (PlanState.BEGUN if has_begun(attempt) else PlanState.READY), []
        decision = decide(deployment, plan, self._now(), self._dependencies.unmet(deployment))
        match decision.reason:
            case None:
                return PlanState.READY, []
            case PendingReason.DEPENDENCY_NOT_READY:
                return PlanState.WAITING, [decision.unmet.text] if decision.unmet is not None else []
            case PendingReason.OUTSIDE_WINDOW:
                opens = decision.opens
                when = f"opens at {opens:%Y-%m-%dT%H:%M:%SZ}" if opens is not None else "never opens"
                return PlanState.WAITING, [f"it waits for its window, which {when}"]
            case reason:
                return PlanState.WAITING, [_WAITS.get(reason, f"it waits: {reason}")]


def _is_installed(attempt: Attempt, active: Attempt | None) -> bool:
    if attempt.is_settled:
        return True
    is_same = active is not None and active.content.has_same_objects(attempt.content)
    return attempt.installed is not None and is_same


def _base(attempt: Attempt, active: Attempt | None, state: PlanState) -> UpgradeDocument:
    entry = attempt.installed.entry if attempt.installed is not None else None
    return UpgradeDocument(
        deployment=attempt.deployment.metadata.name,
        state=state,
        bundle=attempt.bundle.metadata.name,
        version=Sides(old=attempt.deployment.status.version, new=version_of(attempt)),
        content=Sides(
            old=(entry.digest if entry is not None else "") or attempt.deployment.status.digest,
            new=attempt.bundle.status.digest,
        ),
        options=Sides(old=active.options.digest if active is not None else "", new=attempt.options.digest),
        from_revision=revision_of(attempt),
    )


def _refused_crds(refusals: Iterable[AnyRefusal]) -> dict[ObjectKey, str]:
    failures = (failure for one in refusals if isinstance(one, RefusedObjects) for failure in one.failures)
    return {one.key: one.message for one in failures if one.key.group_kind == CRD_KIND}
