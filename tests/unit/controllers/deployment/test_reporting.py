"""A reconcile's last step: the status, its Events, and when the key comes back."""

import dataclasses

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, PLAIN_CLASS, ConditionStatus, Reason
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.apply.preflight.refusal import WaitsFor
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.stage import StageResult
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status import ConditionValue, Report
from rukpak_py.controllers.deployment.status_writer import STALE_SECONDS, DeploymentStatusWriter
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, again, retry
from rukpak_py.controllers.writes import WRITE_INTERVAL_SECONDS
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, FakeEvents
from tests.unit.controllers.values import bundle, conditions, deployment, spec, unpacked

FOREIGN = "example-com-other"
VALID = ConditionValue(status=ConditionStatus.TRUE, reason=Reason.UNPACK_SUCCESSFUL, message="unpacked")
INVALID = ConditionValue(status=ConditionStatus.FALSE, reason=Reason.BUNDLE_LOAD_FAILED, message="no YAML")
WRITE = "status BundleDeployment shop"


def said(
    message: str, outcome: Outcome = DONE, *, waits_for: WaitsFor | None = None, valid: ConditionValue | None = None
) -> StageResult:
    report = Report(summary=Summary.RETRYING, reason=Reason.RETRYING, message=message, valid=valid)
    return StageResult(outcome=outcome, report=report, waits_for=waits_for or WaitsFor())


class Bench:
    def __init__(self) -> None:
        self.client, self.clock, self.events = FakeClient(), Clock(), FakeEvents()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.waiting = WaitingDeployments()
        writer = DeploymentStatusWriter(
            client=self.client.as_client(), deployments=self.deployments, now=lambda: NOW, clock=self.clock
        )
        self.reporting = Reporting(writer, self.waiting, self.events, classes={PLAIN_CLASS})
        self.state = DeploymentState()
        self.put(deployment())

    def put(self, one: BundleDeployment, *, seen: bool = True) -> None:
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))
        if seen:
            self.deployments.put(stored)

    @property
    def known(self) -> BundleDeployment:
        found = self.deployments.get("shop")
        assert found is not None
        return found

    async def report(self, result: StageResult, *, valid: ConditionValue | None = None) -> Outcome:
        return await self.reporting.report(self.known, self.state, result, valid=valid)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("outcome", [DONE, WAIT, again(30.0), retry(), retry(7.0)])
async def test_what_is_written_or_needs_no_write_leaves_the_outcome_as_it_is(bench: Bench, outcome: Outcome) -> None:
    assert await bench.report(said("m", outcome)) == outcome
    assert await bench.report(said("m", outcome)) == outcome
    assert bench.client.calls == [WRITE]
    assert bench.events.told == [("Warning", "shop", "Retrying")]


async def test_without_a_report_nothing_is_written(bench: Bench) -> None:
    assert await bench.report(StageResult(outcome=again(1.0))) == again(1.0)
    assert bench.client.calls == []


@pytest.mark.parametrize(
    ("outcome", "pause"),
    [(DONE, 1.0), (WAIT, 1.0), (retry(), 1.0), (retry(60.0), 1.0), (again(30.0), 1.0), (again(0.5), 0.5)],
)
async def test_a_postponed_status_brings_the_key_back_soon_and_is_reported_anew(
    bench: Bench, outcome: Outcome, pause: float
) -> None:
    await bench.report(said("one"))
    assert await bench.report(said("two", outcome)) == again(pause)
    assert conditions(bench.known.status)["Ready"][2] == "one"
    bench.clock.now += WRITE_INTERVAL_SECONDS
    assert await bench.report(said("two", outcome)) == outcome
    assert conditions(bench.known.status)["Ready"][2] == "two"


async def test_a_status_that_met_another_write_brings_the_key_back(bench: Bench) -> None:
    bench.put(deployment(generation=2, suspend=True), seen=False)
    assert await bench.report(said("m", retry(60.0))) == again(STALE_SECONDS)
    assert bench.events.told == []


async def test_about_a_deployment_that_is_gone_there_is_nothing_to_say(bench: Bench) -> None:
    one = bench.known
    assert await bench.report(dataclasses.replace(said("m", WAIT), is_gone=True)) == WAIT
    assert bench.client.calls == []
    del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    assert await bench.report(said("m", retry())) == DONE
    bench.deployments.drop("shop", one.metadata.uid)
    assert await bench.reporting.report(one, bench.state, said("m", retry())) == DONE
    assert bench.events.told == []


@pytest.mark.parametrize("has_report", [True, False])
async def test_what_it_waits_for_is_known_until_the_next_word(bench: Bench, *, has_report: bool) -> None:
    waits_for = WaitsFor(namespaces=frozenset({"n"}))
    result = said("m", waits_for=waits_for) if has_report else StageResult(outcome=WAIT, waits_for=waits_for)
    await bench.report(result)
    assert bench.waiting.for_namespace("n") == ["shop"]
    await bench.report(StageResult(outcome=DONE))
    assert bench.waiting.for_namespace("n") == []


async def test_a_deployment_that_went_meanwhile_waits_for_nothing(bench: Bench) -> None:
    """A reconcile may be about to note it; nothing would take the note away."""
    bench.state.has_ended = True
    await bench.report(said("m", waits_for=WaitsFor(namespaces=frozenset({"n"}))))
    assert bench.waiting.for_namespace("n") == []


@pytest.mark.parametrize(("own", "reason"), [(None, "UnpackSuccessful"), (INVALID, "BundleLoadFailed")])
async def test_what_a_stage_says_of_the_bundle_comes_before_what_the_bundle_says(
    bench: Bench, own: ConditionValue | None, reason: str
) -> None:
    await bench.report(said("m", valid=own), valid=VALID)
    assert conditions(bench.known.status)["HasValidBundle"][1] == reason


@pytest.mark.parametrize(
    ("one", "is_named"),
    [
        (replace(bundle(), spec=spec(provisioner=FOREIGN)), True),
        (bundle(), False),
        (replace(unpacked(), spec=spec(provisioner=FOREIGN)), False),  # whoever it was, it is unpacked
    ],
)
def test_a_bundle_that_nobody_here_unpacks_names_its_class(bench: Bench, one: Bundle, *, is_named: bool) -> None:
    message = bench.reporting.validity(one).message
    assert (f'this operator does not serve its class "{FOREIGN}"' in message) is is_named


@pytest.mark.parametrize(
    ("provisioner", "serves"), [(PLAIN_CLASS, True), ("core.rukpak.io/plain", True), (FOREIGN, False)]
)
def test_a_legacy_spelling_of_a_class_is_served(bench: Bench, provisioner: str, *, serves: bool) -> None:
    assert bench.reporting.serves(deployment(provisioner=provisioner)) is serves
