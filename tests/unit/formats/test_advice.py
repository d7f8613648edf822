"""Advice that works when it is obeyed: one defect, one finding, and what stands in the file is what is quoted."""

import re

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding
from rukpak_py.formats.validation import validate
from tests.unit.bundles import Content, bundle, bundle_annotations, csv_document, manifest, tree_of

PREFIX = "operators.operatorframework.io.bundle."
CHANNELS = f"{PREFIX}channels.v1"
ANNOTATIONS = "metadata/annotations.yaml"


def errors(tree: Tree) -> list[Finding]:
    return [finding for finding in validate(tree) if finding.is_error]


def csv_text() -> str:
    return bundle()["manifests/csv.yaml"].decode()


def with_csv(pattern: str, replacement: str) -> Tree:
    text, count = re.subn(pattern, replacement, csv_text())
    assert count == 1
    return bundle(files={"manifests/csv.yaml": text})


@pytest.mark.parametrize("spelled", ["1.30", "0.10", "1_0", "0x1F", "1e3", "1.30 # at least"])
def test_a_number_is_quoted_as_it_is_written(spelled: str) -> None:
    (finding,) = errors(with_csv(r"minKubeVersion: .*", f"minKubeVersion: {spelled}"))
    value = spelled.split(" ", maxsplit=1)[0]
    assert finding.message == f"spec.minKubeVersion must be a text, but is the number {value}"
    assert finding.hint == f'Put it in quotes: minKubeVersion: "{value}"'


def test_a_number_that_stands_elsewhere_is_quoted_by_its_value() -> None:
    (finding,) = errors(with_csv(r"minKubeVersion: .*", "x: &a 1.30\n  minKubeVersion: *a"))
    assert finding.hint == 'Put it in quotes: minKubeVersion: "1.3"'


def test_a_number_in_json_is_quoted_as_it_is_written() -> None:
    written = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": 1.50}}'
    (finding,) = errors(bundle(files={"manifests/c.json": written}))
    assert finding.hint == 'Put it in quotes: name: "1.50"'


def test_a_list_of_channels_is_told_once_with_the_right_spelling() -> None:
    found = errors(bundle(annotations={CHANNELS: ["stable", "beta"]}))
    assert [finding.rule for finding in found] == ["RV1-907"]
    assert found[0].hint == (f"Write one text, the parts separated by commas without blanks: {CHANNELS}: stable,beta")


def annotated(key: str) -> Content:
    return {key: bundle_annotations()}


def test_a_misspelt_key_is_told_once_at_its_line() -> None:
    (finding,) = errors(bundle(files={ANNOTATIONS: annotated("annotation")}))
    assert (finding.rule, finding.location) == ("RV1-102", f"{ANNOTATIONS}:1:1")
    assert finding.message == f"Could not find annotations file: {ANNOTATIONS} has no mapping `annotations`"
    assert finding.hint == "Did you mean `annotations` instead of `annotation`?"


def test_an_annotation_that_is_no_text_is_pointed_at() -> None:
    (finding,) = errors(bundle(annotations={"other": {"a": "b"}}))
    assert (finding.rule, finding.path) == ("RV1-102", "annotations.other")
    assert finding.message == "Could not find annotations file: the value of other in it is no text"


def test_documents_of_one_file_hide_nothing_of_each_other() -> None:
    """A value of a wrong type at the root of one document says nothing about the other."""
    good, bad = csv_document(name="UPPER"), manifest("CustomResourceDefinition", "x", spec=5)
    tree = bundle(files={"manifests/csv.yaml": [good, {**bad, "metadata": 5}]})
    assert {"RV1-201", "RV1-903"} <= {finding.rule for finding in errors(tree)}


@pytest.mark.parametrize(
    ("written", "advised"),
    [
        ("stable, beta", "stable,beta"),
        ("[stable,beta]", "stable,beta"),
        ("stable,", "stable"),
        ("my channel", "my-channel"),
        ("'stable'", "stable"),
    ],
)
def test_channels_that_are_no_names_are_told_with_the_right_spelling(written: str, advised: str) -> None:
    (finding,) = validate(bundle(annotations={CHANNELS: written, f"{PREFIX}channel.default.v1": ""}))[:1]
    assert (finding.rule, finding.is_error) == ("RV1-930", False)
    assert finding.hint == f"Write {CHANNELS}: {advised}"


@pytest.mark.parametrize("written", ["stable", "stable,beta", "4.17_x-y", "Stable"])
def test_channels_that_are_names_are_not_told(written: str) -> None:
    assert not any(finding.rule == "RV1-930" for finding in validate(bundle(annotations={CHANNELS: written})))


def test_a_package_name_that_no_namespace_can_have_is_told_once() -> None:
    (finding,) = validate(bundle(package="Cacher X"))
    assert (finding.rule, finding.is_error) == ("RV1-931", False)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".DS_Store", b"\0\0\0\1Bud1\xff"),
        (".x.yaml.swp", b"b0VIM\0"),
        ("README.md", "# title\n\nSome text.\n\n---\n* a: b\n* c\n"),
        ("logo.yaml", b"\x89PNG\0"),
        ("notes.txt", "a: b: c"),
    ],
)
def test_files_that_are_no_manifests_are_to_be_moved_away(name: str, content: Content) -> None:
    (finding,) = errors(bundle(files={f"manifests/{name}": content}))
    assert "out of manifests/" in finding.hint
    (finding,) = errors(tree_of({f"manifests/{name}": content}))
    assert "out of manifests/" in finding.hint


def test_a_misspelt_kind_is_told_once() -> None:
    (finding,) = errors(with_csv("kind: ClusterServiceVersion", "kind: ClusterServicVersion"))
    assert (finding.rule, finding.location) == ("RV1-905", "manifests/csv.yaml:2:7")
    assert finding.hint == "Did you mean `kind: ClusterServiceVersion` instead of `ClusterServicVersion`?"


@pytest.mark.parametrize(
    ("kind", "near"),
    [
        ("configmap", "ConfigMap"),
        ("CustomResourceDefinitions", "CustomResourceDefinition"),
        ("ClusterRol", "ClusterRole"),
        ("Deployment", ""),
        ("Namespace", ""),
        ("Route", ""),
        ("ServiceCIDR", ""),
        ("Job", ""),
        ("ConfigMap", ""),
    ],
)
def test_only_near_kinds_are_suggested(kind: str, near: str) -> None:
    found = [finding for finding in errors(bundle(others=[manifest(kind, "x")])) if finding.rule == "RV1-013"]
    assert [finding.hint for finding in found if near] == ([f"Did you mean `kind: {near}`?"] if near else [])


def test_a_comment_in_front_of_the_csv_is_told_once() -> None:
    (finding,) = validate(bundle(files={"manifests/csv.yaml": "# licence\n---\n" + csv_text()}))
    assert (finding.rule, finding.location) == ("RV1-501", "manifests/csv.yaml:1:1")
    assert finding.hint.startswith("Remove the `---` below the comment")
