"""Deep JSON is cut where decoders would fail, and stays what it is everywhere else."""

import json
from typing import Any

import pytest

from rukpak_py.core.nesting import DEEPEST, cut, nests_deeper


def nested(depth: int, inside: bytes = b"1") -> bytes:
    return b'{"a":[' * (depth // 2) + inside + b"]}" * (depth // 2)


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        nested(DEEPEST),
        b"[" + b",".join([b'{"a":[]}'] * DEEPEST) + b"]",
        b'{"a":"' + b"[{" * DEEPEST + rb"\"{[\\" + b'"}',
    ],
    ids=["small", "just not too deep", "wide", "brackets in a string"],
)
def test_text_that_decoders_can_read_is_not_changed(text: bytes) -> None:
    assert cut(text) is text


@pytest.mark.parametrize("depth", [DEEPEST + 2, 10_000])
def test_value_nested_too_deeply_becomes_null_and_its_neighbours_stay(depth: int) -> None:
    text = b'{"before":"[{\\"","deep":' + nested(depth) + b',"after":{"a":[2]}}'
    found: dict[str, Any] = json.loads(cut(text))
    assert (found["before"], found["after"]) == ('[{"', {"a": [2]})
    assert nests_deeper(found, DEEPEST - 1)
    assert not nests_deeper(found, DEEPEST)


def test_values_of_any_depth_are_judged() -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [{"a": deep}]
    assert nests_deeper(deep, 400)
    assert not nests_deeper({"a": [{"b": 1}]}, 3)
    assert nests_deeper({"a": [{"b": 1}]}, 2)
