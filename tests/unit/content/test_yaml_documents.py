"""Mappings, merges, aliases, limits and positions within one document."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits

MERGES = [
    ("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n", {"p": 1, "q": 3}),
    ("a: &x {p: 1}\nb:\n  q: 3\n  p: 9\n  <<: *x\n", {"p": 1, "q": 3}),  # in document order: the merge overwrites
    ("a: &x {p: 1}\nb:\n  p: 2\n  <<: *x\n  p: 3\n", {"p": 3}),
    ("a: &x {p: 1}\nc: &y {p: 5, r: 2}\nb:\n  <<: [*x, *y]\n", {"p": 1, "r": 2}),  # in a list the earlier map wins
    ("a: &x {p: 1}\nb:\n  !!merge <<: *x\n", {"p": 1}),
    ("a: &x {p: 1}\nb:\n  ! <<: *x\n", {"p": 1}),
    ('a: &x {p: 1}\nb:\n  "<<": *x\n', {"<<": {"p": 1}}),
    ("b:\n  <<: [{p: 1}, {q: 2}]\n", {"p": 1, "q": 2}),
    ("a: &x {1: a, true: b}\nb: {<<: *x}\n", {"1": "a", "true": "b"}),
]


def load(text: str) -> object:
    return yaml.load(text.encode())


@pytest.mark.parametrize(("text", "merged"), MERGES)
def test_merge_keys(text: str, merged: dict[str, object]) -> None:
    document = yaml.load(text.encode())
    assert document["b"] == merged


@pytest.mark.parametrize("value", ["5", "null", "", "[1]", "*list", "[*list]", "*maps"])
def test_only_maps_can_be_merged(value: str) -> None:
    with pytest.raises(ContentError, match="map merge requires map or sequence of maps as the value"):
        load(f"a: &list [1]\nc: &maps [{{p: 1}}]\nb:\n  <<: {value}\n")


def test_the_last_duplicate_wins() -> None:
    assert load('a: 1\n"a": 2\n1: x\n"1": z\n') == {"a": 2, "1": "z"}


def test_aliases_are_copies() -> None:
    document = yaml.load(b"a: &x {p: [1]}\nb: *x\n")
    document["b"]["p"].append(2)
    assert document == {"a": {"p": [1]}, "b": {"p": [1, 2]}}


def test_anchors_name_keys_scalars_and_the_latest() -> None:
    assert load("&k a: &v 1\nb: *k\n*v : &v 2\nc: *v\n") == {"a": 1, "b": "a", "1": 2, "c": 2}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("b: *nope", "line 1, column 4: unknown anchor 'nope' referenced"),
        ("a: &a [*a]", "line 1, column 8: anchor 'a' value contains itself"),
        ("x: &a 1\na: &a {b: *a}", "line 2, column 11: anchor 'a' value contains itself"),
        ("a: 1\n b: 2\n", "line 2, column 3: mapping values are not allowed in this context"),
        ('a: "\\/"', "found unknown escape character"),
        ("%YAML 1.2\n---\na: 1\n", "found incompatible YAML document"),
        ("a: 1\nb: \x01\n", "line 2, column 4: control characters are not allowed"),
    ],
)
def test_errors_say_where(text: str, problem: str) -> None:
    with pytest.raises(ContentError) as caught:
        load(text)
    assert problem in str(caught.value)


def test_byte_order_marks() -> None:
    assert load("\ufeffa: 1\n\ufeffb: c\ufeff\n") == {"a": 1, "\ufeffb": "c\ufeff"}


def test_only_the_first_document_counts() -> None:
    assert load("a: 1\n---\nb: [\n") == {"a": 1}
    assert load("# nothing\n") is None


def test_an_escaped_backslash_before_a_slash_is_fine() -> None:
    assert load("a: \"\\\\/\"\nb: '\\/'\nc: \\/\n") == {"a": "\\/", "b": "\\/", "c": "\\/"}


def nested_lists(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize("text", [nested_lists(501), b"[" * 100_000, b"- " * 5000 + b"a", b"{a: " * 30_000])
def test_depth_is_bounded(text: bytes) -> None:
    with pytest.raises(
        ContentError, match=r"nesting of YAML exceeds the limit of 500 \(RUKPAK_LIMIT_YAML_DEPTH sets it\)"
    ):
        yaml.load(text)


def test_depth_is_bounded_across_aliases() -> None:
    text = b"a: &a " + nested_lists(300) + b"\nb: " + b"[" * 300 + b"*a" + b"]" * 300
    with pytest.raises(ContentError, match="aliases expanded exceeds the limit of 500"):
        yaml.load(text)


def test_the_deepest_allowed_document_loads() -> None:
    assert yaml.load(nested_lists(500)) != []


def bomb(levels: int) -> bytes:
    below = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels)]
    return "\n".join(['a0: &a0 ["x", "x", "x", "x", "x", "x", "x", "x", "x"]', *below]).encode()


def test_alias_bombs_are_refused_as_go_does() -> None:
    yaml.load(bomb(3))
    for levels in (4, 9, 100):
        with pytest.raises(ContentError, match="document contains excessive aliasing"):
            yaml.load(bomb(levels))


def test_nodes_are_bounded_with_aliases_expanded() -> None:
    limits = Limits(yaml_nodes=100)
    with pytest.raises(ContentError, match=r"RUKPAK_LIMIT_YAML_NODES"):
        yaml.load(bomb(3), limits=limits)
    with pytest.raises(ContentError, match=r"RUKPAK_LIMIT_YAML_NODES"):
        yaml.load(b"[" + b"1," * 200 + b"]", limits=limits)


def test_bytes_are_bounded() -> None:
    with pytest.raises(
        ContentError, match=r"a YAML file of 11 bytes exceeds the limit of 10 bytes \(RUKPAK_LIMIT_YAML_BYTES sets it\)"
    ):
        yaml.load(b"a: 12345678", limits=Limits(yaml_bytes=10))


SNIPPETS = st.sampled_from(
    [
        *["a", ": ", "\n", "  ", "- ", "[", "]", "{", "}", ",", '"', "'", "|", ">", "&x ", "*x", "<<: ", "!!int ", "!"],
        *["---", "#", "?", "1", "\t", "\r\n", "\\", "~", "%", ".inf", "!!binary ", "\ufeff", "\\/", "..."],
    ]
)


@given(st.one_of(st.binary(max_size=60), st.lists(SNIPPETS, max_size=30).map(lambda parts: "".join(parts).encode())))
def test_any_bytes_are_values_or_content_errors(data: bytes) -> None:
    for read in (yaml.load, yaml.load_all):
        try:
            read(data)
        except ContentError as error:
            assert str(error)  # noqa: PT017 the property is that nothing else is raised


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), TEXT),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_json_streams_come_back(value: dict[str, object]) -> None:
    escaped = json.dumps(value).encode()
    assert yaml.load_all(escaped + b"\n" + escaped) == [value, value]
