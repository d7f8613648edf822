"""Findings that are selected and ignored, as one line each, and a rule that is explained."""

import json

import pytest

from rukpak_py.cli.linting.chosen_rules import ChosenRules
from rukpak_py.core.findings import Finding, Severity
from tests.unit.cli.running import SAMPLES, CommandLine

BROKEN = str(SAMPLES / "greeter-broken")
FILE = "manifests/greeter.clusterserviceversion.yaml"


def finding(rule: str, file: str = "manifests/a.yaml") -> Finding:
    return Finding(rule=rule, severity=Severity.ERROR, message="m", file=file)


FOUND = [finding("RV1-001"), finding("RV1-101"), finding("OBJ-001", "metadata/b.yaml")]


@pytest.mark.parametrize(
    ("selected", "ignored", "kept"),
    [
        ((), (), ["RV1-001", "RV1-101", "OBJ-001"]),
        (("RV1",), (), ["RV1-001", "RV1-101"]),
        (("rv1-1", "OBJ"), (), ["RV1-101", "OBJ-001"]),
        ((), ("RV1-0",), ["RV1-101", "OBJ-001"]),
        ((), ("metadata/*",), ["RV1-001", "RV1-101"]),
        ((), ("RV1:metadata/*",), ["RV1-001", "RV1-101", "OBJ-001"]),
        ((), ("RV1:manifests/*",), ["OBJ-001"]),
        (("RV1",), ("RV1-1",), ["RV1-001"]),
    ],
)
def test_rules_are_chosen_by_prefix_and_file(
    selected: tuple[str, ...], ignored: tuple[str, ...], kept: list[str]
) -> None:
    assert [one.rule for one in ChosenRules(selected=selected, ignored=ignored).of(FOUND)] == kept


@pytest.mark.parametrize(
    ("entry", "kept"), [("RV1-970", ["OBJ-014"]), ("rv1-970", ["OBJ-014"]), ("RV1-97", ["OBJ-013", "OBJ-014"])]
)
def test_former_id_names_the_rule_that_took_its_place(entry: str, kept: list[str]) -> None:
    """The beginning of a former id does not."""
    chosen = ChosenRules(ignored=(entry,))
    assert [one.rule for one in chosen.of([finding("OBJ-013"), finding("OBJ-014")])] == kept
    assert ChosenRules(ignored=("RV1-970",)).wrong(["OBJ-013"]) == ""


def test_entry_that_no_rule_begins_with_is_wrong_usage(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("bundle", "validate", BROKEN, "--ignore", "RV1-21x")
    assert (ran.status, "there is no rule RV1-21X; did you mean RV1-" in ran.err) == (2, True)


def test_ignored_errors_do_not_count(rukpakctl: CommandLine) -> None:
    assert rukpakctl("bundle", "validate", BROKEN).status == 1
    ran = rukpakctl("bundle", "validate", BROKEN, "--ignore", "RV1-0", "--ignore", "RV1-903")
    assert (ran.status, "1 warning" in ran.out) == (0, True)


def test_exit_zero_tells_errors_and_succeeds(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("bundle", "validate", BROKEN, "--exit-zero", "-o", "concise", "--select", "RV1-903")
    assert ran.status == 0
    (line,) = ran.out.splitlines()
    assert line.endswith(f"greeter-broken/{FILE}:80:32: error RV1-903 {line.partition('RV1-903 ')[2]}")
    assert "must be a string, got number 8080" in line


@pytest.mark.parametrize(("name", "found"), [("RV1-210", "RV1-210"), ("rv1-208", "RV1-006"), ("OBJ-011", "OBJ-011")])
def test_rule_is_explained_also_by_its_former_id(rukpakctl: CommandLine, name: str, found: str) -> None:
    ran = rukpakctl("bundle", "rule", name)
    assert (ran.status, ran.out.split()[0], "fix: " in ran.out) == (0, found, True)


def test_rule_is_explained_with_its_severities_profile_and_origin(rukpakctl: CommandLine) -> None:
    lines = rukpakctl("bundle", "rule", "RV1-210").out.splitlines()
    assert (lines[0], lines[-1]) == (
        "RV1-210  warning, error with --profile opm",
        "  origin: operator-framework/api",
    )
    assert rukpakctl("bundle", "rule", "RV1-001").out.startswith("RV1-001  error, warning with --profile opm\n")
    assert rukpakctl("bundle", "rule", "RV1-620").out.startswith("RV1-620  error, asked for by --profile community\n")
    assert rukpakctl("bundle", "rule", "RV1-610").out.startswith("RV1-610  warning or error, asked for by --profile op")
    assert rukpakctl("bundle", "rule", "RV1-923").out.startswith("RV1-923  warning or error\n")
    assert rukpakctl("bundle", "rule", "rv1-709").out.endswith("\n  former ids: RV1-709\n")
    document = json.loads(rukpakctl("bundle", "rule", "RV1-023", "-o", "json").out)
    assert (document["profile"], document["severities"]) == ("olmv1", {"default": "error"})


def test_beginning_of_several_rules_names_them(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("bundle", "rule", "rv1-02")
    assert (ran.status, ran.err) == (
        3,
        "Error: several rules begin with rv1-02: RV1-021, RV1-022, RV1-023, RV1-024, RV1-025\n",
    )


def test_rule_that_does_not_exist_comes_with_a_suggestion(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("bundle", "rule", "RV1-21x")
    assert (ran.status, "did you mean RV1-" in ran.err) == (3, True)
