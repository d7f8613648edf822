"""Parts of an object, each with the Go type that it is an instance of, and defects of them.

Values of a wrong type are no parts: they are told as such.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.findings import Fix
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.shapes import List, Map, Pointer, Shape, Struct
from rukpak_py.formats.json_fields import Json


class Sort(StrEnum):
    """Sorts of defects; each is one rule."""

    TYPE = "wrong type"
    REQUIRED = "required"
    CHOICE = "not one of the values"
    REPEATED = "given twice"
    RANGE = "out of range"
    NAME = "no valid name"
    UNION = "none or several of a union"
    REFERENCE = "no such part"
    FORM = "wrong form"


@dataclass(frozen=True, kw_only=True, slots=True)
class Defect:
    sort: Sort
    path: Path  # within the object
    message: str
    hint: str = ""
    on_key: bool = False
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A JSON object that is a struct to Go."""

    struct: str
    value: Json
    path: Path
    around: "Part | None" = None

    def inside(self, struct: str) -> "Part | None":
        """The nearest part around this one that is an instance of the struct."""
        part = self.around
        while part is not None and part.struct != struct:
            part = part.around
        return part

    def text(self, field: str) -> str:
        value = self.value.get(field)
        return value if isinstance(value, str) else ""

    def whole(self, field: str) -> int | None:
        value = self.value.get(field)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def mapping(self, *fields: str) -> Json:
        value: Any = self.value
        for field in fields:
            value = value.get(field) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def entries(self, field: str) -> Iterator[tuple[int, Json]]:
        for index, entry in enumerate(self.items(field)):
            if isinstance(entry, dict):
                yield index, entry

    def names(self, field: str) -> set[str]:
        """Names of the entries of a list."""
        return {one["name"] for _, one in self.entries(field) if isinstance(one.get("name"), str)}

    def items(self, field: str) -> list[Any]:
        value = self.value.get(field)
        return value if isinstance(value, list) else []

    def defect(
        self,
        sort: Sort,
        message: str,
        *path: str | int,
        hint: str = "",
        on_key: bool = False,
        fix: Fix | None = None,
    ) -> Defect:
        return Defect(sort=sort, path=(*self.path, *path), message=message, hint=hint, on_key=on_key, fix=fix)


def parts(value: Any, shape: Shape) -> Iterator[Part]:
    """All of them, the outer ones first."""
    pending: list[tuple[Any, Shape | None, Path, Part | None]] = [(value, shape, (), None)]
    while pending:
        found, of, path, around = pending.pop()
        match of:
            case Pointer(to):
                pending.append((found, to, path, around))
            case List(item) if isinstance(found, list) and _has_structs(item):
                pending += [(one, item, (*path, index), around) for index, one in enumerate(found)]
            case Map(item) if isinstance(found, dict) and _has_structs(item):
                pending += [(one, item, (*path, key), around) for key, one in found.items()]
            case Struct(name) if isinstance(found, dict):
                part = Part(name, found, path, around)
                yield part
                inner = _inner(name)
                pending += [
                    (found[field], inner[field], (*path, field), part) for field in reversed(found) if field in inner
                ]
            case _:
                pass


@cache
def _inner(name: str) -> Mapping[str, Shape]:
    """Fields that hold structs."""
    return {one.name: one.shape for one in shapes.fields(name) if _has_structs(one.shape)}


@cache
def _has_structs(shape: Shape) -> bool:
    match shape:
        case Pointer(to):
            return _has_structs(to)
        case List(item) | Map(item):
            return _has_structs(item)
        case _:
            return isinstance(shape, Struct)
