"""Stages that a reconcile runs in each situation. The stages that write to the cluster are next door, faked here."""

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.accounts import Mode
from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import (
    BundleDeployment,
    BundleDeploymentStatus,
    Installation,
    InstallOutcome,
    RecordedOptions,
)
from rukpak_py.api.deployment_spec import BundleTemplate, Dependency
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_KIND,
    HELM_CLASS,
    ORDERED_DELETION_FINALIZER,
    PLAIN_CLASS,
    REFRESH_AT_ANNOTATION,
)
from rukpak_py.api.reading import read_bundle, read_bundle_deployment, to_json
from rukpak_py.api.template_hash import bundle_name, template_hash
from rukpak_py.apply.results import namespace_wake
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.attempt import Attempt, AttemptFactory
from rukpak_py.controllers.deployment.dependencies import Dependencies
from rukpak_py.controllers.deployment.external_values import ExternalValues
from rukpak_py.controllers.deployment.history import installed_change
from rukpak_py.controllers.deployment.hooks.facts import HookState
from rukpak_py.controllers.deployment.reconcile import DeploymentReconciler
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.deployment.template_bundle import TEMPLATE_UNKNOWN, Templates
from rukpak_py.controllers.deployment.undo import Undo
from rukpak_py.controllers.deployment.upgrade_approval import UpgradeApproval
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.existence import UNHEARD_OF_SECONDS, Existence
from rukpak_py.controllers.queue import SETTLED, Schedule, Turn
from rukpak_py.controllers.result.bundle_details import (
    InstalledBundleFails,
    InstalledBundleMissing,
    InstalledBundleReplaced,
)
from rukpak_py.controllers.result.cause_table import ERRORS_QUIET_SECONDS, WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import Clock as Moment
from rukpak_py.controllers.result.conditions import instantiated
from rukpak_py.controllers.result.deployment_details import ACCOUNT_REQUIRED, OPTIONS_LOST
from rukpak_py.controllers.result.progress import NO_CHANGE, NO_PROGRESS, Fact, Progress, Reached
from rukpak_py.controllers.writes import WRITE_INTERVAL_SECONDS
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import ServerUnavailableError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.unit.apply.lives import key
from tests.unit.controllers.deployment.parts import identities
from tests.unit.controllers.fakes import (
    NOW,
    Clock,
    FakeClient,
    FakeDigestKeys,
    FakeEvents,
    FakeValuesObjects,
    Trusting,
    refusal,
)
from tests.unit.controllers.result.concluding import fact, progress
from tests.unit.controllers.values import (
    DIGEST,
    OTHER_DIGEST,
    START,
    bundle,
    bundle_of,
    conditions,
    deployment,
    spec,
    unpacked_as,
)
from tests.unit.controllers.values import failing as failing_bundle

WRITE = "status BundleDeployment shop"
FOREIGN = "example-com-other"
GOING: dict[str, Any] = {"deletion_timestamp": NOW, "finalizers": (ORDERED_DELETION_FINALIZER,)}
LOST = namespace_wake("lost")
HELD = Schedule(failures=1)  # an attempt has failed: what it needs brings the next one
GONE = Progress(reached=Reached.GONE)


def installed(attempt: Attempt) -> Progress:
    """All is well."""
    change = installed_change(attempt, {}, (), NOW, outcome=InstallOutcome.HEALTHY)
    return Progress(change=change, reached=Reached.FINISHED)


def refused(*wakes: ObjectKey, cause: Cause = Cause.CONFLICT) -> Progress:
    """Progress of a refusal before the first write."""
    return progress(fact(cause, "taken", wakes=frozenset(wakes)))


def half_done() -> Progress:
    """Something was written by then."""
    return dataclasses.replace(refused(), reached=Reached.PARTLY)


def look(former: Schedule) -> Turn:
    """Turn of an event that comes before the time of the next attempt."""
    return Turn(is_attempt=False, failures=former.failures, attempt_at=former.attempt_at)


def kept(*wakes: ObjectKey) -> Progress:
    """Progress of content that is kept as far as it can be."""
    return progress(fact(Cause.LOOK_AGAIN, wakes=frozenset(wakes)), reached=Reached.FINISHED)


@dataclass
class FakeContentStage:
    """Stages that record what they were asked to bring. All is well with the Bundles that `results` does not name."""

    asked: list[tuple[str, str, str]] = field(default_factory=list)  # stage, Bundle, install namespace
    against: list[str | None] = field(default_factory=list)  # what was said to be active
    results: dict[str, Progress] = field(default_factory=dict)
    result_of: Callable[[Attempt], Progress] = installed
    attempts: list[Attempt] = field(default_factory=list)
    due: list[bool] = field(default_factory=list)  # whether an attempt may begin
    dropped: list[str] = field(default_factory=list)  # whose renderings

    async def reconcile_content(self, attempt: Attempt, active: Attempt | None, *, is_due: bool = True) -> Progress:
        self.attempts.append(attempt)
        self.due.append(is_due)
        self.against.append(active.bundle.metadata.name if active is not None else None)
        return self._result("reconcile", attempt)

    async def correct_drift(self, active: Attempt) -> Progress:
        return self._result("correct drift", active)

    async def correct_half(self, attempt: Attempt, _active: Attempt) -> Progress:
        self.asked.append(("correct half", attempt.bundle.metadata.name, attempt.install_namespace))
        return NO_PROGRESS

    def drop_renderings(self, one: BundleDeployment) -> None:
        self.dropped.append(one.metadata.name)

    def _result(self, stage: str, attempt: Attempt) -> Progress:
        name = attempt.bundle.metadata.name
        self.asked.append((stage, name, attempt.install_namespace))
        return self.results.get(name) or self.results.get(stage) or self.result_of(attempt)


class FakeOwnershipForm:
    """Everything has the form of this release."""

    async def convert(self, _deployment: BundleDeployment, state: DeploymentState) -> None:
        state.is_converted = True


@dataclass
class FakeHooks:
    """`looked_at`: deployments whose running hook was looked at after everything else."""

    looked_at: list[str] = field(default_factory=list)

    async def remember_end(self, one: BundleDeployment, _state: HookState) -> None:
        self.looked_at.append(one.metadata.name)


@dataclass
class FakeUninstall:
    asked: list[str] = field(default_factory=list)
    result: Progress = GONE

    async def prepare(self, one: BundleDeployment) -> BundleDeployment:
        return one

    async def proceed(self, one: BundleDeployment, _state: DeploymentState) -> Progress:
        self.asked.append(one.metadata.name)
        return self.result


class EmptyInventory:
    """An inventory without owned objects; the namespaces that attempts ask for have no owner."""

    @staticmethod
    def get(_key: object) -> None:
        return None

    @staticmethod
    def is_listed(_kind: object) -> bool:
        return True


@dataclass
class InterruptedClient(FakeClient):
    """Lets a test act while a Bundle is being created."""

    meanwhile: Callable[[], None] = lambda: None

    async def create(self, *args: Any, **more: Any) -> Any:
        self.meanwhile()
        return await super().create(*args, **more)


class Bench:
    def __init__(self, *classes: str, now: float) -> None:
        self.began, self.clock = now, Clock(now)
        self.client, self.events = InterruptedClient(), FakeEvents()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.bundles = Cache[Bundle](clock=self.clock)
        self.states, self.waiting = DeploymentStates(), WaitingDeployments()
        self.content, self.uninstall = FakeContentStage(), FakeUninstall()
        self.gone: list[str] = []
        self.hooks = FakeHooks()
        self.identities = identities()
        self.values = FakeValuesObjects()
        client, inventory = self.client.as_client(), EmptyInventory()
        existence = Existence(
            client, BUNDLE_DEPLOYMENTS, self.deployments, on_gone=lambda one: self.gone.append(one.metadata.name)
        )
        writer = DeploymentStatusWriter(client=client, deployments=self.deployments, pace=self.clock)
        stages: dict[str, Any] = {
            "content": self.content,
            "ownership_form": FakeOwnershipForm(),
            "hooks": self.hooks,
            "uninstall": self.uninstall,
            "dependencies": Dependencies(self.deployments),
        }
        ports: Any = inventory
        templates = Templates(client, self.bundles, existence, has_account=lambda _: False, on_new=lambda _name: None)
        attempts = AttemptFactory(ports, lambda _name: True, self.identities)
        rendering: Any = None
        self.approval = UpgradeApproval(rendering, writer, stages["dependencies"], clock=self.moment)
        undo = Undo(
            deployments=self.deployments,
            templates=templates,
            attempts=attempts,
            content=stages["content"],
            approval=self.approval,
            clock=self.moment,
        )
        self.reconciler = DeploymentReconciler(
            deployments=self.deployments,
            instances=Cache(clock=self.clock),
            states=self.states,
            templates=templates,
            undo=undo,
            values=ExternalValues(self.values, FakeDigestKeys(), self.states, identities=self.identities),
            identities=self.identities,
            judging=Trusting(),
            attempts=attempts,
            reporting=Reporting(writer, self.waiting, self.events, clock=self.moment),
            classes={PLAIN_CLASS, *classes},
            **stages,
        )

    def moment(self) -> Moment:
        return Moment(loop=self.clock.now, wall=START + self.clock.now - self.began)

    def put(self, one: BundleDeployment) -> BundleDeployment:
        """Put the object on the server, and show its event."""
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))
        self.deployments.put(stored)
        return stored

    def put_bundle(self, one: Bundle) -> str:
        self.bundles.put(read_bundle(self.client.put(BUNDLE_KIND, to_json(one))))
        return one.metadata.name

    def refresh(self, at: str | None) -> None:
        """The annotation is changed; the rest is as it is on the server."""
        stored = read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"])
        annotations = {REFRESH_AT_ANNOTATION: at} if at is not None else {}
        self.put(replace(stored, metadata=replace(stored.metadata, annotations=annotations)))

    async def reconcile(self, turn: Turn | None = None) -> Schedule:
        """Reconcile in the first turn of the key, unless another one is given."""
        return await self.reconciler.reconcile("shop", turn or Turn())

    async def reconcile_after_a_while(self) -> Schedule:
        """Reconcile twice, so that causes that are reported only when they last are reported."""
        await self.reconcile()
        self.clock.now += WAIT_QUIET_SECONDS
        return await self.reconcile()

    def retried(self, *, report_after: float | None = None) -> Schedule:
        """Schedule after the first pause of the back-off, with a look before or after that."""
        report_at = self.clock.now + report_after if report_after is not None else None
        return Schedule(failures=1, attempt_at=self.clock.now + 0.25, report_at=report_at)

    @property
    def stored(self) -> BundleDeployment:
        return read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"])

    @property
    def status(self) -> BundleDeploymentStatus:
        return self.stored.status

    @property
    def conditions(self) -> dict[str, tuple[str, str, str]]:
        return conditions(self.status)

    @property
    def names(self) -> set[str]:
        return {name for kind, name in self.client.objects if kind == BUNDLE_KIND}


@pytest.fixture(params=[()])
async def bench(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Bench:
    """Bench with the classes that it serves beside plain. Its time stands still, near that of the loop."""
    bench = Bench(*request.param, now=float(int(asyncio.get_running_loop().time())))
    for module in ("existence", "deployment.state"):
        monkeypatch.setattr(f"rukpak_py.controllers.{module}.monotonic", bench.clock)
    return bench


def unpacked(one: BundleDeployment, *, digest: str = DIGEST, **metadata: Any) -> Bundle:
    """The Bundle of the deployment's template."""
    return unpacked_as(bundle_of(one, **metadata), digest)


def failing(one: BundleDeployment) -> Bundle:
    return failing_bundle(bundle_of(one), "empty", ContentError("empty"))


FORMER = deployment(template=spec("former"))
ACTIVE = bundle_of(FORMER).metadata.name
WANTED = bundle_of(deployment()).metadata.name
REFRESHED = bundle_name("shop", template_hash(deployment().spec.template, refresh="1"))


def upgrading(options: RecordedOptions | None = None, **rest: Any) -> BundleDeployment:
    """The content of a former template is installed, in the namespace `before` unless it is said otherwise."""
    options = options if options is not None else RecordedOptions(install_namespace="before")
    history = (Installation(bundle=ACTIVE, digest=OTHER_DIGEST, time=NOW, options=options),)
    status = BundleDeploymentStatus(active_bundle=ACTIVE, digest=OTHER_DIGEST, history=history)
    return deployment(status=status, **{"install_namespace": "after", **rest})


def installed_before(bench: Bench, **rest: Any) -> BundleDeployment:
    bench.put_bundle(unpacked(FORMER, digest=OTHER_DIGEST))
    return bench.put(upgrading(**rest))


KEPT = ("reconcile", ACTIVE, "before")
"""The active content, with the options that it was installed with."""


class TestNothingIsInstalled:
    async def test_unpacked_content_waits_for_dependencies_before_any_stage(self, bench: Bench) -> None:
        one = bench.put(deployment(depends_on=(Dependency(name="base"),)))
        bench.put_bundle(unpacked(one))
        await bench.reconcile_after_a_while()
        assert bench.content.asked == []
        assert bench.conditions["HasValidBundle"][:2] == ("True", "UnpackSuccessful")
        assert bench.conditions["Ready"][:2] == ("False", "DependencyMissing")

    async def test_the_first_reconcile_creates_a_bundle_and_reports_nothing_yet(self, bench: Bench) -> None:
        bench.put(deployment())
        assert await bench.reconcile() == Schedule(report_at=bench.clock.now + WAIT_QUIET_SECONDS)
        assert bench.client.calls == [f"create Bundle {WANTED}"]
        assert bench.content.asked == []

    async def test_a_bundle_that_takes_longer_is_reported_as_pending(self, bench: Bench) -> None:
        bench.put(deployment())
        assert await bench.reconcile_after_a_while() == SETTLED
        assert bench.conditions["HasValidBundle"][:2] == ("Unknown", "UnpackPending")
        assert bench.conditions["Ready"][0] == "Unknown"
        assert bench.client.calls == [f"create Bundle {WANTED}", WRITE]

    async def test_unpacked_content_is_installed_and_reported_once(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment(install_namespace="shops"))))
        assert await bench.reconcile() == SETTLED
        assert bench.content.asked == [("reconcile", WANTED, "shops")]
        assert bench.content.against == [None], "nothing was active"
        assert bench.status.active_bundle == WANTED
        assert bench.conditions["HasValidBundle"][:2] == ("True", "UnpackSuccessful")
        assert await bench.reconcile() == SETTLED
        assert bench.client.calls == [WRITE]
        assert bench.events.told == [("Normal", "shop", "Installed")]

    async def test_a_failing_bundle_is_reported_at_once(self, bench: Bench) -> None:
        bench.put_bundle(failing(bench.put(deployment())))
        assert await bench.reconcile() == HELD
        assert bench.conditions["HasValidBundle"] == (
            "False",
            "UnpackFailed",
            f"Failed to unpack the {WANTED} Bundle: empty",
        )
        assert "Stalled" in bench.conditions
        assert bench.content.asked == []

    async def test_a_bundle_of_a_class_that_is_not_served_names_the_class(self, bench: Bench) -> None:
        bench.put(deployment(template=spec(provisioner=FOREIGN)))
        await bench.reconcile_after_a_while()
        assert f'does not serve its class "{FOREIGN}"' in bench.conditions["HasValidBundle"][2]

    async def test_a_bundle_of_another_class_that_is_unpacked_is_installed(self, bench: Bench) -> None:
        """It does not matter which provisioner unpacked it."""
        bench.put_bundle(unpacked(bench.put(deployment(template=spec(provisioner=FOREIGN)))))
        assert await bench.reconcile() == SETTLED
        assert bench.conditions["HasValidBundle"][:2] == ("True", "UnpackSuccessful")
        assert bench.conditions["Ready"][0] == "True"

    async def test_a_bundle_of_another_owner_on_the_name_is_reported_and_tried_again(self, bench: Bench) -> None:
        bench.put(deployment())
        bench.client.put(BUNDLE_KIND, to_json(bundle(WANTED)))
        assert await bench.reconcile() == bench.retried()
        status, reason, message = bench.conditions["HasValidBundle"]
        assert (status, reason) == ("Unknown", "ReconcileFailed")
        assert "does not belong to this BundleDeployment" in message
        assert "Reconciling" in bench.conditions

    async def test_a_look_does_not_try_again_to_make_a_bundle_that_could_not_be_made(self, bench: Bench) -> None:
        bench.put(deployment())
        bench.client.put(BUNDLE_KIND, to_json(bundle(WANTED)))
        conflict = await bench.reconcile()
        calls = len(bench.client.calls)
        held = await bench.reconcile(look(conflict))
        assert [call for call in bench.client.calls[calls:] if BUNDLE_KIND + " " in call] == []
        assert held.attempt_at == conflict.attempt_at
        assert bench.conditions["Ready"][1] == "Conflict"
        bench.put_bundle(unpacked(deployment()))
        await bench.reconcile(look(held))
        assert bench.content.asked == [("reconcile", WANTED, "rukpak-system")], "one that is there is used at once"

    async def test_an_api_server_that_names_a_pause_gets_it(self, bench: Bench) -> None:
        bench.put(deployment())
        bench.client.failing["create"] = UnavailableError("too many requests", retry_after=7.0)
        loop = asyncio.get_running_loop()
        before = loop.time()
        found = await bench.reconcile()
        assert found.attempt_at is not None
        assert before + 7.0 <= found.attempt_at <= loop.time() + 7.0
        assert found.report_at == bench.clock.now + WAIT_QUIET_SECONDS
        assert WRITE not in bench.client.calls
        bench.clock.now += WAIT_QUIET_SECONDS
        await bench.reconcile()
        assert bench.conditions["Ready"] == ("False", "Unavailable", "too many requests")

    async def test_a_first_install_that_is_refused_corrects_nothing(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment())))
        bench.content.results["reconcile"] = refused()
        assert await bench.reconcile() == bench.retried()
        assert [stage for stage, *_ in bench.content.asked] == ["reconcile"]

    async def test_a_look_begins_no_attempt_and_moves_none(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment())))
        bench.content.results["reconcile"] = refused()
        await bench.reconcile()
        bench.clock.now += WRITE_INTERVAL_SECONDS
        later = bench.clock.now + 60.0
        turn = Turn(is_attempt=False, failures=3, attempt_at=later)
        assert await bench.reconcile(turn) == Schedule(failures=3, attempt_at=later)
        assert bench.content.due == [True, False]


class TestTheActiveContentIsKept:
    """With the options it was installed with, whatever the spec says meanwhile."""

    @pytest.mark.parametrize("state", ["pending", "failing", "cannot be created", "another class"])
    async def test_while_the_wanted_bundle_is_not_there(self, bench: Bench, state: str) -> None:
        one = installed_before(bench, **({"template": spec(provisioner=FOREIGN)} if state == "another class" else {}))
        match state:
            case "failing":
                bench.put_bundle(failing(one))
            case "cannot be created":
                bench.client.put(BUNDLE_KIND, to_json(bundle(WANTED)))
        await bench.reconcile_after_a_while()
        assert bench.content.asked == [KEPT, KEPT]
        assert bench.content.against == [ACTIVE, ACTIVE]
        assert bench.conditions["HasValidBundle"][0] != "True"
        assert bench.conditions["Installed"][0] == "True"
        assert bench.conditions["Healthy"][0] == "True"
        assert bench.conditions["Ready"][0] != "True"
        assert bench.status.active_bundle == ACTIVE

    @pytest.mark.parametrize("state", ["pending", "failing", "cannot be created"])
    async def test_a_need_of_the_active_content_brings_the_key_back(self, bench: Bench, state: str) -> None:
        one = installed_before(bench)
        match state:
            case "failing":
                bench.put_bundle(failing(one))
            case "cannot be created":
                bench.client.put(BUNDLE_KIND, to_json(bundle(WANTED)))
        bench.content.results[ACTIVE] = progress(fact(Cause.OBJECTS_PENDING, wakes=frozenset({LOST})))
        found = await bench.reconcile_after_a_while()
        assert found.next_at is not None
        assert bench.waiting.for_namespace("lost") == ["shop"]
        assert (await bench.reconcile(look(found))).next_at is not None, "an event comes between"

    async def test_beside_a_successor_that_is_refused_before_the_first_write(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = refused(key("a"))
        bench.content.results[ACTIVE] = kept(key("b"))
        assert dataclasses.replace(await bench.reconcile(), report_at=None) == bench.retried()
        assert bench.content.asked == [("reconcile", WANTED, "after"), ("correct drift", ACTIVE, "before")]
        assert bench.content.against == [ACTIVE]
        assert bench.waiting.for_object(key("a")) == bench.waiting.for_object(key("b")) == ["shop"]
        assert bench.conditions["Ready"][:2] == ("False", "Conflict")
        assert ACTIVE in bench.names, "it is still needed"

    async def test_beside_the_same_content_with_options_that_are_refused(self, bench: Bench) -> None:
        options = RecordedOptions(install_namespace="before")
        history = (Installation(bundle=WANTED, digest=DIGEST, time=NOW, options=options),)
        status = BundleDeploymentStatus(active_bundle=WANTED, digest=DIGEST, history=history)
        bench.put_bundle(unpacked(bench.put(deployment(status=status, install_namespace="after"))))
        bench.content.results["reconcile"] = refused()
        await bench.reconcile()
        assert bench.content.asked == [("reconcile", WANTED, "after"), ("correct drift", WANTED, "before")]

    async def test_the_back_off_of_the_active_content_counts_when_its_successor_waits_for_an_event(
        self, bench: Bench
    ) -> None:
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = refused(cause=Cause.NOT_APPLICABLE)
        bench.content.results[ACTIVE] = progress(fact(Cause.API_UNAVAILABLE))
        assert await bench.reconcile() == bench.retried(report_after=ERRORS_QUIET_SECONDS)

    @pytest.mark.parametrize("state", ["refused", "failing"])
    async def test_unfinished_active_content_brings_the_key_back_whatever_stalls_its_successor(
        self, bench: Bench, state: str
    ) -> None:
        """At a look, too, which is no attempt: drift is corrected half, or its health is not seen yet."""
        one = installed_before(bench)
        bench.put_bundle(failing(one) if state == "failing" else unpacked(one))
        bench.content.results[WANTED] = refused(cause=Cause.NOT_APPLICABLE)
        bench.content.results[ACTIVE] = kept()
        stalled = await bench.reconcile()
        assert (stalled.failures, stalled.attempt_at) == (1, None)
        bench.clock.now += WRITE_INTERVAL_SECONDS
        bench.content.results[WANTED] += progress(Fact(cause=Cause.NOT_DUE))
        soon = Fact(cause=Cause.LOOK_AGAIN, at=bench.clock.now + 1.0)
        bench.content.results[ACTIVE] = progress(soon, reached=Reached.PARTLY)
        assert (await bench.reconcile(look(stalled))).next_at == bench.clock.now + 1.0

    async def test_unfinished_active_content_is_not_held_back_by_the_back_off_of_its_successor(
        self, bench: Bench
    ) -> None:
        """The active content waited up to a minute for what takes a moment."""
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = refused()
        soon = Fact(cause=Cause.LOOK_AGAIN, at=bench.clock.now + 1.0)
        bench.content.results[ACTIVE] = progress(soon, reached=Reached.PARTLY)
        found = await bench.reconcile(Turn(failures=20))
        assert (found.attempt_at, found.next_at) == (bench.clock.now + 60.0, bench.clock.now + 1.0)

    @pytest.mark.parametrize("state", ["refused", "failing"])
    async def test_a_failure_of_the_active_content_at_a_look_is_tried_again_whatever_stalls_its_successor(
        self, bench: Bench, state: str
    ) -> None:
        one = installed_before(bench)
        bench.put_bundle(failing(one) if state == "failing" else unpacked(one))
        bench.content.results[WANTED] = refused(cause=Cause.NOT_APPLICABLE)
        stalled = await bench.reconcile()
        bench.clock.now += WRITE_INTERVAL_SECONDS
        bench.content.results[WANTED] += progress(Fact(cause=Cause.NOT_DUE))
        bench.content.results[ACTIVE] = progress(fact(Cause.ACCESS), reached=Reached.PARTLY)
        assert (await bench.reconcile(look(stalled))).attempt_at is not None

    async def test_each_object_as_it_was_applied_last_when_something_of_the_successor_was_written(
        self, bench: Bench
    ) -> None:
        """Half an upgrade is not drift."""
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = half_done()
        await bench.reconcile()
        assert bench.content.asked == [("reconcile", WANTED, "after"), ("correct half", WANTED, "after")]

    async def test_a_failure_after_writes_of_an_earlier_attempt_is_no_refusal(self, bench: Bench) -> None:
        one = installed_before(bench)
        bench.put_bundle(unpacked(one))
        bench.content.results[WANTED] = refused(cause=Cause.UNAVAILABLE)
        await bench.reconcile()
        assert " refused; " in bench.conditions["Installed"][2]
        attempt = bench.content.attempts[0]
        attempt.state.applying(attempt.content)
        bench.clock.now += WRITE_INTERVAL_SECONDS
        await bench.reconcile()
        assert " is half done: " in bench.conditions["Installed"][2]

    async def test_not_when_it_is_what_was_refused(self, bench: Bench) -> None:
        installed_before(bench, template=spec("former"), install_namespace="before")
        bench.content.results["reconcile"] = refused()
        await bench.reconcile()
        assert bench.content.asked == [("reconcile", ACTIVE, "before")]

    @pytest.mark.parametrize("is_unpacked", [True, False])
    async def test_not_when_its_options_are_lost(self, bench: Bench, *, is_unpacked: bool) -> None:
        lost = RecordedOptions(config_digest="sha256:" + "0" * 64)
        one = installed_before(bench, options=lost)
        if is_unpacked:
            bench.put_bundle(unpacked(one))
            bench.content.results[WANTED] = refused()
        await bench.reconcile_after_a_while()
        assert ACTIVE not in [name for _, name, _ in bench.content.asked]
        assert set(bench.content.against) <= {None}

    @pytest.mark.parametrize(("is_unpacked", "status"), [(False, "True"), (True, "False")])
    async def test_options_that_are_lost_are_reported(self, bench: Bench, status: str, *, is_unpacked: bool) -> None:
        one = installed_before(bench, options=RecordedOptions(config_digest="sha256:" + "0" * 64))
        if is_unpacked:
            bench.put_bundle(unpacked(one))
            bench.content.results[WANTED] = refused()
        await bench.reconcile_after_a_while()
        assert bench.conditions["Installed"][0] == status
        assert bench.conditions["Installed"][2].splitlines()[1:] == [OPTIONS_LOST.words]

    async def test_content_whose_bundle_is_gone_or_has_another_owner_is_not_kept(self, bench: Bench) -> None:
        bench.put(upgrading())
        bench.put_bundle(unpacked(deployment(template=spec("former"), uid="another"), digest=OTHER_DIGEST))
        assert await bench.reconcile_after_a_while() == bench.retried()
        assert bench.content.asked == []


def recorded(name: str = "former") -> BundleDeployment:
    """Deployment whose history says from which template the content was made."""
    one = upgrading()
    entry = replace(one.status.history[0], template=BundleTemplate(spec=spec(name)))
    return replace(one, status=replace(one.status, history=(entry,)))


class TestTheBundleOfWhatIsInstalledIsGone:
    @pytest.mark.parametrize("is_refused", [False, True])
    async def test_the_bundle_of_the_active_content_is_made_again_as_the_history_records_it(
        self, bench: Bench, *, is_refused: bool
    ) -> None:
        one = bench.put(recorded())
        if is_refused:
            bench.put_bundle(unpacked(one))
            bench.content.results[WANTED] = refused()
        await bench.reconcile()
        assert bench.names == {ACTIVE, WANTED}
        made = read_bundle(bench.client.objects[BUNDLE_KIND, ACTIVE])
        assert made.spec == spec("former")
        assert made.metadata.controller is not None
        assert made.metadata.controller.uid == one.metadata.uid

        bench.put_bundle(replace(made, status=unpacked(FORMER, digest=OTHER_DIGEST).status))
        bench.content.asked.clear()
        await bench.reconcile()
        assert (("correct drift" if is_refused else "reconcile"), ACTIVE, "before") in bench.content.asked

    @pytest.mark.parametrize("one", [upgrading(), recorded("edited by hand")], ids=["no template", "another"])
    async def test_a_bundle_that_the_history_does_not_record_is_reported(
        self, bench: Bench, one: BundleDeployment
    ) -> None:
        bench.put(one)
        assert await bench.reconcile_after_a_while() == bench.retried()
        assert bench.names == {WANTED}
        told = InstalledBundleMissing(bundle=ACTIVE, why=TEMPLATE_UNKNOWN).text(())
        text = f"{instantiated(ACTIVE)}; what generation 1 asks for is not installed yet\n{told}"
        assert bench.conditions["Installed"] == ("True", "InstallationSucceeded", text)
        assert ("Warning", "shop", "ReconcileFailed") in bench.events.told

    async def test_a_refused_upgrade_keeps_its_own_failure(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(upgrading())))
        bench.content.results[WANTED] = refused()
        assert await bench.reconcile() == bench.retried()
        told = InstalledBundleMissing(bundle=ACTIVE, why=TEMPLATE_UNKNOWN).text(())
        failure = f"upgrade to {WANTED} refused; {ACTIVE} stays installed: taken"
        assert bench.conditions["Installed"] == ("False", "UpgradeFailed", f"{failure}\n{told}")
        assert bench.conditions["Ready"] == ("False", "Conflict", failure)

    async def test_an_api_server_that_does_not_take_it_is_told(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(recorded())))
        bench.content.results[WANTED] = refused()
        bench.client.failing["create"] = AccessError("denied")
        assert await bench.reconcile() == bench.retried()
        assert bench.names == {WANTED}
        assert bench.conditions["Installed"][2].endswith(InstalledBundleMissing(bundle=ACTIVE, why="denied").text(()))

    async def test_content_that_was_never_installed_is_not_what_is_kept(self, bench: Bench) -> None:
        bench.put(recorded())
        bench.put_bundle(unpacked(FORMER, digest=DIGEST))
        await bench.reconcile_after_a_while()
        assert bench.content.asked == []
        assert bench.conditions["Installed"][2].endswith(InstalledBundleReplaced(bundle=ACTIVE).text(()))

    async def test_a_bundle_that_cannot_be_unpacked_again_is_reported(self, bench: Bench) -> None:
        bench.put(recorded())
        bench.put_bundle(failing(FORMER))
        await bench.reconcile_after_a_while()
        told = InstalledBundleFails(bundle=ACTIVE, why="empty").text(())
        text = f"{instantiated(ACTIVE)}; what generation 1 asks for is not installed yet\n{told}"
        assert bench.conditions["Installed"] == ("True", "InstallationSucceeded", text)

    async def test_nothing_is_made_for_a_deployment_that_is_gone(self, bench: Bench) -> None:
        one = bench.put(recorded())
        bench.put_bundle(unpacked(one))
        bench.content.results[WANTED] = refused()
        del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
        await bench.reconcile()
        assert bench.names == {WANTED}
        assert bench.gone == ["shop"]


class TestFormerBundles:
    async def test_the_former_bundle_goes_when_its_successor_is_finished(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(installed_before(bench)))
        await bench.reconcile()
        assert bench.names == {WANTED}
        assert ("Normal", "shop", "Upgraded") in bench.events.told

    async def test_the_former_bundle_stays_until_the_status_names_its_successor(self, bench: Bench) -> None:
        """A client that reads the status in between would find that nothing is installed."""
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = refused()
        await bench.reconcile()
        del bench.content.results[WANTED]
        soon = Schedule(report_at=bench.clock.now + WRITE_INTERVAL_SECONDS)
        assert await bench.reconcile() == soon, "the status was written a moment ago"
        assert (bench.status.active_bundle, bench.names) == (ACTIVE, {ACTIVE, WANTED})
        bench.clock.now += WRITE_INTERVAL_SECONDS
        await bench.reconcile()
        assert (bench.status.active_bundle, bench.names) == (WANTED, {WANTED})

    @pytest.mark.parametrize(
        ("reached", "beside", "is_over"),
        [
            (Reached.PARTLY, Cause.CONFLICT, False),
            (Reached.APPLIED, Cause.UNHEALTHY, False),
            (Reached.APPLIED, Cause.PRUNE_BUDGET, False),
            (Reached.FINISHED, Cause.FIELDS_CONTESTED, False),
            (Reached.FINISHED, Cause.SCHEMA_LAGS, False),
            (Reached.FINISHED, Cause.OVERRIDE_UNMATCHED, True),
            (Reached.FINISHED, Cause.LOOK_AGAIN, True),
        ],
    )
    async def test_the_former_bundle_stays_while_its_successor_is_not_finished(
        self, bench: Bench, reached: Reached, beside: Cause, *, is_over: bool
    ) -> None:
        """Finished is what nothing fails for, or is waited for; notes may last."""
        bench.put_bundle(unpacked(installed_before(bench)))
        is_installed = reached >= Reached.APPLIED
        bench.content.result_of = lambda attempt: Progress(
            facts=(fact(beside),), change=installed(attempt).change if is_installed else NO_CHANGE, reached=reached
        )
        for _ in range(3):
            await bench.reconcile_after_a_while()
        assert bench.status.active_bundle == (WANTED if is_installed else ACTIVE)
        assert bench.names == ({WANTED} if is_over else {ACTIVE, WANTED})

    async def test_a_bundle_that_was_never_installed_goes_as_soon_as_there_is_another(self, bench: Bench) -> None:
        installed_before(bench)
        bench.put_bundle(unpacked(deployment(template=spec("an edit that was edited again"))))
        await bench.reconcile()
        assert bench.names == {ACTIVE, WANTED}

    async def test_a_delete_that_is_denied_stops_nothing_else(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment())))
        bench.put_bundle(unpacked(deployment(template=spec("never installed"))))
        bench.client.failing["delete"] = AccessError("denied")
        with pytest.raises(AccessError):
            await bench.reconcile()
        assert bench.status.active_bundle == WANTED


class TestARefresh:
    """The annotation asks for another Bundle of the same template."""

    async def test_a_refresh_is_recorded_before_its_bundle_is_made(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment())))
        await bench.reconcile()
        bench.client.calls.clear()
        bench.refresh("1")
        await bench.reconcile_after_a_while()
        assert bench.client.calls[:2] == [WRITE, f"create Bundle {REFRESHED}"]
        assert bench.status.last_handled_refresh_at == "1"
        assert bench.status.active_bundle == WANTED, "until the other one is unpacked"
        assert bench.names == {WANTED, REFRESHED}

    async def test_a_recorded_refresh_stays_when_the_annotation_goes(self, bench: Bench) -> None:
        bench.put(deployment(annotations={REFRESH_AT_ANNOTATION: "1"}))
        await bench.reconcile()
        assert bench.names == {REFRESHED}
        bench.refresh(None)
        await bench.reconcile_after_a_while()
        assert bench.names == {REFRESHED}

    async def test_a_status_that_cannot_be_written_makes_no_bundle(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment(annotations={REFRESH_AT_ANNOTATION: "1"}))))
        bench.client.failing["status"] = UnavailableError("no answer")
        with pytest.raises(UnavailableError):
            await bench.reconcile()
        assert bench.names == {WANTED}

    async def test_a_suspended_deployment_is_refreshed_when_it_is_resumed(self, bench: Bench) -> None:
        bench.put(deployment(suspend=True, annotations={REFRESH_AT_ANNOTATION: "1"}))
        await bench.reconcile()
        assert bench.status.last_handled_refresh_at == ""
        assert bench.names == set()


class TestARestoreBringsItsStatus:
    """A backup brings objects whose observedGeneration is ahead of their generation: that proves nothing."""

    @pytest.mark.parametrize("observed", [-1, 0, 1, 2, 17])
    async def test_a_deployment_is_installed(self, bench: Bench, observed: int) -> None:
        one = bench.put(deployment(status=BundleDeploymentStatus(observed_generation=observed)))
        bench.put_bundle(unpacked(one))
        assert await bench.reconcile() == SETTLED
        assert bench.content.asked == [("reconcile", WANTED, "rukpak-system")]
        assert bench.status.observed_generation == 1

    async def test_a_deployment_with_a_history_is_kept(self, bench: Bench) -> None:
        one = upgrading()
        bench.put_bundle(unpacked(FORMER, digest=OTHER_DIGEST))
        bench.put(replace(one, status=replace(one.status, observed_generation=17)))
        await bench.reconcile()
        assert bench.content.asked == [KEPT]

    async def test_the_bundle_of_the_template_is_used_whatever_generation_it_observed(self, bench: Bench) -> None:
        wanted = unpacked(bench.put(deployment()))
        bench.put_bundle(replace(wanted, status=replace(wanted.status, observed_generation=17)))
        assert await bench.reconcile() == SETTLED
        assert bench.status.active_bundle == WANTED

    async def test_a_deployment_can_be_deleted(self, bench: Bench) -> None:
        bench.put(deployment(status=BundleDeploymentStatus(observed_generation=17), **GOING))
        assert await bench.reconcile() == SETTLED
        assert bench.uninstall.asked == ["shop"]


class TestDeleted:
    async def test_nothing_is_installed_or_corrected_any_more(self, bench: Bench) -> None:
        one = upgrading(**GOING)
        bench.put_bundle(unpacked(FORMER, digest=OTHER_DIGEST))
        bench.put_bundle(unpacked(bench.put(one)))
        assert await bench.reconcile() == SETTLED
        assert bench.content.asked == []
        assert bench.uninstall.asked == ["shop"]
        assert bench.names == {ACTIVE, WANTED}, "the garbage collector takes them"

    async def test_no_bundle_is_created(self, bench: Bench) -> None:
        bench.put(deployment(**GOING))
        await bench.reconcile()
        assert bench.client.calls == []

    async def test_an_object_that_holds_the_deletion_is_reported_and_brings_the_key_back(self, bench: Bench) -> None:
        bench.put(deployment(**GOING))
        wait = fact(Cause.DELETING, "waiting for a, b", wakes=frozenset({key("a")}))
        bench.uninstall.result = progress(wait)
        assert await bench.reconcile() == Schedule(attempt_at=bench.clock.now + 5.0)
        assert bench.conditions["Ready"] == ("Unknown", "Deleting", "Deleting: waiting for a, b")
        assert bench.waiting.for_object(key("a")) == ["shop"]


class TestSuspended:
    async def test_nothing_is_done_and_the_status_says_so(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment(suspend=True))))
        assert await bench.reconcile() == SETTLED
        assert bench.content.asked == []
        assert bench.conditions["Ready"][1] == "Suspended"
        await bench.reconcile()
        assert bench.client.calls == [WRITE]

    async def test_no_bundle_is_created(self, bench: Bench) -> None:
        bench.put(deployment(suspend=True))
        await bench.reconcile()
        assert bench.client.calls == [WRITE]

    async def test_hook_of_a_suspended_deployment_is_looked_at(self, bench: Bench) -> None:
        bench.put(deployment(suspend=True))
        await bench.reconcile()
        assert bench.hooks.looked_at == ["shop"]

    async def test_a_suspended_deployment_waits_for_nothing_any_more(self, bench: Bench) -> None:
        bench.waiting.note("uid-of-shop", "shop", frozenset({namespace_wake("n")}))
        bench.put(deployment(suspend=True))
        await bench.reconcile()
        assert bench.waiting.for_namespace("n") == []

    async def test_a_suspended_deployment_can_be_deleted(self, bench: Bench) -> None:
        bench.put(deployment(suspend=True, **GOING))
        await bench.reconcile()
        assert bench.uninstall.asked == ["shop"]


class TestAClassThatIsNotServed:
    async def test_a_legacy_spelling_of_a_class_is_served(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment(provisioner="core.rukpak.io/plain"))))
        await bench.reconcile()
        assert bench.status.active_bundle == WANTED

    async def test_a_deployment_that_was_never_ours_is_left_alone(self, bench: Bench) -> None:
        bench.put(deployment(provisioner=HELM_CLASS))
        assert await bench.reconcile() == SETTLED
        assert bench.client.calls == []
        assert bench.hooks.looked_at == []

    async def test_a_deployment_that_was_ours_reports_its_unserved_class_once(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment())))
        await bench.reconcile()
        ours = bench.deployments.get("shop")
        assert ours is not None
        bench.put(replace(ours, spec=replace(ours.spec, provisioner_class_name=FOREIGN)))
        bench.clock.now += 5
        bench.content.asked.clear()
        bench.client.calls.clear()
        assert await bench.reconcile() == SETTLED
        assert await bench.reconcile() == SETTLED
        assert bench.conditions["Ready"][:2] == ("Unknown", "ClassNotServed")
        assert bench.content.asked == []
        assert bench.client.calls == [WRITE]

    async def test_a_misspelt_class_of_ours_is_told(self, bench: Bench) -> None:
        """No other operator says anything of it."""
        bench.put(deployment(provisioner="core-rukpak-io-plian"))
        assert await bench.reconcile() == SETTLED
        assert bench.conditions["Ready"][:2] == ("False", "ClassUnknown")
        assert "Stalled" in bench.conditions
        assert bench.client.calls == [WRITE]

    async def test_a_deployment_of_an_unknown_class_stays_silent_while_it_goes(self, bench: Bench) -> None:
        bench.put(deployment(provisioner="core-rukpak-io-plian", deletion_timestamp=NOW, finalizers=("x/y",)))
        assert await bench.reconcile() == SETTLED
        assert bench.client.calls == []

    async def test_a_deployment_that_our_finalizer_holds_is_ours_to_release(self, bench: Bench) -> None:
        bench.put(deployment(provisioner=HELM_CLASS, **GOING))
        await bench.reconcile()
        assert bench.uninstall.asked == ["shop"]

    async def test_a_deployment_that_another_finalizer_holds_is_left_alone(self, bench: Bench) -> None:
        bench.put(deployment(provisioner=HELM_CLASS, deletion_timestamp=NOW, finalizers=("x/y",)))
        assert await bench.reconcile() == SETTLED
        assert bench.uninstall.asked == []


REFERENCES = {"valuesFrom": [{"kind": "Secret", "name": "a"}, {"kind": "ConfigMap", "name": "b", "key": "k"}]}
HERE = {("Secret", "a"): {"values.yaml": b"a: 1"}, ("ConfigMap", "b"): {"k": b"a: 2"}}


def chart(bench: Bench, **rest: Any) -> BundleDeployment:
    """Deployment of a chart, with other content than is installed."""
    given = {"provisioner": HELM_CLASS, "template": spec(provisioner=HELM_CLASS), "config": REFERENCES}
    return installed_before(bench, **{**given, **rest})


@pytest.mark.parametrize("bench", [(HELM_CLASS,)], indirect=True)
class TestValuesThatStandElsewhere:
    async def test_values_are_part_of_the_options(self, bench: Bench) -> None:
        bench.values.data = dict(HERE)
        bench.put_bundle(unpacked(chart(bench)))
        assert await bench.reconcile() == SETTLED
        (attempt,) = bench.content.attempts
        assert [document.document for document in attempt.values] == [b"a: 1", b"a: 2"]
        assert [(known.kind, known.name, known.key) for known in attempt.options.values_from] == [
            ("Secret", "a", "values.yaml"),
            ("ConfigMap", "b", "k"),
        ]
        bench.values.data["Secret", "a"] = {"values.yaml": b"a: 3"}
        await bench.reconcile()
        assert attempt.options != bench.content.attempts[-1].options
        assert attempt.is_wanted
        assert not attempt.of_bundle(attempt.bundle).is_wanted

    async def test_while_they_are_missing_what_is_installed_is_kept_and_all_of_them_are_named(
        self, bench: Bench
    ) -> None:
        bench.put_bundle(unpacked(chart(bench)))
        assert await bench.reconcile() == HELD
        assert bench.content.asked == [KEPT]
        told = bench.conditions
        text = (
            "spec.config.valuesFrom[0]: Secret rukpak-system/a does not exist; create it, or set optional to true && "
            "spec.config.valuesFrom[1]: ConfigMap rukpak-system/b does not exist; create it, or set optional to true"
        )
        assert told["HasValidBundle"] == ("False", "BundleLoadFailed", text)
        assert told["Ready"][:2] == ("False", "Unavailable")
        assert told["Installed"][0] == "True"
        assert "Stalled" not in told
        assert bench.content.dropped == ["shop"]
        bench.values.data = dict(HERE)
        bench.clock.now += WRITE_INTERVAL_SECONDS
        assert await bench.reconcile() == SETTLED
        assert bench.conditions["Ready"][0] == "True"
        assert bench.content.dropped == ["shop"]

    async def test_references_that_are_wrong_stall(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(chart(bench, config={"valuesFrom": [{"kind": "Pod", "name": "a"}]})))
        assert await bench.reconcile() == HELD
        assert bench.conditions["Stalled"][:2] == ("True", "ContentError")
        assert "must be Secret or ConfigMap, got 'Pod'" in bench.conditions["HasValidBundle"][2]

    async def test_a_server_that_does_not_answer_is_told_when_it_lasts(self, bench: Bench) -> None:
        bench.values.failing = refusal(ServerUnavailableError, "down")
        bench.put_bundle(unpacked(chart(bench)))
        assert await bench.reconcile() == bench.retried(report_after=ERRORS_QUIET_SECONDS)
        assert bench.client.calls == []
        bench.clock.now += ERRORS_QUIET_SECONDS
        assert await bench.reconcile() == bench.retried()
        assert bench.conditions["HasValidBundle"][:2] == ("False", "BundleLoadFailed")
        assert bench.content.dropped == [], "what was wanted may still be"

    async def test_other_classes_have_none(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment(config=REFERENCES))))
        assert await bench.reconcile() == SETTLED


class TestADeploymentThatIsGone:
    async def test_an_unknown_name_is_done(self, bench: Bench) -> None:
        assert await bench.reconcile() == SETTLED
        assert bench.client.calls == []

    async def test_while_its_bundle_is_created_it_leaves_no_state(self, bench: Bench) -> None:
        one = bench.put(deployment())

        def gone() -> None:
            del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
            bench.deployments.drop("shop", one.metadata.uid)
            bench.states.end(one.metadata.uid)

        bench.client.meanwhile = gone
        await bench.reconcile()
        assert len(bench.states) == 0
        assert bench.states.of(one.metadata.uid) is None
        assert bench.content.asked == []

    @pytest.mark.parametrize("by", ["the wanted content", "what is kept meanwhile", "what is kept instead"])
    async def test_a_deployment_that_a_stage_finds_gone_is_not_written_to(self, bench: Bench, by: str) -> None:
        """It may be on its way out, with a finalizer: the server would take the status."""
        one = installed_before(bench)
        if by == "the wanted content":
            bench.put_bundle(unpacked(one))
            bench.content.results[WANTED] = GONE
        elif by == "what is kept meanwhile":
            bench.put_bundle(failing(one))
            bench.content.results[ACTIVE] = GONE
        else:
            bench.put_bundle(unpacked(one))
            bench.content.results |= {WANTED: refused(), ACTIVE: GONE}
        await bench.reconcile_after_a_while()
        assert bench.content.asked
        assert bench.client.calls == []
        assert bench.events.told == []

    async def test_a_uid_whose_end_was_seen_is_not_worked_for(self, bench: Bench) -> None:
        one = bench.put(deployment())
        bench.states.end(one.metadata.uid)
        assert await bench.reconcile() == SETTLED
        assert bench.client.calls == []

    @pytest.mark.parametrize("uid", ["", "another"])
    async def test_nothing_is_created_for_one_that_went_unseen(self, bench: Bench, uid: str) -> None:
        bench.put(deployment())
        if uid:
            bench.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment(uid=uid)))
        else:
            del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
        bench.clock.now += UNHEARD_OF_SECONDS
        assert await bench.reconcile() == SETTLED
        assert bench.client.calls == ["get BundleDeployment shop"]
        assert bench.gone == ["shop"]

    @pytest.mark.parametrize("remembered_by", ["this process", "the status"])
    async def test_a_bundle_that_was_there_and_is_not_raises_the_doubt(self, bench: Bench, remembered_by: str) -> None:
        """It may have been collected, because its deployment went and no watch said so."""
        status = BundleDeploymentStatus(active_bundle=WANTED if remembered_by == "the status" else "")
        bench.put_bundle(unpacked(bench.put(deployment(status=status))))
        if remembered_by == "this process":
            bench.content.results[WANTED] = NO_PROGRESS
            await bench.reconcile()
        bench.bundles.drop(WANTED, f"uid-of-{WANTED}")
        del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
        assert await bench.reconcile() == SETTLED
        assert bench.client.calls == ["get BundleDeployment shop"]


class TestNarrowMode:
    """A deployment without an effective account is refused: nothing is read or written for it."""

    REFUSED = ("False", "AccountRequired", ACCOUNT_REQUIRED.text(()))

    @pytest.fixture(autouse=True)
    def _narrow(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bench.identities, "_mode", Mode.NARROW)

    async def test_new_deployment_without_an_account_is_refused_before_its_bundle_is_made(self, bench: Bench) -> None:
        bench.put(deployment(install_namespace="shop"))
        assert await bench.reconcile() == SETTLED
        assert bench.conditions["Ready"] == self.REFUSED
        assert "Stalled" in bench.conditions
        assert bench.client.calls == [WRITE]
        assert not bench.content.asked
        assert not bench.hooks.looked_at

    async def test_installed_deployment_without_an_account_is_neither_corrected_nor_suspended(
        self, bench: Bench
    ) -> None:
        installed_before(bench, suspend=True)
        assert await bench.reconcile() == SETTLED
        assert bench.conditions["Ready"] == self.REFUSED
        assert bench.client.calls == [WRITE]
        assert not bench.content.asked
        assert not bench.hooks.looked_at

    async def test_deletion_that_waits_for_us_is_refused_and_told(self, bench: Bench) -> None:
        bench.put(deployment(deletion_timestamp=NOW, finalizers=(ORDERED_DELETION_FINALIZER,)))
        assert await bench.reconcile() == SETTLED
        assert bench.conditions["Ready"] == ("False", "Deleting", f"Deleting: {self.REFUSED[2]}")
        assert bench.uninstall.asked == []

    async def test_deletion_that_waits_for_others_is_not_told(self, bench: Bench) -> None:
        bench.put(deployment(deletion_timestamp=NOW, finalizers=("x/y",)))
        assert await bench.reconcile() == SETTLED
        assert bench.client.calls == []

    async def test_deployment_that_names_an_account_goes_on_at_its_next_look(self, bench: Bench) -> None:
        bench.put(deployment(install_namespace="shop"))
        await bench.reconcile()
        one = deployment(install_namespace="shop", service_account_name="installer")
        bench.put_bundle(unpacked(one))
        bench.put(one)
        await bench.reconcile()
        assert [stage for stage, *_ in bench.content.asked] == ["reconcile"]
