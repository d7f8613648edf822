from typing import Any

import pytest

from rukpak_py.content import yaml
from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.registry_v1.bundle import BundleMetadata
from rukpak_py.formats.registry_v1.metadata.annotations import (
    catalog_annotations,
    catalog_annotations_file,
    decode_metadata,
)

NAMES = "operators.operatorframework.io.bundle."


def decoded(text: str) -> tuple[BundleMetadata, list[tuple[Path, str]]]:
    metadata, defects = decode_metadata(yaml.load(text.replace("~.", NAMES).encode()))
    return metadata, [(defect.path, defect.text) for defect in defects]


def test_package_and_channels_are_read() -> None:
    text = "annotations: {~.package.v1: foo, ~.channels.v1: 'a,b', ~.channel.default.v1: a, other: [1]}"
    metadata, defects = decoded(text)
    assert defects == []
    assert (metadata.package, metadata.channels, metadata.default_channel) == ("foo", "a,b", "a")


@pytest.mark.parametrize("text", ["", "x: 1", "annotations:", "annotations: {~.package.v1: }"])
def test_absent_or_null_annotation_is_empty(text: str) -> None:
    metadata, defects = decoded(text)
    assert (metadata.package, defects) == ("", [])


@pytest.mark.parametrize(("value", "package"), [("true", "true"), ("yes", "true"), ("4.80", "4.8"), ("-7", "-7")])
def test_scalars_become_texts(value: str, package: str) -> None:
    assert decoded(f"annotations: {{~.package.v1: {value}}}")[0].package == package


def test_names_match_exactly_or_without_regard_to_case_and_the_last_decides() -> None:
    assert decoded("ANNOTATIONS: {~.Package.v1: foo}")[0].package == "foo"
    assert decoded("annotations: {~.package.v1: foo, ~.Package.v1: bar}")[0].package == "foo"
    both, _ = decoded("annotations: {~.channels.v1: c}\nAnnotations: {~.channels.v1: x, ~.package.v1: p}")
    assert (both.package, both.channels) == ("p", "c")


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        ("- a", (), "must be an object, got a list"),
        ("text", (), 'must be an object, got string "text"'),
        ("annotations: [a]", ("annotations",), "must be an object, got a list"),
        (
            "annotations: {~.package.v1: {a: b}}",
            ("annotations", f"{NAMES}package.v1"),
            "must be a string, got an object",
        ),
    ],
)
def test_wrong_types_are_told(text: str, path: Path, problem: str) -> None:
    assert decoded(text)[1] == [(path, problem)]


def test_every_wrong_type_is_told_in_the_order_of_names() -> None:
    _, defects = decoded("annotations: {~.package.v1: [], ~.channels.v1: {}, ~.channel.default.v1: []}")
    names = [str(path[-1]).removeprefix(NAMES) for path, _ in defects]
    assert names == ["channel.default.v1", "channels.v1", "package.v1"]


@pytest.mark.parametrize(
    ("document", "annotations"),
    [
        ({"annotations": {"a": 1, "b": None, "c": "x"}}, {"a": "1", "b": "", "c": "x"}),
        ({"Annotations": {}}, {}),
        ({"annotations": {"a": []}}, None),
        ({"annotations": None}, None),
        ({"annotations": "x"}, None),
        ({}, None),
        (["annotations"], None),
        (None, None),
    ],
)
def test_catalogs_want_annotations_that_are_all_texts(document: Any, annotations: dict[str, str] | None) -> None:
    assert catalog_annotations(document) == annotations


def test_catalogs_take_the_first_file_that_has_annotations() -> None:
    files: list[tuple[str, Any]] = [
        ("metadata/b.yaml", {"annotations": {"a": "b"}}),
        ("metadata/a.yaml", {"annotations": {"a": ["no text"]}}),
        ("metadata/c.yaml", {"annotations": {"a": "c"}}),
    ]
    assert catalog_annotations_file(files) == ("metadata/b.yaml", {"a": "b"})
    assert catalog_annotations_file([("metadata/a.yaml", None)]) is None
