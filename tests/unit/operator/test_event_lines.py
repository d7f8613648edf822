"""What is told as an Event stands in the log, too: once, by the room that it is about, with its reason as a field."""

import logging
from collections.abc import Iterator
from typing import Any, cast

import orjson
import pytest

from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_INSTANCE_KIND, BUNDLE_KIND
from rukpak_py.core.logs import JsonFormatter, TextFormatter
from rukpak_py.operator.adapters import Events


class Recorder:
    def __init__(self) -> None:
        self.recorded: list[tuple[str, str]] = []

    def record(self, _subject: object, *, reason: str, message: str, **_type: str) -> None:
        self.recorded.append((reason, message))


class Lines(logging.Handler):
    """As they are written, in both forms."""

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
    ("kind", "room"),
    [(BUNDLE_KIND, "bundle"), (BUNDLE_DEPLOYMENT_KIND, "deployment"), (BUNDLE_INSTANCE_KIND, "instance")],
)
def test_a_line_has_the_name_of_its_room_and_the_reason_as_a_field(lines: Lines, kind: str, room: str) -> None:
    recorder = Recorder()
    events = Events(cast("Any", recorder))
    events.normal(kind, "x", "u", "Upgraded", "to b2")
    events.warning(kind, "x", "u", "Unhealthy", "no Pod is ready")
    assert recorder.recorded == [("Upgraded", "to b2"), ("Unhealthy", "no Pod is ready")]
    logger = f"rukpak_py.controllers.{room}"
    assert lines.texts == [
        f"INFO    {logger}: {kind}/x: Upgraded: to b2",
        f"WARNING {logger}: {kind}/x: Unhealthy: no Pod is ready",
    ]
    fields = [{key: value for key, value in one.items() if key != "time"} for one in lines.documents]
    common = {"logger": logger, "kind": kind, "name": "x"}
    assert fields == [
        {**common, "level": "info", "reason": "Upgraded", "message": "to b2"},
        {**common, "level": "warning", "reason": "Unhealthy", "message": "no Pod is ready"},
    ]


def test_why_content_cannot_be_unpacked_is_logged_once(lines: Lines) -> None:
    """Of the Bundle; its deployment has an Event with the same words."""
    recorder = Recorder()
    events = Events(cast("Any", recorder))
    events.warning(BUNDLE_KIND, "b", "u", "UnpackFailed", "404")
    events.warning(BUNDLE_DEPLOYMENT_KIND, "d", "u", "UnpackFailed", "Failed to unpack the b Bundle: 404")
    assert len(recorder.recorded) == 2
    assert [one["kind"] for one in lines.documents] == [BUNDLE_KIND]
