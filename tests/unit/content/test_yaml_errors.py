"""What errors say: line and column of the file for people, and the exact text of the Go library for programs.

Every text in quotes was given by sigs.k8s.io/yaml v1.6.0 and k8s.io/apimachinery v0.36.0 for the same bytes.
"""

import json
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rukpak_py.content import yaml
from rukpak_py.content.json_syntax import json_defect
from rukpak_py.content.yaml_errors import YamlError

DOCUMENTS = [  # text, line and column of the file, Go's text
    ("a: b: c", (1, 5), "yaml: mapping values are not allowed in this context"),
    ("a: 1\n b: 2\n", (2, 3), "yaml: line 2: mapping values are not allowed in this context"),
    ("a: 1\n\nb: !!str\n\n  @\n", (5, 3), "yaml: line 5: found character that cannot start any token"),
    ("a: [1\nb: 2", (2, 2), "yaml: line 1: did not find expected ',' or ']'"),
    ("b: *nope", (1, 4), "yaml: unknown anchor 'nope' referenced"),
    ("a: !!int x\nb: *nope", (1, 4), "yaml: unknown anchor 'nope' referenced"),
    ("a: !!int x\nb: [", (1, 4), "yaml: line 2: did not find expected node content"),
    ("a: 1\nb: !!int x", (2, 4), "yaml: cannot decode !!str `x` as a !!int"),
    ("a: !!float 18446744073709551615", (1, 4), "yaml: cannot decode !!int `18446744073709551615` as a !!float"),
    ("a: !!bool 1.5", (1, 4), "yaml: cannot decode !!float `1.5` as a !!bool"),
    ("a: !!timestamp ~", (1, 4), "yaml: cannot decode !!null `~` as a !!timestamp"),
    ("a: !!binary x\n", (1, 4), "yaml: !!binary value contains invalid base64 data"),
    ("a: &x {b: *x}", (1, 11), "yaml: anchor 'x' value contains itself"),
    ("<<: [{a: !!int x}, 5]", (1, 10), "yaml: map merge requires map or sequence of maps as the value"),
    (
        '? [a, 2.5, true, ~, "\\e\'\\""]\n: 1',
        (1, 3),
        r"""yaml: invalid map key: []interface {}{"a", 2.5, true, interface {}(nil), "\x1b'\""}""",
    ),
    (
        "? {b: 1e6, a: 1}\n: 1",
        (1, 3),
        'yaml: invalid map key: map[interface {}]interface {}{"a":1, "b":1e+06}',
    ),
    ("a: 1\n~: [123456789.5, 1e-5, -0.0, .nan]", (2, 1),
     "unsupported map key of type: %!s(<nil>), key: <nil>, value: []interface {}{1.234567895e+08, 1e-05, -0, NaN}"),
    ("~: ~", (1, 1), "unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>"),
    ("18446744073709551615: {b: 1.5}", (1, 1),
     'unsupported map key of type: uint64, key: 0xffffffffffffffff, value: map[interface {}]interface {}{"b":1.5}'),
    ("a:\n  - .nan\nA: {b: .inf}\n", (2, 5), "json: unsupported value: +Inf"),
    ("a: 1\nb: \x01\n", (2, 4), "yaml: control characters are not allowed"),
    ("# c\n%YAML 1.2\n---\na: 1\n", (2, 1), "yaml: line 1: found incompatible YAML document"),
    ('a: 1\nb: "x\n  \\/"', (3, 3), "yaml: line 3: found unknown escape character"),
    ("a: b: c\n" + "# filler\n" * 200 + "\x01", (1, 5), "yaml: mapping values are not allowed in this context"),
]  # fmt: skip
STREAMS = [
    ("a: 1\n--- b\n", (2, 1), "invalid Yaml document separator: b"),
    ("a: 1\n---\n\nb: [\n", (5, 1), "error converting YAML to JSON: yaml: line 2: did not find expected node content"),
    ("a: .inf", (1, 4), "error converting YAML to JSON: json: unsupported value: +Inf"),
    ('{"a": 1} x\n', (1, 10), "json: offset 10: invalid character 'x' looking for beginning of value"),
    ('{"a": "\n', (2, 1), "json: offset 8: invalid character '\\n' in string literal"),
    ('{"a": 1', (2, 1), "unexpected EOF"),
    ('{"a": 1} foo: bar\n baz: 1\n', (2, 5), "json: offset 11: invalid character 'o' in literal false (expecting 'a')"),
    ('{"a": 1}\n{"b": 1}\n{"é" x}\n', (3, 6), "invalid character 'x' after object key"),
    ('{"b": "1e400", "a": 1e400}', (1, 21), "json: cannot unmarshal number 1e400 into Go value of type float64"),
]  # fmt: skip
JSON = [  # as the third value of a stream
    (b"tru3", 3, "invalid character '3' in literal true (expecting 'e')"),
    (b'["\\x"]', 3, "invalid character 'x' in string escape code"),
    (b'["\\u12G"]', 6, "invalid character 'G' in \\u hexadecimal character escape"),
    (b"[-x]", 2, "invalid character 'x' in numeric literal"),
    (b"[1.x]", 3, "invalid character 'x' after decimal point in numeric literal"),
    (b"[1ex]", 3, "invalid character 'x' in exponent of numeric literal"),
    (b'{"a":01}', 6, "invalid character '1' after object key:value pair"),
    (b"[1 2]", 3, "invalid character '2' after array element"),
    (b'{"a":1,}', 7, "invalid character '}' looking for beginning of object key string"),
    (b"['x']", 1, "invalid character '\\'' looking for beginning of value"),
    (b'[[] "a"]', 4, "invalid character '\"' after array element"),
    (b"[{},\xff]", 4, "invalid character 'ÿ' looking for beginning of value"),
    (b'{"a": {"b": [', 13, "unexpected EOF"),
    (b'["\\u1', 5, "unexpected EOF"),
]

# Where libyaml's parser differs from Go's: the text, what Go says (None: nothing), and what we say. These are the kinds
# that mutated documents show most. Rarer ones come from two defects in one document (libyaml reads larger blocks, so
# bytes that are no text hide more; the escape `\/` and the version are looked at apart from the scanner), and from Go
# itself: which of several unsupported keys it tells is random.
DIFFERENT = [
    ("{a:}", None, "yaml: found unexpected ':'"),  # a colon in front of a flow indicator is text to Go
    ("{a: b? c}", "yaml: did not find expected ',' or '}'", None),  # a question mark ends a plain scalar of Go
    ("a: ![", None, "yaml: did not find expected whitespace or line break"),  # Go takes brackets for a part of a tag
    ('{}"a": 1}', None, "yaml: did not find expected key"),  # only Go ends the document behind the braces
]


@pytest.mark.parametrize(("text", "place", "go_text"), DOCUMENTS)
def test_documents(text: str, place: tuple[int, int], go_text: str) -> None:
    with pytest.raises(YamlError) as caught:
        yaml.load(text.encode())
    error = caught.value
    assert (error.line, error.column, error.go_text) == (*place, go_text)
    assert str(error).startswith("yaml: line {}, column {}: ".format(*place))


@pytest.mark.parametrize(("text", "place", "go_text"), STREAMS)
def test_streams(text: str, place: tuple[int, int], go_text: str) -> None:
    with pytest.raises(YamlError) as caught:
        yaml.load_all(text.encode())
    error = caught.value
    assert (error.line, error.column, error.go_text) == (*place, go_text)
    assert "line {}, column {}: ".format(*place) in str(error)


@pytest.mark.parametrize(("text", "go_text", "ours"), DIFFERENT)
def test_known_differences(text: str, go_text: str | None, ours: str | None) -> None:
    found = None
    try:
        yaml.load(text.encode())
    except YamlError as error:
        found = error.go_text
    assert found == ours != go_text


@pytest.mark.parametrize(("data", "offset", "problem"), JSON)
def test_json(data: bytes, offset: int, problem: str) -> None:
    assert json_defect(data, 0) == (offset, problem)
    assert json_defect(b" " + data, 1) == (offset + 1, problem)


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
def test_what_python_refuses_has_a_defect(text: str) -> None:
    text = f"[{text}"  # of a number alone, Python takes what it can
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        assert json_defect(text.encode(), 0) is not None
    else:
        assert json_defect(text.encode(), 0) is None


@given(st.binary(max_size=40))
def test_every_error_of_syntax_has_a_text_of_go(data: bytes) -> None:
    """The other errors are limits, and these bytes are too few for one."""
    for read in (yaml.load, yaml.load_all):
        try:
            read(data)
        except YamlError as error:
            found = error
        else:
            continue
        assert found.go_text
        assert found.line
