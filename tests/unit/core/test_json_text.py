import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core import json_text


@pytest.mark.parametrize(
    ("text", "offset", "problem"),
    [
        ("", 0, "unexpected end of JSON input"),
        ('{"a": [1', 8, "unexpected end of JSON input"),
        ('"abc', 4, "unexpected end of JSON input"),
        ("x", 1, "invalid character 'x' looking for beginning of value"),
        ("[1,]", 4, "invalid character ']' looking for beginning of value"),
        ("NaN", 1, "invalid character 'N' looking for beginning of value"),
        ("\u00e9", 1, "invalid character '\u00c3' looking for beginning of value"),  # its first byte
        ("'a'", 1, r"invalid character '\'' looking for beginning of value"),
        ('{"a":1,}', 8, "invalid character '}' looking for beginning of object key string"),
        ('{"a" 1}', 6, "invalid character '1' after object key"),
        ('{"a":1 "b"}', 8, "invalid character '\"' after object key:value pair"),
        ("[1 2]", 4, "invalid character '2' after array element"),
        ("1 2", 3, "invalid character '2' after top-level value"),
        ("01", 2, "invalid character '1' after top-level value"),
        ("-a", 2, "invalid character 'a' in numeric literal"),
        ("1.a", 3, "invalid character 'a' after decimal point in numeric literal"),
        ("1e+", 3, "invalid character ' ' in exponent of numeric literal"),
        ("nul1", 4, "invalid character '1' in literal null (expecting 'l')"),
        ("tru", 3, "invalid character ' ' in literal true (expecting 'e')"),
        ('"a\nb"', 3, r"invalid character '\n' in string literal"),
        (r'"\x"', 3, "invalid character 'x' in string escape code"),
        (r'"\u12g4"', 6, r"invalid character 'g' in \u hexadecimal character escape"),
        ("\u00e9 ", 1, "invalid character '\u00c3' looking for beginning of value"),
        ('"\u00e9" x', 6, "invalid character 'x' after top-level value"),
        ("[" * 10_001, 10_001, "invalid character '[' exceeded max depth"),
    ],
)
def test_what_is_no_json_is_told_in_the_words_of_go(text: str, offset: int, problem: str) -> None:
    with pytest.raises(json_text.JsonSyntaxError) as refused:
        json_text.check(text)
    assert (str(refused.value), refused.value.offset) == (problem, offset)


def test_deep_nesting_needs_no_deep_stack() -> None:
    json_text.check("[" * 10_000 + "]" * 10_000)


def test_values_keep_their_spelling() -> None:
    text = ' [ {"b" : 1.0e5, "a": [ 1, "x, ]", {} ] } ,null, "<\\u00e9 \u2028&>" ] '
    json_text.check(text)
    found = list(json_text.elements(text, json_text.whole(text)))
    assert [text[slice(*span)][:5] for span in found] == ['{"b" ', "null", '"<\\u0']
    assert json_text.compact(text, found[0]) == '{"b":1.0e5,"a":[1,"x, ]",{}]}'
    assert json_text.compact(text, found[2]) == r'"\u003c\u00e9 \u2028\u0026\u003e"'
    pairs = [(text[slice(*key)], text[slice(*value)]) for key, value in json_text.members(text, found[0])]
    assert pairs == [('"b"', "1.0e5"), ('"a"', '[ 1, "x, ]", {} ]')]


@pytest.mark.parametrize("text", ["[]", "[ ]", "[\n]"])
def test_an_empty_list_has_no_elements(text: str) -> None:
    assert list(json_text.elements(text, json_text.whole(text))) == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values, st.sampled_from([None, 1, "\t"]))
def test_all_json_is_accepted_and_means_the_same_when_compact(value: Any, indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=indent is None)
    json_text.check(text)
    written = json_text.compact(text, json_text.whole(text))
    assert json.loads(written) == value
    assert not set(written) & set("<>&\u2028\u2029")


@given(st.text(alphabet='{}[],:"\\ \n0123456789-+.eEtrufalsnx', max_size=12))
def test_what_is_accepted_is_what_python_accepts(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        with pytest.raises(json_text.JsonSyntaxError):
            json_text.check(text)
    else:
        json_text.check(text)
