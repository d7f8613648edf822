"""The list of BundleDeployments: a table that fits the terminal, and a document."""

from datetime import UTC, datetime

import pytest

from rukpak_py.cli.reports import deployments as report
from rukpak_py.cli.terminal import Style
from rukpak_py.diagnosis.model import DeploymentSummary
from rukpak_py.diagnosis.verdicts import summary_of
from tests.unit.cli.streams import pipe, terminal
from tests.unit.diagnosis.views import condition, deployment

NOW = datetime(2026, 1, 5, 5, 4, 5, tzinfo=UTC)  # 3 days and 2 hours after all of them were created
MESSAGE = "Failed to unpack its Bundle: registry.example.com: no such host"
FAILED = condition("Ready", "False", "Unavailable", f"{MESSAGE}\nmore")


def rows() -> list[DeploymentSummary]:
    pending = {
        "digest": "sha256:1",
        "bundle": "shop-2",
        "version": "1.3.0",
        "content": "sha256:2",
        "reason": "NotApproved",
        "verdict": "Safe",
    }
    ready = condition("Ready", "True", "UpgradePending", "Instantiated bundle shop-1 successfully")
    return [
        summary_of(deployment(ready, version="1.2.0", pendingUpgrade=pending)),
        summary_of(deployment(FAILED, name="web")),
        summary_of(deployment(name="other", observed=-1)),
    ]


def test_piped_table_is_not_cut() -> None:
    assert report.lines_of(rows(), Style(pipe()), now=NOW) == [
        "NAME   STATE    REASON          VERSION  UPGRADE  SOURCE  AGE   MESSAGE",
        "shop   ready    UpgradePending  1.2.0    1.3.0    image   3d2h  Instantiated bundle shop-1 successfully",
        f"web    failed   Unavailable     -        -        image   3d2h  {MESSAGE}",
        "other  unknown  -               -        -        image   3d2h  no operator has looked at it yet",
    ]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            80,
            [
                "NAME   STATE    REASON       SOURCE  AGE   MESSAGE",
                "web    failed   Unavailable  image   3d2h  Failed to unpack its Bundle: registr…",
                "other  unknown  -            image   3d2h  no operator has looked at it yet",
            ],
        ),
        (
            120,
            [
                "NAME   STATE    REASON       SOURCE  AGE   MESSAGE",
                f"web    failed   Unavailable  image   3d2h  {MESSAGE}",
                "other  unknown  -            image   3d2h  no operator has looked at it yet",
            ],
        ),
    ],
)
def test_message_gets_the_room_that_is_left(width: int, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    assert report.lines_of(rows()[1:], Style(terminal()), now=NOW) == lines


def test_states_have_colours_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    _, *lines = report.lines_of(rows(), Style(terminal()), now=NOW)
    assert ["\x1b[32mready\x1b[0m" in lines[0], "\x1b[31mfailed\x1b[0m" in lines[1]] == [True, True]


def test_wide_table_has_the_source_itself() -> None:
    titles, _, line, _ = report.lines_of(rows(), Style(pipe()), wide=True, now=NOW)
    assert titles.split()[7:] == ["CLASS", "NAMESPACE", "ACCOUNT", "REFERENCE", "MESSAGE"]
    assert " core-rukpak-io-plain  -          -        registry.example.com/shop:v1  Failed " in line


def test_summary_counts_states_the_worst_first() -> None:
    assert report.summary_line(rows()) == "3 BundleDeployments: 1 failed, 1 unknown, 1 ready"
    assert report.summary_line([]) == "no BundleDeployments"


def test_document_has_the_whole_message() -> None:
    (document,) = report.document(rows()[1:2])["deployments"]
    assert (document["name"], document["state"], document["version"]) == ("web", "failed", None)
    assert document["message"].endswith("no such host\nmore")
