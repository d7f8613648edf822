"""Objects of the API server's own kinds, held against the types of these kinds.

Server-side apply refuses an object with a field that its type does not declare, and takes an integer that does not fit
its type for another one: 4294967298 replicas are 2. Fields may be known to a newer server than to our table; integers
do not change. Kinds that the table does not have pass as they are, and so does the status, which is never applied. The
server refuses values of a wrong type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeAlias

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.objects import Object
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.shapes import INTEGER_BITS, List, Map, Own, Pointer, Scalar, Shape, Struct
from rukpak_py.formats.rules import path_text
from rukpak_py.formats.type_defects import INTEGERS, TypeDefect

Json: TypeAlias = dict[str, Any]

# Enough for any author; a hostile object has a million, each with a long path.
MOST = 1000
SCHEMA: Final = "JSONSchemaProps"
# Types with JSON code of their own whose values are a schema where they are an object.
SCHEMA_OR: Final = ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")
_At: TypeAlias = tuple[Any, ...]  # a chain of cells (parent, part); () is the object


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    manifest: Json  # without the fields that are not declared; it shares parts with what was checked
    undeclared: list[Path]
    overflows: list[TypeDefect]  # integers that do not fit their types

    @property
    def left_out(self) -> list[str]:
        """Sentences, for what has no place in a file."""
        key = Object.from_manifest(self.manifest).head.key if self.undeclared else ""
        return [f"{key}: unknown field {path_text(path)} is left out" for path in self.undeclared]


def checked(manifest: Json) -> Checked:
    kind = shapes.kind(str(manifest.get("apiVersion")), str(manifest.get("kind")))
    if kind is None:
        return Checked(manifest=manifest, undeclared=[], overflows=[])
    checking = _Checking()
    declared = checking.declared({key: value for key, value in manifest.items() if key != "status"}, kind, ())
    if "status" in manifest:
        declared["status"] = manifest["status"]
    undeclared = [_path(at) for at in checking.undeclared]
    overflows = [TypeDefect(path=_path(at), wanted=INTEGERS[bits], got=value) for at, value, bits in checking.overflows]
    return Checked(manifest=declared, undeclared=undeclared, overflows=overflows)


@dataclass(kw_only=True, slots=True)
class _Checking:
    undeclared: list[_At] = field(default_factory=list)
    overflows: list[tuple[_At, int | float, int]] = field(default_factory=list)

    def declared(self, value: Any, shape: Shape, at: _At) -> Any:
        """The value without what its type does not declare; one frame for each level of nesting."""
        if isinstance(value, dict):
            result: Json = {}
            fields = _fields(shape)
            every = _inner(shape.item) if isinstance(shape, Map) else None
            for key, item in value.items():
                if fields is not None and key not in fields:
                    if len(self.undeclared) < MOST:
                        self.undeclared.append((at, key))
                    continue
                inner = every if fields is None else fields[key]
                result[key] = item if inner is None else self.declared(item, inner, (at, key))
            return result
        if isinstance(value, list):
            item_shape = _item(shape)
            if item_shape is None:
                return value
            items = []
            for index, item in enumerate(value):
                items.append(self.declared(item, item_shape, (at, index)))
            return items
        bits = _bits(shape)
        if bits and len(self.overflows) < MOST and not _fits(value, bits):
            self.overflows.append((at, value, bits))
        return value


@cache
def _inner(shape: Shape) -> Shape | None:
    """The type to check, without its pointers; None where every value fits."""
    match shape:
        case Pointer(to):
            return _inner(to)
        case List(item) | Map(item):
            return shape if _inner(item) is not None else None
        case Struct():
            return shape
        case _:
            return shape if _bits(shape) or (isinstance(shape, Own) and shape.name in SCHEMA_OR) else None


@cache
def _fields(shape: Shape) -> Mapping[str, Shape | None] | None:
    """Fields of an object; None where it may have any."""
    if isinstance(shape, Own) and shape.name in SCHEMA_OR:
        shape = shapes.shape(SCHEMA)
    if not isinstance(shape, Struct):
        return None
    return {one.name: _inner(one.shape) for one in shapes.fields(shape.name)}


@cache
def _item(shape: Shape) -> Shape | None:
    if isinstance(shape, Own) and shape.name == "JSONSchemaPropsOrArray":
        return shapes.shape(SCHEMA)
    return _inner(shape.item) if isinstance(shape, List) else None


def _bits(shape: Shape) -> int:
    """Size of an integer type; 0 for all other types."""
    match shape:
        case Scalar(kind):
            return INTEGER_BITS.get(kind, 0)
        case Own("IntOrString"):
            return INTEGER_BITS["int32"]
        case _:
            return 0


def _fits(value: Any, bits: int) -> bool:
    """Whether an integer fits its type. Other values pass: the server refuses them."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return True
    half = 1 << (bits - 1)
    return -half <= value < half


def _path(at: _At) -> Path:
    parts: list[Any] = []
    while at:
        at, part = at
        parts.append(part)
    return tuple(reversed(parts))
