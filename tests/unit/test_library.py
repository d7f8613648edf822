"""The engine as a library: its functions, the errors they raise, and what importing them costs."""

import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rukpak_py
from rukpak_py import library
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.format import RenderOptions

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "docs/samples"


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | environment,
    )
    return done.stdout.strip()


def test_the_example_of_the_documentation_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testmod(library)
    assert (failed, tried) == (0, 3)


def test_the_examples_of_the_page_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/library.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```pycon\n(.*?)```", page, re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(code, {}, "docs/library.md", None, 0)
    assert {name for name in rukpak_py.__all__ if name[0].islower()} == set(re.findall(r"rukpak_py\.([a-z]+)\(", code))
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_importing_the_package_is_free() -> None:
    code = "import sys; before = set(sys.modules); import rukpak_py; print(sorted(set(sys.modules) - before))"
    assert run_python(code) == "['rukpak_py']"


def test_the_library_imports_nothing_of_the_operator() -> None:
    code = (
        "import sys, rukpak_py; path = 'docs/samples/greeter-v1'; rukpak_py.validate(path); rukpak_py.render(path)"
        "\nprint({'asyncio', 'kopf', 'kubernetes', 'aiohttp', 'click'} & set(sys.modules))"
    )
    assert run_python(code) == "set()"


def test_public_names() -> None:
    assert {*rukpak_py.__all__, "__version__"} <= set(dir(rukpak_py))
    for name in rukpak_py.__all__:
        assert getattr(rukpak_py, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rukpak_py.nonsense  # type: ignore[attr-defined]  # that is the point


def test_rendering_is_the_same_in_every_process() -> None:
    code = "import json, rukpak_py; print(json.dumps(rukpak_py.render('docs/samples/greeter-v2')))"
    first, second = (run_python(code, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second
    assert json.loads(first) == rukpak_py.render(SAMPLES / "greeter-v2")


def test_options_reach_the_renderer() -> None:
    rendered = rukpak_py.render(
        SAMPLES / "greeter-v1",
        install_namespace="here",
        watch_namespaces=["there"],
        deployment_config={"nodeSelector": {"disk": "fast"}},
    )
    (deployment,) = (one for one in rendered if one["kind"] == "Deployment")
    pod = deployment["spec"]["template"]
    assert deployment["metadata"]["namespace"] == "here"
    assert pod["metadata"]["annotations"]["olm.targetNamespaces"] == "there"
    assert pod["spec"]["nodeSelector"] == {"disk": "fast"}


def test_plain_bundles() -> None:
    assert [one["kind"] for one in rukpak_py.render(SAMPLES / "notes")] == ["Namespace", "ConfigMap"]
    assert rukpak_py.validate(SAMPLES / "notes", format="plain") == []


def test_findings_of_a_broken_bundle() -> None:
    findings = rukpak_py.validate(SAMPLES / "greeter-broken")
    assert {"RV1-002", "RV1-004", "RV1-903"} <= {finding.rule for finding in findings}
    assert all(finding.file and finding.line and finding.hint for finding in findings)
    with pytest.raises(rukpak_py.InvalidBundleError) as refused:
        rukpak_py.render(SAMPLES / "greeter-broken")
    assert all(finding.severity is rukpak_py.Severity.ERROR for finding in refused.value.findings)


def test_path_without_a_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match="there is no such file or directory"):
        rukpak_py.validate(tmp_path / "absent")
    with pytest.raises(ContentError, match=r"Chart\.yaml file is missing"):
        rukpak_py.render(SAMPLES / "notes", format="helm")


@pytest.mark.parametrize("option", ["format", "certificates"])
def test_mistakes_of_the_caller_are_value_errors(option: str) -> None:
    with pytest.raises(ValueError, match=rf"{option} must be one of .*, got 'nonsense'"):
        rukpak_py.render(SAMPLES / "notes", **{option: "nonsense"})  # type: ignore[arg-type]  # any text, on purpose
    with pytest.raises(ValueError, match=r"profile must be one of .*, got 'nonsense'"):
        rukpak_py.validate(SAMPLES / "notes", profiles=["nonsense"])  # type: ignore[list-item]  # that is the point


def test_an_empty_path_is_not_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES / "greeter-v1")
    with pytest.raises(ContentError, match="the path of the bundle is empty"):
        rukpak_py.validate("")


def test_a_configuration_chooses_what_is_watched() -> None:
    opened = library.open_bundle(SAMPLES / "greeter-v1")
    options = RenderOptions()
    found = opened.configured(options, b"watchNamespace: there\ndeploymentConfig: {nodeSelector: {disk: fast}}")
    assert found.watch_namespaces == ("there",)
    with pytest.raises(ContentError, match="the configuration watches there, the option here"):
        opened.configured(RenderOptions(watch_namespaces=("here",)), b"watchNamespace: there")
    with pytest.raises(ContentError, match='unknown field "nonsense"'):
        opened.configured(options, b"nonsense: 1")
    with pytest.raises(ContentError, match=r"^invalid configuration: yaml: line 2, column 1: "):
        opened.configured(options, b"a: [")
    with pytest.raises(ContentError, match="only bundles of format registry"):
        library.open_bundle(SAMPLES / "notes").configured(options, b"{}")


def test_the_objects_are_the_callers() -> None:
    made = rukpak_py.render(SAMPLES / "greeter-v1", watch_namespaces=["team-a"])
    again = json.dumps(made)
    texts: list[object] = [made]
    seen: set[int] = set()
    while texts:  # nothing is there twice, so nothing changes in two places
        value = texts.pop()
        if isinstance(value, dict | list):
            assert id(value) not in seen
            seen.add(id(value))
            texts += value.values() if isinstance(value, dict) else value
    made[0]["metadata"]["name"] = "changed"
    assert json.dumps(rukpak_py.render(SAMPLES / "greeter-v1", watch_namespaces=["team-a"])) == again


def test_a_text_is_no_list_of_texts() -> None:
    with pytest.raises(TypeError, match="watch_namespaces must be a list of strings, got the string 'team-a'"):
        rukpak_py.render(SAMPLES / "greeter-v1", watch_namespaces="team-a")
    with pytest.raises(TypeError, match="profiles must be a list"):
        rukpak_py.validate(SAMPLES / "greeter-v1", profiles="strict")  # type: ignore[arg-type]  # that is the point


def test_type_checkers_know_what_there_is(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import rukpak_py\n"
        "objects: list[dict[str, object]] = rukpak_py.render('b', certificates='cert-manager')\n"
        "lines: list[int] = [found.line for found in rukpak_py.validate('b', profiles=['strict'])]\n"
        "rukpak_py.render('b', certificates='nope')\n"
        "rukpak_py.validate('b', format='zip')\n"
        "rukpak_py.nonsense\n"
        "hooks: list[dict[str, object]] = rukpak_py.rendering({'manifests/a.yaml': b''}, parity=True).hooks\n"
        "rukpak_py.rendering('b', paritty=True)\n"
    )
    checked = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--cache-dir",
            tmp_path / "cache",
            "--follow-imports=silent",
            script,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert [line.split(":")[1] for line in checked.stdout.splitlines() if ": error: " in line] == [
        "4",
        "5",
        "6",
        "8",
    ]
