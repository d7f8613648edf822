"""An upgrade that failed after some of its objects were written: which those are, and drift of everything else.

Each object is kept as it was applied last: what the upgrade has written as the new content has it, all other objects
as the content that is installed has them, those too that the new content drops. None of that is in dispute, whatever
becomes of the upgrade. What the upgrade has yet to write belongs to its next attempt. It costs no call while nothing
drifts.
"""

from collections.abc import Iterator, Sequence
from time import monotonic

from rukpak_py.api.names import ConditionStatus, ConditionType
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.preflight import GatePhase
from rukpak_py.controllers.deployment.applying import Applier
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.gate_stage import Gates
from rukpak_py.controllers.deployment.planning import Planner, done_and_gone
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.state import differences
from rukpak_py.controllers.result.cause_table import Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.object_details import HalfUpgraded
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Reached
from rukpak_py.core.objects import ObjectKey

NAMED = 5  # objects of the new content


class HalfUpgrade:
    def __init__(self, *, planner: Planner, rendering: RenderingStage, gates: Gates, applier: Applier) -> None:
        self._planner = planner
        self._rendering = rendering
        self._gates = gates
        self._applier = applier

    def told(self, wanted: Attempt, installed: Attempt | None, rendered: Rendered, progress: Progress) -> Progress:
        """The same, with what is in the cluster where an upgrade has failed half way, in this process or before."""
        is_upgrade = installed is not None and installed.content != wanted.content and not installed.is_untouched
        if installed is None or not is_upgrade or not any(map(_is_failure, progress.facts)):
            return progress
        owned, written = self._planner.owned(wanted), wanted.state.written
        done = [one.key for one in rendered.desired if one.key in owned and _is_form_of(owned[one.key], one)]
        if not done:
            return progress
        detail = HalfUpgraded(
            done=len(done),
            total=len(rendered.desired),
            examples=tuple(str(key) for key in sorted(written.intersection(done) or done)[:NAMED]),
            installed=installed.bundle.metadata.name,
            wanted=wanted.bundle.metadata.name,
        )
        return Progress(facts=(Fact(cause=Cause.HALF_UPGRADED, detail=detail),), reached=Reached.PARTLY) + progress

    async def correct_drift(self, wanted: Attempt, installed: Attempt) -> Progress:
        drifted = self._drifted(wanted)
        if not drifted:
            return NO_PROGRESS
        found = [await self._rendering.rendered(one) for one in (wanted, installed)]
        contents = [one for one in found if isinstance(one, Rendered)]
        if not contents:
            return NO_PROGRESS
        desired = list(self._as_applied(wanted, drifted, contents))
        target = self._planner.target_of(wanted, contents[0].resolution)
        planned = await self._planner.plan_of(wanted, target, desired)
        candidate = self._gates.candidate(wanted, contents[0], installed, target)
        candidate = self._gates.looked_at(wanted, candidate, planned.plan)
        if not planned.plan.writes or await self._gates.refusals(GatePhase.PLAN, wanted, candidate):
            return NO_PROGRESS
        return Progress(facts=await self._applier.correct(wanted, planned))

    def _drifted(self, wanted: Attempt) -> frozenset[ObjectKey]:
        """Objects of either content that this process applied and another client has changed or deleted since."""
        state, owned = wanted.state, self._planner.owned(wanted)
        found = {key for key in differences(state.applied, owned) if key in state.applied.fields}
        found -= {key for key in found if key in owned and owned[key].is_deleted}
        found -= done_and_gone(wanted.completed, owned)
        return frozenset(found - state.drift.resting(found, monotonic()))

    def _as_applied(
        self, wanted: Attempt, drifted: frozenset[ObjectKey], contents: Sequence[Rendered]
    ) -> Iterator[Desired]:
        owned, by_key = self._planner.owned(wanted), [{one.key: one for one in each.desired} for each in contents]
        for key in sorted(drifted):
            forms = [each[key] for each in by_key if key in each]
            if key in owned:
                forms = [one for one in forms if _is_form_of(owned[key], one)]
            elif key not in wanted.state.written:
                forms.reverse()  # of the installed content, where that has it
            yield from forms[:1]


def _is_form_of(live: ObservedObject, desired: Desired) -> bool:
    return live.applied in {desired.payload.digest, desired.payload_when_taken.digest}


def _is_failure(fact: Fact) -> bool:
    row = fact.row
    return row.kind is Kind.FAILURE and row.aspect is ConditionType.INSTALLED and row.status is ConditionStatus.FALSE
