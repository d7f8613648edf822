"""Values of Secrets are in no condition, Event or line of the log of their deployment, whatever says them."""

import logging
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, HELM_CLASS
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.external_values import ExternalValues
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.secret_mask import SecretMask
from rukpak_py.controllers.deployment.state import DeploymentStates
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.queue import Turn
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import NO_PROGRESS, Progress, Reached, StatusChange
from rukpak_py.core.logs import JsonFormatter, TextFormatter, about, hide_in_lines
from rukpak_py.formats.helm.request import ValuesDocument
from tests.unit.apply.lives import key
from tests.unit.controllers.deployment.parts import ToldEvents, identities
from tests.unit.controllers.fakes import FakeClient, FakeDigestKeys, FakeValuesObjects
from tests.unit.controllers.result.concluding import fact, installed, progress
from tests.unit.controllers.values import conditions, deployment, hook_record

CANARY = "canary-hunter22"
REFUSAL = f'ConfigMap shop/{CANARY.upper()}: metadata.labels: Invalid value: "{CANARY}": no'
SHOWN = 'ConfigMap shop/***: metadata.labels: Invalid value: "***": no'
FAILED_HOOK = hook_record(kind="Pod", result="Failed", message=CANARY)
SECRET, MAP = {"kind": "Secret", "name": "s"}, {"kind": "ConfigMap", "name": "m"}


def _chart(*references: dict[str, Any], **given: Any) -> BundleDeployment:
    return deployment(**{"provisioner": HELM_CLASS, "config": {"valuesFrom": list(references)}, **given})


async def _states(
    chart: BundleDeployment, secret: bytes = f"password: {CANARY}".encode(), public: bytes = b"region: europe"
) -> DeploymentStates:
    """States after the values of the chart were found."""
    data = {("Secret", "s"): {"values.yaml": secret}, ("ConfigMap", "m"): {"values.yaml": public}}
    states = DeploymentStates()
    state = states.of(chart.metadata.uid)
    assert state is not None
    await ExternalValues(FakeValuesObjects(data), FakeDigestKeys(), states, identities=identities()).of(chart, state)
    return states


async def test_values_of_secrets_are_hidden_and_those_of_config_maps_are_not() -> None:
    chart = _chart(SECRET, MAP)
    states = await _states(chart)

    assert states.hide(chart.metadata.uid, f"{REFUSAL} in europe") == f"{SHOWN} in europe"


async def test_values_are_hidden_for_their_deployment_alone_and_until_it_is_gone() -> None:
    chart = _chart(SECRET)
    states = await _states(chart)

    assert states.hide("another uid", REFUSAL) == REFUSAL
    states.end(chart.metadata.uid)
    assert states.hide(chart.metadata.uid, REFUSAL) == REFUSAL


@pytest.mark.parametrize("secret", [b"canary-hunter22: [", b"- canary-hunter22"])
async def test_lines_of_a_document_that_is_wrong_are_hidden(secret: bytes) -> None:
    chart = _chart(SECRET)
    states = await _states(chart, secret)

    shown = states.hide(chart.metadata.uid, f"got {secret.decode()}")
    assert "canary" not in shown


def test_former_values_stay_hidden_after_a_change_and_after_the_reference_goes() -> None:
    mask, chart = SecretMask(), _chart(SECRET)
    for password in ("former-password", "new-password"):
        mask.learn(chart, [ValuesDocument(document=f"password: {password}", is_secret=True)])
    mask.learn(chart, [])

    assert mask.hide("pruned a/former-password b/new-password") == "pruned a/*** b/***"


def test_names_in_the_deployment_itself_are_no_secrets() -> None:
    mask, chart = SecretMask(), _chart({"kind": "Secret", "name": "login"}, name="webshop")
    text = "a: webshop\nb: login\nc: canary-hunter22"
    mask.learn(chart, [ValuesDocument(document=text, is_secret=True)])

    told = "webshop: Secret system/login does not exist: canary-hunter22"
    assert mask.hide(told) == "webshop: Secret system/login does not exist: ***"
    mask.learn(_chart({"kind": "Secret", "name": "another"}, name="webshop", generation=2), [])
    assert mask.hide("Secret system/login") == "Secret system/***"


class Desk:
    """Status writer and Events of a chart whose values were found."""

    def __init__(self, states: DeploymentStates, one: BundleDeployment) -> None:
        self.client, self.events = FakeClient(), ToldEvents()
        self.states = states
        self.deployments = Cache[BundleDeployment](clock=lambda: 0.0)
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))
        self.deployments.put(stored)
        self.writer = DeploymentStatusWriter(
            client=self.client.as_client(), deployments=self.deployments, hide=states.hide
        )

    @property
    def known(self) -> BundleDeployment:
        found = self.deployments.get("shop")
        assert found is not None
        return found

    @property
    def stored(self) -> str:
        return str(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]["status"])

    async def report(self, wanted: Progress, kept: Progress = NO_PROGRESS) -> None:
        state = self.states.of(self.known.metadata.uid)
        assert state is not None
        reporting = Reporting(self.writer, WaitingDeployments(), self.events)
        await reporting.report(self.known, state, Turn(), wanted=wanted, installed=kept)


@pytest.fixture
async def desk() -> Desk:
    chart = _chart(SECRET)
    return Desk(await _states(chart), chart)


async def test_no_condition_note_or_event_says_them(desk: Desk) -> None:
    about = key(CANARY)
    failures = [fact(cause, REFUSAL, about) for cause in (Cause.RENDERING_CONTENT, Cause.REFUSED)]
    unhealthy = progress(
        fact(Cause.UNHEALTHY_FAILED, REFUSAL, about),
        fact(Cause.FIELDS_CONTESTED, REFUSAL, about),
        fact(Cause.HISTORY_CUT, REFUSAL),
        fact(Cause.PRUNED, REFUSAL, about),
        reached=Reached.APPLIED,
        installed=installed(),
    )
    await desk.report(progress(*failures), unhealthy)

    told = conditions(desk.known.status)
    assert told["HasValidBundle"][2] == SHOWN
    for name in ("HasValidBundle", "Installed", "Healthy", "Ready"):
        assert SHOWN in told[name][2]
    assert {reason for _, _, reason in desk.events.told} >= {"BundleLoadFailed", "InstallFailed", "Unhealthy", "Pruned"}
    assert {one.object for one in desk.known.status.notes} == {"", "ConfigMap ns/***"}
    for shown in (desk.stored, str(desk.known.status), str(desk.events.texts)):
        assert CANARY not in shown.lower()
        assert "***" in shown


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_record_before_a_step_does_not_contain_secret_values(desk: Desk, *, is_told: bool) -> None:
    change = StatusChange(hooks=(FAILED_HOOK,))
    if is_told:
        await desk.writer.record(desk.known, change, ready=REFUSAL)
        assert conditions(desk.known.status)["Ready"][2] == SHOWN
    else:
        await desk.writer.record_fields(desk.known, change)

    assert [one.message for one in desk.known.status.hooks] == ["***"]
    assert CANARY not in desk.stored


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_lines_of_the_log_do_not_say_them(formatter: logging.Formatter) -> None:
    failure = (ValueError, ValueError(REFUSAL), None)
    record = logging.LogRecord("rukpak_py.test", logging.WARNING, "file", 1, "%s", (REFUSAL,), failure)
    with about("BundleDeployment", "web"):
        hide_in_lines(lambda text: text.replace(CANARY, "***"))
        inside = formatter.format(record)

    assert CANARY not in inside
    assert CANARY in formatter.format(record)


async def test_a_hook_that_failed_is_told_without_them(desk: Desk) -> None:
    await desk.report(progress(fact(Cause.HOOK_FAILED, REFUSAL), hooks=(FAILED_HOOK,)))

    assert [one.message for one in desk.known.status.hooks] == ["***"]
    assert CANARY not in desk.stored


def test_secrets_that_templates_looked_up_are_hidden_beside_the_values() -> None:
    chart, mask = _chart(SECRET), SecretMask()
    mask.learn(chart, [ValuesDocument(document={"a": "given-value"}, is_secret=True)])
    mask.learn_looked_up(chart, [ValuesDocument(document={"password": CANARY}, is_secret=True)])
    mask.learn_looked_up(chart, [])  # another rendering, which looked nothing up
    mask.learn_looked_up(chart, [ValuesDocument(document={"password": "of-another"}, is_secret=True)])
    assert mask.hide(f"{CANARY}, of-another and given-value") == "***, *** and ***"
