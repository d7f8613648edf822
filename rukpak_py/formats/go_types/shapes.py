"""Go's types as facts: which fields a struct has, of which types, and when JSON leaves them out.

go_types.json is generated from the Go packages (tools/go_types); its texts are type expressions: `*int32`,
`[]Container`, `map[string]Quantity`, or the name of another entry. `shape` reads such an expression. Fields of embedded
structs stand in the struct that embeds them. `kind` finds the type of an object of the API server's own kinds; kinds
that bundles do not ship are not there.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TypeAlias

import orjson

INTEGER_BITS = {"int32": 32, "int64": 64, "uint8": 8}
_PLAIN = {"string", "bool", "float64", *INTEGER_BITS}


@dataclass(frozen=True, slots=True)
class Scalar:
    kind: str  # string, bool, int32, int64, float64


@dataclass(frozen=True, slots=True)
class Bytes:
    pass


@dataclass(frozen=True, slots=True)
class Own:
    """A type with JSON code of its own."""

    name: str


@dataclass(frozen=True, slots=True)
class Struct:
    name: str  # as in go_types.json


@dataclass(frozen=True, slots=True)
class Pointer:
    to: "Shape"


@dataclass(frozen=True, slots=True)
class List:
    item: "Shape"


@dataclass(frozen=True, slots=True)
class Map:
    item: "Shape"


Shape: TypeAlias = Scalar | Bytes | Own | Struct | Pointer | List | Map


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    shape: Shape
    omits_empty: bool
    omits_zero: bool


@cache
def shape(expression: str) -> Shape:
    if expression == "[]uint8":
        return Bytes()
    if expression.startswith("*"):
        return Pointer(shape(expression[1:]))
    if expression.startswith("[]"):
        return List(shape(expression[2:]))
    if expression.startswith("map["):
        return Map(shape(expression.partition("]")[2]))
    if expression in _PLAIN:
        return Scalar(expression)
    definition = _table()[expression][1]
    if definition is None:
        return Own(expression)
    return Struct(expression) if isinstance(definition, list) else shape(definition)


def kind(api_version: str, name: str) -> Shape | None:
    """Shape of a kind that the API server serves by itself."""
    entry = f"{api_version}/{name}"
    return shape(entry) if entry in _table() else None


@cache
def fields(name: str) -> tuple[Field, ...]:
    """Fields of a struct, with those of embedded structs."""
    found: list[Field] = []
    definition = _table()[name][1]
    assert isinstance(definition, list)  # noqa: S101 - only structs have fields
    for field_name, expression, *options in definition:
        if field_name:
            found.append(Field(field_name, shape(expression), "omitempty" in options, "omitzero" in options))
        else:
            found.extend(fields(expression))
    return tuple(found)


@cache
def lineage(name: str) -> tuple[str, ...]:
    """The struct, and those that it embeds."""
    definition = _table()[name][1]
    assert isinstance(definition, list)  # noqa: S101 - only structs embed others
    embedded = [expression for field_name, expression, *_ in definition if not field_name]
    return (name, *(found for one in embedded for found in lineage(one)))


@cache
def _table() -> dict[str, tuple[str, list[list[str]] | str | None]]:
    text = resources.files(__package__).joinpath("go_types.json").read_bytes()
    table: dict[str, tuple[str, list[list[str]] | str | None]] = orjson.loads(text)
    return table
