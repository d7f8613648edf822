"""Values of a wrong type: Go's words, where they are, in Go's order, and what is made of the rest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.formats.registry_v1.typed.restore import TypeDefect, restore

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


def defects_of(value: Any, type_name: str) -> list[TypeDefect]:
    defects: list[TypeDefect] = []
    restore(value, type_name, keep_unknown=False, defects=defects, unknown=[])
    return defects


def texts(value: Any, type_name: str) -> list[str]:
    return [defect.text for defect in defects_of(value, type_name)]


@pytest.mark.parametrize(
    ("type_name", "value", "text"),
    [
        ("string", 8080, "cannot convert int64 to string"),
        ("Protocol", 8080, "cannot convert int64 to v1.Protocol"),
        ("string", True, "unrecognized type: string"),
        ("string", 1.5, "unrecognized type: string"),
        ("string", [], "unrecognized type: string"),
        ("string", {}, "unrecognized type: string"),
        ("bool", "true", "unrecognized type: bool"),
        ("bool", 1, "unrecognized type: bool"),
        ("int32", "443", "unrecognized type: int32"),
        ("int32", True, "unrecognized type: int32"),
        ("int32", 1.5, "cannot convert float64 to int32"),
        ("int64", 1.5, "cannot convert float64 to int64"),
        ("float64", "5", "unrecognized type: float64"),
        ("*int32", {}, "unrecognized type: int32"),
        ("[]string", "a", "cannot restore slice from string"),
        ("[]string", {"a": "b"}, "cannot restore slice from map"),
        ("[]string", 1, "cannot restore slice from int64"),
        ("map[string]string", ["a"], "cannot restore map from slice"),
        ("map[string]string", 1.5, "cannot restore map from float64"),
        ("Container", "c", "cannot restore struct from: string"),
        ("Container", [], "cannot restore struct from: slice"),
        ("Container", False, "cannot restore struct from: bool"),
        ("*Container", 1, "cannot restore struct from: int64"),
        ("[]uint8", 5, "cannot restore slice from int64"),
        ("[]uint8", ["a"], "unrecognized type: uint8"),
        ("[]uint8", [1.5], "cannot convert float64 to uint8"),
    ],
)
def test_a_wrong_type_is_told_in_the_words_of_gos_converter(type_name: str, value: Any, text: str) -> None:
    assert texts(value, type_name) == [text]


@pytest.mark.parametrize(
    ("type_name", "value", "text"),
    [
        ("IntOrString", 8080.5, "json: cannot unmarshal number 8080.5 into Go value of type int32"),
        ("IntOrString", 4294967296, "json: cannot unmarshal number 4294967296 into Go value of type int32"),
        ("IntOrString", 1e30, "json: cannot unmarshal number 1e+30 into Go value of type int32"),
        ("IntOrString", True, "json: cannot unmarshal bool into Go value of type int32"),
        ("IntOrString", {}, "json: cannot unmarshal object into Go value of type int32"),
        ("OperatorVersion", 1.16, "json: cannot unmarshal number into Go value of type string"),
        ("OperatorVersion", [], "json: cannot unmarshal array into Go value of type string"),
        ("OperatorVersion", "4.2.2.6", 'Invalid character(s) found in patch number "2.6"'),
        ("OperatorRelease", "01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("Time", 5, "json: cannot unmarshal number into Go value of type string"),
        ("Time", "", 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        (
            "Quantity",
            True,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_types_with_json_code_of_their_own_have_their_own_words(type_name: str, value: Any, text: str) -> None:
    assert texts(value, type_name) == [text]


@pytest.mark.parametrize(
    ("text", "byte"),
    [
        ("Y", 0),
        ("YQ", 0),
        ("YWJj\nY", 5),
        ("Y Q=", 1),
        ("=", 0),
        ("Y===", 1),
        ("YQ=", 3),
        ("YQ=\n", 4),
        ("YQ=a", 2),
        ("YQ==a", 4),
        ("YQ==\n\nYQ==", 6),
        ("YWI=YWI=", 4),
        ("YWJjYé", 5),
    ],
)
def test_broken_base64_is_told_with_its_first_bad_byte(text: str, byte: int) -> None:
    assert texts(text, "[]uint8") == [f"error decoding from json: illegal base64 data at input byte {byte}"]


def test_all_defects_are_found_in_the_order_of_gos_fields() -> None:
    spec = {
        "template": {"spec": {"containers": [{"env": [{"value": 1}], "name": True}, 5]}},
        "replicas": "three",
    }
    pod = ("template", "spec", "containers")
    assert defects_of(spec, "DeploymentSpec") == [
        TypeDefect(path=("replicas",), text="unrecognized type: int32"),
        TypeDefect(path=(*pod, 0, "name"), text="unrecognized type: string"),
        TypeDefect(path=(*pod, 0, "env", 0, "value"), text="cannot convert int64 to string"),
        TypeDefect(path=(*pod, 1), text="cannot restore struct from: int64"),
    ]


def test_a_maps_defects_are_in_the_order_of_its_keys() -> None:
    assert [defect.path for defect in defects_of({"b": 1, "a": 2}, "map[string]string")] == [("a",), ("b",)]


def test_a_list_of_ten_keeps_its_order() -> None:
    assert [defect.path for defect in defects_of([True] * 11, "[]string")] == [(index,) for index in range(11)]


def test_what_is_wrong_counts_as_absent_and_the_rest_is_decoded() -> None:
    defects: list[TypeDefect] = []
    container = {"name": 5, "image": "i", "env": "x", "ports": ["p", {"containerPort": 1}], "resources": []}
    restored = restore(container, "Container", keep_unknown=False, defects=defects, unknown=[])
    assert restored == {
        "name": "",
        "image": "i",
        "ports": [{"containerPort": 0}, {"containerPort": 1}],
        "resources": {},
    }
    assert len(defects) == 4


def test_a_document_that_is_no_object_is_the_zero_value() -> None:
    defects: list[TypeDefect] = []
    restored = restore([], "PolicyRule", keep_unknown=False, defects=defects, unknown=[])
    assert restored == {"verbs": None}
    assert defects == [TypeDefect(path=(), text="cannot restore struct from: slice")]


def test_defects_are_added_to_those_of_before() -> None:
    earlier = TypeDefect(path=("a",), text="earlier")
    defects = [earlier]
    restore(1, "string", keep_unknown=False, defects=defects, unknown=[])
    assert defects[0] is earlier
    assert len(defects) == 2


def test_a_hostile_document_fills_no_memory_with_its_defects() -> None:
    assert len(defects_of([True] * 5000, "[]string")) == 1000


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "kind"]), JSON) | JSON)
def test_no_value_is_a_surprise(value: Any) -> None:
    for kind in ("ClusterServiceVersion", "CustomResourceDefinition", "Deployment"):
        restored = restore(value, kind, keep_unknown=False, defects=[], unknown=[])
        defects: list[TypeDefect] = []
        assert restore(restored, kind, keep_unknown=False, defects=defects, unknown=[]) == restored
        assert defects == []  # what was encoded can be decoded
