"""Fields that the type of an object does not declare: told with the declared one that is meant, where one is near."""

from typing import Any, Final, NamedTuple

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.findings import Fix
from rukpak_py.formats.builtin_types import SCHEMA, SCHEMA_OR
from rukpak_py.formats.documents import Document
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.shapes import List, Map, Own, Pointer, Shape, Struct
from rukpak_py.formats.rules import Problem, path_text, slip_of

_LIKENESS: Final = 0.85


class UnknownField(NamedTuple):
    document: Document
    path: Path  # within the document's object
    type_name: str  # of the object: an entry of go_types.json

    def problem(self) -> Problem:
        near = self._near()
        return Problem(
            message=f"unknown field {path_text(self.path)}",
            place=self.document.place(*self.path, on_key=True),
            hint=f"Did you mean `{near}`?" if near else None,
            fix=Fix(text=near) if near else None,
        )

    def _near(self) -> str:
        """A field that is declared in this place, and not given; empty where there is none of such a name."""
        shape: Shape | None = shapes.shape(self.type_name)
        around: Any = self.document.manifest
        *outer, name = self.path
        for part in outer:
            shape, around = _inside(shape, part), around[part]
        struct = _struct(shape)
        if struct is None or not isinstance(name, str):
            return ""
        free = {one.name.lower(): one.name for one in shapes.fields(struct.name) if one.name not in around}
        return free.get(slip_of(name.lower(), free, likeness=_LIKENESS), "")


def _inside(shape: Shape | None, part: str | int) -> Shape | None:
    match shape:
        case Pointer(to):
            return _inside(to, part)
        case Own(name) if name in SCHEMA_OR and isinstance(part, int):
            return shapes.shape(SCHEMA)
        case List(item) | Map(item):
            return item
        case _:
            struct = _struct(shape)
            declared = shapes.fields(struct.name) if struct is not None else ()
            return next((one.shape for one in declared if one.name == part), None)


def _struct(shape: Shape | None) -> Struct | None:
    match shape:
        case Pointer(to):
            return _struct(to)
        case Own(name) if name in SCHEMA_OR:
            return _struct(shapes.shape(SCHEMA))
        case Struct():
            return shape
        case _:
            return None
