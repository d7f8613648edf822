"""Values checked as Go decodes them into structs, and looked into by the names of their fields.

A schema is data: `"string"`, `"bool"`, `"integer"`, `"int32"`, `"number"`, `"any"`, a list of a schema, a `Map` of a
schema, or a dictionary of fields. As in Go, a field is found in any case, null is nothing, unknown fields are ignored,
and a value of another kind is a defect. Only schemas are walked, so no value is too deep.
"""

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from rukpak_py.content.yaml_positions import Path

Schema: TypeAlias = "str | Struct | Map | list[Any]"

_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "bool": bool,
    "integer": int,
    "int32": int,
    "number": (int, float),
}
_INT32 = range(-(1 << 31), 1 << 31)
_EXACT: Final[Mapping[str, Any]] = {
    "string": str,
    "bool": bool,
    "integer": int,
    "int32": Annotated[int, msgspec.Meta(ge=_INT32.start, lt=_INT32.stop)],
    "number": float,
    "any": Any,
}
_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


@dataclass(frozen=True)
class Struct:
    fields: "Mapping[str, Schema]"

    @cached_property
    def folded(self) -> Mapping[str, str]:
        return {folded(name): name for name in self.fields}

    def field_of(self, key: str) -> "Schema | None":
        """The schema of the field that a key means, in any case; None for an unknown one."""
        if key in self.fields:
            return self.fields[key]
        name = self.folded.get(folded(key))
        return self.fields[name] if name is not None else None

    @cached_property
    def exact(self) -> type[msgspec.Struct]:
        """The same as a struct that takes no other fields, and none in another case."""
        fields = [(f"f{number}", _exact(schema) | None, None) for number, schema in enumerate(self.fields.values())]
        names = {f"f{number}": name for number, name in enumerate(self.fields)}
        return msgspec.defstruct("Exact", fields, rename=names, forbid_unknown_fields=True, kw_only=True)


@dataclass(frozen=True)
class Map:
    values: "Schema"


@dataclass(frozen=True, kw_only=True, slots=True)
class Defect:
    path: Path  # as the file spells it
    message: str
    wanted: str
    value: Any


def folded(key: str) -> str:
    """The key without its case, letter by letter as Go folds: no letter becomes two."""
    if key.isascii():
        return key.lower()
    return "".join(one if len(one) == 1 else letter for letter in key for one in [letter.casefold()])


def member(value: Mapping[str, Any], name: str) -> tuple[str, Any]:
    """The key that is read as this field, and its value; the name itself and None where there is none.

    Of several that differ in their case the last one in bytewise order counts, and null counts for nothing: so Go reads
    a blob that `opm` has written out again with sorted keys.
    """
    wanted, length = folded(name), len(name)
    found = [key for key in value if key == name or (len(key) == length and folded(key) == wanted)]
    if len(found) > 1:
        found.sort(key=lambda key: (value[key] is not None, key.encode(errors="surrogateescape")))
    return (found[-1], value[found[-1]]) if found else (name, None)


def repeated_fields(schema: "Schema", value: Any, path: Path = ()) -> Iterator[Path]:
    """Paths of keys that mean a field which another key of the same object means as well."""
    match schema, value:
        case Struct(), dict():
            known: set[str] = set()
            for key, item in value.items():
                inner = schema.field_of(key)
                if inner is None:
                    continue
                if folded(key) in known:
                    yield (*path, key)
                known.add(folded(key))
                if inner != "string":
                    yield from repeated_fields(inner, item, (*path, key))
        case list(), list():
            for index, item in enumerate(value):
                yield from repeated_fields(schema[0], item, (*path, index))
        case _:
            return


def as_written(value: Any, path: Path) -> Path:
    """The path with the keys that the value has for its fields; what is not in the value stays."""
    written: list[str | int] = []
    for part in path:
        key: str | int = part
        if isinstance(part, str):
            key, value = member(value, part) if isinstance(value, Mapping) else (part, None)
        else:
            value = value[part] if isinstance(value, list) and part < len(value) else None
        written.append(key)
    return tuple(written)


def is_exact(schema: Struct, value: Any) -> bool:
    """Whether the value has neither defects nor unknown fields, and its keys are spelled as usual: mostly it is so.

    A look without Python's own loops, that says nothing about a value that is not so.
    """
    try:
        msgspec.convert(value, schema.exact)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def _exact(schema: Schema) -> Any:
    match schema:
        case Struct():
            return schema.exact
        case Map():
            return types.GenericAlias(dict, (str, _exact(schema.values) | None))
        case list():
            return types.GenericAlias(list, (_exact(schema[0]) | None,))
        case _:
            return _EXACT[schema]


def defects(schema: Schema, value: Any, path: Path = ()) -> Iterator[Defect]:
    """Everything that Go would not decode."""
    match schema:
        case _ if value is None or schema == "any":
            return
        case Struct() | Map():
            if type(value) is dict:
                yield from _defects_of_members(schema, value, path)
            else:
                yield _wrong_kind(value, "object", path)
        case list():
            if type(value) is list:
                for index, item in enumerate(value):
                    yield from defects(schema[0], item, (*path, index))
            else:
                yield _wrong_kind(value, "array", path)
        case _:
            is_of_kind = isinstance(value, _KINDS[schema]) and (type(value) is not bool or schema == "bool")
            if not is_of_kind or (schema == "int32" and value not in _INT32):
                yield _wrong_kind(value, schema, path)


def _defects_of_members(schema: Struct | Map, value: Mapping[str, Any], path: Path) -> Iterator[Defect]:
    for key, item in value.items():
        inner = schema.values if isinstance(schema, Map) else schema.field_of(key)
        if inner is not None and (inner != "string" or type(item) is not str):
            yield from defects(inner, item, (*path, key))


def unknown_fields(schema: Schema, value: Any, path: Path = ()) -> Iterator[Path]:
    """Paths of the fields that no reader of the struct keeps."""
    match schema, value:
        case Struct(), dict():
            for key, member_value in value.items():
                inner = schema.field_of(key)
                if inner is None:
                    yield (*path, key)
                elif inner != "string":
                    yield from unknown_fields(inner, member_value, (*path, key))
        case list(), list():
            for index, item in enumerate(value):
                yield from unknown_fields(schema[0], item, (*path, index))
        case _:
            return


def names_beside(schema: Schema, path: Path) -> tuple[str, ...]:
    """The names of the fields that the object has by its schema in which the path ends."""
    inner: Schema | None = schema
    for part in path[:-1]:
        match inner:
            case Struct():
                inner = inner.field_of(str(part))
            case Map():
                inner = inner.values
            case list():
                inner = inner[0]
    return tuple(inner.fields) if isinstance(inner, Struct) else ()


def kind_of(value: Any) -> str:
    """The kind of a value as JSON names it."""
    return "null" if value is None else _NAMES[type(value)]


def _wrong_kind(value: Any, wanted: str, path: Path) -> Defect:
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    shown = f" {_shown(value)}" if type(value) in {str, int, float, bool} else ""
    field = f"field {name!r} " if name else ""
    if field and isinstance(path[-1], int):
        field = f"element {path[-1]} of {field}"
    message = f"{field}must be of type {wanted}, got {kind_of(value)}{shown}"
    return Defect(path=path, message=message, wanted=wanted, value=value)


def _shown(value: Any) -> str:
    """The value as a file has it: numbers without quotes."""
    text = ("false", "true")[value] if type(value) is bool else str(value)
    return repr(text[:40]) if type(value) is str else text[:40]
