"""Findings are printed for people, programs, code scanning and GitHub, whatever bundles have written into them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from rukpak_py.cli.reports import github, json_document, sarif, text
from rukpak_py.cli.reports.report import CommandReport, Described
from rukpak_py.cli.terminal import Style
from rukpak_py.core.findings import Finding, Severity
from tests.unit.cli.streams import pipe, terminal

ERROR = Finding(
    rule="RV1-002",
    severity=Severity.ERROR,
    message="invalid name 'A'",
    hint="Use lower case.",
    file="manifests/csv.yaml",
    line=12,
    column=3,
    path="spec.name",
)
WARNING = Finding(rule="RV1-913", severity=Severity.WARNING, message="odd, but works")
REPORT = CommandReport(path="bundles/a", format="registry+v1", findings=(WARNING, ERROR))
NAMES = Described(title="Names are valid", hint="Choose another.", severity=Severity.WARNING)
UNREADABLE = CommandReport(path="bundles/b", failure="there is no such file or directory")


def test_text_for_files_is_one_line_per_finding() -> None:
    assert list(text.lines_of(REPORT, Style(pipe()))) == [
        "bundles/a (registry+v1): 1 error, 1 warning",
        "  the bundle  warning  RV1-913  odd, but works",
        "",
        "  manifests/csv.yaml:12:3  error  RV1-002  invalid name 'A'",
        "      at spec.name",
        "      hint: Use lower case.",
        "",
    ]


def test_advice_for_several_in_a_row_is_given_once() -> None:
    lines = list(
        text.lines_of(CommandReport(path="a", findings=(ERROR, replace(ERROR, line=13), WARNING)), Style(pipe()))
    )
    assert [line.strip() for line in lines if "hint" in line] == ["hint: Use lower case."]
    assert lines.index("      hint: Use lower case.") == 5


def test_advice_for_the_same_defect_of_several_files_is_given_once() -> None:
    findings = (ERROR, replace(ERROR, file="manifests/crd.yaml"), replace(ERROR, file="z", hint="Another."))
    assert list(text.lines_of(CommandReport(path="a", findings=findings), Style(pipe())))[1:] == [
        "  manifests/csv.yaml:12:3  error  RV1-002  invalid name 'A'",
        "      at spec.name",
        "  manifests/crd.yaml:12:3  error  RV1-002  invalid name 'A'",
        "      at spec.name",
        "      hint: Use lower case.",
        "",
        "  z:12:3  error  RV1-002  invalid name 'A'",
        "      at spec.name",
        "      hint: Another.",
        "",
    ]


def test_text_for_terminals_is_coloured_and_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = list(text.lines_of(REPORT, Style(terminal())))
    assert "\x1b[31merror\x1b[0m" in lines[3]
    assert lines[4] == "      invalid name 'A'"
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "".join(text.lines_of(REPORT, Style(terminal())))


def test_words_are_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    word = "w" * 60
    found = Finding(rule="R", severity=Severity.ERROR, message=f"a {word} b", file="f" * 50, line=1)
    assert word in "\n".join(text.lines_of(CommandReport(path="a", findings=(found,)), Style(terminal())))


def test_a_bundle_that_cannot_be_read_is_told_so() -> None:
    assert list(text.lines_of(UNREADABLE, Style(pipe()))) == [
        "bundles/b: cannot be read",
        "  there is no such file or directory",
        "",
    ]


@pytest.mark.parametrize(
    ("reports", "summary"),
    [
        ([CommandReport(path="a"), CommandReport(path="b")], "2 bundles valid: 0 errors, 0 warnings"),
        ([REPORT, CommandReport(path="b"), UNREADABLE], "2 of 3 bundles refused: 1 error, 1 warning"),
    ],
)
def test_summary(reports: list[CommandReport], summary: str) -> None:
    assert text.summary(reports, Style(pipe())) == summary


HOSTILE = "\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202egnp.exe\n::error::fake"
HOSTILE_REPORT = CommandReport(
    path=f"dir{HOSTILE}",
    format="registry+v1",
    findings=(
        Finding(rule="R", severity=Severity.ERROR, message=HOSTILE, hint=HOSTILE, file=HOSTILE, line=1, path=HOSTILE),
    ),
    failure=HOSTILE,
)


def test_texts_of_bundles_do_not_reach_the_terminal_raw() -> None:
    shown = "\n".join(text.lines_of(HOSTILE_REPORT, Style(pipe())))
    assert not set(shown) & set("\x1b\x07\r\x9b\u202e")
    assert "\\u001b[2J" in shown
    assert not [line for line in shown.splitlines() if line.startswith("::")]


def test_texts_of_bundles_cannot_become_commands_of_github() -> None:
    lines = list(github.lines_of(HOSTILE_REPORT))
    assert len(lines) == 2
    assert all("\n" not in line and "\r" not in line and line.startswith("::error file=") for line in lines)


def test_github_annotations() -> None:
    assert list(github.lines_of(REPORT)) == [
        "::warning file=bundles/a,title=RV1-913::odd, but works",
        "::error file=bundles/a,title=RV1-002::manifests/csv.yaml:12:3: invalid name 'A'%0AUse lower case.",
    ]


def test_github_annotations_point_into_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b,1").mkdir()
    monkeypatch.chdir(tmp_path)
    (line,) = github.lines_of(CommandReport(path="b,1", findings=(ERROR,)))
    assert line.startswith("::error file=b%2C1/manifests/csv.yaml,line=12,col=3,title=RV1-002::")


def test_json_has_a_shape_that_stays() -> None:
    assert json_document.document([REPORT, UNREADABLE]) == {
        "bundles": [
            {
                "path": "bundles/a",
                "format": "registry+v1",
                "valid": False,
                "failure": None,
                "errors": 1,
                "warnings": 1,
                "findings": [
                    {
                        "rule": "RV1-913",
                        "severity": "warning",
                        "message": "odd, but works",
                        "hint": None,
                        "file": None,
                        "line": None,
                        "column": None,
                        "path": None,
                        "fixable": False,
                    },
                    {
                        "rule": "RV1-002",
                        "severity": "error",
                        "message": "invalid name 'A'",
                        "hint": "Use lower case.",
                        "file": "manifests/csv.yaml",
                        "line": 12,
                        "column": 3,
                        "path": "spec.name",
                        "fixable": False,
                    },
                ],
            },
            {
                "path": "bundles/b",
                "format": None,
                "valid": False,
                "failure": "there is no such file or directory",
                "errors": 0,
                "warnings": 0,
                "findings": [],
            },
        ],
        "errors": 1,
        "warnings": 1,
    }


def sarif_run(*reports: CommandReport) -> dict[str, Any]:
    document = json.loads(json.dumps(sarif.document(reports, version="1.0", rules={"RV1-002": NAMES})))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    return dict(run)


def test_sarif_describes_the_rules_that_were_hit() -> None:
    driver = sarif_run(REPORT)["tool"]["driver"]
    assert driver["name"] == "rukpakctl"
    assert [rule["id"] for rule in driver["rules"]] == ["RV1-002", "RV1-913"]
    assert driver["rules"][0] == {
        "id": "RV1-002",
        "shortDescription": {"text": "Names are valid"},
        "fullDescription": {"text": "Names are valid"},
        "help": {
            "text": "Choose another.",
            "markdown": "**Names are valid**\n\nChoose another.\n\n"
            "The page `docs/rules.md` of rukpak-py lists all rules.",
        },
        "defaultConfiguration": {"level": "warning"},
    }


def test_sarif_has_no_markdown_of_a_rule_that_is_described_by_a_finding() -> None:
    """The text of a finding is the bundle's."""
    (rule,) = sarif_run(CommandReport(path="a", findings=(WARNING,)))["tool"]["driver"]["rules"]
    assert rule["help"] == {"text": "odd, but works"}


def test_sarif_names_former_ids_so_that_suppressions_stay() -> None:
    described = Described(title="t", hint="h", severity=Severity.ERROR, former_ids=("RV1-000",))
    (run,) = sarif.document([REPORT], version="1.0", rules={"RV1-002": described})["runs"]
    assert run["tool"]["driver"]["rules"][0]["deprecatedIds"] == ["RV1-000"]


def test_sarif_results_point_at_relative_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my bundle").mkdir()
    monkeypatch.chdir(tmp_path)
    run = sarif_run(CommandReport(path=str(tmp_path / "my bundle"), findings=(WARNING, ERROR)))
    warning, error = run["results"]
    assert (error["ruleId"], error["ruleIndex"], error["level"]) == ("RV1-002", 0, "error")
    assert error["message"]["text"] == "invalid name 'A'\nUse lower case."
    location = error["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "my%20bundle/manifests/csv.yaml"
    assert location["region"] == {"startLine": 12, "startColumn": 3}
    whole = {"artifactLocation": {"uri": "my%20bundle"}, "region": {"startLine": 1}}
    assert warning["locations"] == [{"physicalLocation": whole}]


def test_sarif_of_an_archive_names_the_file_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b.tgz").touch()
    monkeypatch.chdir(tmp_path)
    (result,) = sarif_run(CommandReport(path="b.tgz", findings=(ERROR,)))["results"]
    (location,) = result["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "b.tgz"}, "region": {"startLine": 1}}
    assert location["logicalLocations"] == [{"fullyQualifiedName": "manifests/csv.yaml:12:3 spec.name"}]


def test_sarif_tells_what_could_not_be_read() -> None:
    (invocation,) = sarif_run(UNREADABLE)["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"] == "there is no such file or directory"
    assert unquote(notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) == "bundles/b"


def test_sarif_uris_are_ascii_without_controls() -> None:
    document = json.dumps(sarif.document([HOSTILE_REPORT], version="1.0"))
    uri = json.loads(document)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert uri.isprintable()


def test_sarif_names_files_of_any_bytes() -> None:
    (invocation,) = sarif_run(CommandReport(path="bad\udcff", failure="is empty"))["invocations"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "bad%FF"
