"""Sets of fields: what is left when some are taken, and what two sets have together."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.apply.field_paths import subtract, union

ITSELF: dict[str, Any] = {".": {}}
SUBTRACTED: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any] | None]] = [
    ("nothing taken", {"f:a": {}}, {}, {"f:a": {}}),
    ("another field taken", {"f:a": {}}, {"f:b": {}}, {"f:a": {}}),
    ("a field taken", {"f:a": {}, "f:b": {}}, {"f:a": {}}, {"f:b": {}}),
    ("all taken", {"f:a": {}}, {"f:a": {}}, {}),
    ("a child of several", {"f:a": {"f:x": {}, "f:y": {}}}, {"f:a": {"f:x": {}}}, {"f:a": {"f:y": {}}}),
    ("a parent stays while children are left", {"f:a": {**ITSELF, "f:x": {}}}, {"f:a": {"f:y": {}}}, None),
    ("a parent goes with its last child", {"f:a": {**ITSELF, "f:x": {}}}, {"f:a": {"f:x": {}}}, {}),
    ("an empty parent that was filled", {"f:a": {}}, {"f:a": {"f:x": {}}}, {}),
    ("a parent taken, children are left", {"f:a": {**ITSELF, "f:x": {}}}, {"f:a": {}}, {"f:a": {"f:x": {}}}),
    (
        "an item of a list, what others set in it is left",
        {'k:{"name":"c"}': {**ITSELF, "f:name": {}, "f:env": {'k:{"name":"A"}': ITSELF}}},
        {'k:{"name":"c"}': {**ITSELF, "f:name": {}, "f:image": {}}},
        {'k:{"name":"c"}': {"f:env": {'k:{"name":"A"}': ITSELF}}},
    ),
    ("a member of a set", {"f:s": {"v:a": {}, "v:b": {}}}, {"f:s": {"v:a": {}}}, {"f:s": {"v:b": {}}}),
]
UNITED: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({}, {"f:a": {}}, {"f:a": {}}),
    ({"f:a": {}}, {"f:b": {}}, {"f:a": {}, "f:b": {}}),
    ({"f:a": {"f:x": {}}}, {"f:a": {"f:y": {}}}, {"f:a": {"f:x": {}, "f:y": {}}}),
    ({"f:a": {"f:x": {}}}, {"f:a": {}}, {"f:a": {**ITSELF, "f:x": {}}}),
    ({"f:a": {}}, {"f:a": {}}, {"f:a": {}}),
]


@pytest.mark.parametrize(("fields", "taken", "expected"), [pytest.param(*rest, id=name) for name, *rest in SUBTRACTED])
def test_subtracted_fields_are_gone_with_empty_parents(
    fields: dict[str, Any], taken: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    assert subtract(fields, taken) == (fields if expected is None else expected)


@pytest.mark.parametrize(("one", "other", "expected"), UNITED)
def test_union_has_the_fields_of_both_sets(
    one: dict[str, Any], other: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert union(one, other) == expected
    assert union(other, one) == expected


def inner(fields: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    named = st.dictionaries(st.sampled_from(["f:a", "f:b", "f:c"]), fields, min_size=1, max_size=3)
    return named | named.map(lambda one: {**ITSELF, **one})


FIELDS: st.SearchStrategy[dict[str, Any]] = st.recursive(st.just({}), inner, max_leaves=8).map(
    lambda one: {name: fields for name, fields in one.items() if name != "."}
)


def members(fields: dict[str, Any], prefix: str = "") -> set[str]:
    found = set()
    for name, below in fields.items():
        if name != ".":
            path = f"{prefix}/{name}"
            found |= members(below, path) | ({path} if not below or "." in below else set())
    return found


@given(FIELDS, FIELDS)
def test_only_members_that_were_taken_and_their_parents_go(fields: dict[str, Any], taken: dict[str, Any]) -> None:
    left, gone = members(subtract(fields, taken)), members(taken)
    assert left <= members(fields)
    assert not left & gone
    for path in members(fields) - left - gone:
        assert any(one.startswith(f"{path}/") for one in gone), "a parent of what was taken"
        assert not any(one.startswith(f"{path}/") for one in left), "with nothing left under it"


@given(FIELDS, FIELDS)
def test_a_union_has_the_members_of_both(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert members(union(one, other)) == members(one) | members(other)
    assert subtract(one, union(one, other)) == {}
