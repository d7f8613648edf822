"""The form of a bundle as catalog tools check it."""

from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1.rules import layout
from tests.unit.bundles import Content, Json, bundle, bundle_annotations, crd, csv_document, manifest
from tests.unit.readings import findings_of, told

PREFIX = "operators.operatorframework.io.bundle."
MEDIA_TYPE = f"{PREFIX}mediatype.v1"
CHANNELS = f"{PREFIX}channels.v1"
DEFAULT = f"{PREFIX}channel.default.v1"


def annotated(**replaced: Any) -> Json:
    return {"annotations": {**bundle_annotations(), **{f"{PREFIX}{key}.v1": value for key, value in replaced.items()}}}


def test_a_good_bundle_has_no_findings() -> None:
    assert told(bundle(others=[manifest("ConfigMap", "c")]), layout.FAMILY) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "metadata/annotations.yaml has no mapping `annotations`"),
        ("annotations:", "metadata/annotations.yaml has no mapping `annotations`"),
        ("other: {a: b}", "metadata/annotations.yaml has no mapping `annotations`"),
        ("annotations: {a: {b: c}}", "the annotation a must be a string"),
    ],
)
def test_a_file_without_a_mapping_of_strings_is_no_annotations_file(content: str, message: str) -> None:
    tree = bundle(files={"metadata/annotations.yaml": content})
    assert told(tree, layout.FAMILY) == [("RV1-907", message)]


def test_annotations_may_stand_in_any_file_and_any_case() -> None:
    values = annotated()["annotations"]
    tree = bundle(files={"metadata/annotations.yaml": None, "metadata/other.yaml": {"Annotations": values}})
    assert told(tree, layout.FAMILY) == []


@pytest.mark.parametrize("key", [MEDIA_TYPE, CHANNELS, f"{PREFIX}manifests.v1", f"{PREFIX}metadata.v1"])
def test_mandatory_annotations_are_missed(key: str) -> None:
    values = {name: value for name, value in bundle_annotations().items() if name != key}
    tree = bundle(files={"metadata/annotations.yaml": {"annotations": values}})
    assert told(tree, layout.FAMILY) == [("RV1-103", f"metadata/annotations.yaml has no annotation {key}")]


def test_the_default_channel_may_be_absent() -> None:
    values = {name: value for name, value in bundle_annotations().items() if name != DEFAULT}
    assert told(bundle(files={"metadata/annotations.yaml": {"annotations": values}}), layout.FAMILY) == []


@pytest.mark.parametrize(
    ("files", "detected"),
    [
        ({"manifests/csv.yaml": manifest("ConfigMap", "c")}, "plain"),
        ({"manifests/csv.yaml": "# licence\n---\nkind: ClusterServiceVersion\n"}, "plain"),
        ({"manifests/Chart.yaml": "name: chart\n"}, "helm"),
    ],
)
def test_the_media_type_is_told_from_first_documents(files: dict[str, Content], detected: str) -> None:
    found = [finding for finding in told(bundle(files=files), layout.FAMILY) if finding[0] == "RV1-104"]
    message = f'the annotation {MEDIA_TYPE} is "registry+v1", but `opm` takes the files of manifests/ for "{detected}"'
    assert found == [("RV1-104", message)]


def test_nothing_is_said_about_the_media_type_while_a_file_cannot_be_parsed() -> None:
    assert told(bundle(files={"manifests/csv.yaml": "a: ["}), layout.FAMILY) == []


@pytest.mark.parametrize(("key", "value"), [("channels", ""), ("channels", None), ("channel.default", "")])
def test_channels_are_not_empty(key: str, value: str | None) -> None:
    tree = bundle(files={"metadata/annotations.yaml": annotated(**{key: value})})
    assert told(tree, layout.FAMILY) == [("RV1-105", f"the annotation {PREFIX}{key}.v1 is empty")]


def test_other_names_of_directories_are_a_warning() -> None:
    tree = bundle(files={"metadata/annotations.yaml": annotated(manifests="x/")})
    (finding,) = findings_of(tree, layout.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-106", Severity.WARNING)
    assert finding.message == f'the annotation {PREFIX}manifests.v1 is "x/" instead of "manifests/"'
    assert finding.location == "metadata/annotations.yaml:3:55"


def test_advice_is_about_the_file_that_catalog_tools_take() -> None:
    tree = bundle(files={"metadata/0.yaml": {"annotations": {"a": "b"}}})
    found = findings_of(tree, layout.FAMILY)
    assert {(finding.rule, finding.file) for finding in found} == {("RV1-103", "metadata/0.yaml")}
    assert all(finding.hint.startswith("Remove metadata/0.yaml") for finding in found)


@pytest.mark.parametrize(("annotated_as", "advice"), [("registry+v1", "Let the CSV be the first"), ("helm", "Write `")])
def test_a_media_type_that_is_right_is_not_to_be_written(annotated_as: str, advice: str) -> None:
    files: dict[str, Content | None] = {"manifests/csv.yaml": [manifest("ConfigMap", "c"), csv_document()]}
    found = findings_of(bundle(annotations={MEDIA_TYPE: annotated_as}, files=files), layout.FAMILY)
    assert [finding.hint[: len(advice)] for finding in found if finding.rule == "RV1-104"] == [advice]


def test_labels_of_a_dockerfile_are_compared() -> None:
    labels = f"FROM scratch\nLABEL {CHANNELS}=stable\nLABEL {DEFAULT}=fast\nLABEL other=x\n"
    (finding,) = findings_of(bundle(files={"bundle.Dockerfile": labels}), layout.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-107", Severity.WARNING)
    assert finding.message == f'the label {DEFAULT} is "fast", but the annotation is "stable"'


def test_a_label_without_an_annotation_is_told() -> None:
    values = {name: value for name, value in bundle_annotations().items() if name != DEFAULT}
    files: dict[str, Content | None] = {
        "Dockerfile": f"LABEL {DEFAULT}=fast\n",
        "metadata/annotations.yaml": {"annotations": values},
    }
    message = f'the label {DEFAULT} is "fast", but there is no such annotation'
    assert told(bundle(files=files), layout.FAMILY) == [("RV1-107", message)]


@pytest.mark.parametrize(
    ("instruction", "line", "column"),
    [
        (f"LABEL a=b \\\n  {DEFAULT}=fast c=d", 3, 3),
        (f'label\t"{DEFAULT}"="fast"', 2, 7),
        (f"LABEL {DEFAULT}='fast'", 2, 7),
        (f"LABEL {DEFAULT} fast ", 2, 7),
        (f'  LABEL {CHANNELS}="stable" {DEFAULT}="f\\ast"', 2, 68),
    ],
)
def test_labels_are_read_in_every_way_to_write_them(instruction: str, line: int, column: int) -> None:
    text = f"FROM scratch\r\n{instruction}\r\nRUN echo {DEFAULT}=x\n"
    (finding,) = findings_of(bundle(files={"Dockerfile": text}), layout.FAMILY)
    assert finding.message == f'the label {DEFAULT} is "fast", but the annotation is "stable"'
    assert (finding.line, finding.column) == (line, column)


@pytest.mark.parametrize("text", ["\n" * 1_000_000, "LABEL " + "a" * 1_000_000, "LABEL a=" + '"\\\n' * 500_000])
def test_a_hostile_dockerfile_is_read_in_one_pass(text: str) -> None:
    assert told(bundle(files={"Dockerfile": text}), layout.FAMILY) == []


def test_an_empty_file_is_told_and_one_with_comments_is_not() -> None:
    files: dict[str, Content | None] = {"manifests/a.yaml": "", "manifests/b.yaml": "# nothing\n"}
    assert told(bundle(files=files), layout.FAMILY) == [("RV1-108", "the file is empty")]


def test_further_documents_are_a_warning() -> None:
    (finding,) = findings_of(bundle(crds=[], files={"manifests/x.yaml": [crd(), crd("others")]}), layout.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-109", Severity.WARNING)
    assert finding.message == "`opm` reads only the first of the 2 documents of the file"


def depending(*entries: Json, file: str = "dependencies.yaml") -> list[tuple[str, str]]:
    return told(bundle(files={f"metadata/{file}": {"dependencies": list(entries)}}), layout.FAMILY)


@pytest.mark.parametrize(
    ("kind", "value", "messages"),
    [
        ("olm.package", {"packageName": "a", "version": ">=1.0.0 <2.0.0"}, []),
        ("olm.package", {}, ["packageName is missing", "version is missing"]),
        ("olm.package", {"packageName": "a", "version": "^1.0"}, ['"^1.0" is not a valid version range']),
        ("olm.package", "a", ["the value must be an object"]),
        ("olm.gvk", {"group": "g", "version": "v1", "kind": "K"}, []),
        ("olm.gvk", {}, ["group is missing", "version is missing", "kind is missing"]),
        ("olm.label", {"label": "l"}, []),
        ("olm.label", {}, ["label is missing"]),
        ("olm.constraint", {"cel": {"rule": "properties.exists(p, p.type == 'x')"}}, []),
        ("olm.constraint", {}, ["the constraint says nothing"]),
        ("olm.constraint", {"cel": {"rule": ""}}, ["the constraint has no rule"]),
        # upstream takes every constraint for a CEL rule, and refuses these
        ("olm.constraint", {"package": {"packageName": "a", "versionRange": ">1.0.0"}}, []),
        ("olm.constraint", {"all": {"constraints": [{"gvk": {"group": "g", "version": "v1", "kind": "K"}}]}}, []),
        ("olm.constraint", {"any": {"constraints": [{}]}}, ["the constraint says nothing"]),
        ("other", {}, ['the type of the dependency, "other", is not known']),
    ],
)
def test_dependencies_are_complete(kind: str, value: Any, messages: list[str]) -> None:
    assert depending({"type": kind, "value": value}) == [("RV1-110", message) for message in messages]


def test_the_old_form_of_dependencies_is_told() -> None:
    found = depending({"type": "olm.package", "packageName": "a", "version": "1.0.0"})
    assert found == [("RV1-110", "the dependency of type olm.package has no value")]


def test_dependencies_may_stand_in_any_file_but_the_annotations() -> None:
    entry = {"type": "other", "value": {}}
    assert len(depending(entry, file="dependency.yaml")) == 1
    with_both = {**annotated(), "dependencies": [entry]}
    assert told(bundle(files={"metadata/annotations.yaml": with_both}), layout.FAMILY) == []


@pytest.mark.parametrize("content", ["null", "5", "[]", "annotations: {1: 2, true: null}", "annotations: {a: 1.5}"])
def test_odd_metadata_break_no_rule(content: str) -> None:
    assert isinstance(told(bundle(files={"metadata/annotations.yaml": content}), layout.FAMILY), list)
