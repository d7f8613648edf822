"""Errors of YAML and JSON: line and column of the file, and the defect there."""

import json
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rukpak_py.content import yaml
from rukpak_py.content.yaml_streams import YamlError
from rukpak_py.core.json_text import JsonSyntaxError, end_of_value

NO_KEY = "unsupported map key: null, or an integer that needs more than 63 bits"
NO_VALUE = "unsupported value: infinity or not a number"
DOCUMENTS = [  # text, line and column of the file, what is wrong
    ("a: b: c", (1, 5), "mapping values are not allowed in this context"),
    ("a: 1\n b: 2\n", (2, 3), "mapping values are not allowed in this context"),
    ("a: 1\n\nb: !!str\n\n  @\n", (5, 3), "found character that cannot start any token"),
    ("a: [1\nb: 2", (2, 2), "did not find expected ',' or ']'"),
    ("b: *nope", (1, 4), "unknown anchor 'nope' referenced"),
    ("a: !!int x\nb: *nope", (1, 4), "cannot decode a scalar as a !!int"),
    ("a: !!int x\nb: [", (1, 4), "cannot decode a scalar as a !!int"),
    ("a: !!float 18446744073709551615", (1, 4), "cannot decode a scalar as a !!float"),
    ("a: !!timestamp ~", (1, 4), "cannot decode a scalar as a !!timestamp"),
    ("a: !!binary x\n", (1, 4), "!!binary value contains invalid base64 data"),
    ("a: &x {b: *x}", (1, 11), "anchor 'x' value contains itself"),
    ("<<: [{a: 1}, 5]", (1, 15), "map merge requires map or sequence of maps as the value"),
    ("? [a, 2.5]\n: 1", (1, 3), "invalid map key"),
    ("? {b: 1e6, a: 1}\n: 1", (1, 3), "invalid map key"),
    ("a: 1\n~: [1]", (2, 1), NO_KEY),
    ("18446744073709551615: {b: 1.5}", (1, 1), NO_KEY),
    ("a:\n  - .nan\nA: {b: .inf}\n", (2, 5), NO_VALUE),
    ("a: 1\nb: \x01\n", (2, 4), "control characters are not allowed"),
    ("# c\n%YAML 1.2\n---\na: 1\n", (2, 1), "found incompatible YAML document"),
    ('a: 1\nb: "x\n  \\/"', (3, 3), "found unknown escape character"),
]
STREAMS = [
    ("a: 1\n--- b\n", (2, 1), "yaml", "invalid document separator: b"),
    ("a: 1\n---\n\nb: [\n", (5, 1), "yaml", "did not find expected node content"),
    ("a: .inf", (1, 4), "yaml", NO_VALUE),
    ('{"a": "\n', (2, 1), "yaml", "found unexpected end of stream"),
    ('{"a": 1', (2, 1), "yaml", "did not find expected ',' or '}'"),
    ('{"a": 1} foo: bar\n baz: 1\n', (2, 5), "yaml", "mapping values are not allowed in this context"),
    ('{"a": 1}\n{"b": 1}\n{"\u00e9" x}\n', (3, 6), "json", "expected `:`, got 'x'"),
    ('{"a": 1}{"b": 1}\n{"c": 1e400', (2, 12), "json", "expected `,` or `}`, got the end"),
    ('{"b": "1e400", "a": 1e400}', (1, 21), "json", "number 1e400 is out of range"),
]

# Where libyaml's parser differs from Go's: the text, what Go says (None: nothing), and what we say.
DIFFERENT = [
    ("{a:}", None, "found unexpected ':'"),  # a colon in front of a flow indicator is text to Go
    ("{a: b? c}", "did not find expected ',' or '}'", None),  # a question mark ends a plain scalar of Go
    ("a: ![", None, "did not find expected whitespace or line break"),  # Go takes brackets for a part of a tag
    ('{}"a": 1}', None, "invalid map key"),  # only Go ends the document behind the braces
]


@pytest.mark.parametrize(("text", "place", "problem"), DOCUMENTS)
def test_documents(text: str, place: tuple[int, int], problem: str) -> None:
    with pytest.raises(YamlError) as caught:
        yaml.load(text.encode())
    error = caught.value
    assert (error.line, error.column, error.problem) == (*place, problem)
    assert str(error) == "yaml: line {}, column {}: {}".format(*place, problem)


@pytest.mark.parametrize(("text", "place", "language", "problem"), STREAMS)
def test_streams(text: str, place: tuple[int, int], language: str, problem: str) -> None:
    with pytest.raises(YamlError) as caught:
        yaml.load_all(text.encode())
    error = caught.value
    assert (error.line, error.column, error.problem) == (*place, problem)
    assert str(error) == "{}: line {}, column {}: {}".format(language, *place, problem)


@pytest.mark.parametrize(("text", "go_text", "ours"), DIFFERENT)
def test_known_differences(text: str, go_text: str | None, ours: str | None) -> None:
    found = None
    try:
        yaml.load(text.encode())
    except YamlError as error:
        found = error.problem
    assert found == ours != go_text


@pytest.mark.parametrize("text", ['{"a": 1e400 x}', '{"a": 1e400x}'])
def test_a_number_that_is_too_large_is_looked_at_only_in_what_is_json(text: str) -> None:
    assert yaml.load_all(text.encode()) == [{"a": text[6:-1]}]


def test_documents_before_a_defect_are_there() -> None:
    documents = yaml.documents(b"a: 1\n---\nb: 2\n---\n@\n")
    assert [next(documents), next(documents)] == [{"a": 1}, {"b": 2}]
    with pytest.raises(YamlError):
        next(documents)


def test_errors_travel_between_processes() -> None:
    with pytest.raises(YamlError) as caught:
        yaml.load(b"a: [")
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 our own bytes
    assert (str(copy), vars(copy)) == (str(caught.value), vars(caught.value))


def test_secrets_stay_out_of_the_text_for_people() -> None:
    with pytest.raises(YamlError) as caught:
        yaml.load(b"password: !!int hunter2\n")
    assert "hunter2" not in str(caught.value)


TOKENS = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', '"a"', "1", "-", ".5", "e", "tru", "true", "null", " ", "\\u", "\n"]
)


@given(st.lists(TOKENS, max_size=12).map("".join))
@example("[" * 100_000)
def test_json_that_python_refuses_has_a_defect(text: str) -> None:
    text = f"[{text}"  # of a number alone, Python takes what it can
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        with pytest.raises(JsonSyntaxError):
            end_of_value(text, 0)
    else:
        assert end_of_value(text, 0) == end


@given(st.binary(max_size=40))
def test_every_error_of_syntax_has_a_text_and_a_line(data: bytes) -> None:
    """The other errors are limits, and these bytes are too few for one."""
    for read in (yaml.load, yaml.load_all):
        try:
            read(data)
        except YamlError as error:
            found = error
        else:
            continue
        assert found.problem
        assert found.line
