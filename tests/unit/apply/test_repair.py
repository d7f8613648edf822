"""Leaving out what a server does not know, at the paths that it names; a path from anywhere does no harm."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.apply.unknown_fields import without_fields

CONTAINERS = [
    {"name": "a", "x": 1},
    {"name": 'b"]', "x": 2, "ports": [{"containerPort": 80, "protocol": "TCP", "y": 1}]},
]
BODY: dict[str, Any] = {
    "kind": "K",
    "spec": {
        "nonsense": 1,
        "kept": 2,
        "containers": CONTAINERS,
        "list": [{"x": 0}, {"x": 1}],
        "on": {"true": {"z": 1}},
    },
}


def repaired(*paths: str) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(without_fields(orjson.dumps(BODY), paths))
    return body


def changed(change: Any) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(orjson.dumps(BODY))
    change(body["spec"])
    return body


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (".spec.nonsense", lambda spec: spec.pop("nonsense")),
        ('.spec.containers[name="a"].x', lambda spec: spec["containers"][0].pop("x")),
        ('.spec.containers[name="b\\"]"].x', lambda spec: spec["containers"][1].pop("x")),
        (
            '.spec.containers[name="b\\"]"].ports[containerPort=80,protocol="TCP"].y',
            lambda spec: spec["containers"][1]["ports"][0].pop("y"),
        ),
        (".spec.list[1].x", lambda spec: spec["list"][1].pop("x")),
        (".spec.on.true.z", lambda spec: spec["on"]["true"].pop("z")),
        (".spec.containers", lambda spec: spec.pop("containers")),
    ],
)
def test_the_field_at_the_path_goes_and_nothing_else(path: str, change: Any) -> None:
    assert repaired(path) == changed(change)


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "..",
        "spec",
        ".missing",
        ".spec.missing.deeper",
        ".kind.deeper",
        '.spec.containers[name="nobody"].x',
        '.spec.containers[name="a"]',
        ".spec.list[7].x",
        ".spec.list[-1].x",
        ".spec.list[].x",
        ".spec.list[x].x",
        ".spec[0].x",
        ".spec.containers.name",
        '.spec.containers[name="a].x',
        ".spec.list[99999999999999999999999].x",
        ".spec.list[²].x",
        ".spec.list[0]rest.x",
        ".spec.list[" + "9" * 5000 + "].x",
    ],
)
def test_a_path_that_leads_nowhere_changes_nothing(path: str) -> None:
    assert repaired(path) == BODY


def test_several_paths_go_together() -> None:
    assert repaired(".spec.nonsense", ".spec.list") == changed(lambda spec: (spec.pop("nonsense"), spec.pop("list")))


PIECES = st.sampled_from([*'.[]"\\=, ', ".spec", ".list", ".containers", '[name="a"]', "name", "[0]", "9" * 5000, "²"])


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_path_raises_or_adds_anything(path: str) -> None:
    body = repaired(path)
    assert body.keys() <= BODY.keys()
    assert len(orjson.dumps(body)) <= len(orjson.dumps(BODY))


def test_the_body_stays_canonical() -> None:
    assert without_fields(b'{"b":{"y":1,"x":2},"a":1}', [".b.y"]) == b'{"a":1,"b":{"x":2}}'
