"""Manifests are compared field by field; lists as Kubernetes merges them."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.apply.field_differences import Difference, FieldChange, differences

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["name", "a", "b"]), inner, max_size=3),
)


def found(old: Any, new: Any) -> list[tuple[str, str]]:
    return [(one.change.value, one.path) for one in differences(old, new)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("changed", "a")]),
        ({"a": 1}, {"b": 1}, [("removed", "a"), ("added", "b")]),
        ({"a": {"x.y/z": 1}}, {"a": {"x.y/z": 2}}, [("changed", 'a["x.y/z"]')]),
        ({"a": 1}, {"a": True}, [("changed", "a")]),
        ({"a": None}, {}, [("removed", "a")]),
        ({"a": {}}, {"a": []}, [("changed", "a")]),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, [("removed", "a[1]")]),
        ({"a": [1, 2]}, {"a": [1, 4, 2]}, [("added", "a[1]")]),
        ({"a": ["x"]}, {"a": ["y"]}, [("changed", "a[0]")]),
        (
            {"c": [{"name": "x", "i": 1}, {"name": "y"}]},
            {"c": [{"name": "y"}, {"name": "x", "i": 2}]},
            [("changed", "c[name=x].i")],
        ),
        ({"c": [{"name": "x"}]}, {"c": [{"name": "z"}]}, [("removed", "c[name=x]"), ("added", "c[name=z]")]),
        ({"p": [{"containerPort": 80}]}, {"p": [{"containerPort": 80, "a": 1}]}, [("added", "p[containerPort=80].a")]),
        (
            {"v": [{"mountPath": "/a", "name": "n"}, {"mountPath": "/b", "name": "n"}]},
            {"v": [{"mountPath": "/a", "name": "n", "readOnly": True}, {"mountPath": "/b", "name": "n"}]},
            [("added", "v[mountPath=/a].readOnly")],
        ),
        ({"l": [{"a": {"b": 1}}]}, {"l": [{"a": {"b": 2}}]}, [("changed", "l[0].a.b")]),
        ({"l": [True, 0]}, {"l": [1, 0]}, [("changed", "l[0]")]),  # equal to Python
    ],
)
def test_differences_of_two_values(old: Any, new: Any, expected: list[tuple[str, str]]) -> None:
    assert found(old, new) == expected


def test_values_are_kept() -> None:
    assert list(differences({"a": 1, "b": [2]}, {"a": 3, "b": []})) == [
        Difference(change=FieldChange.CHANGED, path="a", old=1, new=3),
        Difference(change=FieldChange.REMOVED, path="b[0]", old=2),
    ]


@given(JSON, JSON)
def test_equal_things_have_no_differences_and_others_have_some(old: Any, new: Any) -> None:
    assert list(differences(old, copy.deepcopy(old))) == []
    assert (found(old, new) == []) is (repr(_ordered(old)) == repr(_ordered(new)))


def test_content_may_be_deep_and_lists_long() -> None:
    deep: Any = 1
    other: Any = 2
    for _ in range(3000):
        deep, other = {"a": deep}, {"a": other}
    assert len(found(deep, other)) == 1
    assert len(found(list(range(3000)), list(range(1, 3001)))) == 3000  # too long to be aligned: position by position


def _ordered(value: Any) -> Any:
    """Order does not matter in mappings, nor in lists whose entries have names."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        items = [_ordered(item) for item in value]
        names = [item.get("name") for item in items if isinstance(item, dict)]
        is_keyed = len(names) == len(items) == len(set(map(repr, names))) and all(
            isinstance(n, str | int) for n in names
        )
        return sorted(items, key=repr) if is_keyed else items
    return value
