"""The answer of `rukpakctl why` for people and for programs. No log and no message moves the cursor."""

from datetime import UTC, datetime

import pytest

from rukpak_py.cli.reports import why as report
from rukpak_py.cli.reports.why import Answer
from rukpak_py.cli.terminal import Style
from rukpak_py.diagnosis.explaining import explain
from rukpak_py.diagnosis.logs import ContainerLog
from rukpak_py.diagnosis.ways_out import WAYS_OUT
from tests.unit.cli.streams import pipe, terminal
from tests.unit.diagnosis.views import (
    WEB,
    condition,
    container,
    deployment,
    event,
    note,
    thing,
    view,
    workload,
)

NOW = datetime(2026, 1, 2, 3, 9, 5, tzinfo=UTC)
READY = Answer(name="shop", found=explain(view(deployment(condition("Ready", "True", "Succeeded", "Instantiated")))))


def unhealthy(log: ContainerLog | str | None = None) -> Answer:
    found = view(
        deployment(
            condition("Healthy", "False", "Unhealthy", "Deployment.apps/shop/web: Available: 0/1"),
            condition("Ready", "Unknown", "Unhealthy", "Deployment.apps/shop/web: Available: 0/1"),
            notes=(note("Unhealthy", WEB),),
        ),
        objects=(
            workload(message="Available: 0/1", reason="OOMKilled", container=container("OOMKilled", has_ended=True)),
            thing("PersistentVolumeClaim", "data"),
        ),
        events=(event(WEB, "BackOff", "back-off 5m0s restarting failed container", count=7),),
    )
    return Answer(name="shop", found=explain(found), log=log)


def log(*lines: str) -> ContainerLog:
    return ContainerLog(container=container("OOMKilled", has_ended=True), lines=lines, is_previous=True)


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def test_answer_has_the_sentence_the_way_out_and_the_events() -> None:
    assert list(report.lines_of(unhealthy(), Style(pipe()), now=NOW)) == [
        "shop is in progress (Unhealthy)",
        "  Deployment.apps/shop/web: Available: 0/1",
        "",
        "What to do",
        f"  {WAYS_OUT['OOMKilled']}",
        "  See docs/troubleshooting.md#unhealthy",
        "",
        "Events",
        "  LAST SEEN  TYPE     REASON   MESSAGE",
        "  5m         Warning  BackOff  back-off 5m0s restarting failed container (x7)",
    ]


def test_link_leads_to_the_page_that_is_named() -> None:
    page = "https://docs.example.com/t"
    assert f"  See {page}#unhealthy" in list(report.lines_of(unhealthy(), Style(pipe()), page=page))
    assert report.document(unhealthy(), page=page)["link"] == f"{page}#unhealthy"


def test_log_is_indented_and_cannot_move_the_cursor() -> None:
    lines = list(report.lines_of(unhealthy(log("started", "\x1b[2Jdone\r")), Style(pipe()), now=NOW))
    assert lines[-3:] == [
        'Log of container "web" of Pod shop/web-1, its previous run, last 20 lines',
        "  started",
        r"  \u001b[2Jdone\u000d",
    ]


@pytest.mark.parametrize(
    ("given", "line"), [(log(), "  (empty)"), ("get Pod shop/web-1: forbidden", "  get Pod shop/web-1: forbidden")]
)
def test_log_that_says_nothing_or_cannot_be_read(given: ContainerLog | str, line: str) -> None:
    assert list(report.lines_of(unhealthy(given), Style(pipe()), now=NOW))[-1] == line


def test_nothing_wrong_is_two_lines() -> None:
    assert READY.is_well
    assert list(report.lines_of(READY, Style(pipe()))) == ["shop is ready (Succeeded)", "  nothing is wrong"]


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fit_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    lines = [line for text in report.lines_of(unhealthy(), Style(terminal()), now=NOW) for line in text.splitlines()]
    assert max(map(len, lines)) <= width


def test_table_has_a_line_for_each() -> None:
    assert list(report.table([unhealthy()], Style(pipe()))) == [
        "NAME  STATE        REASON     WHY",
        "shop  in progress  Unhealthy  Deployment.apps/shop/web: Available: 0/1",
    ]


def test_document_is_for_programs() -> None:
    document = report.document(unhealthy(log("a")))
    assert document["ready"] is False
    assert document["object"] == {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"}
    assert (document["cause"], document["link"]) == ("OOMKilled", "docs/troubleshooting.md#unhealthy")
    assert (document["log"]["lines"], document["log"]["previous"]) == (["a"], True)
    assert report.document(unhealthy("no"))["log"] == {"error": "no"}
    assert report.document(READY)["toDo"] is None
