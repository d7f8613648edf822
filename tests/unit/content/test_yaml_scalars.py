"""Every rule for scalars, as tables; the expectations were checked against sigs.k8s.io/yaml v1.6.0."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content import yaml
from rukpak_py.content.yaml_scalars import as_key, as_value, resolve
from rukpak_py.core.errors import ContentError

VALUES = {
    "null": ([None], ["", "~", "null", "Null", "NULL"]),
    "true": ([True], ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]),
    "false": ([False], ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]),
}
NUMBERS = [
    ("0", 0),
    ("-0", 0),
    ("+1", 1),
    ("0777", 511),
    ("0o777", 511),
    ("0O17", 15),
    ("-0o7", -7),
    ("0x1F", 31),
    ("0X1f", 31),
    ("-0x10", -16),
    ("0b101", 5),
    ("-0b11", -3),
    ("0b+1", 1),
    ("0b-1", -1),
    ("1_000", 1000),
    ("0x_F", 15),
    ("08", 8),
    ("1.0", 1),
    ("1.", 1),
    (".5", 0.5),
    (".5_0", 0.5),
    ("-.5", -0.5),
    ("1e3", 1000),
    ("12e03", 12000),
    ("3.14_15", 3.1415),
    ("-0.0", 0),
    ("1e-400", 0),
    ("9223372036854775807", 2**63 - 1),
    ("-9223372036854775808", -(2**63)),
    ("9223372036854775808", float(2**63)),
    ("0xFFFFFFFFFFFFFFFF", float(2**64 - 1)),
    ("18446744073709551616", float(2**64)),
    ("+9223372036854775808", float(2**63)),
    ("1e18", 10**18),
    ("4611686018427387904.0", 4611686018427388000),  # the shortest digits of 2**62
    ("1e21", 1e21),
    ("12e45", 1.2e46),
]
TEXTS = [
    *["yEs", "tRue", "nUll", "None", "nil", "oFF", "trueish", "yes/no", "null1", "~a"],
    *["2021-01-02", "2021-01-02T03:04:05Z", "22:22", "1:30:00", "00:00", "12:30:45.5"],
    *["=", "<", "<<", "==", ".", "..", "-.", "1e", "1e+", "e3", "0x", "0b", "0o8", "0b102", "0xFG", "1.2.3", "_1"],
    *["1e400", "-1e400", "12e4567", "0x10000000000000000", "0x1p3", "1,000", "500m", "1Gi", "NaN", "Infinity", ".iNf"],
    *["-.nan", "._5", ".5_", ".5__0", "0b", "0b+", "+a", "1-1", "\u0661"],
]
KEYS = [
    ("y", "true"),
    ("off", "false"),
    ("01", "1"),
    ("0x10", "16"),
    ("-1", "-1"),
    ("1.0", "1"),
    ("1.5", "1.5"),
    ("1e3", "1000"),
    ("123456.0", "123456"),
    ("1e6", "1e+06"),
    ("1234567.0", "1.234567e+06"),
    ("123456789.0", "1.2345679e+08"),
    ("0.0001", "0.0001"),
    ("0.00001", "1e-05"),
    ("-1e7", "-1e+07"),
    ("1e-45", "1e-45"),
    ("1e-46", "0"),
    ("-0.0", "-0"),
    ("1e39", ".inf"),
    (".inf", ".inf"),
    ("-.inf", "-.inf"),
    (".nan", ".nan"),
    ("18446744073709551616", "1.8446744e+19"),
    ("2021-01-02", "2021-01-02"),
    ("=", "="),
]
TAGGED = [
    ("!!str 1", "1"),
    ("!!str", ""),
    ('!!int "5"', 5),
    ("!!float 1", 1),
    ('!!float "1.5"', 1.5),
    ('!!bool "yes"', True),
    ('!!null ""', None),
    ("!!timestamp 2021-01-02", "2021-01-02"),
    ("!!timestamp 2021-1-2t3:4:5.6+02:00", "2021-1-2t3:4:5.6+02:00"),
    ("!!binary aGVsbG8=", "hello"),
    ('!!binary "aGVs\\nbG8="', "hello"),
    ("!!binary /////w==", "\ufffd" * 4),
    ("!foo 12", "12"),
    ("!!foo bar", "bar"),
    ("! 12", "12"),
    ("!x", ""),
    ("!!merge x", "x"),
]
REFUSED_TAGS = [
    *["!!int a", "!!int 1.0", "!!null a", "!!float abc", "!!float 9223372036854775808", "!!bool 1"],
    *["!!timestamp foo", "!!timestamp 2021-02-30", "!!timestamp 2021-01-02T25:00:00Z", "!!timestamp 2021-13-01"],
    *['!!binary "%%%"', "!!binary YQ", "!!binary abG8=", "!!binary YQ==YQ=="],
]


@pytest.mark.parametrize(("expected", "texts"), VALUES.values(), ids=VALUES)
def test_words_are_constants(expected: list[object], texts: list[str]) -> None:
    assert [yaml.load(f"a: {text}\n".encode()) for text in texts] == [{"a": expected[0]}] * len(texts)


@pytest.mark.parametrize(("text", "number"), NUMBERS)
def test_numbers_keep_value_and_type(text: str, number: float) -> None:
    value = yaml.load(f"a: {text}\n".encode())["a"]
    assert value == number
    assert type(value) is type(number)


@pytest.mark.parametrize("text", TEXTS)
def test_everything_else_stays_text(text: str) -> None:
    assert yaml.load(f"a: {text}\n".encode()) == {"a": text}


@pytest.mark.parametrize(("text", "key"), KEYS)
def test_keys_become_text(text: str, key: str) -> None:
    assert yaml.load(f"{text}: a\n".encode()) == {key: "a"}


@pytest.mark.parametrize("text", ["null", "~", "9223372036854775808", "[a]", "{a: b}"])
def test_keys_without_a_text_are_refused(text: str) -> None:
    with pytest.raises(ContentError, match="map key"):
        yaml.load(f"{text}: a\n".encode())


@pytest.mark.parametrize(("text", "value"), TAGGED)
def test_tags_decide(text: str, value: object) -> None:
    assert yaml.load(f"a: {text}\n".encode()) == {"a": value}


@pytest.mark.parametrize("text", REFUSED_TAGS)
def test_tags_that_do_not_fit_are_refused_with_their_place(text: str) -> None:
    with pytest.raises(ContentError, match=r"yaml: line 2, column 4: "):
        yaml.load(f"b: 1\na: {text}\n".encode())


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".NAN", "!!float .inf"])
def test_value_without_a_place_in_json_is_refused(text: str) -> None:
    with pytest.raises(ContentError, match="yaml: line 1, column 4: unsupported value"):
        yaml.load(f"a: {text}\n".encode())


def test_value_without_a_place_in_json_may_be_overwritten() -> None:
    assert yaml.load(b"a: .inf\na: 1\nb: {null: 1}\nb: 2\n") == {"a": 1, "b": 2}


@given(st.text(alphabet="0123456789_.+-eExXoObBinfayYnN~", max_size=12))
def test_any_scalar_has_a_value_and_a_key(text: str) -> None:
    raw = resolve(text)
    value, key = as_value(raw), as_key(raw)
    assert isinstance(value, str | int | float | None)
    assert not (isinstance(value, float) and value.is_integer() and abs(value) < 2**63)
    assert key is None or isinstance(key, str | int)


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_integers_survive(number: int) -> None:
    assert yaml.load(f"a: {number}".encode()) == {"a": number}
    assert yaml.load(f"{number}: a".encode()) == {str(number): "a"}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_survive(number: float) -> None:
    text = re.sub(r"e(\d)", r"e+\1", repr(number))
    value = yaml.load(f"a: {text}".encode())["a"]
    assert value == number or math.isclose(value, number, rel_tol=1e-15)
