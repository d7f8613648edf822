"""Which stages a reconcile runs in which situation. The stages that write to the cluster are next door, faked here."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import (
    BundleDeployment,
    BundleDeploymentStatus,
    BundleTemplate,
    Installation,
    RecordedOptions,
)
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_KIND,
    HELM_CLASS,
    ORDERED_DELETION_FINALIZER,
    PLAIN_CLASS,
    ConditionStatus,
    Reason,
)
from rukpak_py.api.reading import read_bundle, read_bundle_deployment, to_json
from rukpak_py.apply.preflight.refusal import WaitsFor
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.attempt_factory import AttemptFactory
from rukpak_py.controllers.deployment.external_values import ExternalValues
from rukpak_py.controllers.deployment.healthy_condition import HEALTHY
from rukpak_py.controllers.deployment.messages import instantiated
from rukpak_py.controllers.deployment.reconcile import DeploymentReconciler
from rukpak_py.controllers.deployment.reconcile_content import ERRORS_QUIET_SECONDS
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.stage import QUIET_SECONDS, StageResult
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates
from rukpak_py.controllers.deployment.status import ConditionValue, Report
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.deployment.templates import Templates
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.existence import UNHEARD_OF_SECONDS, Existence
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, again, retry
from rukpak_py.controllers.writes import WRITE_INTERVAL_SECONDS
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.kube.errors import ServerUnavailableError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.unit.apply.lives import key
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, FakeDigestKeys, FakeEvents, FakeValuesObjects, refusal
from tests.unit.controllers.values import (
    DIGEST,
    OTHER_DIGEST,
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
INSTALLED = ConditionValue(status=ConditionStatus.TRUE, reason=Reason.INSTALLATION_SUCCEEDED, message="Instantiated")
NOT_INSTALLED = ConditionValue(status=ConditionStatus.FALSE, reason=Reason.UPGRADE_FAILED, message="taken")


def installed(attempt: Attempt) -> StageResult:
    """All is well."""
    fields = {"active_bundle": attempt.bundle.metadata.name, "digest": attempt.bundle.status.digest}
    report = Report(
        summary=Summary.READY,
        reason=Reason.SUCCEEDED,
        message="Instantiated",
        installed=INSTALLED,
        healthy=HEALTHY,
        fields=fields,
    )
    return StageResult(outcome=DONE, report=report, is_finished=True)


def refused(*, waits_for: WaitsFor | None = None, outcome: Outcome | None = None) -> StageResult:
    """Before the first write."""
    report = Report(summary=Summary.RETRYING, reason=Reason.CONFLICT, message="taken")
    return StageResult(outcome=outcome or retry(), report=report, wrote_nothing=True, waits_for=waits_for or WaitsFor())


@dataclass
class FakeContentStage:
    """What each stage was asked to bring. All is well with the Bundles that `results` does not name."""

    asked: list[tuple[str, str, str]] = field(default_factory=list)  # stage, Bundle, install namespace
    against: list[str | None] = field(default_factory=list)  # what was said to be active
    results: dict[str, StageResult] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)  # whose renderings

    async def reconcile_content(self, attempt: Attempt, active: Attempt | None) -> StageResult:
        self.attempts.append(attempt)
        self.against.append(active.bundle.metadata.name if active is not None else None)
        return self._result("reconcile", attempt)

    async def correct_drift(self, active: Attempt) -> StageResult:
        return self._result("correct drift", active)

    def drop_renderings(self, one: BundleDeployment) -> None:
        self.dropped.append(one.metadata.name)

    def _result(self, stage: str, attempt: Attempt) -> StageResult:
        name = attempt.bundle.metadata.name
        self.asked.append((stage, name, attempt.install_namespace))
        return self.results.get(name) or self.results.get(stage) or installed(attempt)


@dataclass
class FakeUninstall:
    asked: list[str] = field(default_factory=list)
    result: StageResult = field(default_factory=lambda: StageResult(outcome=DONE))

    async def proceed(self, one: BundleDeployment, _state: DeploymentState) -> StageResult:
        self.asked.append(one.metadata.name)
        return self.result


class EmptyInventory:
    """Nothing is owned; the namespaces that attempts ask for are nobody's."""

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
    def __init__(self, *classes: str) -> None:
        self.client, self.clock, self.events = InterruptedClient(), Clock(), FakeEvents()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.bundles = Cache[Bundle](clock=self.clock)
        self.states, self.waiting = DeploymentStates(), WaitingDeployments()
        self.content, self.uninstall = FakeContentStage(), FakeUninstall()
        self.gone: list[str] = []
        self.values = FakeValuesObjects()
        client, inventory = self.client.as_client(), EmptyInventory()
        existence = Existence(
            client, BUNDLE_DEPLOYMENTS, self.deployments, on_gone=lambda one: self.gone.append(one.metadata.name)
        )
        writer = DeploymentStatusWriter(client=client, deployments=self.deployments, now=lambda: NOW, clock=self.clock)
        stages: dict[str, Any] = {"content": self.content, "uninstall": self.uninstall}
        ports: Any = inventory
        self.reconciler = DeploymentReconciler(
            deployments=self.deployments,
            states=self.states,
            templates=Templates(client, self.bundles, existence, on_new=lambda _name: None),
            values=ExternalValues(self.values, FakeDigestKeys(), self.states, namespace="rukpak-system"),
            attempts=AttemptFactory(ports, lambda _name: True, system_namespace="rukpak-system"),
            reporting=Reporting(writer, self.waiting, self.events, classes={PLAIN_CLASS, *classes}),
            **stages,
        )

    def put(self, one: BundleDeployment) -> BundleDeployment:
        """It is on the server, and its event was seen."""
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))
        self.deployments.put(stored)
        return stored

    def put_bundle(self, one: Bundle) -> str:
        self.bundles.put(read_bundle(self.client.put(BUNDLE_KIND, to_json(one))))
        return one.metadata.name

    async def reconcile(self) -> Outcome:
        return await self.reconciler.reconcile("shop")

    async def reconcile_after_a_while(self) -> Outcome:
        """What is reported only when it lasts is reported."""
        await self.reconcile()
        self.clock.now += QUIET_SECONDS
        return await self.reconcile()

    @property
    def status(self) -> BundleDeploymentStatus:
        return read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]).status

    @property
    def conditions(self) -> dict[str, tuple[str, str, str]]:
        return conditions(self.status)

    @property
    def names(self) -> set[str]:
        return {name for kind, name in self.client.objects if kind == BUNDLE_KIND}


@pytest.fixture(params=[()])
def bench(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Bench:
    """With the classes that it serves beside plain."""
    bench = Bench(*request.param)
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
    async def test_the_first_reconcile_creates_a_bundle_and_reports_nothing_yet(self, bench: Bench) -> None:
        bench.put(deployment())
        assert await bench.reconcile() == again(QUIET_SECONDS)
        assert bench.client.calls == [f"create Bundle {WANTED}"]
        assert bench.content.asked == []

    async def test_a_bundle_that_takes_longer_is_reported_as_pending(self, bench: Bench) -> None:
        bench.put(deployment())
        assert await bench.reconcile_after_a_while() == WAIT
        assert bench.conditions["HasValidBundle"][:2] == ("Unknown", "UnpackPending")
        assert bench.conditions["Ready"][0] == "Unknown"
        assert bench.client.calls == [f"create Bundle {WANTED}", WRITE]

    async def test_unpacked_content_is_installed_and_reported_once(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment(install_namespace="shops"))))
        assert await bench.reconcile() == DONE
        assert bench.content.asked == [("reconcile", WANTED, "shops")]
        assert bench.content.against == [None], "nothing was active"
        assert bench.status.active_bundle == WANTED
        assert bench.conditions["HasValidBundle"][:2] == ("True", "UnpackSuccessful")
        assert await bench.reconcile() == DONE
        assert bench.client.calls == [WRITE]
        assert bench.events.told == [("Normal", "shop", "Installed")]

    async def test_a_failing_bundle_is_reported_at_once(self, bench: Bench) -> None:
        bench.put_bundle(failing(bench.put(deployment())))
        assert await bench.reconcile() == WAIT
        assert bench.conditions["HasValidBundle"] == (
            "False",
            "UnpackFailed",
            f"Failed to unpack the {WANTED} Bundle: empty",
        )
        assert "Stalled" in bench.conditions
        assert bench.content.asked == []

    async def test_a_bundle_of_a_class_that_nobody_unpacks_says_which(self, bench: Bench) -> None:
        bench.put(deployment(template=spec(provisioner=FOREIGN)))
        await bench.reconcile_after_a_while()
        assert f'does not serve its class "{FOREIGN}"' in bench.conditions["HasValidBundle"][2]

    async def test_somebody_elses_bundle_on_the_name_is_reported_and_tried_again(self, bench: Bench) -> None:
        bench.put(deployment())
        bench.client.put(BUNDLE_KIND, to_json(bundle(WANTED)))
        assert (await bench.reconcile()).retry
        status, reason, message = bench.conditions["HasValidBundle"]
        assert (status, reason) == ("Unknown", "ReconcileFailed")
        assert "does not belong to this BundleDeployment" in message
        assert "Reconciling" in bench.conditions

    async def test_an_api_server_that_names_a_pause_gets_it(self, bench: Bench) -> None:
        bench.put(deployment())
        bench.client.failing["create"] = UnavailableError("too many requests", retry_after=7.0)
        assert await bench.reconcile() == retry(7.0)
        assert bench.conditions["Ready"][2] == "too many requests"

    async def test_a_first_install_that_is_refused_corrects_nothing(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment())))
        bench.content.results["reconcile"] = refused()
        assert await bench.reconcile() == retry()
        assert [stage for stage, *_ in bench.content.asked] == ["reconcile"]


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
    async def test_what_it_needs_brings_the_key_back(self, bench: Bench, state: str) -> None:
        one = installed_before(bench)
        match state:
            case "failing":
                bench.put_bundle(failing(one))
            case "cannot be created":
                bench.client.put(BUNDLE_KIND, to_json(bundle(WANTED)))
        waits_for = WaitsFor(namespaces=frozenset({"lost"}))
        bench.content.results[ACTIVE] = StageResult(outcome=again(30.0), waits_for=waits_for)
        assert (await bench.reconcile_after_a_while()).after is not None
        assert bench.waiting.for_namespace("lost") == ["shop"]

    async def test_beside_a_successor_that_is_refused_before_the_first_write(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = refused(waits_for=WaitsFor(objects=frozenset({key("a")})))
        bench.content.results[ACTIVE] = StageResult(outcome=DONE, waits_for=WaitsFor(objects=frozenset({key("b")})))
        assert await bench.reconcile() == retry()
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

    async def test_its_back_off_counts_when_the_successor_waits_for_an_event(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = refused(outcome=WAIT)
        bench.content.results[ACTIVE] = StageResult(outcome=retry())
        assert (await bench.reconcile()).retry

    async def test_not_when_something_of_the_successor_was_written(self, bench: Bench) -> None:
        """Half an upgrade is not drift."""
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = StageResult(outcome=retry(), report=refused().report)
        await bench.reconcile()
        assert bench.content.asked == [("reconcile", WANTED, "after")]

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
            refusal = refused()
            report = dataclasses.replace(refusal.report, installed=NOT_INSTALLED) if refusal.report else None
            bench.content.results[WANTED] = dataclasses.replace(refusal, report=report)
        await bench.reconcile_after_a_while()
        assert bench.conditions["Installed"][0] == status
        assert bench.conditions["Installed"][2].splitlines()[1:] == [messages.OPTIONS_LOST]

    async def test_not_when_its_bundle_is_gone_or_somebody_elses(self, bench: Bench) -> None:
        bench.put(upgrading())
        bench.put_bundle(unpacked(deployment(template=spec("former"), uid="another"), digest=OTHER_DIGEST))
        assert await bench.reconcile_after_a_while() == retry()
        assert bench.content.asked == []


def recorded(name: str = "former") -> BundleDeployment:
    """Its history says from which template the content was made."""
    one = upgrading()
    entry = replace(one.status.history[0], template=BundleTemplate(spec=spec(name)))
    return replace(one, status=replace(one.status, history=(entry,)))


class TestTheBundleOfWhatIsInstalledIsGone:
    @pytest.mark.parametrize("is_refused", [False, True])
    async def test_it_is_made_again_as_the_history_records_it(self, bench: Bench, *, is_refused: bool) -> None:
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
    async def test_what_the_history_does_not_record_is_told(self, bench: Bench, one: BundleDeployment) -> None:
        bench.put(one)
        assert (await bench.reconcile_after_a_while()).retry
        assert bench.names == {WANTED}
        told = messages.bundle_missing(ACTIVE, messages.TEMPLATE_UNKNOWN)
        assert bench.conditions["Installed"] == ("True", "InstallationSucceeded", f"{instantiated(ACTIVE)}\n{told}")
        assert ("Warning", "shop", "ReconcileFailed") in bench.events.told

    async def test_a_refused_upgrade_keeps_its_own_failure(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(upgrading())))
        refusal = refused()
        report = dataclasses.replace(refusal.report, installed=NOT_INSTALLED) if refusal.report else None
        bench.content.results[WANTED] = dataclasses.replace(refusal, report=report)
        assert (await bench.reconcile()).retry
        told = messages.bundle_missing(ACTIVE, messages.TEMPLATE_UNKNOWN)
        assert bench.conditions["Installed"] == ("False", "UpgradeFailed", f"taken\n{told}")
        assert bench.conditions["Ready"][2] == "taken"

    async def test_an_api_server_that_does_not_take_it_is_told(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(recorded())))
        bench.content.results[WANTED] = refused()
        bench.client.failing["create"] = AccessError("denied")
        assert (await bench.reconcile()).retry
        assert bench.names == {WANTED}

    async def test_content_that_was_never_installed_is_not_what_is_kept(self, bench: Bench) -> None:
        bench.put(recorded())
        bench.put_bundle(unpacked(FORMER, digest=DIGEST))
        await bench.reconcile_after_a_while()
        assert bench.content.asked == []
        assert bench.conditions["Installed"][2].endswith(messages.bundle_has_other_content(ACTIVE))

    async def test_what_cannot_be_unpacked_again_is_told(self, bench: Bench) -> None:
        bench.put(recorded())
        bench.put_bundle(failing(FORMER))
        await bench.reconcile_after_a_while()
        why = f"Failed to unpack the {ACTIVE} Bundle: empty"
        assert bench.conditions["Installed"][2].endswith(messages.bundle_not_unpacked(ACTIVE, why))

    async def test_nothing_is_made_for_a_deployment_that_is_gone(self, bench: Bench) -> None:
        one = bench.put(recorded())
        bench.put_bundle(unpacked(one))
        bench.content.results[WANTED] = refused()
        del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
        await bench.reconcile()
        assert bench.names == {WANTED}
        assert bench.gone == ["shop"]


class TestFormerBundles:
    async def test_what_was_installed_goes_when_its_successor_is_finished(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(installed_before(bench)))
        await bench.reconcile()
        assert bench.names == {WANTED}
        assert ("Normal", "shop", "Upgraded") in bench.events.told

    async def test_it_stays_until_the_status_names_its_successor(self, bench: Bench) -> None:
        """Whoever reads the status in between would find that nothing is installed."""
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = refused()
        await bench.reconcile()
        del bench.content.results[WANTED]
        assert (await bench.reconcile()).after is not None, "the status was written a moment ago"
        assert (bench.status.active_bundle, bench.names) == (ACTIVE, {ACTIVE, WANTED})
        bench.clock.now += WRITE_INTERVAL_SECONDS
        await bench.reconcile()
        assert (bench.status.active_bundle, bench.names) == (WANTED, {WANTED})

    async def test_it_stays_while_its_successor_is_not(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(installed_before(bench)))
        bench.content.results[WANTED] = StageResult(outcome=WAIT, report=refused().report)
        await bench.reconcile()
        assert bench.names == {ACTIVE, WANTED}

    async def test_what_was_never_installed_goes_as_soon_as_there_is_another(self, bench: Bench) -> None:
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


class TestARestoreBringsItsStatus:
    """A backup brings objects whose observedGeneration is ahead of their generation: that proves nothing."""

    @pytest.mark.parametrize("observed", [-1, 0, 1, 2, 17])
    async def test_a_deployment_is_installed(self, bench: Bench, observed: int) -> None:
        one = bench.put(deployment(status=BundleDeploymentStatus(observed_generation=observed)))
        bench.put_bundle(unpacked(one))
        assert await bench.reconcile() == DONE
        assert bench.content.asked == [("reconcile", WANTED, "rukpak-system")]
        assert bench.status.observed_generation == 1

    async def test_a_deployment_with_a_history_is_kept(self, bench: Bench) -> None:
        one = upgrading()
        bench.put_bundle(unpacked(FORMER, digest=OTHER_DIGEST))
        bench.put(replace(one, status=replace(one.status, observed_generation=17)))
        await bench.reconcile()
        assert bench.content.asked == [KEPT]

    async def test_its_bundle_is_used_whatever_generation_that_observed(self, bench: Bench) -> None:
        wanted = unpacked(bench.put(deployment()))
        bench.put_bundle(replace(wanted, status=replace(wanted.status, observed_generation=17)))
        assert await bench.reconcile() == DONE
        assert bench.status.active_bundle == WANTED

    async def test_a_deployment_can_be_deleted(self, bench: Bench) -> None:
        bench.put(deployment(status=BundleDeploymentStatus(observed_generation=17), **GOING))
        assert await bench.reconcile() == DONE
        assert bench.uninstall.asked == ["shop"]


class TestDeleted:
    async def test_nothing_is_installed_or_corrected_any_more(self, bench: Bench) -> None:
        one = upgrading(**GOING)
        bench.put_bundle(unpacked(FORMER, digest=OTHER_DIGEST))
        bench.put_bundle(unpacked(bench.put(one)))
        assert await bench.reconcile() == DONE
        assert bench.content.asked == []
        assert bench.uninstall.asked == ["shop"]
        assert bench.names == {ACTIVE, WANTED}, "the garbage collector takes them"

    async def test_no_bundle_is_created(self, bench: Bench) -> None:
        bench.put(deployment(**GOING))
        await bench.reconcile()
        assert bench.client.calls == []

    async def test_what_holds_it_is_reported_and_brings_the_key_back(self, bench: Bench) -> None:
        bench.put(deployment(**GOING))
        report = Report(summary=Summary.PROGRESSING, reason=Reason.DELETING, message="Deleting: waiting for a, b")
        waits_for = WaitsFor(objects=frozenset({key("a")}))
        bench.uninstall.result = StageResult(outcome=again(5.0), report=report, waits_for=waits_for)
        assert await bench.reconcile() == again(5.0)
        assert bench.conditions["Ready"] == ("Unknown", "Deleting", "Deleting: waiting for a, b")
        assert bench.waiting.for_object(key("a")) == ["shop"]


class TestSuspended:
    async def test_nothing_is_done_and_the_status_says_so(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment(suspend=True))))
        assert await bench.reconcile() == DONE
        assert bench.content.asked == []
        assert bench.conditions["Ready"][1] == "Suspended"
        await bench.reconcile()
        assert bench.client.calls == [WRITE]

    async def test_no_bundle_is_created(self, bench: Bench) -> None:
        bench.put(deployment(suspend=True))
        await bench.reconcile()
        assert bench.client.calls == [WRITE]

    async def test_it_waits_for_nothing_any_more(self, bench: Bench) -> None:
        bench.waiting.note("uid-of-shop", "shop", WaitsFor(namespaces=frozenset({"n"})))
        bench.put(deployment(suspend=True))
        await bench.reconcile()
        assert bench.waiting.for_namespace("n") == []

    async def test_it_can_be_deleted(self, bench: Bench) -> None:
        bench.put(deployment(suspend=True, **GOING))
        await bench.reconcile()
        assert bench.uninstall.asked == ["shop"]


class TestAClassThatIsNotServed:
    async def test_what_was_never_ours_is_left_alone(self, bench: Bench) -> None:
        bench.put(deployment(provisioner=HELM_CLASS))
        assert await bench.reconcile() == DONE
        assert bench.client.calls == []

    async def test_what_was_ours_is_told_that_nobody_keeps_it_once(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment())))
        await bench.reconcile()
        ours = bench.deployments.get("shop")
        assert ours is not None
        bench.put(replace(ours, spec=replace(ours.spec, provisioner_class_name=FOREIGN)))
        bench.clock.now += 5
        bench.content.asked.clear()
        bench.client.calls.clear()
        assert await bench.reconcile() == DONE
        assert await bench.reconcile() == DONE
        assert bench.conditions["Ready"][:2] == ("Unknown", "ClassNotServed")
        assert bench.content.asked == []
        assert bench.client.calls == [WRITE]

    async def test_what_our_finalizer_holds_is_ours_to_release(self, bench: Bench) -> None:
        bench.put(deployment(provisioner=HELM_CLASS, **GOING))
        await bench.reconcile()
        assert bench.uninstall.asked == ["shop"]

    async def test_what_others_hold_is_theirs(self, bench: Bench) -> None:
        bench.put(deployment(provisioner=HELM_CLASS, deletion_timestamp=NOW, finalizers=("x/y",)))
        assert await bench.reconcile() == DONE
        assert bench.uninstall.asked == []


REFERENCES = {"valuesFrom": [{"kind": "Secret", "name": "a"}, {"kind": "ConfigMap", "name": "b", "key": "k"}]}
HERE = {("Secret", "a"): {"values.yaml": b"a: 1"}, ("ConfigMap", "b"): {"k": b"a: 2"}}


def chart(bench: Bench, **rest: Any) -> BundleDeployment:
    """Of other content than is installed."""
    given = {"provisioner": HELM_CLASS, "template": spec(provisioner=HELM_CLASS), "config": REFERENCES}
    return installed_before(bench, **{**given, **rest})


@pytest.mark.parametrize("bench", [(HELM_CLASS,)], indirect=True)
class TestValuesThatStandElsewhere:
    async def test_they_are_part_of_the_options(self, bench: Bench) -> None:
        bench.values.data = dict(HERE)
        bench.put_bundle(unpacked(chart(bench)))
        assert await bench.reconcile() == DONE
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
        assert await bench.reconcile() == WAIT
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
        assert await bench.reconcile() == DONE
        assert bench.conditions["Ready"][0] == "True"
        assert bench.content.dropped == ["shop"]

    async def test_references_that_are_wrong_stall(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(chart(bench, config={"valuesFrom": [{"kind": "Pod", "name": "a"}]})))
        assert await bench.reconcile() == WAIT
        assert bench.conditions["Stalled"][:2] == ("True", "ContentError")
        assert "must be Secret or ConfigMap, got 'Pod'" in bench.conditions["HasValidBundle"][2]

    async def test_a_server_that_does_not_answer_is_told_when_it_lasts(self, bench: Bench) -> None:
        bench.values.failing = refusal(ServerUnavailableError, "down")
        bench.put_bundle(unpacked(chart(bench)))
        assert await bench.reconcile() == retry()
        assert bench.client.calls == []
        bench.clock.now += ERRORS_QUIET_SECONDS
        assert await bench.reconcile() == retry()
        assert bench.conditions["HasValidBundle"][:2] == ("False", "BundleLoadFailed")
        assert bench.content.dropped == [], "what was wanted may still be"

    async def test_other_classes_have_none(self, bench: Bench) -> None:
        bench.put_bundle(unpacked(bench.put(deployment(config=REFERENCES))))
        assert await bench.reconcile() == DONE


class TestADeploymentThatIsGone:
    async def test_an_unknown_name_is_done(self, bench: Bench) -> None:
        assert await bench.reconcile() == DONE
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
    async def test_what_a_stage_finds_gone_is_not_written_to(self, bench: Bench, by: str) -> None:
        """It may be on its way out, with a finalizer: the server would take the status."""
        one = installed_before(bench)
        gone = StageResult(outcome=WAIT, is_gone=True)
        if by == "the wanted content":
            bench.put_bundle(unpacked(one))
            bench.content.results[WANTED] = gone
        elif by == "what is kept meanwhile":
            bench.put_bundle(failing(one))
            bench.content.results[ACTIVE] = gone
        else:
            bench.put_bundle(unpacked(one))
            bench.content.results |= {WANTED: refused(), ACTIVE: gone}
        await bench.reconcile_after_a_while()
        assert bench.content.asked
        assert bench.client.calls == []
        assert bench.events.told == []

    async def test_a_uid_whose_end_was_seen_is_not_worked_for(self, bench: Bench) -> None:
        one = bench.put(deployment())
        bench.states.end(one.metadata.uid)
        assert await bench.reconcile() == DONE
        assert bench.client.calls == []

    @pytest.mark.parametrize("uid", ["", "another"])
    async def test_nothing_is_created_for_one_that_went_unseen(self, bench: Bench, uid: str) -> None:
        bench.put(deployment())
        if uid:
            bench.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment(uid=uid)))
        else:
            del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
        bench.clock.now += UNHEARD_OF_SECONDS
        assert await bench.reconcile() == WAIT
        assert bench.client.calls == ["get BundleDeployment shop"]
        assert bench.gone == ["shop"]

    @pytest.mark.parametrize("remembered_by", ["this process", "the status"])
    async def test_a_bundle_that_was_there_and_is_not_raises_the_doubt(self, bench: Bench, remembered_by: str) -> None:
        """It may have been collected, because its deployment went and no watch said so."""
        status = BundleDeploymentStatus(active_bundle=WANTED if remembered_by == "the status" else "")
        bench.put_bundle(unpacked(bench.put(deployment(status=status))))
        if remembered_by == "this process":
            bench.content.results[WANTED] = StageResult(outcome=DONE)
            await bench.reconcile()
        bench.bundles.drop(WANTED, f"uid-of-{WANTED}")
        del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
        assert await bench.reconcile() == WAIT
        assert bench.client.calls == ["get BundleDeployment shop"]
