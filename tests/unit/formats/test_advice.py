"""Advice that works when it is obeyed: one defect, one finding, and what stands in the file is what is quoted."""

import pickle
import re

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding, Fix, InvalidBundleError, Severity
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.plain import PlainFormat
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.render.config import checked_config
from rukpak_py.formats.validation import Profile, validate
from tests.unit.bundles import Content, bundle, bundle_annotations, crd, csv_document, manifest, modes, tree_of

PREFIX = "operators.operatorframework.io.bundle."
CHANNELS = f"{PREFIX}channels.v1"
ANNOTATIONS = "metadata/annotations.yaml"


def errors(tree: Tree) -> list[Finding]:
    return [finding for finding in validate(tree, profiles=[Profile.DEFAULT, Profile.OPM]) if finding.is_error]


def csv_text() -> str:
    return bundle()["manifests/csv.yaml"].decode()


def with_csv(pattern: str, replacement: str) -> Tree:
    text, count = re.subn(pattern, replacement, csv_text())
    assert count == 1
    return bundle(files={"manifests/csv.yaml": text})


@pytest.mark.parametrize("spelled", ["1.30", "0.10", "1_0", "0x1F", "1e3", "1.30 # at least"])
def test_a_number_is_quoted_as_it_is_written(spelled: str) -> None:
    (finding,) = errors(with_csv(r"\n  displayName: .*", f"\n  displayName: {spelled}"))
    value = spelled.split(" ", maxsplit=1)[0]
    assert finding.message == f"spec.displayName must be a string, got number {value}"
    assert finding.hint == f'Put it in quotes: displayName: "{value}"'


def test_a_short_version_of_kubernetes_gets_its_third_part_and_is_fine_then() -> None:
    (finding,) = errors(with_csv(r"minKubeVersion: .*", "minKubeVersion: 1.30"))
    assert finding.hint == 'Write all three parts, in quotes: minKubeVersion: "1.30.0"'
    assert errors(with_csv(r"minKubeVersion: .*", finding.hint.partition("quotes: ")[2])) == []


def test_a_number_that_stands_elsewhere_is_quoted_by_its_value() -> None:
    (finding,) = errors(with_csv(r"\n  displayName: .*", "\n  x: &a 1.30\n  displayName: *a"))
    assert finding.hint == 'Put it in quotes: displayName: "1.3"'


def test_a_number_in_json_is_quoted_as_it_is_written() -> None:
    written = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": 1.50}}'
    (finding,) = errors(bundle(files={"manifests/c.json": written}))
    assert finding.hint == 'Put it in quotes: name: "1.50"'


def test_a_list_of_channels_is_told_once_with_the_right_spelling() -> None:
    found = errors(bundle(annotations={CHANNELS: ["stable", "beta"]}))
    assert [finding.rule for finding in found] == ["RV1-907"]
    assert found[0].hint == (f"Write one string, the parts separated by commas without blanks: {CHANNELS}: stable,beta")


def annotated(key: str) -> Content:
    return {key: bundle_annotations()}


def test_a_misspelt_key_is_told_once_at_its_line() -> None:
    (finding,) = errors(bundle(files={ANNOTATIONS: annotated("annotation")}))
    assert (finding.rule, finding.location) == ("RV1-907", f"{ANNOTATIONS}:1:1")
    assert finding.message == f"{ANNOTATIONS} has no mapping `annotations`"
    assert finding.hint == "Did you mean `annotations` instead of `annotation`?"


def test_an_annotation_that_is_no_text_is_pointed_at() -> None:
    (finding,) = errors(bundle(annotations={"other": {"a": "b"}}))
    assert (finding.rule, finding.path) == ("RV1-907", "annotations.other")
    assert finding.message == "the annotation other must be a string"


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


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("[stable, 'beta']", Fix(text="stable,beta")),
        ("stable beta", None),  # one channel, or two
        ("stable,my channel", None),
    ],
)
def test_channels_are_corrected_where_one_spelling_is_meant(written: str, fix: Fix | None) -> None:
    (finding,) = validate(bundle(annotations={CHANNELS: written, f"{PREFIX}channel.default.v1": ""}))[:1]
    assert (finding.rule, finding.fix) == ("RV1-930", fix)


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


def test_object_in_a_sub_directory_is_not_reported_as_missing() -> None:
    (finding,) = validate(bundle(crds=[], files={"manifests/crds/x.yaml": crd()}))
    assert (finding.rule, finding.file) == ("RV1-904", "manifests/crds")


def test_install_modes_of_a_wrong_type_are_not_said_to_be_unsupported() -> None:
    found = errors(bundle(files={"manifests/csv.yaml": csv_text().replace("supported: true", "supported: 'yes'")}))
    assert {finding.rule for finding in found} == {"RV1-903"}


def test_a_package_that_is_no_text_is_not_said_to_be_missing() -> None:
    found = errors(bundle(annotations={f"{PREFIX}package.v1": ["a"]}))
    assert [finding.rule for finding in found] == ["RV1-907"]


@pytest.mark.parametrize(
    ("file", "hint"),
    [
        ("bundle/manifests/csv.yaml", "bundle/ holds manifests/: give that directory, or an archive of what is in it."),
        ("csv.yaml", "csv.yaml is a manifest: put the manifests into a directory manifests/, and give its parent."),
    ],
)
def test_a_bundle_that_is_elsewhere_is_found(file: str, hint: str) -> None:
    tree = tree_of({file: csv_document()})
    (finding,) = errors(tree)
    assert (finding.rule, finding.hint) == ("PLAIN-001", hint)
    with pytest.raises(InvalidBundleError) as refused:
        PlainFormat().render(tree, RenderOptions())
    assert str(refused.value) == "read bundle objects from bundle: readdir manifests: file does not exist"
    assert [finding.hint for finding in refused.value.findings] == [hint]


def test_a_refusal_travels_between_processes() -> None:
    refused = InvalidBundleError([Finding(rule="A", severity=Severity.ERROR, message="m")], text="words")
    arrived = pickle.loads(pickle.dumps(refused))  # noqa: S301 - it was made here
    assert (str(arrived), arrived.findings) == ("words", refused.findings)


def test_a_configuration_without_a_choice_is_told_why() -> None:
    read_bundle = read(bundle(csv=csv_document(installModes=modes("AllNamespaces")))).complete()
    with pytest.raises(ContentError, match="there is nothing to choose"):
        checked_config(read_bundle, "demo-system", {"watchNamespace": "a"})
