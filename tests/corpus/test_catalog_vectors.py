"""Texts of `opm validate` for images, versions, ranges and names, and what `.indexignore` files leave out."""

import json
from typing import Any

import pytest

from rukpak_py.catalog.indexignore import INDEX_IGNORE, ignored
from rukpak_py.core.findings import Finding
from tests.corpus.place import CORPUS, needs_corpus
from tests.unit.catalog.samples import (
    IMAGE,
    bundle,
    channel,
    errors,
    findings_of,
    one_bundle,
    package,
    package_property,
)

CATALOGS = CORPUS / "catalogs"
pytestmark = needs_corpus

# `opm` takes an entry without a bundle for an empty bundle, unless its channel is the last one.
OTHER_CAUSE = {"s064-c18-earlier-channel", "s065-c18-earlier-channel-two-entries"}


def goldens(*names: str) -> list[Any]:
    found = []
    for name in names:
        path = CATALOGS / "goldens" / f"{name}.json"
        cases: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
        found += [pytest.param(one, id=one["name"]) for one in cases]
    return found


def errors_of(directory: str) -> list[Finding]:
    root = CATALOGS / directory
    files = {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    patterns = {path: data.decode() for path, data in files.items() if path.rpartition("/")[2] == INDEX_IGNORE}
    left_out = ignored(files, patterns)
    found = findings_of({path: data for path, data in files.items() if path not in left_out})
    return [finding for finding in found if finding.is_error]


def message_of(case: dict[str, Any]) -> str:
    (run,) = [one for one in case["runs"] if one["args"][0] == "validate" and "json" in one["args"]]
    return str(json.loads(run["stdout"]).get("error", {}).get("message", "")) if run["stdout"] else ""


@pytest.mark.parametrize("case", goldens("synthetic-conversion", "synthetic-deprecations", "synthetic-model"))
def test_messages_have_the_texts_of_opm(case: dict[str, Any]) -> None:
    if case["name"] in OTHER_CAUSE or (case["rule"] == "C11" and "without-value" not in case["name"]):
        pytest.skip("told in our own words")
    leaves = [line.lstrip("│├└─ ") for line in message_of(case).split("\n")]
    messages = [line for finding in errors_of(f"synthetic/{case['name']}") for line in finding.message.split("\n")]
    for leaf in leaves:
        is_told = any(message.startswith(leaf) or message.endswith(f"(opm: {leaf})") for message in messages)
        assert not leaf or leaf.endswith(":") or is_told, leaf


def vectors(kind: str) -> list[Any]:
    path = CATALOGS / "goldens" / "vectors.json"
    found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return [pytest.param(one, id=repr(one["value"])[:60]) for one in found if one["kind"] == kind]


@pytest.mark.parametrize("vector", vectors("image"))
def test_image(vector: dict[str, Any]) -> None:
    found = errors(one_bundle(image=vector["value"], name="p.v1.0.0"))
    assert [finding.message for finding in found] == ([vector["error"]] if vector["error"] else [])


@pytest.mark.parametrize("vector", vectors("version"))
def test_version(vector: dict[str, Any]) -> None:
    found = errors(one_bundle(properties=[package_property(vector["value"])]))
    assert [finding.message for finding in found] == ([vector["error"]] if vector["error"] else [])


@pytest.mark.parametrize("vector", vectors("release"))
def test_release(vector: dict[str, Any]) -> None:
    name = f"p-v1.0.0-{vector['value']}" if vector["value"] else "p.v1.0.0"
    found = errors(one_bundle(name=name, properties=[package_property(release=vector["value"])]))
    assert [finding.message for finding in found] == ([vector["error"]] if vector["error"] else [])


@pytest.mark.parametrize("vector", vectors("skipRange"))
def test_skip_range(vector: dict[str, Any]) -> None:
    blobs = [package(), channel("a", {"name": "p.v1.0.0", "skipRange": vector["value"]}), bundle("v1", image=IMAGE)]
    found = [finding.message for finding in errors(blobs)]
    if vector["value"] == "1.0.0 || || 2.0.0":  # accepted, and crashes other commands of `opm`
        assert len(found) == 1
    elif vector["error"]:
        (message,) = found
        assert message.startswith(vector["error"].partition('"p.v1.0.0":\n            └── ')[2])
    else:
        assert found == []


@pytest.mark.parametrize("vector", vectors("packageName"))
def test_package_name(vector: dict[str, Any]) -> None:
    name = vector["value"]
    blobs = [package(name=name), channel("a", "v1", package=name), bundle("v1", package=name)]
    blobs[2]["properties"] = [package_property(packageName=name)]
    assert [finding.message for finding in errors(blobs)] == ([vector["error"]] if vector["error"] else [])


def test_index_ignore_leaves_out_the_same_files() -> None:
    golden = json.loads((CATALOGS / "goldens" / "indexignore.json").read_text())
    tree = golden["tree"]
    wrong = [case for case in golden["cases"] if ignored(tree, case["patterns"]) != frozenset(case["ignored"])]
    assert wrong == []
