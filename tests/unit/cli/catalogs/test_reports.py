"""`catalog validate` and `catalog lint`: exit statuses, and their reports in every form."""

import json
import os
from pathlib import Path

import pytest

from tests.unit.catalog.samples import bundle, channel, entry, package, sample
from tests.unit.cli.catalogs.conftest import WriteCatalog
from tests.unit.cli.running import CommandLine

BROKEN = [package("b"), channel("a", "v1"), bundle("v1", image="docker://x")]


@pytest.fixture
def valid(write_catalog: WriteCatalog) -> Path:
    return write_catalog(sample("v1", "v2 replaces v1"), "valid")


@pytest.fixture
def broken(write_catalog: WriteCatalog) -> Path:
    return write_catalog(BROKEN, "broken")


def test_valid_catalog(rukpakctl: CommandLine, valid: Path) -> None:
    ran = rukpakctl("catalog", "validate", valid)
    assert (ran.status, ran.out, ran.err) == (0, f"{valid} (catalog): valid (1 package, 2 bundles)\n", "")


def test_all_errors_are_told_with_line_and_advice(rukpakctl: CommandLine, broken: Path) -> None:
    ran = rukpakctl("catalog", "validate", broken)
    assert (ran.status, ran.err) == (1, "")
    assert ran.out.startswith(f"{broken} (catalog): 2 errors\n")
    found = [line.split()[:3] for line in ran.out.splitlines() if "  FBC-" in line]
    file = os.path.relpath(broken / "catalog.json")
    assert found == [[f"{file}:1:58", "error", "FBC-M06"], [f"{file}:3:71", "error", "FBC-C14"]]
    assert ran.out.count("hint: ") == 2
    assert max(map(len, ran.out.replace(str(broken), "").replace(file, "").splitlines())) <= 100


def test_locations_can_be_opened_from_the_working_directory(
    rukpakctl: CommandLine, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(broken.parent)
    for typed in ("broken", "broken/catalog.json", broken):
        assert "\n  broken/catalog.json:3:71  error  FBC-C14" in rukpakctl("catalog", "validate", typed).out
    monkeypatch.chdir(broken)
    assert "\n  catalog.json:3:71  error  FBC-C14" in rukpakctl("catalog", "validate", ".").out


def test_empty_directory_is_valid_and_shows_that_it_is_empty(rukpakctl: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = rukpakctl("catalog", "validate", tmp_path / "empty")
    assert (ran.status, ran.out) == (0, f"{tmp_path}/empty (catalog): valid (0 packages, 0 bundles)\n")


def test_many_findings_are_counted_by_rule(rukpakctl: CommandLine, write_catalog: WriteCatalog) -> None:
    few, many = (
        write_catalog(sample(*(f"v{n} replaces v{n - 1}" for n in range(1, number))), str(number))
        for number in (19, 20)
    )
    assert " x " not in rukpakctl("catalog", "lint", few).out
    ran = rukpakctl("catalog", "lint", many)
    assert ran.out.splitlines()[-4:-1] == [
        "19 x FBC-W21  Images are pinned by their digests",
        " 1 x FBC-W10  A package has a description",
        " 1 x FBC-W11  A package has an icon",
    ]
    ran = rukpakctl("catalog", "lint", few, many)
    assert "37 x FBC-W21  " in ran.out
    assert ran.out.splitlines()[-1].startswith("2 catalogs valid")


def test_several_catalogs_have_a_summary_and_the_worst_status(
    rukpakctl: CommandLine, valid: Path, broken: Path
) -> None:
    ran = rukpakctl("catalog", "validate", valid, broken)
    assert (ran.status, ran.out.splitlines()[-1]) == (1, "1 of 2 catalogs refused: 2 errors, 0 warnings")
    ran = rukpakctl("catalog", "validate", valid, broken, valid.parent / "missing")
    assert ran.status == 3
    assert f"{valid.parent}/missing: cannot be read\n  there is no such file or directory\n" in ran.out


@pytest.mark.parametrize("command", ["validate", "lint"])
def test_json(rukpakctl: CommandLine, valid: Path, broken: Path, command: str) -> None:
    ran = rukpakctl("catalog", command, valid, broken, valid.parent / "missing", "-o", "json")
    document = json.loads(ran.out)
    assert ran.status == 3
    assert [(one["path"], one["valid"], one["errors"]) for one in document["catalogs"]] == [
        (str(valid), True, 0),
        (str(broken), False, 2),
        (f"{valid.parent}/missing", False, 0),
    ]
    assert document["catalogs"][2]["failure"] == "there is no such file or directory"
    finding = next(one for one in document["catalogs"][1]["findings"] if one["rule"] == "FBC-C14")
    assert (finding["file"], finding["line"], finding["path"]) == ("catalog.json", 3, "image")
    assert finding["hint"]


def test_sarif_describes_the_rules_of_its_results(rukpakctl: CommandLine, broken: Path) -> None:
    ran = rukpakctl("catalog", "validate", broken, "-o", "sarif")
    (run,) = json.loads(ran.out)["runs"]
    described = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} == {"FBC-M06", "FBC-C14"} <= described
    (location,) = run["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"].endswith("broken/catalog.json")


def test_workflow_commands(rukpakctl: CommandLine, broken: Path) -> None:
    ran = rukpakctl("catalog", "validate", broken, "-o", "github")
    assert ran.status == 1
    assert [line.partition("file=")[0] for line in ran.out.splitlines()] == ["::error ", "::error "]
    assert "catalog.json,line=3,col=71,title=FBC-C14::" in ran.out


@pytest.fixture
def doubtful(write_catalog: WriteCatalog) -> Path:
    return write_catalog([package(), channel("a", entry("v1", skipRange=">=2.0.0")), bundle("v1")], "doubtful")


def test_warnings_refuse_nothing_unless_they_are_errors(rukpakctl: CommandLine, doubtful: Path) -> None:
    assert rukpakctl("catalog", "validate", doubtful).out == f"{doubtful} (catalog): valid (1 package, 1 bundle)\n"
    ran = rukpakctl("catalog", "lint", doubtful)
    assert (ran.status, "  warning  FBC-W" in ran.out) == (0, True)
    strict = rukpakctl("catalog", "lint", "--strict", doubtful)
    assert (strict.status, "  warning  " in strict.out) == (1, False)


def test_ignored_rules_are_left_out(rukpakctl: CommandLine, doubtful: Path) -> None:
    found = json.loads(rukpakctl("catalog", "lint", doubtful, "-o", "json").out)["catalogs"][0]["findings"]
    rules = sorted({one["rule"] for one in found})
    ignoring = [argument for rule in rules for argument in ("--ignore", rule)]
    ran = rukpakctl("catalog", "lint", "--strict", doubtful, *ignoring)
    assert (ran.status, ran.out) == (0, f"{doubtful} (catalog): valid (1 package, 1 bundle)\n")


def test_unknown_rule_is_wrong_usage(rukpakctl: CommandLine, valid: Path) -> None:
    ran = rukpakctl("catalog", "lint", valid, "--ignore", "FBC-W9")
    assert (ran.status, ran.out) == (2, "")
    assert "--ignore 'FBC-W9': there is no such rule; did you mean FBC-W" in ran.err


@pytest.mark.parametrize("options", [(), ("--no-cache",), ("--jobs", "1"), ("--jobs", "3")])
def test_options_of_reading_change_no_result(rukpakctl: CommandLine, broken: Path, options: tuple[str, ...]) -> None:
    expected = rukpakctl("catalog", "lint", broken)
    assert rukpakctl("catalog", "lint", broken, *options) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate",),
        ("validate", "x", "-o", "yaml"),
        ("validate", "x", "--jobs", "0"),
        ("lint",),
        ("list", "packages"),
        ("list", "nothing", "x"),
        ("query", "path", "p", "--catalog", "x"),
        ("query", "newest", "p"),
        ("filter", "x"),
        ("filter", "x", "--package", "p", "--channel", "p"),
        ("filter", "x", "--package", "p", "--channel", "q/a"),
        ("filter", "x", "--package", "p", "--versions", "1.0.0"),
        ("render",),
        ("diff", "x"),
        ("graph", "x", "-o", "png"),
        ("init",),
        ("init", ""),
        ("fmt",),
        ("generate", "dockerfile"),
        ("nothing",),
    ],
    ids=" ".join,
)
def test_wrong_usage(rukpakctl: CommandLine, arguments: tuple[str, ...]) -> None:
    ran = rukpakctl("catalog", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("Usage: rukpakctl catalog")
