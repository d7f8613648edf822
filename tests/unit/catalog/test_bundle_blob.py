"""A bundle's directory as a blob: the vectors of rendering bundles, and what may be wrong with a directory."""

import base64
import json
from typing import Any

import pytest

from rukpak_py.catalog.making.bundle_blob import bundle_blob
from rukpak_py.catalog.model import BUNDLE_OBJECT, GVK, PACKAGE_PROPERTY, REQUIRED_GVK, REQUIRED_PACKAGE, Bundle
from rukpak_py.core.errors import ContentError
from tests.unit.catalog.bundle_directories import IMAGE, PREFIX, annotations, crd, csv, directory

REFERENCE = "example.com/bundle:1"
LABEL = "olm.label"


def properties(blob: Bundle) -> list[tuple[str, Any]]:
    return [(one.type, one.value) for one in blob.properties if one.type != BUNDLE_OBJECT]


def values(blob: Bundle, kind: str) -> list[Any]:
    return [value for found, value in properties(blob) if found == kind]


def objects(blob: Bundle) -> list[Any]:
    return [json.loads(base64.b64decode(value["data"])) for value in blob.values_of(BUNDLE_OBJECT)]


def images(blob: Bundle) -> list[tuple[str, str]]:
    return [(one.name, one.image) for one in blob.related_images]


def gvk(kind: str, group: str = "example.com", version: str = "v1") -> dict[str, str]:
    return {"group": group, "kind": kind, "version": version}


def refusal(files: dict[str, bytes]) -> str:
    with pytest.raises(ContentError) as error:
        bundle_blob(files)
    return str(error.value)


def test_blob_has_package_kinds_objects_and_images() -> None:
    blob = bundle_blob(directory(), image=REFERENCE)
    assert (blob.package, blob.name, blob.image) == ("demo", "demo.v1.2.3", REFERENCE)
    assert properties(blob) == [(GVK, gvk("Demo")), (PACKAGE_PROPERTY, {"packageName": "demo", "version": "1.2.3"})]
    assert sorted(one["kind"] for one in objects(blob)) == ["ClusterServiceVersion", "CustomResourceDefinition"]
    assert images(blob) == [("", REFERENCE), ("", IMAGE)]


def test_objects_are_json_as_go_writes_it() -> None:
    blob = bundle_blob(
        directory(manifests__x='{"kind": "X", "apiVersion": "v1", "b": "<\u2028é", "a": [1.0, 1e21, 1e-7]}')
    )
    texts = [base64.b64decode(value["data"]).decode() for value in blob.values_of(BUNDLE_OBJECT)]
    assert '{"a":[1,1e+21,1e-7],"apiVersion":"v1","b":"\\u003c\\u2028é","kind":"X"}' in texts


@pytest.mark.parametrize(
    ("files", "text"),
    [
        pytest.param(directory(manifests__csv=None), "has no ClusterServiceVersion", id="101: no CSV"),
        pytest.param(directory(manifests__csv=None, manifests__crd=None), "no Kubernetes objects", id="101: nothing"),
        pytest.param(
            directory(manifests__csv=None, **{"manifests__.csv": csv()}),
            "has no ClusterServiceVersion",
            id="101: hidden",
        ),
        pytest.param(
            directory(manifests__csv="kind: ClusterServiceVersion\na: [\n"),
            "manifests/csv.yaml: yaml: line 3",
            id="101: a CSV with a syntax error is told",
        ),
        pytest.param(
            directory(manifests__csv=f"# comment\n---\n{json.dumps(csv())}"),
            "has no ClusterServiceVersion",
            id="only the first document counts",
        ),
        pytest.param(directory(metadata__annotations=None), "no file with the annotations", id="no annotations"),
        pytest.param(
            directory(metadata__annotations={"annotations": {f"{PREFIX}channels.v1": "a"}}),
            "metadata/annotations.yaml does not name the package",
            id="104: annotations without a package",
        ),
        pytest.param(directory(manifests__crd=None), "owns example.com/v1 Demo", id="105: owned CRD is missing"),
        pytest.param(directory(manifests__crd=crd(versions=("v2",))), "defines example.com/v2 Demo", id="105: version"),
        pytest.param(
            directory(csv(customresourcedefinitions={"owned": [{"name": "demos"}]})),
            "'demos', not <plural>",
            id="105: name",
        ),
        pytest.param(directory(csv(version=1)), "spec.version", id="113: version is a number"),
        pytest.param(directory(csv(release=True)), "spec.release", id="release is a boolean"),
        pytest.param(
            directory(csv(relatedImages=[{"image": 1}])), "spec.relatedImages[0].image", id="image is a number"
        ),
        pytest.param(
            directory(csv(install={"spec": {"deployments": [{"spec": {"replicas": "1"}}]}})),
            "spec.install.spec.deployments[0].spec.replicas",
            id="deployments are decoded",
        ),
        pytest.param(directory(manifests__crd=crd(group=1)), "manifests/crd.yaml: spec.group", id="CRDs are decoded"),
        pytest.param(directory(manifests__crd={**crd(), "apiVersion": []}), "it defines none", id="no apiVersion"),
        pytest.param(
            directory(manifests__crd=crd(versions=tuple(f"v{number}" for number in range(2, 100)))),
            "v19 Demo (demos), …",
            id="105: not all kinds are listed",
        ),
        pytest.param(directory(manifests__crd=crd("foo/v1")), "has the apiVersion 'foo/v1'", id="CRD of another group"),
        pytest.param(
            directory(metadata__d={"dependencies": [{"type": "olm.package"}]}),
            "has no value",
            id="dependency without value",
        ),
        pytest.param(
            directory(metadata__p={"properties": [{"type": "olm.gvk", "value": 1}]}), "must be an object", id="kind"
        ),
        pytest.param(directory(metadata__p={"properties": [{"type": "olm.gvk"}]}), "has no value", id="no value"),
        pytest.param(
            directory(csv(annotations={"olm.properties": '[{"type": "olm.package"}]'})), "has no value", id="annotation"
        ),
        pytest.param(
            directory(csv(annotations={"olm.properties": f'[{{"value": {"[" * 5000 + "]" * 5000}}}]'})),
            "nested too deeply",
            id="deep annotation",
        ),
        pytest.param(
            directory(csv(install={"spec": {"a": 1, "deployments": [{"spec": {"template": []}}]}})),
            "spec.install.spec.deployments[0].spec.template of the ClusterServiceVersion must be an object",
            id="the path is that of the CSV",
        ),
    ],
)
def test_directory_is_refused(files: dict[str, bytes], text: str) -> None:
    assert text in refusal(files)


def test_csv_without_spec_is_refused() -> None:
    without = csv()
    del without["spec"]
    assert "has no spec" in refusal(directory(without))


def test_first_of_two_csvs_counts() -> None:
    other = csv()
    other["metadata"]["name"] = "other"
    assert bundle_blob(directory(manifests__z=other)).name == "demo.v1.2.3"
    assert bundle_blob(directory(manifests__a=other)).name == "other"
    assert len(objects(bundle_blob(directory(manifests__z=other)))) == 2


def test_annotations_are_found_in_any_file() -> None:
    files = directory(metadata__annotations=None, metadata__other=annotations("found"), metadata__a="{{{")
    assert bundle_blob(files).package == "found"


def test_files_that_are_no_objects_are_passed_over() -> None:
    files = directory(manifests__a="{{{", manifests__b="text", manifests__c={"apiVersion": "v1"}, manifests__d="")
    assert bundle_blob({**files, "manifests/sub/x.yaml": b"kind: X"}) == bundle_blob(directory())


def test_each_version_of_a_definition_is_a_kind() -> None:
    new = bundle_blob(directory(manifests__crd=crd(versions=("v1", "v2"))))
    old = bundle_blob(directory(manifests__crd=crd("apiextensions.k8s.io/v1beta1", ("v1",), version="v0")))
    assert values(new, GVK) == [gvk("Demo"), gvk("Demo", version="v2")]
    assert values(old, GVK) == [gvk("Demo", version="v0"), gvk("Demo")]


def test_required_and_provided_apis() -> None:
    service = {"name": "n", "group": "g", "version": "v1", "kind": "Service"}
    blob = bundle_blob(
        directory(
            csv(
                customresourcedefinitions={"required": [{"name": "bs.b.c.d", "version": "v1", "kind": "B"}]},
                apiservicedefinitions={"owned": [service], "required": [{**service, "kind": "Other"}]},
            )
        )
    )
    assert values(blob, GVK) == [gvk("Demo"), gvk("Service", "g")]
    assert values(blob, REQUIRED_GVK) == [gvk("B", "b.c.d"), gvk("Other", "g")]


def test_dependencies_become_requirements() -> None:
    package = {"type": "olm.package", "value": {"packageName": "p", "version": ">1"}}
    kind = {"type": "olm.gvk", "value": gvk("K", "g")}
    others = [{"type": LABEL, "value": {"label": "l"}}, {"type": "olm.constraint"}]
    blob = bundle_blob(directory(metadata__d={"dependencies": [package, package, kind, kind, *others]}))
    assert values(blob, REQUIRED_PACKAGE) == [{"packageName": "p", "versionRange": ">1"}] * 2
    assert values(blob, REQUIRED_GVK) == [gvk("K", "g")]
    assert values(blob, LABEL) == [{"label": "l"}]
    assert values(blob, "olm.constraint") == [None]


def test_properties_of_files_yield_to_derived_ones() -> None:
    given = [
        {"type": "olm.package", "value": {"packageName": "x", "version": "9"}},
        {"type": "custom", "value": 1},
        {"type": "custom", "value": 1},
    ]
    blob = bundle_blob(directory(metadata__p={"properties": given}))
    assert values(blob, PACKAGE_PROPERTY) == [{"packageName": "demo", "version": "1.2.3"}]
    assert values(blob, "custom") == [1]


@pytest.mark.parametrize(
    ("text", "package", "custom"),
    [
        ('[{"type": "olm.package", "value": {"packageName": "x", "version": "9"}}]', "x", []),
        ('[{"type": "custom", "value": {"b": 1, "a": 2e3}}]', "demo", [{"b": 1, "a": 2000}]),
        ("[{]", "demo", []),
        ("{}", "demo", []),
        ('[{"type": "custom", "value": "\\ud800"}]', "demo", ["\ufffd"]),
        (f'[{{"type": "custom", "value": {"[" * 400 + "]" * 400}}}]', "demo", [json.loads("[" * 400 + "]" * 400)]),
    ],
)
def test_properties_of_the_annotation(text: str, package: str, custom: list[Any]) -> None:
    blob = bundle_blob(directory(csv(annotations={"olm.properties": text})))
    assert [one["packageName"] for one in values(blob, PACKAGE_PROPERTY)] == [package]
    assert values(blob, "custom") == custom


def test_value_of_the_annotation_keeps_its_text() -> None:
    text = '[{"type": "custom", "value": {"b": 1.0, "a": "<\\u003c"}}]'
    blob = bundle_blob(directory(csv(annotations={"olm.properties": text})))
    assert [one.text for one in blob.properties if one.type == "custom"] == ['{"b":1.0,"a":"<\\u003c"}']


@pytest.mark.parametrize(
    ("release", "written"), [("1", "1"), (5, "5"), (1.5, "1.5"), (1e21, "1e+21"), ("", None), (None, None)]
)
def test_release(release: Any, written: str | None) -> None:
    found = values(bundle_blob(directory(csv(release=release))), PACKAGE_PROPERTY)
    assert [one.get("release") for one in found] == [written]


def test_related_images_are_those_of_the_csv_and_of_containers() -> None:
    pod = {
        "containers": [{"image": "c", "env": [{"name": "RELATED_IMAGE_X", "value": "env"}]}, {"image": "listed"}],
        "initContainers": [{"image": "i"}, {"image": "c"}],
        "ephemeralContainers": [{"image": "e"}],
    }
    install = {"strategy": "deployment", "spec": {"deployments": [{"spec": {"template": {"spec": pod}}}]}}
    listed = [{"name": "z", "image": "listed"}, {"name": "a", "image": "listed"}, {"name": "n", "image": REFERENCE}]
    blob = bundle_blob(directory(csv(install=install, relatedImages=listed)), image=REFERENCE)
    assert images(blob) == [("", "c"), ("n", REFERENCE), ("", "i"), ("z", "listed"), ("a", "listed")]
    other = bundle_blob(directory(csv(install={**install, "strategy": "other"})))
    assert images(other) == []


def test_fields_are_found_in_any_case() -> None:
    blob = bundle_blob(directory(csv(relatedImages=[{"Name": "n", "IMAGE": "i"}], install=None)))
    assert images(blob) == [("n", "i")]
