"""The value of an olm.constraint: exactly one of cel, package, gvk, or all, any, not around further constraints.

The resolver's schema is judged, not that of the reference validator, which takes every constraint for a CEL rule and so
refuses compound ones. The expression of a CEL rule is not parsed: whether it compiles, the resolver says.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rukpak_py.core import gojson
from rukpak_py.core.ranges import Range
from rukpak_py.formats.registry_v1.metadata.go_fields import renamed
from rukpak_py.formats.rules import Place, Problem

CONSTRAINT = "olm.constraint"
LARGEST = 131_072  # bytes of the value as JSON

_COMPOUND = ("all", "any", "not")
_KINDS = ("cel", "package", "gvk", *_COMPOUND)
_FIELDS = (*_KINDS, "failureMessage")
_ONE_OF = f"Give exactly one of {', '.join(_KINDS)}."
_SHAPE = (
    "Forms: cel {rule}, package {packageName, versionRange}, gvk {group, version, kind}, all|any|not {constraints}."
)
_CEL = "Write a boolean CEL expression over `properties` as `rule`."
RANGE_HINT = (
    "Write full versions with comparators: '>=1.2.0 <2.0.0', '1.x', '>=1.0.0 || 0.9.3'; no ^, ~, commas or leading v."
)


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
        constraint = renamed(constraint, _FIELDS)
        yield from _unknown(constraint, _FIELDS, here)
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


GVK_FIELDS = ("group", "version", "kind")
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
