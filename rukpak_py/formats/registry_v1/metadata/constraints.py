"""The value of an olm.constraint: exactly one of cel, package, gvk, or all, any, not around further constraints.

The resolver's schema is judged, not that of the reference validator, which takes every constraint for a CEL rule and so
refuses compound ones. The expression of a CEL rule is not parsed: whether it compiles, the resolver says.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core import gojson
from rukpak_py.core.ranges import Range
from rukpak_py.formats.registry_v1.metadata.go_fields import renamed

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


class Flaw(NamedTuple):
    """What is wrong in the value of a dependency, where, and what to do."""

    text: str
    path: Path
    hint: str = ""


def constraint_flaws(value: Any) -> Iterator[Flaw]:
    """All of them, outer constraints first."""
    if _is_too_large(value):
        text = f"the constraint has more than {LARGEST} bytes"
        yield Flaw(text, (), "Split the constraint into several dependencies.")
        return
    pending: deque[tuple[Path, Any]] = deque([((), value)])
    while pending:
        path, constraint = pending.popleft()
        if not isinstance(constraint, dict):
            yield Flaw("a constraint must be an object", path, _SHAPE)
            continue
        constraint = renamed(constraint, _FIELDS)
        yield from _unknown(constraint, _FIELDS, path)
        if not isinstance(constraint.get("failureMessage"), str | None):
            yield Flaw("failureMessage must be a string", (*path, "failureMessage"), "Put it in quotes.")
        found = [kind for kind in _KINDS if constraint.get(kind) is not None]
        if not found:
            yield Flaw("the constraint says nothing", path, _ONE_OF)
        elif len(found) > 1:
            yield Flaw(f"the constraint has {' and '.join(found)}", path, _ONE_OF)
        for kind in found:
            inner = constraint[kind]
            if not isinstance(inner, dict):
                yield Flaw(f"{kind} must be an object", (*path, kind), _SHAPE)
            elif kind in _COMPOUND:
                yield from _compound(inner, (*path, kind), pending)
            else:
                yield from _SIMPLE[kind](inner, (*path, kind))


def _is_too_large(value: Any) -> bool:
    try:
        return len(gojson.encode(value)) > LARGEST
    except RecursionError:  # hundreds of levels
        return True


def _compound(inner: dict[str, Any], path: Path, pending: deque[tuple[Path, Any]]) -> Iterator[Flaw]:
    inner = renamed(inner, ["constraints"])
    yield from _unknown(inner, ("constraints",), path)
    listed = inner.get("constraints")
    if isinstance(listed, list):
        pending.extend(((*path, "constraints", index), item) for index, item in enumerate(listed))
    elif listed is not None:
        yield Flaw("constraints must be a list", (*path, "constraints"), _SHAPE)


def _cel(inner: dict[str, Any], path: Path) -> Iterator[Flaw]:
    inner = renamed(inner, ["rule"])
    yield from _unknown(inner, ("rule",), path)
    rule = inner.get("rule")
    if not isinstance(rule, str | None):
        yield Flaw("rule must be a string", (*path, "rule"), _CEL)
    elif not rule or rule.isspace():
        yield Flaw("the constraint has no rule", path, _CEL)


def _package(inner: dict[str, Any], path: Path) -> Iterator[Flaw]:
    fields = ("packageName", "versionRange")
    inner = renamed(inner, fields)
    yield from _unknown(inner, fields, path)
    yield from missing_texts(inner, fields, path)
    yield from bad_range(inner.get("versionRange"), (*path, "versionRange"))


def _gvk(inner: dict[str, Any], path: Path) -> Iterator[Flaw]:
    inner = renamed(inner, GVK_FIELDS)
    yield from _unknown(inner, GVK_FIELDS, path)
    yield from missing_texts(inner, GVK_FIELDS, path)


GVK_FIELDS = ("group", "version", "kind")
_SIMPLE: dict[str, Callable[[dict[str, Any], Path], Iterator[Flaw]]] = {"cel": _cel, "package": _package, "gvk": _gvk}


def missing_texts(value: Mapping[str, Any], fields: Sequence[str], path: Path) -> Iterator[Flaw]:
    """Fields that must be texts, and not empty. A wrong type hides empty ones."""
    mistyped = [name for name in fields if not isinstance(value.get(name), str | None)]
    for name in mistyped:
        yield Flaw(f"{name} must be a string", (*path, name), "Put it in quotes.")
    for name in fields if not mistyped else ():
        if not value.get(name):
            yield Flaw(f"{name} is missing", (*path, name) if name in value else path, f"Give `{name}`.")


def bad_range(text: Any, path: Path) -> Iterator[Flaw]:
    if isinstance(text, str) and text:
        try:
            Range.parse(text)
        except ValueError as error:
            yield Flaw(f'"{text}" is not a valid version range', path, f"{error}. {RANGE_HINT}")


def _unknown(value: Mapping[str, Any], known: tuple[str, ...], path: Path) -> Iterator[Flaw]:
    for name in value:
        if name not in known:
            yield Flaw(f'unknown field "{name}"', (*path, name), _SHAPE)
