"""What becomes of an API server that refuses to show what is there."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, KeptObject, KeptReason
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION, Reason
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import Plan
from rukpak_py.apply.preflight import GatePhase, Refusal
from rukpak_py.apply.results import FailureKind
from rukpak_py.controllers.deployment.after_apply import KEPT_CRDS_SECONDS
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kind_visibility import HiddenKinds
from rukpak_py.controllers.deployment.reconcile_content import (
    ERRORS_QUIET_SECONDS,
    ContentReconciler,
    must_judge_kept_crds,
)
from rukpak_py.controllers.deployment.stage import StageResult
from rukpak_py.controllers.outcome import DONE, retry
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import ForbiddenError
from tests.unit.controllers.deployment.parts import attempt, controlled_clock
from tests.unit.controllers.fakes import refusal
from tests.unit.controllers.values import deployment

ERROR = refusal(ForbiddenError, "may not get widgets")


class Visibility:
    """The first stage; its result ends the reconcile."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def of_owned(self, *_: object) -> StageResult:
        if self.error is not None:
            raise self.error
        return StageResult(outcome=DONE)


class NoHooks:
    async def with_given_up(self, _attempt: Attempt, result: StageResult) -> StageResult:
        return result


async def test_requests_that_fail_are_reported_when_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, visibility = controlled_clock(monkeypatch), Visibility()
    others = ("rendering", "planner", "gates", "applier", "certificates", "after_apply")
    stages: dict[str, Any] = {**dict.fromkeys(others), "hooks": NoHooks()}
    content = ContentReconciler(visibility=visibility, **stages)  # type: ignore[arg-type]  # all that is asked
    one = attempt()

    async def fails_at_first() -> None:
        visibility.error = ERROR
        with pytest.raises(ForbiddenError):
            await content.reconcile_content(one, None)
        clock.now += ERRORS_QUIET_SECONDS

    await fails_at_first()
    result = await content.reconcile_content(one, None)
    assert result.outcome == retry()
    assert result.report is not None
    report = result.report
    assert (report.summary, report.reason, report.message) == (Summary.RETRYING, Reason.ACCESS_DENIED, str(ERROR))

    visibility.error = None
    assert await content.reconcile_content(one, None) == StageResult(outcome=DONE)
    await fails_at_first()


class Stages:
    """Those of new content up to its dry run, which the server refuses, in the order in which they are called."""

    def __init__(self) -> None:
        self.called: list[str] = []

    async def of_owned(self, *_: object) -> HiddenKinds:
        return HiddenKinds()

    def of_content(self, *_: object) -> HiddenKinds:
        return HiddenKinds()

    async def recall(self, *_: object) -> None:
        return None

    async def rendered(self, *_: object) -> Any:
        return SimpleNamespace(resolution=None)

    async def proceed(self, *_: object) -> None:
        return None

    def target_of(self, *_: object) -> None:
        return None

    def owned(self, *_: object) -> dict[ObjectKey, ObservedObject]:
        return {}

    async def plan(self, *_: object) -> Any:
        self.called.append("plan")
        return SimpleNamespace(plan=Plan(changes=(), prune=()))

    def candidate(self, *_: object) -> Any:
        return SimpleNamespace(is_installed=False)

    def looked_at(self, _attempt: Attempt, candidate: Any, _plan: Plan) -> Any:
        return candidate

    async def refusal(self, phase: GatePhase, *_: object) -> Refusal | None:
        self.called.append(phase.name)
        kinds = frozenset({FailureKind.REFUSED})
        return Refusal(message="no", failure_kinds=kinds) if phase is GatePhase.DRY_RUN else None

    async def release_dropped(self, *_: object) -> None:
        self.called.append("release")


async def test_fields_that_the_content_drops_are_released_right_before_the_dry_run() -> None:
    stages: Any = Stages()
    parts = ("visibility", "rendering", "planner", "gates", "applier", "certificates", "hooks", "after_apply")
    result = await ContentReconciler(**dict.fromkeys(parts, stages)).reconcile_content(attempt(), None)
    assert stages.called == ["CONTENT", "plan", "PLAN", "release", "DRY_RUN"]
    assert result.wrote_nothing


NOW = 1000.0


def kept_crd(reason: KeptReason) -> KeptObject:
    return KeptObject(group="g", version="v1", kind="CustomResourceDefinition", name="a", reason=reason)


@pytest.mark.parametrize(
    ("reason", "judged_at", "asked", "expected"),
    [
        (None, -math.inf, "now", False),
        (KeptReason.HOLDS_DATA, -math.inf, "now", False),
        (KeptReason.HAS_INSTANCES, -math.inf, "", True),  # after a restart
        (KeptReason.HAS_INSTANCES, NOW - 1, "", False),
        (KeptReason.HAS_INSTANCES, NOW - 1, "now", True),
        (KeptReason.HAS_INSTANCES, NOW - KEPT_CRDS_SECONDS, "", True),
        (KeptReason.HAD_INSTANCES, NOW - KEPT_CRDS_SECONDS, "", True),  # there may be instances again
    ],
)
def test_instances_of_kept_crds_are_counted_now_and_then_and_when_somebody_asks(
    reason: KeptReason | None, judged_at: float, asked: str, *, expected: bool
) -> None:
    status = BundleDeploymentStatus(kept=(kept_crd(reason),) if reason is not None else ())
    one = attempt(of=deployment(status=status, annotations={RECONCILE_AT_ANNOTATION: asked}))
    one.state.kept_crds_judged_at = judged_at
    assert must_judge_kept_crds(one, NOW) is expected
