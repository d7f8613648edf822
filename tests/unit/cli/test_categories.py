"""Categories of a catalog from a file: where it is looked for, and what a bundle is told."""

from pathlib import Path

import pytest

from rukpak_py.cli.linting.categories import VARIABLE
from tests.unit.bundles import bundle, csv_document
from tests.unit.cli.running import CommandLine

HUB = ("-o", "concise", "--profile", "operatorhub", "--select", "RV1-605")


@pytest.fixture
def operators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One bundle, of the categories Storage and Games."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    for name, content in bundle(csv=csv_document(annotations={"categories": "Storage, Games"})).items():
        (tmp_path / "operators/one" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "operators/one" / name).write_bytes(content)
    for name in ("games", "storage"):
        (tmp_path / "ci").mkdir(exist_ok=True)
        (tmp_path / f"ci/{name}.json").write_text(f'{{"categories": ["{name.title()}"], "other": [1]}}')
    return tmp_path


def told(rukpakctl: CommandLine, *arguments: str) -> list[str]:
    ran = rukpakctl("bundle", "validate", "operators/one", *HUB, *arguments)
    assert ran.err == ""
    return [line.partition("RV1-605 ")[2] for line in ran.out.splitlines()]


def test_categories_of_operatorhub_are_the_default(rukpakctl: CommandLine, operators: Path) -> None:
    assert told(rukpakctl) == ["'Games' is not a category of OperatorHub.io"]


def test_file_takes_their_place(rukpakctl: CommandLine, operators: Path) -> None:
    assert told(rukpakctl, "--categories", "ci/games.json") == ["'Storage' is not a category of the catalog"]
    advice = rukpakctl("bundle", "validate", "operators/one", *HUB[2:], "--categories", "ci/games.json").out
    assert "hint: Write some of these, separated by commas: Games." in advice


def test_setting_is_relative_to_its_file(rukpakctl: CommandLine, operators: Path) -> None:
    (operators / "operators/.rukpakctl.yaml").write_text("validate: {categories: ../ci/storage.json}")
    assert told(rukpakctl) == ["'Games' is not a category of the catalog"]


def test_option_wins_over_the_setting_and_the_setting_over_the_variable(
    rukpakctl: CommandLine, operators: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "ci/games.json")
    assert told(rukpakctl) == ["'Storage' is not a category of the catalog"]
    (operators / "operators/.rukpakctl.yaml").write_text("validate: {categories: ../ci/storage.json}")
    assert told(rukpakctl) == ["'Games' is not a category of the catalog"]
    assert told(rukpakctl, "--categories", "ci/games.json") == ["'Storage' is not a category of the catalog"]


def test_each_bundle_has_the_categories_of_its_settings(rukpakctl: CommandLine, operators: Path) -> None:
    (operators / "operators/one").rename(operators / "operators/two")
    for name, categories in (("one", "games"), ("two", "storage")):
        (operators / "operators" / name).mkdir(exist_ok=True)
        settings = f"validate: {{categories: ../../ci/{categories}.json}}"
        (operators / "operators" / name / ".rukpakctl.yaml").write_text(settings)
    for name, content in bundle(csv=csv_document(annotations={"categories": "Games"})).items():
        (operators / "operators/one" / name).parent.mkdir(parents=True, exist_ok=True)
        (operators / "operators/one" / name).write_bytes(content)
    ran = rukpakctl("bundle", "validate", "-r", "operators", *HUB)
    (line,) = ran.out.splitlines()
    assert line.startswith("operators/two/")
    assert line.endswith("'Games' is not a category of the catalog")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "ci/own.json: there is no such file (--categories)"),
        ("[Games]", "ci/own.json: it must be a mapping with a list of names: categories: [Databases, Storage]"),
        ("{}", "it must be a mapping with a list of names"),
        ("categories: []", "it must be a mapping with a list of names"),
        ("categories: Games", "it must be a mapping with a list of names"),
        ("categories: [1]", "it must be a mapping with a list of names"),
        ('{"categories": [', "ci/own.json: yaml: line "),
    ],
)
def test_wrong_files_are_refused(rukpakctl: CommandLine, operators: Path, content: str | None, said: str) -> None:
    if content is not None:
        (operators / "ci/own.json").write_text(content)
    ran = rukpakctl("bundle", "validate", "operators/one", *HUB, "--categories", "ci/own.json")
    assert (ran.status, ran.out) == (3, "")
    assert said in ran.err


def test_file_has_a_limit(rukpakctl: CommandLine, operators: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (operators / "ci/own.json").write_text(f"categories: [Games]  # {'x' * 20_000}")
    monkeypatch.setenv("RUKPAK_LIMIT_YAML_BYTES", "10000")
    ran = rukpakctl("bundle", "validate", "operators/one", *HUB, "--categories", "ci/own.json")
    assert ran.status == 3
    assert "RUKPAK_LIMIT_YAML_BYTES" in ran.err


def test_option_without_the_profile_is_told_to_have_no_effect(rukpakctl: CommandLine, operators: Path) -> None:
    ran = rukpakctl("bundle", "validate", "operators/one", "--categories", "ci/games.json", "--select", "RV1-605")
    assert ran.status == 0
    assert ran.err == "Warning: --categories has an effect with --profile operatorhub only\n"
