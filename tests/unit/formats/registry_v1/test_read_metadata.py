"""registry+v1: annotations, properties, and what is said when they cannot be decoded."""

import json
from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.formats.registry_v1.read import read
from tests.unit.bundles import bundle, csv_document, tree_of

ANNOTATIONS = "metadata/annotations.yaml"
PROPERTIES = "metadata/properties.yaml"
PACKAGE = "operators.operatorframework.io.bundle.package.v1"


def is_refused(tree: Tree) -> bool:
    """Whether the reference renderer refuses the content, at once."""
    with pytest.raises(InvalidBundleError) as caught:
        read(tree, parity=True).complete()
    return bool(caught.value.findings)


def only_finding(tree: Tree) -> Finding:
    (defect,) = read(tree).defects
    return defect.finding


def properties_of(tree: Tree) -> str | None:
    csv = read(tree).complete().csv
    assert csv.typed["metadata"]["annotations"] == csv.annotations
    return csv.annotations.get("olm.properties")


def with_properties(file: Any = None, annotation: str | None = None) -> Tree:
    annotations = {} if annotation is None else {"olm.properties": annotation}
    return bundle(csv=csv_document(annotations=annotations), files={PROPERTIES: file})


def test_package_and_channels_come_from_the_annotations() -> None:
    metadata = read(bundle(package="pack", annotations={"other": True})).complete().metadata
    assert (metadata.package, metadata.channels, metadata.default_channel) == ("pack", "stable", "stable")


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ({ANNOTATIONS: None}, "Add it with the package's name"),
        ({ANNOTATIONS: None, "metadata/annotations.yml": "{}"}, f"Rename metadata/annotations.yml to {ANNOTATIONS}."),
    ],
)
def test_annotations_must_be_there(files: dict[str, Any], hint: str) -> None:
    tree = bundle(files=files)
    assert is_refused(tree)
    finding = only_finding(tree)
    assert (finding.rule, finding.message) == ("RV1-904", "the file is missing")
    assert str(finding) == f"{ANNOTATIONS}: the file is missing [RV1-904]"
    assert finding.hint.startswith(hint)
    assert read(tree).bundle is not None


def test_file_or_directory_in_the_place_of_annotations_is_refused() -> None:
    for tree in (tree_of({"metadata": "x"}), tree_of({f"{ANNOTATIONS}/x": ""})):
        assert is_refused(tree)
        assert "RV1-904" in {defect.finding.rule for defect in read(tree).defects}


@pytest.mark.parametrize(
    ("content", "path", "message"),
    [
        ("annotations: [", "", "cannot be parsed as YAML: did not find expected node content"),
        ({"annotations": {PACKAGE: ["a"]}}, f"annotations['{PACKAGE}']", "must be a string, got a list"),
        ({"annotations": "x"}, "annotations", 'must be an object, got string "x"'),
    ],
)
def test_annotations_that_cannot_be_decoded(content: Any, path: str, message: str) -> None:
    tree = bundle(files={ANNOTATIONS: content})
    assert is_refused(tree)
    finding = only_finding(tree)
    assert (finding.rule, finding.file, finding.path) == ("RV1-907", ANNOTATIONS, path)
    assert finding.message.endswith(message)
    assert finding.line > 0
    assert finding.hint


@pytest.mark.parametrize(
    ("file", "annotation", "expected"),
    [
        (None, None, None),
        (None, '[ {"type": "a"} ]', '[ {"type": "a"} ]'),
        ("", "[]", "[]"),
        (
            {"properties": [{"type": "b", "value": {"z": 1.0, "a": "<"}}]},
            '[{"value": {"z": 1.0, "a": 2}, "type": "a"}]',
            '[{"type":"a","value":{"z":1.0,"a":2}},{"type":"b","value":{"a":"\\u003c","z":1}}]',
        ),
        ({"properties": [{}]}, None, '[{"type":"","value":null}]'),
        ("# nothing\n", None, "null"),
    ],
)
def test_properties_of_the_file_follow_those_of_the_annotation(
    file: Any, annotation: str | None, expected: str | None
) -> None:
    assert properties_of(with_properties(file, annotation)) == expected
    assert expected is None or json.loads(expected) is not False


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            with_properties(None, "{}"),
            "the annotation olm.properties cannot be decoded: it must be a list, got an object",
        ),
        (
            with_properties(None, "[1,]"),
            "the annotation olm.properties cannot be decoded: expected a value, got ']' at character 4",
        ),
        (with_properties("properties: [", None), "cannot be parsed as YAML: did not find expected node content"),
        (with_properties({"properties": {}}, None), "properties must be a list, got an object"),
    ],
)
def test_properties_that_cannot_be_decoded(tree: Tree, message: str) -> None:
    assert is_refused(tree)
    assert only_finding(tree).message == message
    finding = only_finding(tree)
    assert finding.rule == "RV1-907"
    assert finding.line > 0
    assert finding.hint


def test_defects_come_in_the_order_of_reading() -> None:
    files = {ANNOTATIONS: "[", "manifests/x.yaml": "[", PROPERTIES: "["}
    tree = bundle(files=files)
    assert [defect.finding.file for defect in read(tree).defects] == list(files)
    without_csv = bundle(files={"manifests/csv.yaml": None, PROPERTIES: "["})
    assert [defect.finding.rule for defect in read(without_csv).defects] == ["RV1-905"]


def test_dependencies_are_those_of_the_first_file_that_has_any() -> None:
    dependency = {"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}}
    tree = bundle(
        files={
            "metadata/a.yaml": "a: [",
            "metadata/b.yaml": {"dependencies": []},
            "metadata/other.txt": {"dependencies": [dependency]},
            "metadata/z.yaml": {"dependencies": [{"type": "olm.label"}]},
            "metadata/sub/c.yaml": {"dependencies": [{"type": "olm.label"}]},
        }
    )
    reading = read(tree)
    (found,) = reading.complete().metadata.dependencies
    assert (found.type, found.value) == ("olm.package", dependency["value"])
    assert (found.place.file, found.place.path) == ("metadata/other.txt", ("dependencies", 0))
    assert read(bundle()).complete().metadata.dependencies == []


def test_the_file_of_the_annotations_has_no_dependencies() -> None:
    content = {"annotations": {PACKAGE: "demo"}, "dependencies": [{"type": "olm.label"}]}
    assert read(bundle(files={ANNOTATIONS: content})).complete().metadata.dependencies == []
