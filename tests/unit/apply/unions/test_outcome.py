"""The outcome of an apply, as the JSON patch that a dry run sends."""

from typing import Any

import pytest

from rukpak_py.apply.unions.outcome import outcome_patch

ITSELF: dict[str, Any] = {".": {}}
HEAD = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
A, B = ({"name": name} for name in "ab")


def outcome(
    live: dict[str, Any], wanted: dict[str, Any], *, ours: dict[str, Any], others: dict[str, Any] | None = None
) -> Any:
    """The outcome for the spec."""
    patch = outcome_patch(
        {**HEAD, "spec": live},
        {**HEAD, "spec": wanted},
        ours={"f:spec": ours},
        others={"f:spec": others} if others else {},
    )
    (only,) = patch
    assert (only["op"], only["path"]) == ("add", "/spec")
    return only["value"]


@pytest.mark.parametrize(
    ("live", "wanted", "ours", "others", "expected"),
    [
        pytest.param({"x": 1}, {"x": 2}, {"f:x": {}}, {}, {"x": 2}, id="changed"),
        pytest.param({"x": 1}, {"y": 2}, {}, {}, {"x": 1, "y": 2}, id="unowned stays"),
        pytest.param({"x": 1}, {"y": 2}, {"f:x": {}}, {}, {"y": 2}, id="ours goes"),
        pytest.param({"x": 1}, {"y": 2}, {"f:x": {}}, {"f:x": {}}, {"x": 1, "y": 2}, id="what others own too stays"),
        pytest.param(
            {"m": {"x": 1, "default": 1}},
            {"y": 1},
            {"f:m": {**ITSELF, "f:x": {}}},
            {},
            {"y": 1},
            id="with its defaults",
        ),
        pytest.param(
            {"m": {"x": 1, "default": 1}},
            {"y": 1},
            {"f:m": {"f:x": {}}},
            {},
            {"m": {"default": 1}, "y": 1},
            id="without its defaults where it is not ours itself",
        ),
        pytest.param(
            {"m": {"x": 1, "z": 1}},
            {"y": 1},
            {"f:m": {"f:x": {}}},
            {"f:m": {"f:z": {}}},
            {"m": {"z": 1}, "y": 1},
            id="others' part stays",
        ),
        pytest.param(
            {"l": [{**A, "theirs": 1}, B]},
            {"l": [B]},
            {"f:l": {'k:{"name":"a"}': {**ITSELF, "f:name": {}}, 'k:{"name":"b"}': ITSELF}},
            {"f:l": {'k:{"name":"a"}': {"f:theirs": {}}}},
            {"l": [B]},
            id="not in an item that is ours",
        ),
        pytest.param(
            {"l": [{**A, "theirs": 1}, B]},
            {"l": [B]},
            {"f:l": {'k:{"name":"a"}': {**ITSELF, "f:name": {}}, 'k:{"name":"b"}': ITSELF}},
            {"f:l": {'k:{"name":"a"}': {**ITSELF, "f:theirs": {}}}},
            {"l": [{**A, "theirs": 1}, B]},
            id="an item that is others' too stays",
        ),
        pytest.param({"m": {"x": 1}}, {"y": 1}, {"f:m": {"f:x": {}}}, {}, {"y": 1}, id="an emptied holder goes"),
        pytest.param(
            {"l": [{**A, "x": 1}, {**B, "x": 2}]},
            {"l": [{**B, "x": 3}]},
            {"f:l": {'k:{"name":"a"}': ITSELF, 'k:{"name":"b"}': {**ITSELF, "f:x": {}}}},
            {},
            {"l": [{**B, "x": 3}]},
            id="an item that was dropped",
        ),
        pytest.param(
            {"l": [{**A, "default": 1}, {**B, "theirs": 2}]},
            {"l": [{**A, "x": 3}, {"name": "c"}]},
            {"f:l": {'k:{"name":"a"}': ITSELF}},
            {"f:l": {'k:{"name":"b"}': ITSELF}},
            {"l": [{**A, "default": 1, "x": 3}, {**B, "theirs": 2}, {"name": "c"}]},
            id="items are merged, added, and others' stay",
        ),
        pytest.param(
            {"l": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]},
            {"l": [{"containerPort": 53, "protocol": "UDP", "name": "u"}, {"containerPort": 53, "name": "t"}]},
            {"f:l": {'k:{"containerPort":53,"protocol":"UDP"}': ITSELF}},
            {},
            {
                "l": [
                    {"containerPort": 53, "protocol": "UDP", "name": "u"},
                    {"containerPort": 53, "protocol": "TCP", "name": "t"},
                ]
            },
            id="two ports of one number",
        ),
        pytest.param({"l": [1, 2]}, {"l": [3]}, {"f:l": {}}, {}, {"l": [3]}, id="a list that is one field"),
        pytest.param(
            {"l": [A]}, {"x": 1}, {"f:l": {'k:{"name":"a"}': ITSELF}}, {}, {"x": 1}, id="an emptied list goes"
        ),
        pytest.param({"x": {"y": 1}}, {"x": 1}, {"f:x": {"f:y": {}}}, {}, {"x": 1}, id="another type"),
    ],
)
def test_outcome_is_the_object_that_an_apply_leaves(
    live: dict[str, Any], wanted: dict[str, Any], ours: dict[str, Any], others: dict[str, Any], expected: Any
) -> None:
    before = repr((live, wanted))
    assert outcome(live, wanted, ours=ours, others=others) == expected
    assert repr((live, wanted)) == before


def test_of_the_metadata_labels_and_annotations_alone_and_nothing_of_the_status() -> None:
    live = {**HEAD, "metadata": {"name": "a", "uid": "u", "labels": {"theirs": "1"}}, "status": {"x": 1}}
    wanted = {**HEAD, "metadata": {"name": "a", "labels": {"ours": "1"}, "annotations": {"b": "1"}, "uid": "u"}}
    patch = outcome_patch(live, wanted, ours={}, others={})
    assert sorted((one["op"], one["path"], str(one["value"])) for one in patch) == [
        ("add", "/metadata/annotations", "{'b': '1'}"),
        ("add", "/metadata/labels", "{'theirs': '1', 'ours': '1'}"),
    ]


def test_a_field_of_the_object_itself_comes_and_goes() -> None:
    patch = outcome_patch({**HEAD, "a": 1}, {**HEAD, "b/~": 1}, ours={"f:a": {}}, others={})
    assert patch == [{"op": "add", "path": "/b~1~0", "value": 1}, {"op": "remove", "path": "/a"}]
