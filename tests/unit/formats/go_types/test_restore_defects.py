"""Values of a wrong type: where they are, what is wanted there, and what is made of the rest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.findings import QUOTED, Fix
from rukpak_py.formats.go_types.restore import restore
from rukpak_py.formats.type_defects import TypeDefect, Wanted

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


def defects_of(value: Any, type_name: str) -> list[TypeDefect]:
    defects: list[TypeDefect] = []
    restore(value, type_name, keep_unknown=False, defects=defects, unknown=[])
    return defects


def wanted(value: Any, type_name: str) -> Wanted:
    (defect,) = defects_of(value, type_name)
    return defect.wanted


@pytest.mark.parametrize(
    ("type_name", "value", "kind"),
    [
        ("string", 8080, Wanted.STRING),
        ("Protocol", 8080, Wanted.STRING),
        ("string", True, Wanted.STRING),
        ("string", 1.5, Wanted.STRING),
        ("string", [], Wanted.STRING),
        ("string", {}, Wanted.STRING),
        ("bool", "true", Wanted.BOOLEAN),
        ("bool", 1, Wanted.BOOLEAN),
        ("int32", "443", Wanted.INTEGER),
        ("int32", True, Wanted.INTEGER),
        ("int32", 1.5, Wanted.INTEGER),
        ("int64", 1.5, Wanted.INTEGER),
        ("float64", "5", Wanted.NUMBER),
        ("*int32", {}, Wanted.INTEGER),
        ("[]string", "a", Wanted.LIST),
        ("[]string", {"a": "b"}, Wanted.LIST),
        ("[]string", 1, Wanted.LIST),
        ("map[string]string", ["a"], Wanted.OBJECT),
        ("map[string]string", 1.5, Wanted.OBJECT),
        ("Container", "c", Wanted.OBJECT),
        ("Container", [], Wanted.OBJECT),
        ("Container", False, Wanted.OBJECT),
        ("*Container", 1, Wanted.OBJECT),
        ("[]uint8", 5, Wanted.BASE64),
        ("[]uint8", ["a"], Wanted.INTEGER),
        ("[]uint8", [1.5], Wanted.INTEGER),
        ("IntOrString", 8080.5, Wanted.INTEGER_OR_STRING),
        ("IntOrString", 4294967296, Wanted.INTEGER_32),
        ("IntOrString", 1e30, Wanted.INTEGER_OR_STRING),
        ("IntOrString", True, Wanted.INTEGER_OR_STRING),
        ("IntOrString", {}, Wanted.INTEGER_OR_STRING),
        ("OperatorVersion", 1.16, Wanted.VERSION),
        ("OperatorVersion", [], Wanted.VERSION),
        ("OperatorVersion", "4.2.2.6", Wanted.VERSION),
        ("OperatorRelease", "01", Wanted.RELEASE),
        ("Time", 5, Wanted.TIME),
        ("Time", "", Wanted.TIME),
        ("Quantity", True, Wanted.QUANTITY),
    ],
)
def test_a_wrong_type_is_told_by_what_is_wanted(type_name: str, value: Any, kind: Wanted) -> None:
    assert wanted(value, type_name) is kind


@pytest.mark.parametrize(
    ("type_name", "value", "kind"),
    [
        ("int32", 1 << 31, Wanted.INTEGER_32),
        ("int32", -1e30, Wanted.INTEGER_32),
        ("int64", 9.3e18, Wanted.INTEGER_64),
        ("[]uint8", [256], Wanted.INTEGER_8),
        ("[]uint8", [-1], Wanted.INTEGER_8),
    ],
)
def test_an_integer_that_does_not_fit_is_a_defect_where_it_does_not_wrap(
    type_name: str, value: Any, kind: Wanted
) -> None:
    defects: list[TypeDefect] = []
    restore(value, type_name, keep_unknown=False, wraps=False, defects=defects, unknown=[])
    assert [defect.wanted for defect in defects] == [kind]
    assert defects_of(value, type_name) == []


def test_bytes_have_no_sign() -> None:
    defects: list[TypeDefect] = []
    value = restore([0, 255], "[]uint8", keep_unknown=False, wraps=False, defects=defects, unknown=[])
    assert (value, defects) == ("AP8=", [])


@pytest.mark.parametrize(
    "text",
    [
        "Y",
        "YQ",
        "YWJj\nY",
        "Y Q=",
        "=",
        "Y===",
        "YQ=",
        "YQ=\n",
        "YQ=a",
        "YQ==a",
        "YQ==\n\nYQ==",
        "YWI=YWI=",
        "YWJjY\u00e9",
    ],
)
def test_broken_base64_is_a_defect(text: str) -> None:
    assert wanted(text, "[]uint8") is Wanted.BASE64


@pytest.mark.parametrize(
    ("got", "text"),
    [
        (8080, "must be a string, got number 8080"),
        (1.5, "must be a string, got number 1.5"),
        (True, "must be a string, got boolean true"),
        (None, "must be a string, got null"),
        (["a"], "must be a string, got a list"),
        ({}, "must be a string, got an object"),
    ],
)
def test_a_defect_says_what_is_wanted_and_what_is_there(got: Any, text: str) -> None:
    assert TypeDefect(path=(), wanted=Wanted.STRING, got=got).text == text


@pytest.mark.parametrize(
    ("wanted", "got", "fix"),
    [
        (Wanted.INTEGER, "10", Fix(text="10", is_string=False)),
        (Wanted.INTEGER, "-5", Fix(text="-5", is_string=False)),
        (Wanted.NUMBER, "0.5", Fix(text="0.5", is_string=False)),
        (Wanted.INTEGER, "010", None),  # 8 without its quotes
        (Wanted.INTEGER, "0644", None),
        (Wanted.NUMBER, "01.5", None),
        (Wanted.INTEGER, "ten", None),
        (Wanted.STRING, 10, QUOTED),
    ],
)
def test_quotes_are_corrected_where_the_value_stays_the_same(wanted: Wanted, got: Any, fix: Fix | None) -> None:
    assert TypeDefect(path=(), wanted=wanted, got=got).fix == fix


def test_a_long_value_is_not_shown() -> None:
    assert TypeDefect(path=(), wanted=Wanted.LIST, got="x" * 41).text == "must be a list, got a long string"
    assert TypeDefect(path=(), wanted=Wanted.LIST, got='a"b').text == r'must be a list, got string "a\"b"'


def test_all_defects_are_found_in_the_order_of_the_document() -> None:
    spec = {
        "template": {"spec": {"containers": [{"env": [{"value": 1}], "name": True}, 5]}},
        "replicas": "three",
    }
    pod = ("template", "spec", "containers")
    assert defects_of(spec, "DeploymentSpec") == [
        TypeDefect(path=(*pod, 0, "env", 0, "value"), wanted=Wanted.STRING, got=1),
        TypeDefect(path=(*pod, 0, "name"), wanted=Wanted.STRING, got=True),
        TypeDefect(path=(*pod, 1), wanted=Wanted.OBJECT, got=5),
        TypeDefect(path=("replicas",), wanted=Wanted.INTEGER, got="three"),
    ]


def test_a_list_of_ten_keeps_its_order() -> None:
    assert [defect.path for defect in defects_of([True] * 11, "[]string")] == [(index,) for index in range(11)]


def test_value_of_a_wrong_type_counts_as_absent_and_the_rest_is_decoded() -> None:
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
    assert defects == [TypeDefect(path=(), wanted=Wanted.OBJECT, got=[])]


def test_defects_are_added_to_those_of_before() -> None:
    earlier = TypeDefect(path=("a",), wanted=Wanted.LIST, got="earlier")
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
