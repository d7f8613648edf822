"""Parts of a ClusterServiceVersion as Go decodes them from JSON: into a type, or into a struct of a few members.

A member is found in any case, null is nothing, and what has a wrong type is a ContentError that names its path.
"""

from collections.abc import Mapping
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.codecs import codec
from rukpak_py.formats.go_types.shapes import List, Map, Pointer, Shape, Struct
from rukpak_py.formats.go_types.traces import Trace
from rukpak_py.formats.registry_v1.kinds import CSV
from rukpak_py.formats.registry_v1.metadata.go_fields import renamed
from rukpak_py.formats.rules import path_text
from rukpak_py.formats.type_defects import TypeDefect, Wanted

_KINDS: Final[Mapping[str, tuple[type, Wanted]]] = {
    "object": (dict, Wanted.OBJECT),
    "list": (list, Wanted.LIST),
    "string": (str, Wanted.STRING),
}


def decoded(value: Any, type_name: str, path: Path) -> Any:
    """The typed form of a value (`restore` of go_types); None for null."""
    if value is None:
        return None
    trace = Trace(keep_unknown=False, wraps=False)
    shape = shapes.shape(type_name)
    try:
        found = codec(shape, in_document=True).decode(_folded(value, shape), (), trace)
    except RecursionError as error:
        raise ContentError(f"{path_text(path) or 'the object'} of the {CSV} is nested too deeply") from error
    for defect in trace.defects():
        raise wrong_type(TypeDefect(path=(*path, *defect.path), wanted=defect.wanted, got=defect.got))
    return found


def member(value: dict[str, Any], name: str, kind: str, path: Path) -> Any:
    """A member of an object that is at the path: an object, a list or a string, empty where there is none."""
    found = value.get(name)
    if found is None:
        found = renamed(value, (name,)).get(name)
    return checked(found, kind, (*path, name))


def checked(value: Any, kind: str, path: Path) -> Any:
    python_type, wanted = _KINDS[kind]
    if value is None:
        return python_type()
    if not isinstance(value, python_type):
        raise wrong_type(TypeDefect(path=path, wanted=wanted, got=value))
    return value


def wrong_type(defect: TypeDefect) -> ContentError:
    where, _, rest = defect.message.partition(" must be ")
    return ContentError(f"{where or 'the object'} of the {CSV} must be {rest}")


def _folded(value: Any, shape: Shape) -> Any:
    """The value with the names of fields as their structs spell them."""
    match shape, value:
        case Pointer(to), _:
            return _folded(value, to)
        case Struct(name), dict():
            known = {field.name: field.shape for field in shapes.fields(name)}
            if not value.keys() <= known.keys():
                value = renamed(value, tuple(known))
            return {key: _folded(item, known[key]) if key in known else item for key, item in value.items()}
        case List(item), list():
            return [_folded(one, item) for one in value]
        case Map(item), dict():
            return {key: _folded(one, item) for key, one in value.items()}
        case _:
            return value
