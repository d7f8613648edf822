"""Fields that the type of an object does not declare: told with the declared one that is meant, where one is near."""

from itertools import islice
from typing import Any, Final, NamedTuple

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.findings import Fix
from rukpak_py.formats.builtin_types import SCHEMA, SCHEMA_OR
from rukpak_py.formats.documents import Document
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.shapes import List, Map, Own, Pointer, Shape, Struct
from rukpak_py.formats.rules import Problem, path_text, slip_of

_LIKENESS: Final = 0.85
_MOST_OTHERS: Final = 20  # unknown names in one place that are compared; a hostile one has a million


class UnknownField(NamedTuple):
    document: Document
    path: Path  # within the document's object
    type_name: str  # of the object: an entry of go_types.json

    def problem(self) -> Problem:
        near, is_only = self._near()
        return Problem(
            message=f"unknown field {path_text(self.path)}",
            place=self.document.place(*self.path, on_key=True),
            hint=f"Did you mean `{near}`?" if near else None,
            fix=Fix(text=near) if is_only else None,
        )

    def _near(self) -> tuple[str, bool]:
        """A field that is declared in this place, and not given; and whether no other name here is as near to it.

        Empty where there is none of such a name.
        """
        shape: Shape | None = shapes.shape(self.type_name)
        around: Any = self.document.manifest
        *outer, name = self.path
        for part in outer:
            shape, around = _inside(shape, part), around[part]
        struct = _struct(shape)
        if struct is None or not isinstance(name, str):
            return "", False
        declared = [one.name for one in shapes.fields(struct.name)]
        free = {one.lower(): one for one in declared if one not in around}
        near = slip_of(name.lower(), free, likeness=_LIKENESS)
        if not near:
            return "", False
        unknown = (one for one in around if isinstance(one, str) and one != name and one not in declared)
        others = list(islice(unknown, _MOST_OTHERS + 1))
        is_only = len(others) <= _MOST_OTHERS and all(
            slip_of(one.lower(), free, likeness=_LIKENESS) != near for one in others
        )
        return free[near], is_only


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
