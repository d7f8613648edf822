"""Dependencies of a bundle: the list of {type, value} in metadata/dependencies.yaml, and what is wrong with an entry.

No renderer reads them. Validation and catalogs take the first file of metadata/, whatever its name, that decodes with a
list that is not empty; the file that counts as annotations file is left out by the caller. A `type` is decoded
leniently (a scalar becomes a text), a `value` strictly.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rukpak_py.formats.registry_v1.bundle import Dependency
from rukpak_py.formats.registry_v1.metadata.constraints import (
    CONSTRAINT,
    GVK_FIELDS,
    bad_range,
    constraint_problems,
    missing_texts,
)
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, renamed, text_of
from rukpak_py.formats.rules import Place, Problem

DEPENDENCIES_FILE = "metadata/dependencies.yaml"
PACKAGE = "olm.package"
GVK = "olm.gvk"
LABEL = "olm.label"


class NoValue:
    """The value of an entry that has none, which is not null."""


NO_VALUE: Final = NoValue()

_FIELDS: Mapping[str, Sequence[str]] = {PACKAGE: ("packageName", "version"), GVK: GVK_FIELDS, LABEL: ("label",)}


def read_dependencies(files: Iterable[tuple[str, Any]]) -> list[Dependency]:
    """Those of the first file (path, first document), in the order of names, that has any."""
    for path, document in sorted(files, key=lambda file: file[0].encode()):
        found = _decoded(path, document)
        if found:
            return found
    return []


def _decoded(path: str, document: Any) -> list[Dependency] | None:
    """None where the reference cannot decode the document."""
    found: list[Dependency] = []
    if not isinstance(document, dict):
        return None
    for key, _ in fields(document, ["dependencies"]):
        listed = document[key]
        if not isinstance(listed, list | None):
            return None
        found = []
        for index, entry in enumerate(listed or ()):
            dependency = _entry(entry, Place(file=path, path=(key, index)))
            if dependency is None:
                return None
            found.append(dependency)
    return found


def _entry(entry: Any, place: Place) -> Dependency | None:
    kind: str | None = ""
    value: Any = NO_VALUE
    if entry is None:
        entry = {}
    if not isinstance(entry, dict):
        return None
    for key, name in fields(entry, ["type", "value"]):
        if name == "value":
            value = entry[key]
        elif entry[key] is not None:
            kind = text_of(entry[key])
    return Dependency(type=kind, value=value, place=place) if kind is not None else None


def dependency_problems(dependency: Dependency) -> Iterator[Problem]:
    names, place, value = _FIELDS.get(dependency.type), dependency.place, dependency.value
    if names is None and dependency.type != CONSTRAINT:
        message = f'the type of the dependency, "{dependency.type}", is not known'
        yield Problem(message=message, place=place, hint=f"Known types are {', '.join((*_FIELDS, CONSTRAINT))}.")
    elif isinstance(value, NoValue):
        message = f"the dependency of type {dependency.type} has no value"
        hint = "Put the fields of the dependency below `value`, beside `type`."
        yield Problem(message=message, place=place, hint=hint)
    elif names is None:
        yield from constraint_problems({} if value is None else value, place.below("value"))
    elif not isinstance(value, dict | None):
        hint = f"Write an object with {', '.join(names)}."
        yield Problem(message="the value must be an object", place=place.below("value"), hint=hint)
    else:
        value = renamed(value or {}, names)
        yield from missing_texts(value, names, place.below("value"))
        if dependency.type == PACKAGE:
            yield from bad_range(value.get("version"), place.below("value", "version"))
