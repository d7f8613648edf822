"""The commands for catalogs as users type them, beside the runs of `opm`: what each accepts and refuses, and prints."""

import base64
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.cli import main
from rukpak_py.content import yaml
from tests.corpus.catalogs import CATALOGS, REAL, SYNTHETIC, golden_cases
from tests.corpus.test_catalog_validity import copied

TEMPLATES = CATALOGS / "templates"
OTHER_TEXT = {"s167-numbers": "integers stay exact, and -0 is 0"}
Ran = tuple[int, str]

pytestmark = pytest.mark.skipif(not CATALOGS.exists(), reason=f"the corpus of catalogs is not at {CATALOGS}")


@pytest.fixture
def run(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Ran]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*arguments: str | Path) -> Ran:
        status = main.run(["rukpakctl", "catalog", *map(str, arguments)])
        return status, capsysbinary.readouterr().out.decode()

    return call


def our_arguments(args: list[str], directory: Path) -> list[str | Path] | None:
    """The command line of ours that asks the same; None where there is none."""
    match args:
        case ["validate", _]:
            return ["validate", directory]
        case ["render", _, *options] if set(options) <= {"-o", "json", "yaml", "--migrate"}:
            return ["render", directory, *options]
        case ["alpha", "list", what, _, *package]:
            return ["list", what, directory, *package]
        case ["alpha", "render-graph", _, *options] if set(options) <= {"--draw-v0-semantics"}:
            return ["graph", directory]
        case _:
            return None


def cases() -> Iterator[Any]:
    for case in golden_cases():
        if case["name"] != "real" and not case["name"].startswith("s004"):
            yield pytest.param(case, id=case["name"])


@pytest.mark.parametrize("case", list(cases()))
def test_commands_answer_as_opm_does(case: dict[str, Any], run: Callable[..., Ran], tmp_path: Path) -> None:
    name = case["name"]
    directory = REAL / name if (REAL / name).exists() else copied(name, tmp_path)
    assert directory.exists() or (SYNTHETIC / name).exists()
    for golden in case["runs"]:
        args = golden["args"]
        arguments = our_arguments(args, directory)
        if arguments is None:
            continue
        status, out = run(*arguments)
        shown = " ".join(args)
        if args[0] == "render" and "yaml" in args and golden["exit"] and not status:
            continue  # the reference prints no YAML with control characters
        # A picture is to show why a catalog is not valid: more catalogs have one.
        assert (status == 0) == (golden["exit"] == 0) or (arguments[0] == "graph" and not status), shown
        if args[0] == "render" and not status and name not in OTHER_TEXT:
            if "yaml" in args:
                assert yaml.load_all(out.encode()) == yaml.load_all(golden["stdout"].encode()), shown
            else:
                assert out == golden["stdout"], shown


def runs(file: str, *command: str) -> Iterator[Any]:
    goldens = CATALOGS / "goldens" / file
    for one in json.loads(goldens.read_text()) if goldens.exists() else []:
        if tuple(one["args"][: len(command)]) == command:
            yield pytest.param(one, id=" ".join(one["args"]))


def set_up(golden: dict[str, Any], root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in golden.get("setup", {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else base64.b64decode(content["base64"]))
    directory = root / golden.get("cwd", ".")
    directory.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(directory)


@pytest.mark.parametrize("golden", list(runs("cli.json", "init")))
def test_new_packages(
    golden: dict[str, Any], run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(golden, tmp_path, monkeypatch)
    status, out = run(*golden["args"])
    if golden["args"][1:] == [""]:
        assert status == 2  # a package without a name is of no use
        return
    assert (status == 0) == (golden["exit"] == 0)
    if not status and "yaml" not in golden["args"] and "\\ufffd" not in golden["stdout"]:
        assert out == golden["stdout"]


@pytest.mark.parametrize("golden", list(runs("cli.json", "generate", "dockerfile")))
def test_dockerfiles(
    golden: dict[str, Any], run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "--binary-image" in golden["args"] or golden["args"][2:] in ([""], ["."]):
        pytest.skip("an option that upstream has deprecated, or a directory without a name of its own")
    (tmp_path / "w").mkdir()
    set_up(golden, tmp_path / "w", monkeypatch)
    status, _ = run(*golden["args"])
    assert (status == 0) == (golden["exit"] == 0)
    if not status:
        (made,) = tmp_path.rglob("*.Dockerfile")
        assert made.read_text() == next(iter(golden["created"].values()))


@pytest.mark.parametrize("golden", list(runs("templates.json", "alpha", "render-template")))
def test_templates_of_directories(
    golden: dict[str, Any], run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = golden["args"]
    path = next((word for word in words if word.endswith(".yaml")), "")
    if not Path(path).stem.startswith("basic-") or {"mermaid", "xml", "zz", "semver", "substitutes", "nope"} & {*words}:
        pytest.skip("a template or an option that is not supported")
    directories = json.loads((TEMPLATES / "images.json").read_text())
    text = (TEMPLATES / path).read_text()
    for image, found in sorted(directories.items(), key=lambda item: -len(item[0])):
        text = text.replace(image, str(TEMPLATES / found["dir"]))
    (tmp_path / "template.yaml").write_text(text)
    monkeypatch.chdir(os.fspath(tmp_path))
    options = ["--migrate"] if "--migrate-level" in words else []
    status, out = run("template", "basic", "template.yaml", "--allow-directories", *options)
    if Path(path).stem in {"basic-nolabels", "basic-otherlabels"}:
        return  # a directory has no labels
    assert (status == 0) == (golden["exit"] == 0)
    if not status:
        expected = yaml.load_all(golden["stdout"].encode())
        assert [(one["schema"], one.get("name")) for one in yaml.load_all(out.encode())] == [
            (one["schema"], one.get("name")) for one in expected
        ]
