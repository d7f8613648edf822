"""What values of Secrets hold is in no condition, Event or line of the log of their deployment, whatever says it."""

import logging
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary
from rukpak_py.api.hook_status import HookRecord
from rukpak_py.api.names import HELM_CLASS, ConditionStatus, Reason
from rukpak_py.controllers.deployment.external_values import ExternalValues
from rukpak_py.controllers.deployment.masks import MaskingRecorder, SecretMask
from rukpak_py.controllers.deployment.state import DeploymentStates
from rukpak_py.controllers.deployment.status import ConditionValue, Report
from rukpak_py.core.logs import JsonFormatter, TextFormatter, about, hide_in_lines
from rukpak_py.formats.helm.request import ValuesDocument
from tests.unit.controllers.fakes import FakeDigestKeys, FakeValuesObjects
from tests.unit.controllers.values import deployment

CANARY = "canary-hunter22"
REFUSAL = f'ConfigMap shop/{CANARY.upper()}: metadata.labels: Invalid value: "{CANARY}": no'
SHOWN = 'ConfigMap shop/***: metadata.labels: Invalid value: "***": no'
SECRET, MAP = {"kind": "Secret", "name": "s"}, {"kind": "ConfigMap", "name": "m"}


def _chart(*references: dict[str, Any], **given: Any) -> BundleDeployment:
    return deployment(**{"provisioner": HELM_CLASS, "config": {"valuesFrom": list(references)}, **given})


async def _states(
    chart: BundleDeployment, secret: bytes = f"password: {CANARY}".encode(), public: bytes = b"region: europe"
) -> DeploymentStates:
    """After the values of the chart were found."""
    data = {("Secret", "s"): {"values.yaml": secret}, ("ConfigMap", "m"): {"values.yaml": public}}
    states = DeploymentStates()
    state = states.of(chart.metadata.uid)
    assert state is not None
    await ExternalValues(FakeValuesObjects(data), FakeDigestKeys(), states, namespace="system").of(chart, state)
    return states


async def test_values_of_secrets_are_hidden_and_those_of_config_maps_are_not() -> None:
    chart = _chart(SECRET, MAP)
    states = await _states(chart)

    assert states.hide(chart.metadata.uid, f"{REFUSAL} in europe") == f"{SHOWN} in europe"


async def test_they_are_hidden_of_their_deployment_alone_and_until_it_is_gone() -> None:
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


def test_what_the_deployment_itself_says_is_no_secret() -> None:
    mask, chart = SecretMask(), _chart({"kind": "Secret", "name": "login"}, name="webshop")
    text = "a: webshop\nb: login\nc: canary-hunter22"
    mask.learn(chart, [ValuesDocument(document=text, is_secret=True)])

    told = "webshop: Secret system/login does not exist: canary-hunter22"
    assert mask.hide(told) == "webshop: Secret system/login does not exist: ***"
    mask.learn(_chart({"kind": "Secret", "name": "another"}, name="webshop", generation=2), [])
    assert mask.hide("Secret system/login") == "Secret system/***"


class Told:
    def __init__(self) -> None:
        self.messages: list[str] = []

    def normal(self, _kind: str, _name: str, _uid: str, _reason: str, message: str) -> None:
        self.messages.append(message)

    warning = normal


def test_events_do_not_say_them() -> None:
    told = Told()
    recorder = MaskingRecorder(told, lambda uid, text: text.replace(CANARY, uid))

    recorder.normal("BundleDeployment", "web", "uid", "Pruned", f"a {CANARY}")
    recorder.warning("BundleDeployment", "web", "uid", "Failed", f"b {CANARY}")

    assert told.messages == ["a uid", "b uid"]


def test_every_message_of_a_report_is_changed() -> None:
    aspect = ConditionValue(status=ConditionStatus.FALSE, reason=Reason.UNPACK_FAILED, message="x")
    report = Report(
        summary=Summary.RETRYING, reason=Reason.RETRYING, message="x", valid=aspect, installed=aspect, healthy=aspect
    )

    shown = report.with_texts(str.upper)

    texts = [shown.message, *(one.message for one in (shown.valid, shown.installed, shown.healthy) if one is not None)]
    assert texts == ["X"] * 4


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_lines_of_the_log_do_not_say_them(formatter: logging.Formatter) -> None:
    failure = (ValueError, ValueError(REFUSAL), None)
    record = logging.LogRecord("rukpak_py.test", logging.WARNING, "file", 1, "%s", (REFUSAL,), failure)
    with about("BundleDeployment", "web"):
        hide_in_lines(lambda text: text.replace(CANARY, "***"))
        inside = formatter.format(record)

    assert CANARY not in inside
    assert CANARY in formatter.format(record)


def test_a_hook_that_failed_is_told_without_them() -> None:
    record = HookRecord(
        revision="r",
        run="1",
        event="pre-install",
        version="v1",
        kind="Pod",
        name="a",
        result="Failed",
        message=CANARY,
        started_at="",
        finished_at="",
    )
    writer = _writer()

    shown = writer._shown(_chart(SECRET), {"hooks": (record,), "digest": "d"})

    assert shown["hooks"][0].message == "***"
    assert shown["digest"] == "d"


def _writer() -> Any:
    from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter  # noqa: PLC0415

    return DeploymentStatusWriter(
        client=None,  # type: ignore[arg-type]  # nothing is written
        deployments=None,  # type: ignore[arg-type]
        now=str,
        hide=lambda _uid, text: text.replace(CANARY, "***"),
    )
