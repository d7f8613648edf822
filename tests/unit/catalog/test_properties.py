"""Values of properties: what Go decodes into its structs, and which manifests in base64 a reader takes."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.catalog.checks.properties import TYPES, defect_of_object, defects_of, package_property
from rukpak_py.catalog.model import BUNDLE_OBJECT, Bundle, Property
from tests.unit.catalog.samples import full

CSV = "olm.csv.metadata"
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def wrong_fields(kind: str, value: Any) -> list[tuple[str | int, ...]]:
    return [defect.path[1:] for defect in defects_of(Property(type=kind, value=value))]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("olm.package", None),
        ("olm.package", {"packageName": None, "VERSION": "1", "more": [1]}),
        ("olm.gvk", {}),
        ("olm.channel", {"channelName": "a", "priority": 5}),
        ("olm.constraint", ["anything"]),
        ("my.type", 1),
        ("", {"a": 1}),
        (CSV, {"installModes": [{"type": "Unknown", "supported": True}, None]}),
        (CSV, {"annotations": {"a": None, "b": "c"}, "keywords": [None, "k"]}),
        (CSV, {"crdDescriptions": {"owned": [{"specDescriptors": [{"value": {"a": [1]}}]}]}}),
        (CSV, {"apiServiceDefinitions": {"owned": [{"containerPort": (1 << 31) - 1, "group": "g"}]}}),
        (CSV, {"crdDescriptions": {"required": [{"group": 1}]}}),  # only API services have a group
    ],
)
def test_value_is_decoded(kind: str, value: Any) -> None:
    assert wrong_fields(kind, value) == []


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        ("olm.package", "p", ()),
        ("olm.package", {"Version": 1.5}, ("Version",)),
        ("olm.package", {"release": 1}, ("release",)),
        ("olm.package.required", {"versionRange": 1}, ("versionRange",)),
        ("olm.gvk", {"kind": {}}, ("kind",)),
        ("olm.gvk.required", {"kind": []}, ("kind",)),
        ("olm.channel", {"priority": "x"}, ("priority",)),
        (CSV, [], ()),
        (CSV, {"annotations": {"a": 1}}, ("annotations", "a")),
        (CSV, {"labels": []}, ("labels",)),
        (CSV, {"provider": "x"}, ("provider",)),
        (CSV, {"keywords": "x"}, ("keywords",)),
        (CSV, {"keywords": ["a", 1]}, ("keywords", 1)),
        (CSV, {"links": [{"url": 1}]}, ("links", 0, "url")),
        (CSV, {"maintainers": {}}, ("maintainers",)),
        (CSV, {"nativeAPIs": [{"group": 1}]}, ("nativeAPIs", 0, "group")),
        (CSV, {"installModes": [{"supported": "true"}]}, ("installModes", 0, "supported")),
        (CSV, {"minKubeVersion": 1}, ("minKubeVersion",)),
        (CSV, {"crdDescriptions": {"owned": {"name": "x"}}}, ("crdDescriptions", "owned")),
        (CSV, {"crdDescriptions": {"owned": ["x"]}}, ("crdDescriptions", "owned", 0)),
        (
            CSV,
            {"crdDescriptions": {"required": [{"statusDescriptors": [{"path": 1}]}]}},
            ("crdDescriptions", "required", 0, "statusDescriptors", 0, "path"),
        ),
        (
            CSV,
            {"apiServiceDefinitions": {"owned": [{"containerPort": 1 << 31}]}},
            ("apiServiceDefinitions", "owned", 0, "containerPort"),
        ),
        (
            CSV,
            {"apiServiceDefinitions": {"required": [{"containerPort": 1.5}]}},
            ("apiServiceDefinitions", "required", 0, "containerPort"),
        ),
    ],
)
def test_field_of_the_wrong_kind_is_found(kind: str, value: Any, path: tuple[str | int, ...]) -> None:
    assert wrong_fields(kind, value) == [path]


def test_all_wrong_fields_are_found() -> None:
    assert wrong_fields("olm.gvk", {"group": 1, "kind": 2, "version": "v1"}) == [("group",), ("kind",)]


def test_absent_value_is_not_null() -> None:
    (defect,) = defects_of(Property(type="my.type"))
    assert defect.text == "unexpected end of JSON input"
    assert list(defects_of(Property(type="my.type", value=None))) == []


@given(st.sampled_from(sorted(TYPES)), json_values)
def test_any_value_is_judged(kind: str, value: Any) -> None:
    for defect in defects_of(Property(type=kind, value=value)):
        assert defect.path[0] == "value"


def defect_of(data: Any) -> str | None:
    value = {"data": base64.b64encode(data).decode() if isinstance(data, bytes) else data}
    found = defect_of_object(Property(type=BUNDLE_OBJECT, value=value), 1)
    return found.text if found is not None else None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{bad",  # what begins as JSON is not looked at
        b'  \n{"kind": "ConfigMap"}',
        b"apiVersion: v1\nkind: ConfigMap\n",
        b"plain text",
        b"a: 1\n---\nb: [",  # the first document counts
        None,
        "YQ==\n",
        "Y\r\nQ==",
        "YR==",  # bits that the padding ignores
        [97, 98],  # bytes may be numbers
    ],
)
def test_object_is_taken(data: Any) -> None:
    assert defect_of(data) is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("!!!", "illegal base64 data"),
        ("YQ", "illegal base64 data"),
        ("YQ==YQ==", "illegal base64 data"),
        ("YW=j", "illegal base64 data"),
        ("Y===", "illegal base64 data"),
        ("YQ= =", "illegal base64 data"),
        ("é===", "illegal base64 data"),
        (5, "illegal base64 data"),
        ([300], "illegal base64 data"),
        (b"a: [b", "convert bundle object property at index 1 to JSON: "),
        (b"a: .inf", "convert bundle object property at index 1 to JSON: "),
        (b"\x01\x02", "convert bundle object property at index 1 to JSON: "),
    ],
)
def test_object_is_refused(data: Any, text: str) -> None:
    found = defect_of(data)
    assert found is not None
    assert text in found


def test_object_without_data_is_empty_and_one_without_value_is_refused() -> None:
    assert defect_of_object(Property(type=BUNDLE_OBJECT, value={"ref": "x"}), 1) is None
    assert defect_of_object(Property(type=BUNDLE_OBJECT, value=None), 1) is None
    assert defect_of_object(Property(type=BUNDLE_OBJECT, value="x"), 1) is not None
    assert defect_of_object(Property(type=BUNDLE_OBJECT), 1) is not None


def bundle_with(*values: Any) -> Bundle:
    return Bundle(
        package="p", name=full("v1"), properties=tuple(Property(type="olm.package", value=value) for value in values)
    )


def test_package_property_is_the_only_one_that_can_be_decoded() -> None:
    found = package_property(bundle_with({"PackageName": "p", "version": "1.0.0"}))
    assert found is not None
    assert (found.package, found.version, found.release) == ("p", "1.0.0", "")
    assert package_property(bundle_with()) is None
    assert package_property(bundle_with({}, {})) is None
    assert package_property(bundle_with({"version": 1})) is None
