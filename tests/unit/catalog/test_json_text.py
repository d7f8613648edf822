"""JSON as Go writes it, beside a writer that is slow and plain."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.catalog.json_text import compact, compact_for_html, indented
from rukpak_py.core import gojson

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["", "1e5", "a: 1e-9,", "\u2028", "</b>&", "\x7f", " 2.0", "é😀"]
)
NUMBERS = st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def slowly_indented(value: Any, lead: str = "") -> str:
    deeper = lead + "    "
    match value:
        case dict() if value:
            keys = sorted(value, key=str.encode)
            lines = [f"{deeper}{text(key)}: {slowly_indented(value[key], deeper)}" for key in keys]
            return "{\n" + ",\n".join(lines) + f"\n{lead}}}"
        case list() if value:
            return "[\n" + ",\n".join(f"{deeper}{slowly_indented(one, deeper)}" for one in value) + f"\n{lead}]"
        case str():
            return text(value)
        case _:
            return gojson.encode(value).decode()


def text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@given(VALUES)
def test_indented_json_is_that_of_go(value: Any) -> None:
    # A number that stands alone is in no catalog.
    assert indented([value]).decode() == slowly_indented([value]) + "\n"


@given(VALUES)
def test_compact_json_is_that_of_go(value: Any) -> None:
    assert compact_for_html(value) == gojson.encode(value)


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (2.0, b"2"),
        (-0.0, b"-0"),
        (1e20, b"100000000000000000000"),
        (1e21, b"1e+21"),
        (1e-6, b"0.000001"),
        (1e-7, b"1e-7"),
        (5e-324, b"5e-324"),
        (123456789.5, b"123456789.5"),
        (math.pi, b"3.141592653589793"),
        (1 << 64, b"18446744073709551616"),
    ],
)
def test_numbers(number: float, written: bytes) -> None:
    assert compact(number) == written
    assert indented({"a": number}) == b'{\n    "a": %b\n}\n' % written
