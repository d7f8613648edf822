"""Each Event stands in the log, too: once, by the room that it is about, with its reason as a field."""

import logging
from collections.abc import Iterator
from typing import Any, cast

import orjson
import pytest

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_INSTANCE_KIND, BUNDLE_KIND
from rukpak_py.controllers.events import EventNote, Recorder, normal, warning
from rukpak_py.core.logs import JsonFormatter, TextFormatter
from tests.scrapes import samples
from tests.unit.controllers.values import bundle, deployment


class Recorded:
    def __init__(self) -> None:
        self.recorded: list[tuple[str, str]] = []

    def record(self, _subject: object, *, reason: str, message: str, **_type: str) -> None:
        self.recorded.append((reason, message))


class Lines(logging.Handler):
    """Lines of the log as they are written, in both forms."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.documents: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(TextFormatter().format(record).partition(" ")[2])
        self.documents.append(orjson.loads(JsonFormatter().format(record)))


@pytest.fixture
def lines() -> Iterator[Lines]:
    lines, logger = Lines(), logging.getLogger("rukpak_py")
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    yield lines
    logger.setLevel(logging.NOTSET)
    logger.removeHandler(lines)


@pytest.mark.parametrize(
    ("one", "kind", "room"),
    [
        (bundle(name="x"), BUNDLE_KIND, "bundle"),
        (deployment(name="x"), BUNDLE_DEPLOYMENT_KIND, "deployment"),
        (BundleInstance(metadata=ObjectMeta(name="x"), spec=deployment().spec), BUNDLE_INSTANCE_KIND, "instance"),
    ],
)
def test_a_line_has_the_name_of_its_room_and_the_reason_as_a_field(
    lines: Lines, one: Bundle | BundleDeployment | BundleInstance, kind: str, room: str
) -> None:
    recorder = Recorded()
    notes = [normal("Upgraded", "to b2"), warning("Unhealthy", "no Pod is ready")]
    Recorder(cast("Any", recorder)).about(one).emit(notes)
    assert recorder.recorded == [("Upgraded", "to b2"), ("Unhealthy", "no Pod is ready")]
    logger = f"rukpak_py.controllers.{room}"
    assert lines.texts == [
        f"INFO    {logger}: {kind} x: Upgraded: to b2",
        f"WARNING {logger}: {kind} x: Unhealthy: no Pod is ready",
    ]
    fields = [{key: value for key, value in one.items() if key != "time"} for one in lines.documents]
    common = {"logger": logger, "kind": kind, "name": "x"}
    assert fields == [
        {**common, "level": "info", "reason": "Upgraded", "message": "to b2"},
        {**common, "level": "warning", "reason": "Unhealthy", "message": "no Pod is ready"},
    ]


def test_why_content_cannot_be_unpacked_is_logged_once(lines: Lines) -> None:
    """The line is that of the Bundle; its deployment has an Event with the same words."""
    recorder = Recorded()
    events = Recorder(cast("Any", recorder))
    events.about(bundle(name="b")).emit([warning("UnpackFailed", "404")])
    events.about(deployment(name="d")).emit([warning("UnpackFailed", "Failed to unpack the b Bundle: 404")])
    assert len(recorder.recorded) == 2
    assert [one["kind"] for one in lines.documents] == [BUNDLE_KIND]


def test_secret_values_of_an_object_are_hidden_in_its_events_and_lines(lines: Lines) -> None:
    recorder, one = Recorded(), deployment(name="d")
    events = Recorder(cast("Any", recorder), hide=lambda uid, text: text.replace("c4nary", uid))
    events.about(one).emit([normal("Pruned", "a c4nary"), warning("Failed", "b c4nary")])
    uid = one.metadata.uid
    assert recorder.recorded == [("Pruned", f"a {uid}"), ("Failed", f"b {uid}")]
    assert [document["message"] for document in lines.documents] == [f"a {uid}", f"b {uid}"]


@pytest.mark.parametrize(
    ("note", "outcome"),
    [
        (normal("Installed", "x"), "installed"),
        (normal("Upgraded", "x"), "upgraded"),
        (warning("InstallFailed", "x"), "failed"),
        (warning("UpgradeFailed", "x"), "failed"),
        (warning("RolledBack", "x"), "rolled_back"),
        (normal("Refreshed", "x"), None),
    ],
)
def test_upgrades_of_deployments_are_counted_by_their_outcome(note: EventNote, outcome: str | None) -> None:
    def counts() -> dict[str, float]:
        return {dict(labels)["outcome"]: count for labels, count in samples("rukpak_upgrades_total").items()}

    before = counts()
    events = Recorder(cast("Any", Recorded()))
    events.about(deployment(name="d")).emit([note])
    events.about(bundle(name="b")).emit([note])
    changed = {name: count - before.get(name, 0) for name, count in counts().items() if count != before.get(name, 0)}
    assert changed == ({outcome: 1} if outcome is not None else {})
