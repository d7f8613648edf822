"""A status that the API server refuses for its size is replaced by one that is as small as it can be."""

import logging
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.conditions import BRIEF_CHARACTERS, Condition, Note
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.install_options import InstallOptions, config_digest, recorded
from rukpak_py.api.metadata import TemplateMeta
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.queue import Schedule, Turn
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.changes import minimal_history, shortened
from rukpak_py.controllers.result.conclusion import Clock as Moment
from rukpak_py.controllers.result.deployment_details import STATUS_TOO_LARGE
from rukpak_py.controllers.result.progress import Progress, Reached, StatusChange
from rukpak_py.kube.errors import ApiError, ErrorAnswer, InvalidError, TooLargeError
from rukpak_py.kube.errors import Cause as ErrorCause
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import Resource
from tests.unit.controllers.deployment.parts import ToldEvents
from tests.unit.controllers.fakes import NOW, Clock, FakeClient
from tests.unit.controllers.result.concluding import fact, installed, progress
from tests.unit.controllers.values import DIGEST, START, conditions, deployment, hook_record, spec

CONFIG = {"values": "a: 1"}
LIMIT = 8_000
REFUSED = TooLargeError(ErrorAnswer(subject="patch", status=500, message="etcdserver: request is too large"))
TOO_LONG = (ErrorCause(reason="FieldValueTooLong", field="status.conditions[0].message"),)
TEMPLATE = BundleTemplate(spec=spec(), metadata=TemplateMeta(annotations={"large": "x" * LIMIT}))
RECORD = hook_record(result="Failed", message="line\n" * 1000)


@dataclass
class SmallServer(FakeClient):
    """Takes no patch of a status over `limit` bytes."""

    limit: int = LIMIT
    error: ApiError = REFUSED

    async def patch_status(self, resource: Resource, namespace: str, name: str, body: bytes, **_: Any) -> LiveObject:
        if len(body) > self.limit:
            self._called("refused", resource, name)
            raise self.error
        return await super().patch_status(resource, namespace, name, body)


class Desk:
    def __init__(self) -> None:
        self.client, self.clock, self.events = SmallServer(), Clock(), ToldEvents()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.writer = DeploymentStatusWriter(
            client=self.client.as_client(), deployments=self.deployments, clock=self.moment, pace=self.clock
        )
        self.reporting = Reporting(self.writer, WaitingDeployments(), self.events, clock=self.moment)
        self.state = DeploymentState()

    def moment(self) -> Moment:
        return Moment(loop=self.clock.now, wall=START + self.clock.now)

    def put(self, one: BundleDeployment) -> BundleDeployment:
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))
        self.deployments.put(stored)
        return stored

    def annotate(self, **annotations: str) -> None:
        """Change the object as another client."""
        self.put(replace(self.known, metadata=replace(self.known.metadata, annotations=annotations)))

    @property
    def known(self) -> BundleDeployment:
        found = self.deployments.get("shop")
        assert found is not None
        return found

    @property
    def status(self) -> BundleDeploymentStatus:
        return read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]).status

    async def report(self, what: Progress) -> Schedule:
        self.clock.now += 1.0
        return await self.reporting.report(self.known, self.state, Turn(), installed=what)

    @property
    def calls(self) -> list[str]:
        found = [call.partition(" ")[0] for call in self.client.calls]
        self.client.calls.clear()
        return found


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.put(deployment(generation=3))
    return desk


def entry(revision: int) -> Installation:
    options = recorded(InstallOptions(config=CONFIG, install_namespace="ns"))
    return Installation(
        revision=revision,
        bundle=f"b{revision}",
        digest=DIGEST,
        time=NOW,
        outcome="Healthy",
        options=options,
        template=TEMPLATE,
    )


def result(*history: Installation, text: str = "x" * 20_000, **fields: Any) -> Progress:
    """All is well, with a long line beside it."""
    content = installed("b2", DIGEST, history=history)
    return progress(fact(Cause.HISTORY_CUT, text), reached=Reached.FINISHED, installed=content, **fields)


LARGE = result(entry(2), entry(1))
TRIED = ["refused", "status"]
STALLED = Schedule(failures=1)


async def test_a_too_large_status_is_written_with_short_texts(desk: Desk) -> None:
    assert await desk.report(LARGE) == STALLED
    assert desk.calls == TRIED
    found = conditions(desk.status)
    assert found["Ready"] == ("False", "StatusTooLarge", STATUS_TOO_LARGE.words)
    assert found["Stalled"][:2] == ("True", "StatusTooLarge")
    assert found["Installed"] == ("True", "InstallationSucceeded", "Instantiated bundle b2 successfully")
    assert {one.observed_generation for one in desk.status.conditions} == {3}
    assert (desk.status.observed_generation, desk.status.active_bundle, desk.status.digest) == (3, "b2", DIGEST)
    assert desk.known.status == desk.status


async def test_the_active_installation_keeps_its_options_without_values_and_former_ones_lose_theirs(
    desk: Desk,
) -> None:
    await desk.report(LARGE)
    active, former = desk.status.history
    assert [(one.revision, one.bundle, one.template) for one in (active, former)] == [(2, "b2", None), (1, "b1", None)]
    assert former.options is None
    assert active.options == replace(
        recorded(InstallOptions(install_namespace="ns")), config_digest=config_digest(CONFIG)
    )
    assert desk.status.history == minimal_history((entry(2), entry(1)))


async def test_texts_of_hooks_are_cut_and_their_records_stay(desk: Desk) -> None:
    await desk.report(result(entry(1), hooks=(RECORD,)))
    assert desk.status.hooks == (replace(RECORD, message="line"),)


async def test_a_warning_tells_it_once(desk: Desk) -> None:
    await desk.report(LARGE)
    assert [told for told in desk.events.texts if told[0] != "Installed"] == [
        ("StatusTooLarge", STATUS_TOO_LARGE.words)
    ]
    assert ("Warning", "shop", "StatusTooLarge") in desk.events.told
    desk.events.told.clear()
    await desk.report(result(entry(3), entry(2)))
    await desk.report(progress(fact(Cause.CONFLICT, "x" * 10_000)) + result(entry(3), entry(2)))
    assert "StatusTooLarge" not in [reason for _, _, reason in desk.events.told]


async def test_the_same_status_is_not_tried_again(desk: Desk) -> None:
    await desk.report(LARGE)
    assert desk.calls == TRIED
    desk.clock.now += 86_400
    for _ in range(2):
        assert await desk.report(LARGE) == STALLED
    assert desk.calls == []


async def test_another_status_is_tried(desk: Desk) -> None:
    await desk.report(LARGE)
    assert desk.calls == TRIED
    await desk.report(result(entry(3), entry(2)))
    assert desk.calls == TRIED
    assert [one.revision for one in desk.status.history] == [3, 2]


@pytest.mark.parametrize("is_annotated", [True, False])
async def test_the_whole_status_is_written_once_it_has_room(desk: Desk, *, is_annotated: bool) -> None:
    """Because the object has become shorter, or the status itself."""
    await desk.report(LARGE)
    if is_annotated:
        desk.client.limit = 100_000
        desk.annotate(shorter="by now")
    small = replace(entry(2), template=None)
    history = (entry(2), entry(1)) if is_annotated else (small,)
    whole = result(*history, text="x" * 20_000 if is_annotated else "x" * 500)
    assert await desk.report(whole) == Schedule()
    assert conditions(desk.status)["Ready"][:2] == ("True", "Succeeded")
    assert desk.status.history == history
    assert conditions(desk.status)["Installed"][2].endswith("x" * 500)
    assert "Stalled" not in conditions(desk.status)


async def test_an_object_that_changed_and_has_no_room_still_costs_one_request(desk: Desk) -> None:
    await desk.report(LARGE)
    desk.annotate(other="one")
    assert desk.calls == TRIED
    for _ in range(2):
        assert await desk.report(LARGE) == STALLED
    assert desk.calls == ["refused"]


async def test_a_record_before_a_step_is_written_in_short(desk: Desk) -> None:
    change = LARGE.change + StatusChange(hooks=(RECORD,) * 10)
    written = await desk.writer.record(desk.known, change, ready="Applying 1 object")
    assert desk.calls == TRIED
    assert written.status == desk.status
    assert desk.status.active_bundle == "b2"
    assert desk.status.history == minimal_history((entry(2), entry(1)))
    assert [one.message for one in desk.status.hooks] == ["line"] * 10
    assert conditions(desk.status)["Ready"] == ("Unknown", "Progressing", "Applying 1 object")


async def test_fields_that_must_be_on_record_are_recorded(desk: Desk) -> None:
    await desk.writer.record_fields(desk.known, StatusChange(hooks=(RECORD,) * 10))
    assert desk.calls == TRIED
    assert [one.message for one in desk.status.hooks] == ["line"] * 10


async def test_a_string_that_is_too_long_counts_as_too_large(desk: Desk) -> None:
    desk.client.error = InvalidError(ErrorAnswer(subject="patch", status=422, message="no", causes=TOO_LONG))
    await desk.report(LARGE)
    assert conditions(desk.status)["Ready"][1] == "StatusTooLarge"


async def test_any_other_refusal_is_what_it_is(desk: Desk) -> None:
    desk.client.error = InvalidError(ErrorAnswer(subject="patch", status=422, message="no"))
    with pytest.raises(InvalidError):
        await desk.report(LARGE)
    assert desk.calls == ["refused"]
    with pytest.raises(InvalidError):
        await desk.writer.record(desk.known, LARGE.change, ready="m")
    assert desk.calls == ["refused"]


async def test_where_not_even_the_short_status_fits_the_refusal_is_told(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.client.limit = 10
    with caplog.at_level(logging.WARNING), pytest.raises(TooLargeError):
        await desk.report(LARGE)
    assert desk.calls == ["refused", "refused"]
    assert "BundleDeployment shop: the status is too large: " in caplog.text
    assert desk.events.told == [], "what is not written is not told"
    with pytest.raises(TooLargeError):
        await desk.writer.record(desk.known, LARGE.change, ready="m")


def test_a_short_history_has_neither_templates_nor_values() -> None:
    old = replace(entry(1), outcome="", options=None)
    without = replace(recorded(InstallOptions(install_namespace="ns")), config_digest=config_digest(CONFIG))
    assert minimal_history((entry(3), entry(2), old)) == (
        replace(entry(3), template=None, options=without),
        replace(entry(2), template=None, options=None),
        replace(old, template=None, outcome="Healthy"),  # which tells it from one that never had a template
    )
    assert minimal_history(()) == ()


def note(number: int) -> Note:
    return Note(reason="Conflict", since=NOW, id=str(number))


@pytest.mark.parametrize("status", [BundleStatus(), BundleDeploymentStatus()], ids=lambda one: type(one).__name__)
def test_a_short_status_has_one_line_of_each_text_and_few_notes(status: BundleStatus | BundleDeploymentStatus) -> None:
    texts = ("one\ntwo", "word " * BRIEF_CHARACTERS, "short")
    one = Condition(type="Ready", status="True", reason="Any", message="", last_transition_time=NOW)
    whole = tuple(replace(one, type=str(number), message=text) for number, text in enumerate(texts))
    found = shortened(replace(status, conditions=whole, notes=tuple(map(note, range(10)))))
    first, second, third = found.conditions
    assert (first, third) == (replace(whole[0], message="one"), whole[2])
    assert len(second.message) <= BRIEF_CHARACTERS
    assert found.notes == tuple(map(note, range(4)))
    assert replace(found, conditions=(), notes=()) == status
    assert shortened(found) == found
