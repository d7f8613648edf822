"""Everything that has a say before the first write: gates, generated passwords, approval and windows."""

from collections.abc import Sequence
from time import monotonic

from rukpak_py.apply.preflight import AnyRefusal, Candidate, GatePhase, OwnerIsGone, Refusal, Untried
from rukpak_py.apply.results import NO_WAKES, FailureKind
from rukpak_py.controllers.deployment.applying import Applier, schema_lag
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.certificates import CertificateStage
from rukpak_py.controllers.deployment.facts import GONE, answers_slowly, look_again, refusal_facts
from rukpak_py.controllers.deployment.gate_stage import Gates
from rukpak_py.controllers.deployment.generated_secrets import GeneratedSecrets
from rukpak_py.controllers.deployment.planning import Planned, Planner
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.upgrade_approval import UpgradeApproval, has_waited
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress, Reached


class Clearance:
    def __init__(
        self,
        *,
        planner: Planner,
        gates: Gates,
        applier: Applier,
        certificates: CertificateStage,
        generated: GeneratedSecrets,
        approval: UpgradeApproval,
    ) -> None:
        self._planner = planner
        self._gates = gates
        self._applier = applier
        self._certificates = certificates
        self._generated = generated
        self._approval = approval

    async def ask(
        self, attempt: Attempt, active: Attempt | None, rendered: Rendered, planned: Planned, candidate: Candidate
    ) -> tuple[Fact, ...] | Progress:
        """Ask everything that has a say before the first write: gates, generated passwords, approval and windows.

        Before an upgrade that waited begins, its plan is made again from fresh answers of the gates. Once it is
        recorded that one begins the gates are asked again, because nothing was released before.
        """
        if candidate.is_upgrade and (left := schema_lag(attempt.state, monotonic())) > 0:
            return Progress(facts=(look_again(left),), reached=Reached.PARTLY)
        may_wait = self._approval.may_wait(attempt, active, planned.plan)
        is_free = not may_wait and not self._approval.must_record(attempt, active, planned.plan)
        waited = has_waited(attempt) and not candidate.is_installed
        ask = self._refusals_of_now if waited and not may_wait else self._refusals_of_plan
        refusals = await ask(attempt, candidate, may_write=is_free)
        if refusals:
            return await self._refused_plan(attempt, planned, refusals)
        told = await self._generated.judge(attempt, active, planned, rendering=rendered.content.digest)
        if isinstance(told, Progress) or is_free:
            return told
        if planned.held and may_wait:
            return Progress(facts=(*told, planned.hidden.fact(Cause.KINDS_HELD_BACK)))
        waits = await self._approval.decide(attempt, active, rendered, planned) if may_wait else None
        if waits is None and may_wait and waited:
            refusals = await self._refusals_of_now(attempt, candidate, may_write=False)
            if refusals:
                return await self._refused_plan(attempt, planned, refusals)
            waits = await self._approval.decide(attempt, active, rendered, planned)
        waits = waits or await self._approval.record(attempt)
        if waits is not None:
            return Progress(facts=told) + waits
        refusals = await self._refusals_of_plan(attempt, candidate, may_write=True)
        return await self._refused_plan(attempt, planned, refusals) if refusals else told

    async def _refusals_of_plan(
        self, attempt: Attempt, candidate: Candidate, *, may_write: bool
    ) -> tuple[AnyRefusal, ...]:
        """Ask the gates; between them release the fields that the content drops, which would make the server refuse."""
        refusals = await self._gates.refusals(GatePhase.PLAN, attempt, candidate)
        if refusals:
            return refusals
        if may_write:
            await self._certificates.release_dropped(attempt)
            return await self._gates.refusals(GatePhase.DRY_RUN, attempt, candidate)
        refusals = await self._gates.refusals(GatePhase.DRY_RUN, attempt, candidate)
        return self._certificates.without_held(attempt, refusals)

    async def _refusals_of_now(
        self, attempt: Attempt, candidate: Candidate, *, may_write: bool
    ) -> tuple[AnyRefusal, ...]:
        """The same where no former answer counts, nor one about the content alone."""
        self._gates.ask_again(attempt)
        refusals = await self._gates.refusals(GatePhase.CONTENT, attempt, candidate)
        return refusals or await self._refusals_of_plan(attempt, candidate, may_write=may_write)

    async def _refused_plan(self, attempt: Attempt, planned: Planned, refusals: Sequence[AnyRefusal]) -> Progress:
        if any(isinstance(one, OwnerIsGone) for one in refusals):
            return GONE
        state = attempt.state
        slow = tuple(answers_slowly(attempt.state.pace, len(one.keys)) for one in refusals if isinstance(one, Untried))
        if slow:
            return Progress(facts=slow)
        state.applied.absent.clear()  # what was free may be why
        state.tried.forget()
        conflicts = (one for one in refusals if isinstance(one, Refusal) and one.kind is FailureKind.CONFLICT)
        state.conflicts = NO_WAKES.union(*(one.wakes for one in conflicts))
        withdrawn: tuple[Fact, ...] = ()
        if planned.plan.refused:
            withdrawn = await self._applier.withdraw(attempt, planned, self._planner.owned(attempt))
        return Progress(facts=(*withdrawn, *refusal_facts(refusals)))
