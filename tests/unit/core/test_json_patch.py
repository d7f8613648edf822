"""JSON Patch and JSON Merge Patch: the examples of the RFCs, and everything that is odd."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.json_patch import CopyBudget, PatchError, merge, patch

ROOM = 10_000


def patched(document: Any, *operations: Any) -> Any:
    return patch(document, operations, CopyBudget(left=ROOM))


def op(name: str, path: Any, *value: Any, **more: Any) -> dict[str, Any]:
    return {"op": name, "path": path, **({"value": value[0]} if value else {}), **more}


def move(source: str, path: str) -> dict[str, Any]:
    return op("move", path, **{"from": source})


def copy(source: str, path: str) -> dict[str, Any]:
    return op("copy", path, **{"from": source})


@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        # the appendix of RFC 6902
        ({"foo": "bar"}, [op("add", "/baz", "qux")], {"foo": "bar", "baz": "qux"}),
        ({"foo": ["bar", "baz"]}, [op("add", "/foo/1", "qux")], {"foo": ["bar", "qux", "baz"]}),
        ({"foo": "bar", "baz": "qux"}, [op("remove", "/baz")], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [op("remove", "/foo/1")], {"foo": ["bar", "baz"]}),
        ({"foo": "bar", "baz": "qux"}, [op("replace", "/baz", "boo")], {"foo": "bar", "baz": "boo"}),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [move("/foo/waldo", "/qux/thud")],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [move("/foo/1", "/foo/3")],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        ({"baz": "qux", "foo": ["a", 2, "c"]}, [op("test", "/baz", "qux"), op("test", "/foo/1", 2)], ...),
        ({"foo": "bar"}, [op("add", "/child", {"grandchild": {}})], {"foo": "bar", "child": {"grandchild": {}}}),
        ({"foo": "bar"}, [op("add", "/baz", "qux", xyz=123)], {"foo": "bar", "baz": "qux"}),
        ({"/": 9, "~1": 10}, [op("test", "/~01", 10)], ...),
        ({"foo": ["bar"]}, [op("add", "/foo/-", ["abc", "def"])], {"foo": ["bar", ["abc", "def"]]}),
        # the rest
        ({"foo": 1}, [op("add", "/foo", 2)], {"foo": 2}),
        ({"foo": ["a"]}, [op("replace", "/foo/0", "b")], {"foo": ["b"]}),
        ({"foo": ["a", "b"]}, [op("replace", "/foo/1", "c")], {"foo": ["a", "c"]}),
        ({"foo": []}, [op("add", "/foo/0", 1)], {"foo": [1]}),
        ({"foo": 1}, [op("add", "", {"bar": 2})], {"bar": 2}),
        ({"foo": 1}, [op("replace", "", {"bar": 2})], {"bar": 2}),
        ({"foo": 1}, [copy("/foo", "/bar")], {"foo": 1, "bar": 1}),
        ({"foo": {"a": 1}}, [copy("/foo", "/bar"), op("add", "/bar/a", 2)], {"foo": {"a": 1}, "bar": {"a": 2}}),
        ({"foo": 1}, [move("/foo", "/foo")], {"foo": 1}),
        ({"a/b": {"c~d": 1}}, [op("remove", "/a~1b/c~0d")], {"a/b": {}}),
        ({"": 1}, [op("replace", "/", 2)], {"": 2}),
        ({"foo": None}, [op("test", "/foo", None)], ...),
        ({"foo": 1}, [op("test", "/foo", 1.0)], ...),
        ({"foo": {"a": [1]}}, [op("test", "/foo", {"a": [1]}), op("test", "", {"foo": {"a": [1]}})], ...),
        ({"foo": 1}, [], {"foo": 1}),
    ],
)
def test_operations(document: Any, operations: list[Any], result: Any) -> None:
    before = repr(document)
    assert patched(document, *operations) == (document if result is ... else result)
    assert repr(document) == before, "the document itself is left as it is"


@pytest.mark.parametrize(
    ("document", "operation", "problem"),
    [
        ({"foo": "bar"}, op("add", "/baz/bat", "qux"), '"/baz" does not exist'),
        ({"foo": "bar"}, op("add", "/foo/bat", "qux"), '"/foo" is neither a mapping nor a list'),
        ({"foo": "bar"}, op("remove", "/baz"), '"/baz" does not exist'),
        ({"foo": "bar"}, op("replace", "/baz", 1), '"/baz" does not exist'),
        ({"foo": [1]}, op("add", "/foo/2", 1), '"/foo/2" is not a place in its list'),
        ({"foo": [1]}, op("add", "/foo/01", 1), '"/foo/01" is not a place in its list'),
        ({"foo": [1]}, op("add", "/foo/-1", 1), '"/foo/-1" is not a place in its list'),
        ({"foo": "bar"}, op("remove", ""), "the whole document cannot be removed"),
        ({"foo": [1]}, op("remove", "/foo/-"), '"/foo/-" does not exist'),
        ({"foo": [1]}, op("remove", "/foo/1"), '"/foo/1" does not exist'),
        ({"foo": [1]}, op("remove", "/foo/x"), '"/foo/x" does not exist'),
        ({"foo": [{}]}, op("add", "/foo/9/a", 1), '"/foo/9" does not exist'),
        ({"foo": "secret"}, op("test", "/foo", "other"), 'the test failed: "/foo" has another value'),
        ({"foo": 1}, op("test", "/foo", value=True), 'the test failed: "/foo" has another value'),
        ({"foo": {"a": 1}}, op("test", "/foo", {"b": 1}), 'the test failed: "/foo" has another value'),
        ({"foo": 1}, op("test", "/bar", None), '"/bar" does not exist'),
        ({"foo": {}}, move("/foo", "/foo/bar"), '"/foo" cannot be moved into itself'),
        ({"foo": {}}, move("/bar", "/foo"), '"/bar" does not exist'),
        ({"foo": 1}, op("copy", "/bar"), "from must be a string"),
        ({"foo": 1}, op("add", "/bar"), "value is missing"),
        ({"foo": 1}, op("add", "bar", 1), 'path is not a JSON pointer: "bar"'),
        ({"foo": 1}, op("add", "/a~2b", 1), 'path is not a JSON pointer: "/a~2b"'),
        ({"foo": 1}, op("add", None, 1), "path must be a string"),
        ({"foo": 1}, op("append", "/bar", 1), "op must be one of add, remove, replace, move, copy and test"),
        ({"foo": 1}, {"path": "/foo"}, "op must be one of add, remove, replace, move, copy and test"),
        ({"foo": 1}, "remove", "it is not a mapping"),
    ],
)
def test_operations_that_fail(document: Any, operation: Any, problem: str) -> None:
    with pytest.raises(PatchError) as failed:
        patched(document, op("test", "", document), operation)
    assert str(failed.value) == f"operation 1: {problem}"


def test_document_cannot_be_doubled_again_and_again() -> None:
    document = {"a": {"x": "y" * 100}}
    with pytest.raises(PatchError, match="copy too much"):
        patched(document, *(copy("/a", f"/a/{number}") for number in range(100)))


@pytest.mark.parametrize(
    ("document", "change", "result"),
    [
        # the appendix of RFC 7386
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patches(document: Any, change: Any, result: Any) -> None:
    before = repr(document)
    assert merge(document, change) == result
    assert repr(document) == before


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "", "/", "~"]), inner),
    max_leaves=8,
)
pointers = st.lists(st.sampled_from(["a", "b", "", "~1", "~0", "0", "1", "-", "~"]), max_size=3).map(
    lambda tokens: "".join(f"/{token}" for token in tokens)
)
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": pointers},
    optional={"from": pointers, "value": values},
)


@given(values, st.lists(operations | values, max_size=4))
def test_whatever_it_is_it_is_applied_or_refused(document: Any, found: list[Any]) -> None:
    with suppress(PatchError):
        patched(document, *found)
