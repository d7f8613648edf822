"""Effects of an API server that refuses to show its objects, and the order in which the stages are asked."""

import dataclasses
import math
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, KeptObject, KeptReason
from rukpak_py.api.names import HELM_CLASS, RECONCILE_AT_ANNOTATION
from rukpak_py.api.upgrades import PendingUpgrade
from rukpak_py.apply.health import Health, HealthStatus
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import Plan
from rukpak_py.apply.preflight import AnyRefusal, GatePhase, Refusal
from rukpak_py.apply.results import FailureKind
from rukpak_py.certificates.deployments import CertificateResult
from rukpak_py.controllers.deployment.after_apply import KEPT_CRDS_SECONDS
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.hooks.facts import HooksOver
from rukpak_py.controllers.deployment.kinds import HiddenKinds
from rukpak_py.controllers.deployment.reconcile_content import ContentReconciler, must_judge_kept_crds
from rukpak_py.controllers.deployment.rendering import NotRendered, Rendered
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.queue import Turn
from rukpak_py.controllers.result.cause_table import ERRORS_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress, Reached, RecordedInstallation, StatusChange
from rukpak_py.core.errors import ConflictError, ContentError, RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import ForbiddenError
from tests.unit.controllers.deployment.parts import attempt, causes_of, concluded, ours, settled
from tests.unit.controllers.fakes import refusal
from tests.unit.controllers.values import conditions, deployment

ERROR = refusal(ForbiddenError, "may not get widgets")
PARTS = (
    "kinds",
    "ownership_form",
    "rendering",
    "planner",
    "gates",
    "applier",
    "certificates",
    "hooks",
    "after_apply",
    "half_upgrade",
    "generated",
    "approval",
)
SECRET = ObjectKey("", "Secret", "ns", "cert")
THEIRS = SECRET, ConflictError("theirs")
REFUSED = Refusal(kind=FailureKind.REFUSED, message="no")


def content_of(stages: Any, **others: Any) -> ContentReconciler:
    """All stages are one object, but for the others."""
    return ContentReconciler(**{**dict.fromkeys(PARTS, stages), **others})


class FailingKinds:
    """The first stage; its result ends the reconcile."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def missing_account(self, _deployment: BundleDeployment) -> Account | None:
        return None

    def review_permissions_again(self, _attempt: Attempt) -> None:
        pass

    async def hidden_of_owned(self, *_: object) -> Progress:
        if self.error is not None:
            raise self.error
        return Progress()


async def test_requests_that_fail_are_reported_when_it_lasts() -> None:
    kinds, one = FailingKinds(), attempt()
    content = content_of(kinds)
    kinds.error = ERROR
    progress = await content.reconcile_content(one, None)
    assert (causes_of(progress), progress.reached) == ([Cause.API_DENIED], Reached.NOTHING)
    assert concluded(one, wanted=progress).status == one.deployment.status
    lasting = concluded(one, wanted=progress, lasted=ERRORS_QUIET_SECONDS)
    assert conditions(lasting.status)["Ready"] == ("False", "AccessDenied", str(ERROR))
    assert lasting.schedule.failures == 1
    assert lasting.schedule.attempt_at is not None

    kinds.error = None
    assert await content.reconcile_content(one, None) == Progress()


@dataclass
class Stages:
    """All of them, in the order in which they are called. Without more, the server refuses the dry run."""

    refusing: GatePhase | None = GatePhase.DRY_RUN
    applied: Progress = field(default_factory=Progress)  # what came of the writes
    kept: CertificateResult = field(default_factory=CertificateResult)
    finished: Progress = field(default_factory=Progress)  # the final word
    lacking: Progress | None = None  # instead of a rendering
    hidden_error: Exception | None = None
    missing: Account | None = None
    waits: Progress | None = None  # of an upgrade that may have to wait: why it does
    may_begin: bool = False  # as its plan was when it waited
    refuses_now: bool = False  # once the gates are asked again
    records: bool = False  # that it begins
    called: list[str] = field(default_factory=list)
    lives: dict[ObjectKey, ObservedObject] = field(default_factory=dict)

    # what can be seen

    async def hidden_of_owned(self, *_: object) -> HiddenKinds:
        return HiddenKinds()

    def hidden_of_content(self, *_: object) -> HiddenKinds:
        return HiddenKinds()

    async def convert(self, *_: object) -> None:
        return None

    def told(self, *found: Any) -> Progress:
        progress: Progress = found[-1]
        return progress

    async def judge(self, *_: object, **_of: object) -> tuple[Fact, ...]:
        return ()

    # what is wanted

    async def recall(self, *_: object) -> None:
        return None

    async def rendered(self, *_: object) -> Any:
        if self.lacking is not None:
            return self.lacking
        return SimpleNamespace(
            desired=(),
            resolution=SimpleNamespace(knows_all_kinds=True),
            hooks=(),
            keys=set(),
            owned_keys=set(),
            content=SimpleNamespace(digest=""),
        )

    def drop_superseded(self, *_: object) -> None:
        self.called.append("drop superseded")

    # hooks

    async def proceed(self, *_: object) -> HooksOver:
        return HooksOver()

    def are_due_before(self, *_: object) -> bool:
        return False

    async def with_superseded(self, _attempt: Attempt, progress: Progress) -> Progress:
        return progress

    # the account

    async def missing_account(self, _deployment: BundleDeployment) -> Account | None:
        return self.missing

    # the plan and its gates

    def target_of(self, *_: object) -> None:
        return None

    def owned(self, *_: object) -> dict[ObjectKey, ObservedObject]:
        return self.lives

    def shows_shared(self, _attempt: Attempt) -> bool:
        return True

    async def plan(self, *_: object, **_how: object) -> Any:
        self.called.append("plan")
        return SimpleNamespace(plan=Plan(changes=(), prune=()), held=())

    def candidate(self, *_: object) -> Any:
        return SimpleNamespace(is_installed=False, is_upgrade=False)

    def looked_at(self, _attempt: Attempt, candidate: Any, _plan: Plan) -> Any:
        return candidate

    def review_permissions_again(self, _attempt: Attempt) -> None:
        pass

    def warnings(self, _attempt: Attempt) -> tuple[Fact, ...]:
        return ()

    async def refusals(self, phase: GatePhase, *_: object) -> tuple[Refusal, ...]:
        self.called.append(phase.name)
        return (REFUSED,) if phase is self.refusing else ()

    async def release_dropped(self, *_: object) -> None:
        self.called.append("release")

    def may_wait(self, *_: object) -> bool:
        return self.waits is not None

    def must_record(self, *_: object) -> bool:
        return self.records

    async def record(self, *_: object) -> None:
        self.called.append("record")

    async def decide(self, *_: object) -> Progress | None:
        may_begin = self.may_begin and "decide" not in self.called
        self.called.append("decide")
        return None if may_begin else self.waits

    def ask_again(self, _attempt: Attempt) -> None:
        self.called.append("ask again")
        self.refusing = GatePhase.PLAN if self.refuses_now else self.refusing

    def without_held(self, _attempt: Attempt, refusals: tuple[AnyRefusal, ...]) -> tuple[AnyRefusal, ...]:
        return refusals

    # writes and the final word

    async def apply(self, *_: object, **__: object) -> Progress:
        self.called.append("apply")
        return self.applied

    def must_render(self, _attempt: Attempt) -> bool:
        return False

    async def keep(self, _attempt: Attempt) -> CertificateResult:
        self.called.append("keep certificates")
        return self.kept

    async def remove_unwanted(self, _attempt: Attempt) -> CertificateResult:
        self.called.append("remove certificates")
        return CertificateResult()

    async def run(self, *_: object) -> Progress:
        return self.finished


async def test_fields_that_the_content_drops_are_released_right_before_the_dry_run() -> None:
    stages = Stages()
    progress = await content_of(stages).reconcile_content(attempt(), None)
    assert stages.called == ["CONTENT", "plan", "PLAN", "release", "DRY_RUN"]
    assert (causes_of(progress), progress.reached) == ([Cause.REFUSED], Reached.NOTHING)


async def test_nothing_is_released_or_tried_out_while_another_gate_refuses() -> None:
    stages = Stages(refusing=GatePhase.PLAN)
    progress = await content_of(stages).reconcile_content(attempt(), None)
    assert stages.called == ["CONTENT", "plan", "PLAN"]
    assert (causes_of(progress), progress.reached) == ([Cause.REFUSED], Reached.NOTHING)


async def test_nothing_is_released_or_written_before_an_upgrade_may_begin() -> None:
    waits = Progress(facts=(Fact(cause=Cause.UPGRADE_NOT_APPROVED),))
    stages = Stages(refusing=None, waits=waits)
    progress = await content_of(stages).reconcile_content(wanted(), None)
    assert stages.called == ["CONTENT", "plan", "PLAN", "DRY_RUN", "decide", "drop superseded"]
    assert (causes_of(progress), progress.reached) == ([Cause.UPGRADE_NOT_APPROVED], Reached.NOTHING)


def waited() -> Attempt:
    """An upgrade with a plan in the status."""
    one = wanted()
    pending = PendingUpgrade(digest="d", bundle="b", reason="NotApproved", verdict="Safe")
    pending = structs.replace(pending, content=one.bundle.status.digest, options=one.options.digest)
    status = structs.replace(one.deployment.status, pending_upgrade=pending)
    return replace(one, deployment=structs.replace(one.deployment, status=status))


@pytest.mark.parametrize(
    ("refuses_now", "after", "cause"),
    [(True, ["PLAN"], Cause.REFUSED), (False, ["PLAN", "DRY_RUN", "decide"], Cause.UPGRADE_NOT_APPROVED)],
    ids=["the gates refuse", "the plan became another one"],
)
async def test_an_upgrade_that_waited_begins_only_after_fresh_answers_of_the_gates(
    after: list[str], cause: Cause, *, refuses_now: bool
) -> None:
    waits = Progress(facts=(Fact(cause=Cause.UPGRADE_NOT_APPROVED),))
    stages = Stages(refusing=None, waits=waits, may_begin=True, refuses_now=refuses_now)
    progress = await content_of(stages).reconcile_content(waited(), None)
    assert stages.called[2:-1] == ["PLAN", "DRY_RUN", "decide", "ask again", "CONTENT", *after]
    assert causes_of(progress) == [cause]


async def test_an_upgrade_that_never_waited_asks_the_gates_once_before_it_is_recorded() -> None:
    waits = Progress(facts=(Fact(cause=Cause.UPGRADE_NOT_APPROVED),))
    stages = Stages(refusing=None, waits=waits, may_begin=True)
    await content_of(stages).reconcile_content(wanted(), None)
    assert "ask again" not in stages.called
    assert stages.called.index("record") == stages.called.index("decide") + 1


async def test_an_upgrade_that_need_not_wait_any_more_counts_no_former_answer() -> None:
    stages = Stages(refusing=None, refuses_now=True)
    await content_of(stages).reconcile_content(waited(), None)
    assert stages.called == ["CONTENT", "plan", "ask again", "CONTENT", "PLAN", "drop superseded"]


# Certificates


@pytest.mark.parametrize(
    ("reached", "asked"), [(Reached.PARTLY, ["apply", "keep certificates"]), (Reached.NOTHING, ["apply"])]
)
async def test_certificates_are_kept_after_every_write_also_half_of_one(reached: Reached, asked: list[str]) -> None:
    refused = Fact(cause=Cause.REFUSED)
    stages = Stages(refusing=None, applied=Progress(facts=(refused,), reached=reached))
    stages.kept.failures.append(THEIRS)
    progress = await content_of(stages).reconcile_content(attempt(), None)
    assert stages.called[-len(asked) :] == asked
    assert causes_of(progress) == [Cause.REFUSED, *([Cause.CONFLICT] if reached is Reached.PARTLY else [])]


@pytest.mark.parametrize(("failures", "applied_digest"), [([THEIRS], ""), ([], "x")], ids=["wrong", "well"])
async def test_a_certificate_that_cannot_be_had_is_told_and_no_restart_forgets_it(
    failures: list[tuple[ObjectKey, RukPakError]], applied_digest: str
) -> None:
    """The digest in the status proves after a restart that all objects are there."""
    recorded = RecordedInstallation(bundle="b", digest="d", applied_digest="x", version="1")
    finished = Progress(change=StatusChange(installed=recorded), reached=Reached.FINISHED)
    stages, one = Stages(finished=finished, kept=CertificateResult(failures=failures)), settled(attempt())
    progress = await content_of(stages).reconcile_content(one, one)
    assert stages.called == ["keep certificates", "remove certificates"]
    assert progress.change.installed == RecordedInstallation(
        bundle="b", digest="d", applied_digest=applied_digest, version="1"
    )
    assert [fact.text for fact in progress.facts] == [f"{key}: {error}" for key, error in failures]
    ready = conditions(concluded(one, installed=progress).status)["Ready"]
    assert ready[:2] == (("False", "Conflict") if failures else ("True", "Succeeded"))


# Looks between two attempts


def wanted() -> Attempt:
    return attempt(is_wanted=True)


async def test_content_that_could_not_be_installed_is_not_tried_again_before_it_is_due() -> None:
    stages, one = Stages(), wanted()
    content = content_of(stages)
    first = await content.reconcile_content(one, None)
    stages.called.clear()
    look = await content.reconcile_content(one, None, is_due=False)
    assert stages.called == ["drop superseded"]
    assert look.facts == (*first.facts, Fact(cause=Cause.NOT_DUE))
    await content.reconcile_content(one, None)
    assert "DRY_RUN" in stages.called


async def test_an_event_of_an_attempt_is_not_reported_again_by_a_look() -> None:
    facts = (Fact(cause=Cause.ADOPTED), Fact(cause=Cause.REFUSED))
    stages, one = Stages(refusing=None, applied=Progress(facts=facts, reached=Reached.PARTLY)), wanted()
    content = content_of(stages)
    await content.reconcile_content(one, None)
    look = await content.reconcile_content(one, None, is_due=False)
    assert causes_of(look) == [Cause.REFUSED, Cause.NOT_DUE]
    assert look.reached is Reached.PARTLY


async def test_other_content_is_tried_at_once() -> None:
    stages, one = Stages(), wanted()
    content = content_of(stages)
    await content.reconcile_content(one, None)
    stages.called.clear()
    edited = dataclasses.replace(attempt(state=one.state, is_wanted=True, config={"x": 1}))
    await content.reconcile_content(edited, None, is_due=False)
    assert "DRY_RUN" in stages.called


async def test_installed_content_is_corrected_at_every_look() -> None:
    stages, one = Stages(), wanted()
    content = content_of(stages)
    await content.reconcile_content(one, one)
    stages.called.clear()
    await content.reconcile_content(one, one, is_due=False)
    assert "DRY_RUN" in stages.called


class Renderer:
    """Renderer of a chart that asks the cluster for objects that do not exist yet."""

    def __init__(self) -> None:
        self.asked = 0

    async def rendered(self, _: Attempt) -> Rendered | NotRendered:
        self.asked += 1
        raise ContentError("the chart needs a Secret that is not there")

    def drop_superseded(self, *_: object) -> None:
        pass


async def test_a_chart_that_asks_the_cluster_is_rendered_again_from_time_to_time_though_it_fails() -> None:
    """The objects that it asked for may come, and no watch shows them."""
    renderer, one = Renderer(), attempt(provisioner=HELM_CLASS, is_wanted=True)
    stage: Any = RenderingStage(renderer, former=lambda _, __: [], request_content=lambda _: None)  # type: ignore[arg-type]  # all that is asked
    content, turn = content_of(Stages(), rendering=stage), Turn()
    for number in (1, 2, 3):
        progress = await content.reconcile_content(one, None, is_due=turn.is_attempt)
        assert renderer.asked == number
        schedule = concluded(one, wanted=progress, turn=turn).schedule
        assert schedule.next_at is not None, f"nothing brings the key back after {number} times"
        is_due = schedule.next_at == schedule.attempt_at
        turn = Turn(is_attempt=is_due, failures=schedule.failures, attempt_at=schedule.attempt_at)


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
def test_instances_of_kept_crds_are_counted_now_and_then_and_on_request(
    reason: KeptReason | None, judged_at: float, asked: str, *, expected: bool
) -> None:
    status = BundleDeploymentStatus(kept=(kept_crd(reason),) if reason is not None else ())
    one = attempt(of=deployment(status=status, annotations={RECONCILE_AT_ANNOTATION: asked}))
    one.state.kept_crds_judged_at = judged_at
    assert must_judge_kept_crds(one, NOW) is expected


@pytest.mark.parametrize(("cause", "is_kept"), [(Cause.REFETCHING, True), (Cause.RENDERING_LOST, False)])
async def test_without_a_rendering_what_is_installed_stays_ready_though_it_is_to_be_applied_again(
    cause: Cause, *, is_kept: bool
) -> None:
    """The content may be gone with the storage of the operator: that must not make Ready deployments wait for it."""
    (live,) = ours("a").values()
    one = settled(attempt(), live)
    one.state.applied.again = {live.key}
    stages = Stages(lacking=Progress(facts=(Fact(cause=cause),)), finished=Progress(reached=Reached.FINISHED))
    stages.lives = {live.key: live}
    progress = await content_of(stages).reconcile_content(one, one)
    assert progress.reached is Reached.FINISHED
    assert [fact.cause for fact in progress.facts] == [Cause.LOOK_AGAIN]
    assert bool(one.state.applied.again) is is_kept


async def test_a_completed_object_of_a_half_installation_is_remembered_before_it_goes() -> None:
    (live,) = ours("a").values()
    health = Health(status=HealthStatus.CURRENT, message="", may_go=True)
    one = attempt()
    stages = Stages()
    stages.lives = {live.key: dataclasses.replace(live, health=health)}
    await content_of(stages).reconcile_content(one, None)
    assert [entry.name for entry in one.state.completed or ()] == ["a"]


async def test_nothing_is_written_for_a_deployment_whose_account_is_missing() -> None:
    stages = Stages(missing=Account("shop", "installer"))
    progress = await content_of(stages).reconcile_content(attempt(), None)
    assert causes_of(progress) == [Cause.ACCOUNT_MISSING]
    assert stages.called == []
