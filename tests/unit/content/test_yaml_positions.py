"""Where a path stands in its file: found for every document, whatever its style, and never an exception."""

import json

import pytest
import yaml as pyyaml
from hypothesis import example, given
from hypothesis import strategies as st

from rukpak_py.content import yaml
from rukpak_py.content.yaml_positions import Path, Position, Positions
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits

STREAM = b"""\
# a comment
---
kind: A
spec:
  list:
  - name: x
    y: 1
  -   - 2
  1: one
  1: uno
---
kind: B
"""
FOUND: list[tuple[int, Path, tuple[int, int], tuple[int, int]]] = [  # document, path, value, key
    (1, (), (3, 1), (3, 1)),
    (1, ("kind",), (3, 7), (3, 1)),
    (1, ("spec",), (5, 3), (4, 1)),
    (1, ("spec", "list"), (6, 3), (5, 3)),
    (1, ("spec", "list", 0), (6, 5), (6, 5)),
    (1, ("spec", "list", 0, "name"), (6, 11), (6, 5)),
    (1, ("spec", "list", 0, "true"), (7, 8), (7, 5)),
    (1, ("spec", "list", 1, 0), (8, 9), (8, 9)),
    (1, ("spec", "1"), (10, 6), (10, 3)),
    (2, ("kind",), (12, 7), (12, 1)),
]
ANCESTORS: list[tuple[Path, Path]] = [
    (("spec", "list", 0, "no", "such"), ("spec", "list", 0)),
    (("spec", "list", 2), ("spec", "list")),
    (("spec", "list", -1), ("spec", "list")),
    (("spec", "list", "0"), ("spec", "list")),
    (("spec", 1), ("spec",)),
    (("kind", "x"), ("kind",)),
    (("status",), ()),
]


def found(text: str, *path: str | int, document: int = 0) -> tuple[int, int]:
    position = Positions(text.encode()).of(document, path)
    assert position is not None
    return position


@pytest.mark.parametrize(("document", "path", "value", "key"), FOUND)
def test_values_and_keys(document: int, path: Path, value: tuple[int, int], key: tuple[int, int]) -> None:
    positions = Positions(STREAM)
    assert positions.of(document, path) == value
    assert positions.of(document, path, on_key=True) == key


@pytest.mark.parametrize(("path", "ancestor"), ANCESTORS)
@pytest.mark.parametrize("on_key", [False, True])
def test_absent_field_has_the_position_of_its_ancestor(path: Path, ancestor: Path, *, on_key: bool) -> None:
    positions = Positions(STREAM)
    assert positions.of(1, path, on_key=on_key) == positions.of(1, ancestor, on_key=on_key)


def test_documents_that_are_not_there() -> None:
    positions = Positions(STREAM)
    assert positions.of(3, ()) is None
    assert positions.of(-1, ()) is None
    assert Positions(b"").of(0, ("a",)) is None
    assert Positions(b"# nothing\n").of(0, ()) is None


def test_a_file_that_is_no_stream_may_begin_with_a_comment_and_a_separator() -> None:
    assert found("# licence\n---\nannotations:\n  a: b\n", "annotations", "a") == (4, 6)


ALIASES = "a: &x\n  p: 1\n  q: [2, 3]\nb: *x\nc:\n  p: 0\n  <<: *x\n  r: 4\nd: {<<: [*x, {p: 5}]}\n*x : 6\n"


def test_members_of_an_alias_stand_where_they_are_written() -> None:
    positions = Positions(ALIASES.encode())
    assert positions.of(0, ("b",)) == (4, 4)
    assert positions.of(0, ("b", "q", 1)) == (3, 10)
    assert positions.of(0, ("c", "p")) == (2, 6)
    assert positions.of(0, ("c", "r")) == (8, 6)
    assert positions.of(0, ("d", "p")) == (2, 6)


def test_columns_count_characters() -> None:
    assert found("\ufeffé: 🙂 x\nb: {é🙂: [ü, 1]}\n", "b", "é🙂", 1) == (2, 13)
    assert found("a: x\u2028 y\n\u2028b: 1\r\n\r\nc: 2\r\n", "c") == (4, 4)


def test_json_streams() -> None:
    text = '{"a": "\\u00e9\\/", "\\ud83d\\ude42": [1,\n true, {"<<": {"y": null}}]}\n {"b":2}{"c":3}'
    assert found(text, "a") == (1, 7)
    assert found(text, "🙂", 1) == (2, 2)
    assert found(text, "🙂", 2, "<<", "y") == (2, 21)
    assert found(text, "b", document=1) == (3, 7)
    assert found(text, "c", document=2) == (3, 14)


def test_yaml_behind_json() -> None:
    assert found('{"a": 1} {b: [2,]}\n', "b", 0, document=1) == (1, 15)
    assert found('{"a": 1}\n---\nb:\n  - 2\n', "b", 0, document=1) == (4, 5)


@pytest.mark.parametrize(
    "defect", ["c: [1,\n", "c: 1: 2\n", "c: 3\n\tx: 1\n", "c: *nope\n", "c: !!int x\n", "[c]: 1\n"]
)
def test_a_broken_document_answers_with_what_stands_before_its_defect(defect: str) -> None:
    assert found(f"a: 1\nb:\n  - 2\n{defect}", "b", 0) == (3, 5)


def test_documents_before_a_broken_one() -> None:
    positions = Positions(b"a: 1\n---\nb: 2\n--- x\nc: 3\n")
    assert positions.of(0, ("a",)) == (1, 4)
    assert positions.of(1, ("b",)) is None


def test_limits_end_the_search() -> None:
    assert Positions(b"a: 1\n", limits=Limits(yaml_bytes=3)).of(0, ("a",)) is None
    deep = Positions(b"a: [[[1]]]\n", limits=Limits(yaml_depth=2))
    assert deep.of(0, ("a", 0, 0)) == (1, 4)
    many = Positions(b"a: 1\nb: 2\nc: 3\n", limits=Limits(yaml_nodes=2))
    assert many.of(0, ("c",)) == (1, 1)


KEYS = st.text("abcxyé🙂", min_size=1, max_size=5).map(lambda text: f"k{text}")
LEAVES = st.one_of(
    st.integers(0, 99),
    st.text("abcdefé🙂 '\"\\#:-,{}[]&*!|>%@\n\x85\u2028", max_size=12).map(lambda text: f"v{text}w"),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(KEYS, inner, min_size=1, max_size=4),
    max_leaves=15,
)
DOCUMENTS = st.lists(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), min_size=1, max_size=3)


def leaves(value: object, path: Path = ()) -> list[tuple[Path, object]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for number, item in enumerate(value) for leaf in leaves(item, (*path, number))]
    return [(path, value)]


@given(DOCUMENTS, st.sampled_from([False, True, None]), st.booleans())
def test_the_text_there_is_the_scalar(documents: list[dict[str, object]], flow: bool | None, plain: bool) -> None:  # noqa: FBT001 hypothesis names no arguments
    dumped = (pyyaml.safe_dump(it, default_flow_style=flow, allow_unicode=plain, width=40) for it in documents)
    text = "---\n".join(dumped)
    lines = text.split("\n")
    positions = Positions(text.encode())
    for number, document in enumerate(documents):
        for path, value in leaves(document):
            position = positions.of(number, path)
            key = positions.of(number, path, on_key=True)
            assert position is not None
            assert key is not None
            line, column = position
            if isinstance(value, int):
                assert lines[line - 1][column - 1 :].startswith(str(value))
            else:
                assert lines[line - 1][column - 1] in "v'\"|>&*"
            if isinstance(path[-1], str):
                assert lines[key.line - 1][key.column - 1 :].lstrip("\"'? ").startswith("k")


@given(
    st.lists(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), min_size=1, max_size=3), st.sampled_from([None, 1])
)
def test_the_text_there_is_the_json(documents: list[dict[str, object]], indent: int | None) -> None:
    text = "\n".join(json.dumps(document, indent=indent, ensure_ascii=bool(indent)) for document in documents)
    lines = text.split("\n")
    positions = Positions(text.encode())
    for number, document in enumerate(documents):
        for path, value in leaves(document):
            position = positions.of(number, path)
            assert position is not None
            there = lines[position.line - 1][position.column - 1 :]
            assert there.startswith(json.dumps(value, ensure_ascii=bool(indent)))


SNIPPETS = st.sampled_from(
    [
        *["a", ": ", "\n", "  ", "- ", "[", "]", "{", "}", ",", '"', "'", "|", ">", "&x ", "*x", "<<: ", "!!int ", "!"],
        *["---", "#", "?", "1", "\t", "\r\n", "\\", "~", "%", ".inf", "!!binary ", "\ufeff", "\\/", "..."],
    ]
)
BYTES = st.one_of(st.binary(max_size=60), st.lists(SNIPPETS, max_size=30).map(lambda parts: "".join(parts).encode()))


@given(BYTES)
@example(b"\xff\xfea\x00")
@example(b"&x [*x]")
@example(b"<<: &x {<<: *x}")
def test_any_bytes_have_positions_or_none(data: bytes) -> None:
    positions = Positions(data)
    for document in range(3):
        for path in ((), ("a",), ("a", 0, "1"), (0, 0), (None, "<<")):
            position = positions.of(document, path)  # type: ignore[arg-type]  # None is no path, and does no harm
            assert position is None or isinstance(position, Position)


@given(BYTES)
def test_whatever_loads_has_a_place(data: bytes) -> None:
    try:
        documents = yaml.load_all(data)
    except ContentError:
        return
    positions = Positions(data)
    for number, document in enumerate(documents):
        for path, _ in leaves(document):
            assert document is None or positions.of(number, path) is not None
            if path:
                assert positions.of(number, path) is not None


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        ("a: 1\nb: 2\n", []),
        ("a: 1\nb: {c: 1, d: 2, c: 3}\na: 2\n", [("c", (2, 17)), ("a", (3, 1))]),
        ("- a: 1\n- a: 1\n", []),
        ("x: 1\n---\nk: 1\n'k': 2\n", [("k", (4, 1))]),
        ("yes: 1\ntrue: 2\n'yes': 3", [("true", (2, 1))]),  # two of them are one key to Kubernetes
        ("a: &a {k: 1}\nb:\n  <<: *a\n  k: 2\nc: {<<: {k: 1}, k: 2}\n", []),
        ("b: {k: 1, <<: {k: 2}, k: 3, k: 4}\n", [("k", (1, 29))]),
        ('{"a": 1, "b": {"a": 1}, "a": 2}', [("a", (1, 25))]),
        ("a: 1\na: 2\nb: [\n", [("a", (2, 1))]),
    ],
)
def test_keys_that_are_given_again(text: str, repeated: list[tuple[str, tuple[int, int]]]) -> None:
    assert list(Positions(text.encode()).repeated_keys()) == repeated


def test_lines_of_a_stream_of_json_are_counted_once() -> None:
    """Counted again for each value these would take minutes."""
    positions = Positions(b'{"a": 1}\n' * 50_000)
    assert [positions.of(number, ("a",)) for number in (0, 1, 49_999)] == [(1, 7), (2, 7), (50_000, 7)]
    assert all(positions.of(number, ()) == (number + 1, 1) for number in range(50_000))
