"""Migration to the metadata of the CSV, and the order in which a bundle is written."""

import base64
import json
from typing import Any

import pytest

from rukpak_py.catalog.making.bundle_blob import bundle_blob
from rukpak_py.catalog.making.csv_metadata import csv_metadata, csv_of, migrated
from rukpak_py.catalog.model import BUNDLE_OBJECT, CSV_METADATA, Bundle, Catalog, Property, RelatedImage
from rukpak_py.catalog.rendering import rendered, rendered_bundle
from rukpak_py.core.errors import ContentError
from tests.unit.catalog.bundle_directories import csv, directory

IMAGE = "example.com/bundle:1"


def of_object(text: str) -> Property:
    return Property(type=BUNDLE_OBJECT, value={"data": base64.b64encode(text.encode()).decode()})


def bundle(*properties: Property, image: str = IMAGE) -> Bundle:
    return Bundle(package="p", name="p.v1", image=image, properties=properties)


CSV = of_object(json.dumps(csv()))
OTHER = of_object('{"kind": "ConfigMap"}')
PLAIN = Property(type="t", value=1)


def types(blob: Bundle) -> list[str]:
    return [one.type for one in blob.properties]


def test_objects_become_metadata_at_the_end() -> None:
    blob = migrated(bundle(OTHER, CSV, PLAIN))
    assert types(blob) == ["t", CSV_METADATA]
    assert blob.properties[-1].value["displayName"] == "Demo"


@pytest.mark.parametrize(
    "blob",
    [
        pytest.param(bundle(CSV, image=""), id="114: no image"),
        pytest.param(bundle(OTHER), id="no CSV"),
        pytest.param(bundle(CSV, Property(type=CSV_METADATA, value={})), id="metadata already"),
        pytest.param(
            bundle(Property(type=BUNDLE_OBJECT), Property(type=BUNDLE_OBJECT, value={"ref": "x"})), id="no data"
        ),
        pytest.param(bundle(Property(type=BUNDLE_OBJECT, value={"data": "é"})), id="no base64"),
        pytest.param(bundle(of_object("ClusterServiceVersion: [")), id="no object"),
    ],
)
def test_bundle_stays_as_it_is(blob: Bundle) -> None:
    assert migrated(blob) is blob


def test_first_csv_counts() -> None:
    assert csv_of(bundle(OTHER, CSV, of_object(json.dumps(csv(displayName="second"))))) == csv()


def test_fields_have_the_order_of_their_structs_and_unknown_ones_are_lost() -> None:
    """Vector 115: the `group` of an owned CRD."""
    owned = {
        "kind": "Demo",
        "group": "lost",
        "version": "v1",
        "name": "demos.example.com",
        "Description": "in any case",
        "specDescriptors": [{"value": {"z": 1, "a": "<"}, "x-descriptors": ["u"], "path": "p"}],
        "resources": [{}],
    }
    found = csv_metadata(csv(customresourcedefinitions={"owned": [owned]}, unknown=1, provider={"url": "u"}))
    assert found.text == (
        '{"annotations":{"a":"<b>"},"apiServiceDefinitions":{},"crdDescriptions":{"owned":[{"name":"demos.example.com",'
        '"version":"v1","kind":"Demo","description":"in any case","resources":[{"name":"","kind":"","version":""}],'
        '"specDescriptors":[{"path":"p","x-descriptors":["u"],"value":{"z":1,"a":"\\u003c"}}]}]},"displayName":"Demo",'
        '"provider":{"url":"u"}}'
    )
    assert found.value == json.loads(found.text)


def test_empty_fields_are_left_out_but_for_three() -> None:
    empty = {"apiVersion": "v1", "kind": "ClusterServiceVersion", "spec": {"keywords": [], "displayName": ""}}
    assert csv_metadata(empty).value == {"apiServiceDefinitions": {}, "crdDescriptions": {}, "provider": {}}


def test_csv_in_yaml_is_migrated() -> None:
    text = "kind: ClusterServiceVersion\nspec:\n  displayName: Demo\n"
    assert migrated(bundle(of_object(text))).properties[-1].value["displayName"] == "Demo"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("version", "", "spec.version of the ClusterServiceVersion must be a semantic version"),
        ("version", "1.0.0.0", "spec.version of the ClusterServiceVersion must be a semantic version"),
        ("release", 5, "spec.release of the ClusterServiceVersion must be"),
        ("displayName", 5, "spec.displayName of the ClusterServiceVersion must be a string, got number 5"),
        ("keywords", "x", "spec.keywords of the ClusterServiceVersion must be a list"),
        ("icon", [{"base64data": 5}], "spec.icon[0].base64data of the ClusterServiceVersion must be a string"),
        ("install", {"spec": {"permissions": "x"}}, "spec.install.spec.permissions of the"),
    ],
)
def test_field_of_a_wrong_type_is_refused(field: str, value: Any, text: str) -> None:
    with pytest.raises(ContentError) as error:
        migrated(bundle(of_object(json.dumps(csv(**{field: value})))))
    assert str(error.value).startswith(f"bundle 'p.v1': {text}")


@pytest.mark.parametrize("name", ["version", "release"])
def test_version_that_is_null_is_refused(name: str) -> None:
    given = csv()
    given["spec"][name] = None
    with pytest.raises(ContentError, match=f"spec.{name} of the ClusterServiceVersion is null"):
        csv_metadata(given)


@pytest.mark.parametrize("version", [None, "v1", "1.2"])
def test_version_may_be_absent_or_lax(version: str | None) -> None:
    assert types(migrated(bundle(of_object(json.dumps(csv(version=version)))))) == [CSV_METADATA]


def test_objects_and_metadata_are_written_last_and_images_sorted() -> None:
    images = (RelatedImage(name="b", image="z"), RelatedImage(name="a", image="z"), RelatedImage(image="y"))
    blob = Bundle(package="p", name="b", properties=(CSV, PLAIN, OTHER), related_images=images)
    found = rendered_bundle(blob)
    assert found.properties == (PLAIN, CSV, OTHER)
    assert [(one.name, one.image) for one in found.related_images] == [("", "y"), ("b", "z"), ("a", "z")]


def test_bundle_directory_is_migrated_with_an_image_only() -> None:
    files = directory()
    with_image, without = bundle_blob(files, image=IMAGE), bundle_blob(files)
    found = rendered(Catalog(bundles=(with_image, without)), migrate=True).bundles
    assert [types(one)[-1] for one in found] == [CSV_METADATA, BUNDLE_OBJECT]
