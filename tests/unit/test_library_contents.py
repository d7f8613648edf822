"""Content that the library takes: paths, files in memory, and images of registries only when it is asked to."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import rukpak_py
from rukpak_py.sources.local import open_tree
from tests.unit.bundles import bundle, manifest
from tests.unit.cli.running import CommandLine
from tests.unit.rendering import only

SAMPLES = Path(__file__).resolve().parents[2] / "docs/samples"
V1 = SAMPLES / "greeter-v1"
FUNCTIONS: list[Callable[..., Any]] = [
    rukpak_py.render,
    rukpak_py.rendering,
    rukpak_py.validate,
    rukpak_py.permissions,
    rukpak_py.inspect,
]
IMAGE = "localhost:1/team/bundle"  # nothing listens on this port


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("image", [IMAGE, f"docker://{IMAGE}", f"oci://{IMAGE}:v1"])
def test_registry_is_read_only_when_asked(function: Callable[..., Any], image: str) -> None:
    with pytest.raises(rukpak_py.ContentError, match="an image of a registry is pulled with registries=True only"):
        function(image)
    with pytest.raises(rukpak_py.UnavailableError, match="cannot be pulled: "):
        function(image, registries=True)


def test_files_in_memory_are_a_bundle() -> None:
    files = files_of(V1)
    assert rukpak_py.render(files) == rukpak_py.render(V1)
    assert rukpak_py.validate(files) == []
    broken = files_of(SAMPLES / "greeter-broken")
    assert rukpak_py.validate(broken) == rukpak_py.validate(SAMPLES / "greeter-broken") != []


def test_a_tree_is_a_bundle() -> None:
    assert rukpak_py.render(open_tree(V1)) == rukpak_py.render(V1)


@pytest.mark.parametrize(
    ("files", "error", "text"),
    [
        ({}, rukpak_py.ContentError, "there are no files"),
        ({"../manifests/a.yaml": b""}, rukpak_py.ContentError, 'contains ".."'),
        ({"/manifests/a.yaml": b""}, rukpak_py.ContentError, "is absolute"),
        ({"manifests/a.yaml": "kind: Pod"}, TypeError, "to content .bytes., got 'manifests/a.yaml': str"),
        ({Path("manifests/a.yaml"): b""}, TypeError, "must map paths .str. to content"),
    ],
    ids=str,
)
def test_mappings_that_are_no_files(files: Mapping[Any, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        rukpak_py.render(files)


def test_files_in_memory_are_bounded_too() -> None:
    with pytest.raises(rukpak_py.ContentError, match=r"the size of file 'manifests/a\.yaml'"):
        rukpak_py.validate({"manifests/a.yaml": b"12345"}, limits=rukpak_py.Limits(file_bytes=4))


def test_a_rendering_names_the_fields_that_it_leaves_out() -> None:
    tree = bundle(others=[manifest("ConfigMap", "c", dta={})])
    made = rukpak_py.rendering(tree)
    (sentence,) = (one for one in made.left_out if one.endswith("unknown field dta [RV1-960]"))
    assert sentence.startswith("manifests/")
    assert "dta" not in only(made.objects, "ConfigMap")
    assert made.objects == rukpak_py.render(tree)
    assert rukpak_py.rendering(tree, parity=True).left_out == []


def test_unknown_keyword_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        rukpak_py.render(V1, nonsense=1)  # type: ignore[call-arg]  # that is the point
    with pytest.raises(TypeError, match="unexpected keyword argument 'parity'"):
        rukpak_py.inspect(V1, parity=True)  # type: ignore[call-arg]  # the same


@pytest.mark.parametrize("sample", ["greeter-v2", "greeter-broken", "notes"])
def test_inspect_gives_the_data_of_the_command(sample: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / sample)
    found = rukpak_py.inspect(path)
    assert found == json.loads(CommandLine(capsys)("bundle", "inspect", path, "-o", "json").out)
    assert rukpak_py.inspect(files_of(SAMPLES / sample)) == found


def test_permissions_give_the_data_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / "greeter-v2")
    options = ("--install-namespace", "here", "--watch-namespace", "team-a", "--escalate", "-o", "json")
    printed = json.loads(CommandLine(capsys)("bundle", "permissions", path, *options).out)
    found = rukpak_py.permissions(path, install_namespace="here", watch_namespaces=["team-a"], escalate=True)
    assert found == printed
    assert found != rukpak_py.permissions(path, install_namespace="here", watch_namespaces=["team-a"])


def test_values_are_for_charts() -> None:
    with pytest.raises(rukpak_py.ContentError, match="are for charts"):
        rukpak_py.inspect(V1, values={"a": 1})
