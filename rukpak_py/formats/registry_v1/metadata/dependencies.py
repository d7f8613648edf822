"""Dependencies of a bundle: the list of {type, value} in metadata/dependencies.yaml, and what is wrong with an entry.

No renderer reads them. Validation and catalogs take the first file of metadata/, whatever its name, that decodes with a
list that is not empty; the file that counts as annotations file is left out by the caller. A `type` is decoded
leniently (a scalar becomes a text), a `value` strictly.

The value of an olm.constraint is exactly one of cel, package, gvk, or all, any, not around further constraints. The
resolver's schema is judged, not that of the reference validator, which takes every constraint for a CEL rule and so
refuses compound ones. The expression of a CEL rule is not parsed: whether it compiles, the resolver says.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rukpak_py.core import gojson
from rukpak_py.core.ranges import Range
from rukpak_py.formats.registry_v1.bundle import Dependency
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, renamed, text_of
from rukpak_py.formats.rules import Place, Problem

CONSTRAINT = "olm.constraint"
LARGEST = 131_072  # bytes of the value as JSON

_COMPOUND = ("all", "any", "not")
_KINDS = ("cel", "package", "gvk", *_COMPOUND)
_CONSTRAINT_FIELDS = (*_KINDS, "failureMessage")
_ONE_OF = f"Give exactly one of {', '.join(_KINDS)}."
_SHAPE = (
    "Forms: cel {rule}, package {packageName, versionRange}, gvk {group, version, kind}, all|any|not {constraints}."
)
_CEL = "Write a boolean CEL expression over `properties` as `rule`."
RANGE_HINT = (
    "Write full versions with comparators: '>=1.2.0 <2.0.0', '1.x', '>=1.0.0 || 0.9.3'; no ^, ~, commas or leading v."
)
GVK_FIELDS = ("group", "version", "kind")
DEPENDENCIES_FILE = "metadata/dependencies.yaml"
PACKAGE = "olm.package"
GVK = "olm.gvk"
LABEL = "olm.label"
_FIELDS: Mapping[str, Sequence[str]] = {PACKAGE: ("packageName", "version"), GVK: GVK_FIELDS, LABEL: ("label",)}


def constraint_problems(value: Any, place: Place) -> Iterator[Problem]:
    """All of them, outer constraints first."""
    if _is_too_large(value):
        message = f"the constraint has more than {LARGEST} bytes"
        yield Problem(message=message, place=place, hint="Split the constraint into several dependencies.")
        return
    pending: deque[tuple[Place, Any]] = deque([(place, value)])
    while pending:
        here, constraint = pending.popleft()
        if not isinstance(constraint, dict):
            yield Problem(message="a constraint must be an object", place=here, hint=_SHAPE)
            continue
        constraint = renamed(constraint, _CONSTRAINT_FIELDS)
        yield from _unknown(constraint, _CONSTRAINT_FIELDS, here)
        if not isinstance(constraint.get("failureMessage"), str | None):
            yield Problem(
                message="failureMessage must be a string", place=here.below("failureMessage"), hint="Put it in quotes."
            )
        found = [kind for kind in _KINDS if constraint.get(kind) is not None]
        if not found:
            yield Problem(message="the constraint says nothing", place=here, hint=_ONE_OF)
        elif len(found) > 1:
            yield Problem(message=f"the constraint has {' and '.join(found)}", place=here, hint=_ONE_OF)
        for kind in found:
            inner = constraint[kind]
            if not isinstance(inner, dict):
                yield Problem(message=f"{kind} must be an object", place=here.below(kind), hint=_SHAPE)
            elif kind in _COMPOUND:
                yield from _compound(inner, here.below(kind), pending)
            else:
                yield from _SIMPLE[kind](inner, here.below(kind))


def _is_too_large(value: Any) -> bool:
    try:
        return len(gojson.encode(value)) > LARGEST
    except RecursionError:  # hundreds of levels
        return True


def _compound(inner: dict[str, Any], place: Place, pending: deque[tuple[Place, Any]]) -> Iterator[Problem]:
    inner = renamed(inner, ["constraints"])
    yield from _unknown(inner, ("constraints",), place)
    listed = inner.get("constraints")
    if isinstance(listed, list):
        pending.extend((place.below("constraints", index), item) for index, item in enumerate(listed))
    elif listed is not None:
        yield Problem(message="constraints must be a list", place=place.below("constraints"), hint=_SHAPE)


def _cel(inner: dict[str, Any], place: Place) -> Iterator[Problem]:
    inner = renamed(inner, ["rule"])
    yield from _unknown(inner, ("rule",), place)
    rule = inner.get("rule")
    if not isinstance(rule, str | None):
        yield Problem(message="rule must be a string", place=place.below("rule"), hint=_CEL)
    elif not rule or rule.isspace():
        yield Problem(message="the constraint has no rule", place=place, hint=_CEL)


def _package(inner: dict[str, Any], place: Place) -> Iterator[Problem]:
    fields = ("packageName", "versionRange")
    inner = renamed(inner, fields)
    yield from _unknown(inner, fields, place)
    yield from missing_texts(inner, fields, place)
    yield from bad_range(inner.get("versionRange"), place.below("versionRange"))


def _gvk(inner: dict[str, Any], place: Place) -> Iterator[Problem]:
    inner = renamed(inner, GVK_FIELDS)
    yield from _unknown(inner, GVK_FIELDS, place)
    yield from missing_texts(inner, GVK_FIELDS, place)


_SIMPLE: dict[str, Callable[[dict[str, Any], Place], Iterator[Problem]]] = {
    "cel": _cel,
    "package": _package,
    "gvk": _gvk,
}


def missing_texts(value: Mapping[str, Any], fields: Sequence[str], place: Place) -> Iterator[Problem]:
    """Fields that must be texts, and not empty. A wrong type hides empty ones."""
    mistyped = [name for name in fields if not isinstance(value.get(name), str | None)]
    for name in mistyped:
        yield Problem(message=f"{name} must be a string", place=place.below(name), hint="Put it in quotes.")
    for name in fields if not mistyped else ():
        if not value.get(name):
            yield Problem(
                message=f"{name} is missing",
                place=place.below(name) if name in value else place,
                hint=f"Give `{name}`.",
            )


def bad_range(text: Any, place: Place) -> Iterator[Problem]:
    if isinstance(text, str) and text:
        try:
            Range.parse(text)
        except ValueError as error:
            yield Problem(message=f'"{text}" is not a valid version range', place=place, hint=f"{error}. {RANGE_HINT}")


def _unknown(value: Mapping[str, Any], known: tuple[str, ...], place: Place) -> Iterator[Problem]:
    for name in value:
        if name not in known:
            yield Problem(message=f'unknown field "{name}"', place=place.below(name), hint=_SHAPE)


class NoValue:
    """The value of an entry that has none, which is not null."""


NO_VALUE: Final = NoValue()


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
