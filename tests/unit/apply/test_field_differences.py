"""Manifests are compared field by field; lists as Kubernetes merges them."""

import copy
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.apply import field_differences
from rukpak_py.apply.field_differences import Difference, FieldChange, differences
from rukpak_py.core.objects import canonical_json

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
    assert len(found(list(range(3000)), list(range(1, 3001)))) == 3000  # too long to be aligned: by position


def test_lists_that_are_costly_to_align_are_compared_by_position() -> None:
    old, new = [0] * 2000, [0 if number % 2 else number for number in range(2000)]
    begun = time.process_time()
    assert len(found(old, new)) == 999
    many = [[{"x": 0}] * 140 for _ in range(100)]
    others = [[{"x": 0} if number % 2 else {"x": number + 1} for number in range(140)] for _ in range(100)]
    assert found({"a": many}, {"a": others})
    assert time.process_time() - begun < 20  # of what would be minutes


def test_one_entry_more_in_a_long_list_is_one_difference() -> None:
    assert found(list(range(3000)), [*range(1500), -1, *range(1500, 3000)]) == [("added", "[1500]")]
    assert found([*range(3000)], [*range(1000), -1, *range(1001, 2000), -2, *range(2000, 3000)])[0] == (
        "changed",
        "[1000]",
    )


def test_long_path_is_not_written_for_what_is_equal() -> None:
    old = {"k" * 300_000: {f"a{number}": number for number in range(50_000)}}
    tracemalloc.start()
    assert found(old, copy.deepcopy(old)) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 1024 * 1024


def test_entries_of_deep_lists_are_not_read_at_every_level(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = ([0, ["x" * 1_000_000, leaf]] for leaf in (1, 2))
    for _ in range(200):
        old, new = [0, old], [0, new]
    read = []

    def watched(value: object) -> bytes:
        read.append(len(token := canonical_json(value)))
        return token

    monkeypatch.setattr(field_differences, "canonical_json", watched)
    assert found(old, new) == [("changed", "[1]" * 202)]
    assert sum(read) < 50_000_000


def test_after_the_last_step_values_are_told_as_a_whole() -> None:
    old, new = {"a": {"b": 1, "c": [1]}, "d": [True], "e": {"f": 1}}, {"a": {"b": 2, "c": [2]}, "d": [1], "e": {"f": 1}}
    told = [(one.change.value, one.path) for one in differences(old, new, steps=1)]
    assert told == [("changed", "a"), ("changed", "d")]


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
