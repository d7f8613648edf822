from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.registry_v1.manifest_files import object_meta_defects
from rukpak_py.formats.type_defects import TypeDefect, Wanted


def first_defect(manifest: dict[str, Any]) -> TypeDefect | None:
    return next(iter(object_meta_defects(manifest)), None)


def refused(metadata: Any) -> tuple[Path, Wanted]:
    defect = first_defect({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    assert defect is not None
    return defect.path, defect.wanted


def test_metadata_of_the_right_types_is_sound() -> None:
    metadata = {
        "name": "a",
        "labels": {"a": "b", "c": None},
        "annotations": None,
        "creationTimestamp": None,
        "deletionTimestamp": "2021-01-02T03:04:05+02:00",
        "generation": 3,
        "finalizers": ["x", None],
        "ownerReferences": [{"uid": "u", "controller": True}, None],
        "managedFields": [{"fieldsV1": ["anything"], "time": "2021-01-02T03:04:05Z"}],
        "unknown": 5,
        "Labels": 5,  # names are matched exactly
    }
    assert first_defect({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}) is None
    assert first_defect({"kind": "Secret", "metadata": None, "Metadata": 5}) is None


@pytest.mark.parametrize(
    ("metadata", "path", "wanted"),
    [
        ("x", (), Wanted.OBJECT),
        ({"name": 5}, ("name",), Wanted.STRING),
        ({"uid": True}, ("uid",), Wanted.STRING),
        ({"labels": {"a": 1}}, ("labels", "a"), Wanted.STRING),
        ({"annotations": []}, ("annotations",), Wanted.OBJECT),
        ({"finalizers": "x"}, ("finalizers",), Wanted.LIST),
        ({"finalizers": ["x", {}]}, ("finalizers", 1), Wanted.STRING),
        ({"generation": "1"}, ("generation",), Wanted.INTEGER),
        ({"generation": 1.5}, ("generation",), Wanted.INTEGER),
        ({"generation": 1e19}, ("generation",), Wanted.INTEGER),
        ({"ownerReferences": [{}, {"controller": "yes"}]}, ("ownerReferences", 1, "controller"), Wanted.BOOLEAN),
        ({"ownerReferences": [1]}, ("ownerReferences", 0), Wanted.OBJECT),
        ({"managedFields": {}}, ("managedFields",), Wanted.LIST),
        ({"managedFields": [{"time": "never"}]}, ("managedFields", 0, "time"), Wanted.TIME),
        ({"deletionTimestamp": 5}, ("deletionTimestamp",), Wanted.TIME),
        ({"creationTimestamp": "yesterday"}, ("creationTimestamp",), Wanted.TIME),
    ],
)
def test_a_value_of_a_wrong_type_is_told_by_what_is_wanted(metadata: Any, path: Path, wanted: Wanted) -> None:
    assert refused(metadata) == (("metadata", *path), wanted)


@pytest.mark.parametrize("field", ["apiVersion", "kind"])
def test_version_and_kind_are_strings(field: str) -> None:
    assert object_meta_defects({"metadata": {}, field: 5}) == [TypeDefect(path=(field,), wanted=Wanted.STRING, got=5)]


def test_all_of_them_can_be_had() -> None:
    defects = object_meta_defects({"metadata": {"name": 5, "labels": {"b": 1, "a": 2}}})
    paths = [("metadata", "name"), ("metadata", "labels", "b"), ("metadata", "labels", "a")]
    assert [defect.path for defect in defects] == paths


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["time", "uid", "a"]), inner),
    max_leaves=5,
)
names = ["name", "labels", "generation", "creationTimestamp", "finalizers", "ownerReferences", "managedFields"]


@given(st.dictionaries(st.sampled_from(names), values))
def test_every_defect_stands_at_a_path_of_the_object(metadata: dict[str, Any]) -> None:
    manifest = {"metadata": metadata}
    for defect in object_meta_defects(manifest):
        value: Any = manifest
        for part in defect.path:
            value = value[part]
        assert value is not None
