"""Schemas and objects for tests, written short, and strategies that make both at random."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies

from rukpak_py.apply.crd_safety.schema import Schema, read_schema

Json = dict[str, Any]
TEXT, NUMBER, WHOLE, FLAG = ({"type": one} for one in ("string", "number", "integer", "boolean"))
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def of_spec(properties: Json, **more: Any) -> Schema:
    return read_schema({"type": "object", "properties": {"spec": {"type": "object", "properties": properties, **more}}})


def an_object(spec: Json) -> Json:
    return {"apiVersion": "a.test/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


_NAMES = strategies.sampled_from(["a", "b", "c"])
_SCALARS: strategies.SearchStrategy[Json] = strategies.sampled_from(
    [
        TEXT,
        WHOLE,
        NUMBER,
        FLAG,
        {"x-kubernetes-int-or-string": True},
        {**TEXT, "enum": ["x"]},
        {**TEXT, "enum": ["x", "y"]},
        {**TEXT, "maxLength": 1},
        {**TEXT, "pattern": "^x"},
        {**TEXT, "nullable": True},
        {**TEXT, "default": "x"},
        {**TEXT, "not": {"enum": ["x"]}},
        {**WHOLE, "minimum": 1},
        {**WHOLE, "maximum": 1, "exclusiveMaximum": True},
        {**WHOLE, "multipleOf": 2},
    ]
)


def _containers(inner: strategies.SearchStrategy[Json]) -> strategies.SearchStrategy[Json]:
    properties = strategies.dictionaries(_NAMES, inner, max_size=3)
    requirements = strategies.lists(_NAMES, max_size=2, unique=True)
    sizes = strategies.sampled_from([{}, {"maxProperties": 1}, {"minProperties": 1}])
    choices = strategies.sampled_from([{}, {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}])
    objects = strategies.builds(
        lambda properties, required, size, choice, keeps: {
            "type": "object",
            "properties": properties,
            "required": required,
            **size,
            **choice,
            **({"x-kubernetes-preserve-unknown-fields": True} if keeps else {}),
        },
        properties,
        requirements,
        sizes,
        choices,
        strategies.booleans(),
    )
    maps = strategies.builds(lambda values: {"type": "object", "additionalProperties": values}, inner)
    lists = strategies.builds(
        lambda items, size, kind: {"type": "array", "items": items, **size, **kind},
        inner,
        strategies.sampled_from([{}, {"maxItems": 1}, {"minItems": 1}]),
        strategies.sampled_from([{}, {"x-kubernetes-list-type": "set"}]),
    )
    map_lists = strategies.builds(
        lambda properties: {
            "type": "array",
            "items": {"type": "object", "properties": {**properties, "a": TEXT}, "required": ["a"]},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["a"],
        },
        properties,
    )
    return objects | maps | lists | map_lists


schemas: strategies.SearchStrategy[Json] = strategies.recursive(_SCALARS, _containers, max_leaves=6)


_TIGHTER: Mapping[str, Sequence[Json]] = {
    "string": [{"enum": ["x"]}, {"maxLength": 1}, {"pattern": "^x"}, {"nullable": False}, {"default": "y"}, WHOLE],
    "integer": [{"minimum": 1}, {"maximum": 1}, {"multipleOf": 2}, {"enum": [1]}, TEXT, NUMBER],
    "number": [{"minimum": 1}, {"maximum": 0.5}, WHOLE],
    "boolean": [{"enum": [True]}, {"not": {"enum": [True]}}],
    "array": [{"maxItems": 1}, {"minItems": 1}, {"x-kubernetes-list-type": "set"}, {"items": TEXT}],
    "object": [
        {"maxProperties": 1},
        {"minProperties": 2},
        {"required": ["a"]},
        {"required": []},
        {"properties": {}},
        {"properties": {"a": TEXT}},
        {"additionalProperties": WHOLE},
        {"x-kubernetes-preserve-unknown-fields": False},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    ],
}


@strategies.composite
def upgrades(draw: strategies.DrawFn) -> tuple[Json, Json]:
    """A schema and a later one: some nodes have other keywords."""
    old: Json = draw(schemas)
    new = deepcopy(old)
    for node in draw(strategies.lists(strategies.sampled_from(list(_nodes(new))), max_size=2, unique_by=id)):
        node.update(draw(strategies.sampled_from(_TIGHTER.get(node.get("type", ""), [WHOLE]))))
    return old, new


def _nodes(schema: Json) -> Iterator[Json]:
    yield schema
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for one in below:
        if isinstance(one, dict):
            yield from _nodes(one)


def values_of(schema: Json) -> strategies.SearchStrategy[Any]:
    """Values of about the form that the schema has: it need not take them."""
    if schema.get("nullable"):
        return strategies.none() | values_of({**schema, "nullable": False})
    match schema.get("type"):
        case "object":
            fields = {name: values_of(one) for name, one in schema.get("properties", {}).items()}
            known = strategies.fixed_dictionaries({}, optional=fields)
            more = schema.get("additionalProperties")
            keeps = schema.get("x-kubernetes-preserve-unknown-fields")
            others = values_of(more) if more else _SCALAR_VALUES if keeps else strategies.nothing()
            named = strategies.dictionaries(_NAMES, others, max_size=2)
            return strategies.builds(lambda others, known: {**others, **known}, named, known)
        case "array":
            return strategies.lists(values_of(schema["items"]), max_size=2)
        case "string":
            return strategies.sampled_from(["x", "y", "xx"])
        case "boolean":
            return strategies.booleans()
        case _:
            return strategies.integers(0, 3)


_SCALAR_VALUES = strategies.integers(0, 2) | strategies.sampled_from(["x", "yy"])
