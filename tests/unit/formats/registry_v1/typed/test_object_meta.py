from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.registry_v1.typed.object_meta import object_meta_defects
from rukpak_py.formats.registry_v1.typed.traces import TypeDefect

GO = "json: cannot unmarshal {} into Go struct field {} of type {}"


def first_defect(manifest: dict[str, Any]) -> TypeDefect | None:
    """What the reference renderer says about the object."""
    return next(iter(object_meta_defects(manifest)), None)


def refused(metadata: Any) -> tuple[Path, str]:
    defect = first_defect({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    assert defect is not None
    return defect.path, defect.text


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
    ("metadata", "path", "text"),
    [
        ("x", (), GO.format("string", "metadataOnlyObject.metadata", "v1.ObjectMeta")),
        ({"name": 5}, ("name",), GO.format("number", "ObjectMeta.metadata.name", "string")),
        ({"uid": True}, ("uid",), GO.format("bool", "ObjectMeta.metadata.uid", "types.UID")),
        ({"labels": {"a": 1}}, ("labels", "a"), GO.format("number", "ObjectMeta.metadata.labels", "string")),
        (
            {"annotations": []},
            ("annotations",),
            GO.format("array", "ObjectMeta.metadata.annotations", "map[string]string"),
        ),
        ({"finalizers": "x"}, ("finalizers",), GO.format("string", "ObjectMeta.metadata.finalizers", "[]string")),
        ({"finalizers": ["x", {}]}, ("finalizers", 1), GO.format("object", "ObjectMeta.metadata.finalizers", "string")),
        ({"generation": "1"}, ("generation",), GO.format("string", "ObjectMeta.metadata.generation", "int64")),
        ({"generation": 1.5}, ("generation",), GO.format("number 1.5", "ObjectMeta.metadata.generation", "int64")),
        (
            {"generation": 1e19},
            ("generation",),
            GO.format(f"number {10**19}", "ObjectMeta.metadata.generation", "int64"),
        ),
        (
            {"ownerReferences": [{}, {"controller": "yes"}]},
            ("ownerReferences", 1, "controller"),
            GO.format("string", "OwnerReference.metadata.ownerReferences.controller", "bool"),
        ),
        (
            {"ownerReferences": [1]},
            ("ownerReferences", 0),
            GO.format("number", "ObjectMeta.metadata.ownerReferences", "v1.OwnerReference"),
        ),
        (
            {"managedFields": {}},
            ("managedFields",),
            GO.format("object", "ObjectMeta.metadata.managedFields", "[]v1.ManagedFieldsEntry"),
        ),
        (
            {"deletionTimestamp": 5},
            ("deletionTimestamp",),
            GO.format("number", "ObjectMeta.metadata.deletionTimestamp", "string"),
        ),
        (
            {"creationTimestamp": "yesterday"},
            ("creationTimestamp",),
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_told_in_the_words_of_go(metadata: Any, path: Path, text: str) -> None:
    assert refused(metadata) == (("metadata", *path), text)


def test_an_api_version_is_a_text() -> None:
    defect = first_defect({"apiVersion": 5, "kind": "Secret"})
    assert defect is not None
    assert defect.text == GO.format("number", "metadataOnlyObject.TypeMeta.apiVersion", "string")


def test_the_first_in_the_order_of_names_is_told_unless_a_time_ends_the_decoding() -> None:
    metadata: dict[str, Any] = {"name": 5, "labels": {"b": 1, "a": 2}, "creationTimestamp": None}
    assert refused(metadata)[0] == ("metadata", "labels", "a")
    metadata["managedFields"] = [{"manager": 1, "time": "never"}]
    assert refused(metadata)[0] == ("metadata", "managedFields", 0, "time")


def test_all_of_them_can_be_had() -> None:
    defects = object_meta_defects({"metadata": {"name": 5, "labels": {"b": 1, "a": 2}}})
    paths = [("metadata", "labels", "a"), ("metadata", "labels", "b"), ("metadata", "name")]
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
