"""Order in which the gates are asked about an attempt, and the questions for each of them."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec import structs

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation, InstalledKind
from rukpak_py.api.deployment_spec import Adopt, CrdSafety
from rukpak_py.api.install_options import InstallOptions
from rukpak_py.apply.crd_review import CrdReview
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.apply.plan import Change, Plan, make_plan
from rukpak_py.apply.preflight import AnyRefusal, GatePhase, OwnerIsGone, Refusal, RefusedObjects
from rukpak_py.apply.preflight.permissions import MissingPermissions
from rukpak_py.apply.results import DryRun, Failure, FailureKind, kind_wake, namespace_wake
from rukpak_py.apply.target import Target
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment import gate_stage as gates_module
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.gate_stage import Gates
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.state import DeploymentStates
from rukpak_py.controllers.deployment.state_parts import Passed
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.format import OlmIdentity, RenderedContent, Requirement
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS
from tests.manifests import config_map, crd
from tests.unit.apply.lives import OWNER, desired, key, live, owned
from tests.unit.controllers.deployment.parts import BASKET, FORMER, FakeCluster, attempt, content_key, target_of
from tests.unit.controllers.fakes import NOW, Clock, FakeClient
from tests.unit.controllers.values import OTHER_DIGEST, deployment, unpacked

if TYPE_CHECKING:
    from rukpak_py.apply.engine import Engine
    from rukpak_py.controllers.deployment.permission_review import PermissionReview
    from rukpak_py.controllers.existence import Existence

A = desired(config_map("a"))
INSTALLED = deployment(
    status=BundleDeploymentStatus(
        digest="sha256:x", history=(Installation(bundle="b", digest="sha256:x", time=NOW),), active_bundle="b"
    )
)
FAILED = Failure(key=key("a"), kind=FailureKind.REFUSED, message="ConfigMap ns/a: no")


@dataclass
class GivenEngine:
    failures: list[Failure] = field(default_factory=list)
    dry_runs: int = 0

    async def dry_run_on(self, _target: Target, _plan: Plan, **_: Any) -> DryRun:
        self.dry_runs += 1
        return DryRun(failures=tuple(self.failures))


@dataclass
class GivenExistence:
    answer: bool = True
    asked: list[bool] = field(default_factory=list)

    async def still_exists(self, _deployment: BundleDeployment, *, is_doubtful: bool) -> bool:
        self.asked.append(is_doubtful)
        return self.answer


RENDERED = Rendered(
    desired=(A,),
    resolution=Resolution(states={CONFIG_MAPS.gvk: KindState.SERVED}, resources={CONFIG_MAPS.gvk: CONFIG_MAPS}),
    content=RenderedContent(objects=()),
)


@dataclass
class GivenPermissions:
    """Permissions that are missing for an attempt with an account."""

    missing_ones: frozenset[Permission] = frozenset()
    asked: int = 0

    async def missing(self, one: Attempt, *_: Any) -> MissingPermissions | None:
        self.asked += 1
        if not self.missing_ones or one.account is None:
            return None
        return MissingPermissions(account=one.account, deployment="shop", missing=self.missing_ones)


@dataclass
class Bench:
    engine: GivenEngine = field(default_factory=GivenEngine)
    existence: GivenExistence = field(default_factory=GivenExistence)
    deployments: Cache[BundleDeployment] = field(default_factory=lambda: Cache(clock=Clock()))
    states: DeploymentStates = field(default_factory=DeploymentStates)
    permissions: GivenPermissions = field(default_factory=GivenPermissions)

    @property
    def gates(self) -> Gates:
        return Gates(
            engine=cast("Engine", self.engine),
            cluster=FakeCluster().as_cluster(),
            existence=cast("Existence[BundleDeployment]", self.existence),
            deployments=self.deployments,
            states=self.states,
            permissions=cast("PermissionReview", self.permissions),
        )

    async def refusals(self, one: Attempt, active: Attempt | None = None, **lives: Any) -> tuple[AnyRefusal, ...]:
        """Refusals of a plan for one ConfigMap. `lives`: existing objects by name."""
        found = {key(name): given for name, given in lives.items()}
        plan = make_plan([A], live=found, owned={}, fields={}, owner=OWNER, adopt=Adopt.NEVER)
        gates = self.gates
        candidate = gates.candidate(one, RENDERED, active, target_of(one, FakeClient()))
        candidate = gates.looked_at(one, candidate, plan)
        after_looking = await gates.refusals(GatePhase.PLAN, one, candidate)
        return after_looking or await gates.refusals(GatePhase.DRY_RUN, one, candidate)

    def another(self, **about: Any) -> BundleDeployment:
        """Another deployment, that applied the same object."""
        other = deployment("other", uid="uid-of-other", **about)
        self.deployments.put(other)
        state = self.states.of("uid-of-other")
        assert state is not None
        state.applied.uids[key("a")] = "x"
        return other


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_before_looking_the_content_alone_is_judged(bench: Bench) -> None:
    async def refusals(rendered: Rendered) -> tuple[AnyRefusal, ...]:
        one = attempt()
        candidate = bench.gates.candidate(one, rendered, None, target_of(one, FakeClient()))
        return await bench.gates.refusals(GatePhase.CONTENT, one, candidate)

    assert await refusals(RENDERED) == ()
    elsewhere = replace(A, head=replace(A.head, namespace="elsewhere"))
    needs_basket = Requirement(gvk=BASKET, file="metadata/dependencies.yaml")
    refused = await refusals(
        replace(RENDERED, desired=(elsewhere,), content=RenderedContent(objects=(), requirements=(needs_basket,)))
    )
    expected = [{kind_wake(BASKET.group_kind)}, {namespace_wake("elsewhere")}]
    assert [one.wakes for one in refused if isinstance(one, Refusal)] == expected, "all of them are asked"


async def test_an_object_of_another_owner_ends_the_gates_before_any_call(bench: Bench) -> None:
    (refusal,) = await bench.refusals(attempt(of=INSTALLED), a=live())
    assert isinstance(refusal, Refusal)
    assert refusal.kind is FailureKind.CONFLICT
    assert (bench.existence.asked, bench.engine.dry_runs) == ([], 0)


async def test_a_deployment_that_is_gone_ends_it_before_the_dry_run(bench: Bench) -> None:
    bench.existence.answer = False
    assert await bench.refusals(attempt(of=INSTALLED)) == (OwnerIsGone(),)
    assert bench.engine.dry_runs == 0


async def test_something_missing_that_was_applied_is_a_reason_to_doubt(bench: Bench) -> None:
    one = attempt()
    await bench.refusals(one)
    one.state.applied.fields[key("a")] = "hash"
    await bench.refusals(one)
    assert bench.existence.asked == [False, True]


async def test_missing_objects_may_have_been_applied_by_another_process(bench: Bench) -> None:
    """The same holds for a first installation that it did not finish."""
    kinds = (InstalledKind(group="", version="v1", kind="ConfigMap"),)
    one = attempt(of=deployment(status=BundleDeploymentStatus(kinds=kinds)))
    await bench.refusals(one)
    one.state.applied.fields[key("b")] = "hash"
    await bench.refusals(one)
    assert bench.existence.asked == [True, False]


@pytest.mark.parametrize(
    ("of", "active", "is_settled", "dry_runs"),
    [
        (deployment(), None, False, 0),
        (INSTALLED, attempt(of=INSTALLED, bundle=unpacked(digest=OTHER_DIGEST)), False, 1),
        (INSTALLED, attempt(of=INSTALLED, options=InstallOptions(config={"x": 1})), False, 1),
        (INSTALLED, None, False, 1),
        (INSTALLED, attempt(of=INSTALLED), True, 0),
        (INSTALLED, attempt(of=INSTALLED), False, 0),
    ],
    ids=[
        "a first install: each object is created, or not",
        "other content",
        "other options",
        "the options of what is installed are lost",
        "drift",
        "drift while the operator was down",
    ],
)
async def test_an_upgrade_is_tried_out_first(
    bench: Bench, of: BundleDeployment, active: Attempt | None, *, is_settled: bool, dry_runs: int
) -> None:
    one = attempt(of=of)
    one.state.content = one.content if is_settled else FORMER
    bench.engine.failures = [FAILED]
    refusals = await bench.refusals(one, active)
    assert bench.engine.dry_runs == dry_runs
    assert refusals == ((RefusedObjects(failures=(FAILED,)),) if dry_runs else ())


# Names that are free for a moment


async def test_a_name_that_was_refused_and_whose_owner_puts_it_back_is_still_refused(bench: Bench) -> None:
    bench.another()
    one = attempt()
    assert await bench.refusals(one) == (), "it was never refused: the race decides"
    one.state.conflicts = frozenset({key("a")})
    (refusal,) = await bench.refusals(one)
    assert isinstance(refusal, Refusal)
    assert "belongs to BundleDeployment other" in refusal.message
    assert (refusal.kind, refusal.wakes) == (FailureKind.CONFLICT, frozenset({key("a")}))


@pytest.mark.parametrize("about", [{"suspend": True}, {"deletion_timestamp": NOW}, None], ids=str)
async def test_an_owner_that_does_not_put_it_back_leaves_it_free(bench: Bench, about: dict[str, Any] | None) -> None:
    if about is None:
        bench.states.of("uid-of-other")  # it does not want the object any more
    else:
        bench.another(**about)
    one = attempt()
    one.state.conflicts = frozenset({key("a")})
    assert await bench.refusals(one) == ()


async def test_an_owner_that_is_gone_leaves_it_free(bench: Bench) -> None:
    other = bench.another()
    bench.deployments.drop(other.metadata.name, other.metadata.uid)
    one = attempt()
    one.state.conflicts = frozenset({key("a")})
    assert await bench.refusals(one) == ()


# Answers that hold


async def test_content_that_passed_the_gate_of_olm_is_not_asked_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[OlmIdentity]()

    async def managed(_client: object, _find: object, one: OlmIdentity) -> list[ObjectKey]:
        asked.append(one)
        return answers.pop(0)

    monkeypatch.setattr(gates_module, "managed_by_olm", managed)
    answers = [[ObjectKey("operators.coreos.com", "Subscription", "ns", "shop")], [], []]
    one, rendered = (
        attempt(),
        replace(RENDERED, content=RenderedContent(objects=(), olm=OlmIdentity(package="shop", csv="shop.v1"))),
    )
    candidate = bench.gates.candidate(one, rendered, None, target_of(one, FakeClient()))
    for is_refused in (True, False, False):
        assert bool(await bench.gates.refusals(GatePhase.PLAN, one, candidate)) is is_refused
    assert len(asked) == 2, "a refusal is asked for again, and a yes holds"
    one.state.passed_gates["olm"] = Passed((content_key("sha256:other"), None, CrdSafety.ENFORCE))
    await bench.gates.refusals(GatePhase.PLAN, one, candidate)
    assert len(asked) == 3, "other content was let through since"


CRD = desired(crd("shop.example.org"))
CRD_LIVE = live(gvk=CRDS.gvk, namespace="", **owned("things.shop.example.org"))
CRD_PLAN = make_plan([CRD], live={CRD.key: CRD_LIVE}, owned={}, fields={}, owner=OWNER, adopt=Adopt.NEVER)


@dataclass
class Reviews:
    """Reviews of one CRD that an upgrade changes, as they are at the moment."""

    bench: Bench
    warns: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    asked: int = 0

    async def _review(self, change: Change) -> CrdReview:
        self.asked += 1
        return CrdReview(name=change.key.name, warns=self.warns, breaks=self.breaks)

    async def refusals(self, one: Attempt, *, is_upgrade: bool = True) -> tuple[AnyRefusal, ...]:
        candidate = self.bench.gates.candidate(one, RENDERED, None, target_of(one, FakeClient()))
        candidate = replace(candidate, plan=CRD_PLAN, is_upgrade=is_upgrade, review_crd=self._review)
        return await self.bench.gates.refusals(GatePhase.PLAN, one, candidate)


@pytest.fixture
def reviews(bench: Bench) -> Reviews:
    return Reviews(bench)


async def test_warnings_belong_to_the_content_that_they_are_about(reviews: Reviews) -> None:
    installed, second = attempt(of=INSTALLED), attempt(of=INSTALLED, bundle=unpacked(digest=OTHER_DIGEST))
    second = replace(second, state=installed.state)
    reviews.warns = ("color is narrower",)
    assert await reviews.refusals(second) == ()
    assert list(second.warnings) == [CRD.key]
    assert not installed.warnings
    assert reviews.bench.gates.warnings(installed) == ()
    assert list(second.warnings) == [CRD.key], "they were not told of other content"

    third = replace(second, options=InstallOptions(config={"x": 1}))
    reviews.warns = ()
    assert await reviews.refusals(third) == ()
    assert not third.warnings


async def test_warnings_are_told_once_and_renewed_when_gates_are_asked_again(reviews: Reviews) -> None:
    one = attempt(of=INSTALLED)
    reviews.warns = ("color is narrower",)
    await reviews.refusals(one)
    assert len(reviews.bench.gates.warnings(one)) == 1
    await reviews.refusals(one)
    assert reviews.bench.gates.warnings(one) == ()
    reviews.bench.gates.ask_again(one)
    await reviews.refusals(one)
    assert len(one.warnings) == 1
    reviews.warns = ()
    reviews.bench.gates.ask_again(one)
    await reviews.refusals(one)
    assert not one.warnings
    assert reviews.asked == 3


async def test_stricter_safety_of_crds_asks_again_about_what_has_passed(reviews: Reviews) -> None:
    reviews.breaks = ("color is required",)
    spec = INSTALLED.spec
    lenient = attempt(of=structs.replace(INSTALLED, spec=structs.replace(spec, crd_safety=CrdSafety.WARN)))
    assert await reviews.refusals(lenient) == ()
    strict = replace(lenient, deployment=INSTALLED)
    assert await reviews.refusals(strict)


ROBOT = Account("apps", "robot")
CREATE = Permission("apps", "create", "", "configmaps")


async def asked_about_content(bench: Bench, one: Attempt, active: Attempt | None = None) -> tuple[AnyRefusal, ...]:
    candidate = bench.gates.candidate(one, RENDERED, active, target_of(one, FakeClient()))
    return await bench.gates.refusals(GatePhase.CONTENT, one, candidate)


async def test_missing_permissions_refuse_content_before_it_is_looked_at(bench: Bench) -> None:
    bench.permissions.missing_ones = frozenset({CREATE})
    (refusal,) = await asked_about_content(bench, replace(attempt(), account=ROBOT))
    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.objects) == (FailureKind.PERMISSIONS, (ObjectKey("", "ServiceAccount", *ROBOT),))
    assert refusal.brief.startswith("ServiceAccount apps/robot lacks 1 permission that the bundle needs: create")


async def test_missing_permissions_refuse_no_installed_content(bench: Bench) -> None:
    bench.permissions.missing_ones = frozenset({CREATE})
    one = replace(attempt(), account=ROBOT)
    assert await asked_about_content(bench, one, one) == ()
    assert bench.permissions.asked == 0


async def test_permissions_are_asked_again_after_a_refusal_for_another_account_and_when_one_was_taken_away(
    bench: Bench,
) -> None:
    bench.permissions.missing_ones = frozenset({CREATE})
    one = replace(attempt(), account=ROBOT)
    await asked_about_content(bench, one)
    bench.permissions.missing_ones = frozenset()
    for expected in (2, 2):
        assert await asked_about_content(bench, one) == ()
        assert bench.permissions.asked == expected
    await asked_about_content(bench, replace(one, account=Account("apps", "another")))
    assert bench.permissions.asked == 3
    bench.gates.review_permissions_again(one)
    await asked_about_content(bench, one)
    assert bench.permissions.asked == 4
