"""Values held against schemas."""

from typing import Any

import pytest
import re2

from rukpak_py.formats.crds.values import Unknown, problem_of_pattern, unfit
from rukpak_py.formats.json_fields import Json


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": [{}, 5], "properties": {"a": 5}},
        {"type": [], "enum": {}, "properties": []},
        {"type": "object", "items": [], "additionalProperties": 5, "pattern": 5},
    ],
)
def test_damaged_schema_finds_no_problem(schema: Json) -> None:
    assert unfit({"a": 1}, schema, "spec") == ""


@pytest.mark.parametrize(
    ("given", "wrong"),
    [({"a": "1"}, ""), ({"a": "1", "b": 1}, "spec.b must be of type string"), ({"own": 1, "a": "1"}, "")],
)
def test_values_of_other_keys_fit_their_schema(given: Json, wrong: str) -> None:
    schema = {"type": "object", "properties": {"own": {"type": "integer"}}, "additionalProperties": {"type": "string"}}
    assert unfit(given, schema, "spec") == wrong


@pytest.mark.parametrize("pattern", ["^once-[a-z]+$", r"(\\pL{1,1000}){1,1000}", "once(?=more)"])
def test_pattern_is_compiled_once_for_all_values(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is no pattern, or that would need too much memory: those cost most."""
    compiled, compile_ = [], re2.compile

    def counting(one: str, options: re2.Options) -> object:
        compiled.append(one)
        return compile_(one, options)

    monkeypatch.setattr(re2, "compile", counting)
    schema = {"type": "array", "items": {"type": "string", "pattern": pattern}}
    unfit(["once-a"] * 5, schema, "spec")
    problem_of_pattern(pattern)
    assert compiled == [pattern]


_KEEPING = "x-kubernetes-preserve-unknown-fields"
_INNER: Json = {"type": "object", "properties": {"b": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"properties": {"a": _INNER}}, {"z": 1}, "v.z is not declared in the schema"),
        ({"properties": {"a": _INNER}}, {"a": {"z": 1}}, "v.a.z is not declared in the schema"),
        ({"additionalProperties": _INNER}, {"k": {"z": 1}}, "v.k.z is not declared in the schema"),
        ({"items": _INNER, "type": "array"}, [{"z": 1}], "v[0].z is not declared in the schema"),
        (
            {"properties": {"a": _INNER}, "x-kubernetes-map-type": "atomic"},
            {"z": 1},
            "v.z is not declared in the schema",
        ),
        ({"type": "object"}, {"z": 1}, ""),
        ({"properties": {"a": _INNER}, _KEEPING: True}, {"z": 1}, ""),
    ],
)
def test_unknown_field_is_told_where_server_side_apply_refuses_it(schema: Json, value: Any, told: str) -> None:
    assert unfit(value, schema, "v", unknown=Unknown.REFUSED) == told
    assert unfit(value, schema, "v", unknown=Unknown.NONE) == ""


def test_field_that_is_dropped_below_one_that_keeps_all_is_told_of_examples_alone() -> None:
    schema = {"properties": {"a": _INNER}, _KEEPING: True}
    assert unfit({"a": {"z": 1}}, schema, "v", unknown=Unknown.REFUSED) == ""
    assert unfit({"a": {"z": 1}}, schema, "v", unknown=Unknown.DROPPED) == "v.a.z is not declared in the schema"


def test_values_are_not_compared_with_thousands() -> None:
    few, many = [str(number) for number in range(1_000)], [str(number) for number in range(1_001)]
    assert unfit("x", {"enum": few}, "spec").startswith("spec must be one of 0, 1")
    assert unfit("x", {"enum": many}, "spec") == ""
    with_defaults = {name: {"default": ""} for name in many[:-1]}
    assert unfit({}, {"required": few, "properties": {}}, "spec") == "spec.0 is required"
    assert unfit({}, {"required": many, "properties": with_defaults}, "spec") == ""
