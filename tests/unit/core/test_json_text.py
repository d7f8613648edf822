import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core import json_text


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, "expected a value, got the end"),
        ('{"a": [1', 8, "expected `,` or `]`, got the end"),
        ('"abc', 4, "the string has no closing quote"),
        ("x", 0, "expected a value, got 'x'"),
        ("[1,]", 3, "expected a value, got ']'"),
        ("[,]", 1, "expected a value, got ','"),
        ("NaN", 0, "expected a value, got 'N'"),
        ("'a'", 0, 'expected a value, got "\'"'),
        ('{"a":1,}', 7, "expected a key in double quotes, got '}'"),
        ("{5}", 1, "expected a key in double quotes, got '5'"),
        ('{"a" 1}', 5, "expected `:`, got '1'"),
        ('{"a":}', 5, "expected a value, got '}'"),
        ('{"a":1 "b"}', 7, "expected `,` or `}`, got '\"'"),
        ("[1 2]", 3, "expected `,` or `]`, got '2'"),
        ('{"a""}', 4, "expected `:`, got '\"'"),
        ("[1}", 2, "expected `,` or `]`, got '}'"),
        ("1 2", 2, "expected the end, got '2'"),
        ("01", 1, "expected the end, got '1'"),
        ("-a", 0, "expected a value, got '-'"),
        ("1.a", 1, "expected the end, got '.'"),
        ("nul1", 0, "expected a value, got 'n'"),
        ('"a\nb"', 2, "invalid character in a string"),
        (r'"\x"', 1, "invalid escape in a string"),
        (r'["\u12g4"]', 2, "invalid escape in a string"),
        ('"\u00e9" x', 4, "expected the end, got 'x'"),
        ("[" * 10_001, 10_000, "nested too deeply"),
    ],
)
def test_broken_json_is_refused_with_its_position(text: str, position: int, problem: str) -> None:
    with pytest.raises(json_text.JsonSyntaxError) as refused:
        json_text.check(text)
    assert (str(refused.value), refused.value.position) == (problem, position)


def test_a_value_ends_where_the_next_one_begins() -> None:
    assert json_text.end_of_value(' {"a": 1}[2]', 0) == 9
    assert json_text.end_of_value(' {"a": 1}[2]', 9) == 12
    assert json_text.end_of_value("12 x", 0) == 2


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
def test_texts_that_python_accepts_are_accepted_and_no_others(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        with pytest.raises(json_text.JsonSyntaxError):
            json_text.check(text)
    else:
        json_text.check(text)
