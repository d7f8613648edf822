"""Paths into sets of fields: how items are named, and what is left when the fields at some paths go."""

from typing import Any

import pytest

from rukpak_py.apply.field_paths import (
    Item,
    Path,
    Step,
    canonical,
    indexed,
    name_of,
    placed,
    step_of,
    subset,
    without_paths,
)

ITSELF: dict[str, Any] = {".": {}}
VOLUME = Item((("name", "v"),))
PORT = Item((("containerPort", 53), ("protocol", "UDP")))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("f:spec", "spec"),
        ("f:", ""),
        ('k:{"name":"v"}', VOLUME),
        ('k:{"protocol": "UDP", "containerPort": 53}', PORT),
        (".", None),
        ('v:"a"', None),
        ("k:{", None),
        ("k:[1]", None),
        ("k:{}", None),
        ('k:{"name":{"a":[]}}', None),
        ("anything", None),
    ],
)
def test_name_of_a_field_is_read_as_a_step(name: str, step: Step | None) -> None:
    assert step_of(name) == step


@pytest.mark.parametrize(
    ("step", "name"),
    [("spec", "f:spec"), (VOLUME, 'k:{"name":"v"}'), (PORT, 'k:{"containerPort":53,"protocol":"UDP"}')],
)
def test_the_name_of_a_step(step: Step, name: str) -> None:
    assert name_of(step) == name


def test_items_are_named_in_one_way_however_they_were_spelled() -> None:
    spelled = {"f:a": {'k:{ "name" : "\\u003c" }': ITSELF, "v:1": {}}, ".": {}}
    assert canonical(spelled) == {"f:a": {'k:{"name":"<"}': ITSELF, "v:1": {}}, ".": {}}


@pytest.mark.parametrize("broken", [None, [], 5, "f:a"])
def test_invalid_field_set_is_read_as_an_empty_one(broken: object) -> None:
    assert canonical(broken) == {}
    assert canonical({"f:a": broken}) == {"f:a": {}}


def test_items_are_found_by_their_keys_and_the_defaults_of_these() -> None:
    ports = [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}, {"protocol": []}, "no item"]
    found = indexed(ports, ("protocol", "containerPort"))
    assert found[PORT] is ports[1]
    assert found[Item((("containerPort", 53), ("protocol", "TCP")))] is ports[0]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("path", "expected"),
    [(("a",), {"f:b": {}}), (("a", "b"), {}), (("b",), None), (("a", "b", "c"), None), ((), {"f:a": {"f:b": {}}})],
)
def test_subset_at_a_path_is_found(path: Path, expected: dict[str, Any] | None) -> None:
    assert subset({"f:a": {"f:b": {}}}, path) == expected


@pytest.mark.parametrize(
    ("fields", "path", "left"),
    [
        ({"f:a": {}, "f:b": {}}, ("a",), {"f:b": {}}),
        ({"f:a": {**ITSELF, "f:x": {"f:y": {}}}}, ("a",), {}),
        ({"f:a": {"f:x": {**ITSELF, "f:y": {}}, "f:z": {}}}, ("a", "x"), {"f:a": {"f:z": {}}}),
        ({"f:a": {**ITSELF, "f:x": {}}}, ("a", "x"), {}),
        ({"f:a": {**ITSELF, "f:x": {}}}, ("a", "z"), {"f:a": {**ITSELF, "f:x": {}}}),
        ({"f:a": {}}, ("a", "x"), {"f:a": {}}),
        ({"f:a": ITSELF}, ("b",), {"f:a": ITSELF}),
        ({"f:v": {'k:{"name":"v"}': {**ITSELF, "f:x": {}, "f:y": {}}}}, ("v", VOLUME, "x"), None),
        ({"f:s": {'v:"x"': {}}}, ("s", "x"), {"f:s": {'v:"x"': {}}}),
    ],
)
def test_paths_are_taken_out_of_a_field_set(fields: dict[str, Any], path: Path, left: dict[str, Any] | None) -> None:
    expected = {"f:v": {'k:{"name":"v"}': {**ITSELF, "f:y": {}}}} if left is None else left
    assert without_paths(fields, {path}) == expected


def test_a_value_has_all_of_its_fields_and_a_list_is_one() -> None:
    values: dict[Path, Any] = {("a", VOLUME, "secret"): {"name": "s", "items": [{"key": "k"}], "of": {}}, ("b",): 1}
    secret = {**ITSELF, "f:name": {}, "f:items": {}, "f:of": {}}
    assert placed(values) == {"f:a": {'k:{"name":"v"}': {"f:secret": secret}}, "f:b": {}}


@pytest.mark.parametrize("outer_first", [True, False])
def test_a_path_may_lie_below_another(*, outer_first: bool) -> None:
    outer, inner = (("a",), {"x": {"y": 1}, "z": 1}), (("a", "x"), {"y": 1})
    values: dict[Path, Any] = dict([outer, inner] if outer_first else [inner, outer])
    assert placed(values) == {"f:a": {**ITSELF, "f:x": {**ITSELF, "f:y": {}}, "f:z": {}}}
    assert without_paths(placed(values), values.keys()) == {}
