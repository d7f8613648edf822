"""Carrying a plan out: what is recorded first, what counts as drift, what is told, what is tried again and when."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import Resolution
from rukpak_py.apply.plan import Action, Plan, make_plan
from rukpak_py.apply.results import ChangeSet, Failure, FailureKind, kind_wake
from rukpak_py.apply.target import Target
from rukpak_py.certificates.deployments import CertificateResult
from rukpak_py.controllers.deployment import applying as module
from rukpak_py.controllers.deployment.applying import STALE_SECONDS, AppliedContent, Applier
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kinds import HiddenKinds
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.result.cause_table import SCHEMA_LAG_SECONDS, WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import FAILURE_CAUSES
from rukpak_py.controllers.result.progress import Fact, Progress, Reached
from rukpak_py.core.errors import ConflictError
from rukpak_py.core.repair_backoff import REPAIRS, REST_SECONDS
from rukpak_py.formats.format import RenderedContent
from rukpak_py.kube.errors import ApiError, NotFoundError, StaleError
from tests.manifests import config_map
from tests.unit.apply.lives import OWNER, desired, key, managed, owned
from tests.unit.controllers.deployment.parts import (
    BASKET,
    FORMER,
    attempt,
    causes_of,
    concluded,
    controlled_clock,
    counting_from_now,
    crd,
    found,
    kinds,
    ours,
    settled,
    target_of,
)
from tests.unit.controllers.fakes import Clock, FakeClient, refusal
from tests.unit.controllers.result.concluding import turn
from tests.unit.controllers.values import conditions, deployment

if TYPE_CHECKING:
    from rukpak_py.apply.engine import Engine
    from rukpak_py.controllers.deployment.certificates import CertificateStage
    from rukpak_py.controllers.deployment.kinds import Kinds

INSTALLED = BundleDeploymentStatus(active_bundle="b", digest="sha256:x", kinds=kinds())


@dataclass
class GivenEngine:
    """Applies nothing; what comes of it is given."""

    outcome: ChangeSet = field(default_factory=ChangeSet)
    plans: list[Plan] = field(default_factory=list)

    async def apply(self, _target: Target, plan: Plan, **_: object) -> ChangeSet:
        self.plans.append(plan)
        return self.outcome


@dataclass
class GivenRecord:
    failing: ApiError | None = None
    recorded: int = 0

    async def record(self, _deployment: object, _desired: object, _hooks: object) -> None:
        self.recorded += 1
        if self.failing is not None:
            raise self.failing


@dataclass
class GivenCertificates:
    result: CertificateResult = field(default_factory=CertificateResult)
    asked: int = 0

    async def issue_missing(self, _attempt: Attempt) -> CertificateResult:
        self.asked += 1
        return self.result


@dataclass
class Bench:
    clock: Clock
    certificates: GivenCertificates = field(default_factory=GivenCertificates)
    engine: GivenEngine = field(default_factory=GivenEngine)
    record: GivenRecord = field(default_factory=GivenRecord)
    client: FakeClient = field(default_factory=FakeClient)

    @property
    def applier(self) -> Applier:
        return Applier(
            cast("Engine", self.engine),
            cast("Kinds", self.record),
            cast("CertificateStage", self.certificates),
            has_namespace=lambda _: False,
        )

    def planned(self, one: Attempt, *wanted: Desired, shown: Iterable[str] = ()) -> Planned:
        """The objects that are shown differ from what was applied."""
        here = ours(*shown, managedFields=[managed(OWNER, {"f:other": {}})])
        fields = one.state.applied.fields
        plan = make_plan(wanted, live=here, owned=here, fields=fields, owner=OWNER, adopt=Adopt.NEVER)
        return Planned(target=target_of(one, self.client), plan=plan, hidden=HiddenKinds())

    async def apply(self, one: Attempt, planned: Planned) -> AppliedContent | Progress:
        wanted = tuple(change.desired for change in planned.plan.changes)
        rendered = Rendered(
            desired=wanted, resolution=Resolution(states={}, resources={}), content=RenderedContent(objects=())
        )
        return await self.applier.apply(one, rendered, planned)

    async def applied(self, one: Attempt, planned: Planned) -> AppliedContent:
        applied = await self.apply(one, planned)
        assert isinstance(applied, AppliedContent)
        return applied

    async def unfinished(self, one: Attempt, planned: Planned) -> Progress:
        progress = await self.apply(one, planned)
        assert isinstance(progress, Progress)
        return progress


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    counting_from_now(monkeypatch)
    return Bench(clock=controlled_clock(monkeypatch, module))


def told(facts: Iterable[Fact]) -> list[tuple[Cause, str]]:
    return [(fact.cause, fact.text) for fact in facts]


A, B = desired(config_map("a")), desired(config_map("b"))


def failure(kind: FailureKind, *, name: str = "a", retry_after: float = 0.0) -> Failure:
    return Failure(key=key(name), kind=kind, message=f"ConfigMap ns/{name}: no", retry_after=retry_after)


# First what stands in the status


async def test_kinds_are_recorded_before_the_first_write_and_not_without_one(bench: Bench) -> None:
    one = attempt()
    await bench.apply(one, bench.planned(one, A))
    assert bench.record.recorded == 1
    await bench.apply(one, bench.planned(one))
    assert bench.record.recorded == 1


@pytest.mark.parametrize("error", [NotFoundError, StaleError])
async def test_a_deployment_that_changed_or_went_meanwhile_is_looked_at_again_before_anything_is_written(
    bench: Bench, error: type[ApiError]
) -> None:
    bench.record.failing = refusal(error)
    one = attempt()
    one.state.content = FORMER
    progress = await bench.unfinished(one, bench.planned(one, A))
    (look,) = progress.facts
    assert (look.cause, look.at, progress.reached) == (Cause.LOOK_AGAIN, STALE_SECONDS, Reached.NOTHING)
    assert bench.engine.plans == []
    assert one.state.content == FORMER, "what is installed is untouched"


# Drift or not


@pytest.mark.parametrize(("wanted", "is_as_before"), [([A], False), ([], True)], ids=["a write", "none"])
async def test_from_the_first_write_of_new_content_on_nothing_is_as_it_was_applied(
    bench: Bench, wanted: list[Desired], *, is_as_before: bool
) -> None:
    one = attempt()
    one.state.content = FORMER
    await bench.apply(one, bench.planned(one, *wanted))
    assert one.state.is_applied(FORMER) is is_as_before


async def test_writes_to_settled_content_are_reported_as_drift(bench: Bench) -> None:
    bench.engine.outcome = ChangeSet(corrected=[key("a")], created=[key("b")])
    one = settled(attempt())
    one.state.applied.fields = {key("a"): "hash", key("b"): "hash"}
    before = one.content
    applied = await bench.applied(one, bench.planned(one, A, B, shown=["a"]))
    assert one.state.content == before
    text = "reverted drift on 2 objects: ConfigMap ns/a, ConfigMap ns/b"
    assert told(applied.facts) == [(Cause.DRIFT_CORRECTED, text)]
    assert set(applied.facts[0].objects) == {key("a"), key("b")}


async def test_writes_of_new_content_are_not_drift(bench: Bench) -> None:
    bench.engine.outcome = ChangeSet(corrected=[key("a")], created=[key("b")])
    one = attempt()
    assert (await bench.applied(one, bench.planned(one, A, B))).facts == ()


async def test_an_object_seen_for_the_first_time_since_a_restart_is_not_reported_as_drift(bench: Bench) -> None:
    """Its kind was hidden when the operator started: its drift is unknown, and it is applied again."""
    bench.engine.outcome = ChangeSet(corrected=[key("a")])
    one = settled(attempt())
    one.state.applied.expect([key("a")])
    assert (await bench.applied(one, bench.planned(one, A, shown=["a"]))).facts == ()


async def test_an_object_that_a_client_keeps_changing_is_left_alone_for_a_minute_and_the_rest_is_not(
    bench: Bench,
) -> None:
    one = settled(attempt())
    one.state.applied.fields = {key("a"): "hash"}
    bench.engine.outcome = ChangeSet(corrected=[key("a")])
    for _ in range(REPAIRS):
        applied = await bench.applied(one, bench.planned(one, A, shown=["a"]))
        assert not applied.resting
    bench.engine.outcome = ChangeSet()
    applied = await bench.applied(one, bench.planned(one, A, B, shown=["a"]))
    assert applied.resting == {key("a")}
    assert [change.key for change in bench.engine.plans[-1].writes] == [key("b")]
    bench.clock.now += REST_SECONDS
    applied = await bench.applied(one, bench.planned(one, A, shown=["a"]))
    assert not applied.resting


async def test_new_content_is_written_although_a_client_kept_changing_the_old(bench: Bench) -> None:
    one = settled(attempt())
    one.state.drift.repaired([key("a")] * REPAIRS, bench.clock.now)
    one.state.content = FORMER
    applied = await bench.applied(one, bench.planned(one, A, shown=["a"]))
    assert not applied.resting
    assert bench.engine.plans[-1].count(Action.LEAVE) == 0


# What is told


async def test_warnings_and_adoption_are_told(bench: Bench) -> None:
    warning = "ConfigMap ns/a: left out .x, which this API server does not know"
    bench.engine.outcome = ChangeSet(taken=[key("a")], warnings=[warning])
    one = attempt()
    applied = await bench.applied(one, bench.planned(one, A))
    assert told(applied.facts) == [
        (Cause.FIELDS_LEFT_OUT, warning),
        (Cause.ADOPTED, "adopted 1 object: ConfigMap ns/a"),
    ]
    assert found(Cause.ADOPTED, Progress(facts=applied.facts)).objects == (key("a"),)
    happened = concluded(one, wanted=Progress(facts=applied.facts)).happened
    assert [(event.type, event.reason) for event in happened] == [("Warning", "FieldsLeftOut"), ("Normal", "Adopted")]


async def test_an_object_that_was_deleted_and_re_created_is_told_with_the_reason(bench: Bench) -> None:
    bench.engine.outcome = ChangeSet(created=[key("a")], replaced={key("a"): "spec.selector is immutable"})
    one = attempt()
    (replaced,) = (await bench.applied(one, bench.planned(one, A))).facts
    assert (replaced.cause, replaced.objects) == (Cause.REPLACED, (key("a"),))
    assert replaced.text == "deleted and re-created ConfigMap ns/a: spec.selector is immutable"


async def test_done_changes_are_reported_though_the_rest_could_not_be_applied(bench: Bench) -> None:
    bench.engine.outcome = ChangeSet(taken=[key("a")], failures=[failure(FailureKind.REFUSED, name="b")])
    one = attempt()
    progress = await bench.unfinished(one, bench.planned(one, A, B))
    assert causes_of(progress) == [Cause.ADOPTED, Cause.REFUSED]


# What could not be applied


@pytest.mark.parametrize(
    ("failure_kinds", "is_stalled"),
    [
        ([FailureKind.CONTENT], True),
        ([FailureKind.CONTENT, FailureKind.REFUSED], False),
        ([FailureKind.REFUSED], False),
        ([FailureKind.ACCESS], False),
        ([FailureKind.UNAVAILABLE], False),
        ([FailureKind.LAGGING, FailureKind.REFUSED], False),
    ],
)
async def test_only_content_that_can_never_be_applied_is_not_tried_again(
    bench: Bench, failure_kinds: list[FailureKind], *, is_stalled: bool
) -> None:
    bench.engine.outcome = ChangeSet(failures=[failure(kind, retry_after=3.0) for kind in failure_kinds])
    one = attempt()
    one.state.applied.absent.add(key("a"))
    progress = await bench.unfinished(one, bench.planned(one, A))
    assert {fact.cause for fact in progress.facts} == {FAILURE_CAUSES[kind] for kind in failure_kinds}
    conclusion = concluded(one, wanted=progress)
    assert ("Stalled" in conditions(conclusion.status)) is is_stalled
    expected = None if is_stalled else 3.0
    assert conclusion.schedule.attempt_at == expected, "as late as the server asks for"
    assert not one.state.applied.absent, "what was free may be why"
    assert progress.reached is Reached.PARTLY


async def test_content_whose_drift_cannot_be_corrected_is_never_stalled(bench: Bench) -> None:
    bench.engine.outcome = ChangeSet(failures=[failure(FailureKind.CONTENT)])
    one = settled(attempt())
    progress = await bench.unfinished(one, bench.planned(one, A))
    conclusion = concluded(one, installed=progress)
    assert "Stalled" not in conditions(conclusion.status)
    assert conditions(conclusion.status)["Ready"][:2] == ("False", "ReconcileFailed")
    assert conclusion.schedule.attempt_at is not None


async def test_a_schema_that_lags_behind_its_crd_is_retried_for_half_a_minute_quietly_at_first(bench: Bench) -> None:
    bench.engine.outcome = ChangeSet(failures=[failure(FailureKind.LAGGING)])
    one = attempt()
    progress = await bench.unfinished(one, bench.planned(one, A))
    text = "Waiting: the API server does not know the new schema yet: ConfigMap ns/a: no"
    assert told(progress.facts) == [(Cause.SCHEMA_LAGS, text)]
    at_first = concluded(one, wanted=progress)
    assert (at_first.status, at_first.schedule.attempt_at) == (one.deployment.status, 0.5)
    lasting = concluded(one, wanted=progress, lasted=WAIT_QUIET_SECONDS)
    assert conditions(lasting.status)["Ready"] == ("Unknown", "Progressing", text)
    assert lasting.schedule.attempt_at == 0.5
    for_long = concluded(one, wanted=progress, lasted=SCHEMA_LAG_SECONDS, turn=turn(failures=0))
    assert conditions(for_long.status)["Ready"][:2] == ("False", "InstallFailed")
    assert for_long.schedule.failures == 1, "with the pauses of a failure from now on"


async def test_a_wait_is_reported_when_it_lasts(bench: Bench) -> None:
    bench.engine.outcome = ChangeSet(waiting=["ConfigMap ns/a is being deleted"])
    one = attempt()
    progress = await bench.unfinished(one, bench.planned(one, A))
    assert progress.reached is Reached.PARTLY
    assert concluded(one, wanted=progress).status == one.deployment.status
    conclusion = concluded(one, wanted=progress, lasted=WAIT_QUIET_SECONDS)
    assert conditions(conclusion.status)["Ready"] == (
        "Unknown",
        "Progressing",
        "Waiting: ConfigMap ns/a is being deleted",
    )


async def test_kinds_that_the_content_brings_end_what_is_waited_for(bench: Bench) -> None:
    bench.engine.outcome = ChangeSet(waiting=["the CRD is not established"])
    one, definition = attempt(), desired(crd())
    progress = await bench.unfinished(one, bench.planned(one, A, definition))
    assert found(Cause.OBJECTS_PENDING, progress).wakes == {kind_wake(BASKET.group_kind)}


# Withdrawn


async def test_a_first_install_that_lost_a_race_withdraws_what_it_created(bench: Bench) -> None:
    bench.engine.outcome = ChangeSet(created=[key("a")], failures=[failure(FailureKind.CONFLICT, name="b")])
    one = attempt()
    one.state.applied.uids[key("a")] = "u"
    planned = bench.planned(one, A, B)
    await bench.unfinished(one, planned)
    bench.client.put("ConfigMap", {"metadata": {**owned("a"), "uid": "u"}})
    (withdrawn,) = await bench.applier.withdraw(one, planned, ours("a", "earlier"))
    assert bench.client.calls == ["delete ConfigMap a"]
    assert (withdrawn.cause, withdrawn.objects) == (Cause.WITHDRAWN, (key("a"),))
    assert withdrawn.text == "deleted ConfigMap ns/a, created by the installation that was refused"
    assert await bench.applier.withdraw(one, planned, ours("a")) == ()
    assert bench.client.calls == ["delete ConfigMap a"], "once"


async def test_an_object_created_once_stays_where_a_first_install_lost_a_race(bench: Bench) -> None:
    """It is not ours from then on, so its uid is not known; crds/ of a chart may hold any kind."""
    bench.engine.outcome = ChangeSet(created=[key("once")], failures=[failure(FailureKind.CONFLICT, name="b")])
    one = attempt()
    planned = bench.planned(one, desired(config_map("once"), create_only=True), B)
    progress = await bench.unfinished(one, planned)
    assert causes_of(progress) == [Cause.CONFLICT]
    assert await bench.applier.withdraw(one, planned, ours("once")) == ()
    assert bench.client.calls == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [(INSTALLED, FailureKind.CONFLICT), (BundleDeploymentStatus(), FailureKind.REFUSED)],
    ids=["an upgrade", "a half install of another kind"],
)
async def test_nothing_else_is_withdrawn(bench: Bench, status: BundleDeploymentStatus, kind: FailureKind) -> None:
    bench.engine.outcome = ChangeSet(created=[key("a")], failures=[failure(kind, name="b")])
    one = attempt(of=deployment(status=status))
    one.state.applied.uids[key("a")] = "u"
    planned = bench.planned(one, A, B)
    await bench.unfinished(one, planned)
    assert await bench.applier.withdraw(one, planned, ours("a")) == ()
    assert bench.client.calls == []


async def test_new_content_whose_certificates_cannot_be_had_is_not_applied(bench: Bench) -> None:
    bench.certificates.result.failures.append((key("cert"), ConflictError("theirs")))
    one = attempt()
    progress = await bench.unfinished(one, bench.planned(one, A))
    assert (causes_of(progress), progress.reached) == ([Cause.CONFLICT], Reached.NOTHING)
    assert conditions(concluded(one, wanted=progress).status)["Installed"][:2] == ("False", "InstallFailed")
    assert bench.engine.plans == []


async def test_drift_is_corrected_though_a_certificate_cannot_be_had(bench: Bench) -> None:
    bench.certificates.result.failures.append((key("cert"), ConflictError("theirs")))
    one = settled(attempt())
    applied = await bench.applied(one, bench.planned(one, A))
    assert applied.facts == (), "what comes after the writes tells of the certificate"
    assert len(bench.engine.plans) == 1
