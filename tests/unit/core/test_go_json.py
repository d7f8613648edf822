"""JSON as Go writes it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.gojson import Fields, base36, deep_hash, encode

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_reads_back_as_the_same_value(value: object) -> None:
    assert json.loads(encode(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back_as_the_same_number(number: float) -> None:
    assert float(encode(number)) == number


@given(st.text())
def test_text_never_holds_what_a_browser_would_act_on(text: str) -> None:
    written = encode(text).decode()
    assert not set(written) & set("<>&\u2028\u2029")
    assert not any(character < " " for character in written)


@given(st.text(st.characters(min_codepoint=0x7F, exclude_categories=["Cs"], exclude_characters="\u2028\u2029")))
def test_text_beyond_ascii_stays_as_it_is(text: str) -> None:
    assert encode(text).decode() == f'"{text}"'


@given(st.dictionaries(st.text(), st.none()))
def test_keys_of_maps_are_sorted_by_their_bytes(mapping: dict[str, None]) -> None:
    keys = list(json.loads(encode(mapping)))
    assert keys == sorted(mapping, key=lambda key: key.encode())


def test_fields_of_structs_keep_their_order() -> None:
    assert encode(Fields.of(b=1, a={"z": 1, "y": 2})) == b'{"b":1,"a":{"y":2,"z":1}}'


def test_empty_fields_are_left_out_but_structs_stay() -> None:
    fields = Fields.non_empty(text="", no=False, zero=0, items=[], map={}, nothing=None, struct=Fields(()))
    assert encode(fields) == b'{"struct":{}}'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('a"b\\c', rb'"a\"b\\c"'),
        ("\n\r\t\b\f", rb'"\n\r\t\b\f"'),
        ("\x00\x1f\x7f", b'"\\u0000\\u001f\x7f"'),
        ("<a>&</a>", rb'"\u003ca\u003e\u0026\u003c/a\u003e"'),
        ("\u2028\u2029", rb'"\u2028\u2029"'),
        ("\udcff", rb'"\ufffd"'),
    ],
)
def test_escapes(text: str, written: bytes) -> None:
    assert encode(text) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (100.0, "100"),
        (123456.789, "123456.789"),
        (0.000001, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (-1e-10, "-1e-10"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.25e22, "-1.25e+22"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)
def test_floats(number: float, written: str) -> None:
    assert encode(number).decode() == written


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_infinity_and_nan_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="no infinity and no NaN"):
        encode(number)


def test_values_that_are_no_json_are_refused() -> None:
    with pytest.raises(TypeError, match="no JSON for set"):
        encode({1})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, "16jfjhihxbzhfhs1k5mimq740kvioi98pfbea9q6qtf9"),
        ("a", "1lu1qv1451mq7gv9upu1cx8ffffi07rel5xvbvvc44dh"),
        ("b", "1ija85ah4gd0beltpfhszipkxfyqqxhp94tf2mjfgq61"),
        (None, "2im0kl1kwvzn46sr4cdtkvmdzrlurvj51xdzhwdht8l0"),
        (
            Fields.of(Str="foobar", Num=22, Obj=Fields.of(Foo="bar"), Arr=[0, 1], B=True, N=None),
            "gta1bt5sybll5qjqxdiekmjm7py93glrinmnrfb31fj",
        ),
        (
            Fields.of(Str="foobar", Num=23, Obj=Fields.of(Foo="bar"), Arr=[0, 1], B=True, N=None),
            "1ftn1z2ieih8hsmi2a8c6mkoef6uodrtn4wtt1qapioh",
        ),
    ],
)
def test_deep_hash_agrees_with_go(value: object, expected: str) -> None:
    assert deep_hash(value) == expected


@given(st.integers(min_value=0))
def test_base36_reads_back(number: int) -> None:
    assert int(base36(number), 36) == number
