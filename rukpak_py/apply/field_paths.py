"""Sets of fields, as `managedFields` writes them (`fieldsV1`), and paths into objects and into such sets.

A name that leads to `{}` is in the set itself; one that leads to more names is in it only when `.` is among them. A
path names a field by its name, and an item of a list by its keys.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import orjson

FieldSet = dict[str, Any]

ITSELF = "."


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    together = dict(one)
    for name, fields in other.items():
        together[name] = _both(together[name], fields) if name in together else fields
    return together


def subtract(fields: FieldSet, taken: FieldSet) -> FieldSet:
    """The rest of `fields`. A parent that nothing is left under goes too when something under it was taken.

    Else, where the content drops the whole of `git` later, the server leaves `git: null` of a custom resource, and its
    schema refuses that.
    """
    left: FieldSet = {}
    for name, inner in fields.items():
        if name not in taken:
            left[name] = inner
        elif name != ITSELF and (rest := _rest(inner, taken[name])):
            left[name] = rest
    return left


def _rest(inner: FieldSet, taken: FieldSet) -> FieldSet:
    children = {name: fields for name, fields in inner.items() if name != ITSELF}
    rest = subtract(children, taken)
    if rest and _has_itself(inner) and not _has_itself(taken):
        return {ITSELF: {}, **rest}
    return rest


def _both(one: FieldSet, other: FieldSet) -> FieldSet:
    together = union(one, other)
    if together and (_has_itself(one) or _has_itself(other)):
        return {ITSELF: {}, **together}
    return together


def _has_itself(fields: FieldSet) -> bool:
    return not fields or ITSELF in fields


_FIELD = "f:"
_ITEM = "k:"
_DEFAULT_OF_KEY: Mapping[str, Any] = {"protocol": "TCP", "name": ""}  # of keys that an item need not have
_SCALARS = (str, int, float, type(None))


@dataclass(frozen=True, slots=True)
class Item:
    """The item of a list whose keys have these values."""

    keys: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, item: Any, names: Iterable[str]) -> Self | None:
        """The key of the item, from its values for these names; None where it cannot be found by them."""
        if not isinstance(item, dict):
            return None
        keys = tuple((name, item.get(name, _DEFAULT_OF_KEY.get(name))) for name in sorted(names))
        return cls(keys) if keys and all(isinstance(key, _SCALARS) for _, key in keys) else None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.keys)


Step = str | Item
Path = tuple[Step, ...]


def step_of(name: str) -> Step | None:
    """The step that a name in a set of fields stands for; None for `.` and for members of lists of values.

    Any client may write sets of fields: a name that cannot be read stands for nothing.
    """
    if name.startswith(_FIELD):
        return name.removeprefix(_FIELD)
    try:
        keys = orjson.loads(name.removeprefix(_ITEM)) if name.startswith(_ITEM) else None
    except orjson.JSONDecodeError:
        return None
    return Item.of(keys, keys) if isinstance(keys, dict) else None


def name_of(step: Step) -> str:
    if isinstance(step, str):
        return _FIELD + step
    return _ITEM + orjson.dumps(dict(step.keys), option=orjson.OPT_SORT_KEYS).decode()


def canonical(fields: Any) -> FieldSet:
    """The same set with the keys of items spelled in one way, so that a name can be looked up."""
    result: FieldSet = {}
    for name, inner in fields.items() if isinstance(fields, dict) else ():
        step = step_of(name)
        result[name if step is None else name_of(step)] = canonical(inner)
    return result


def subset(fields: FieldSet, path: Path) -> FieldSet | None:
    """The part of the set at the path: an empty set is the field itself; None: nothing."""
    for step in path:
        name = name_of(step)
        if name not in fields:
            return None
        fields = fields[name]
    return fields


def without_paths(fields: FieldSet, paths: Collection[Path], at: Path = ()) -> FieldSet:
    """The set without the fields at the paths and all below them. A parent that nothing is left under goes too."""
    left: FieldSet = {}
    for name, inner in fields.items():
        step = step_of(name)
        path = at if step is None else (*at, step)
        if step is not None and path in paths:
            continue
        rest = without_paths(inner, paths, path)
        if len(rest) == len(inner) or rest.keys() - {ITSELF}:
            left[name] = rest
    return left


def placed(values: Mapping[Path, Any]) -> FieldSet:
    """All fields of the values at these paths."""
    fields: FieldSet = {}
    for path, value in values.items():
        inner = fields
        for step in path:
            inner = inner.setdefault(name_of(step), {})
        inner.update(whole(value))
    return fields


def whole(value: Any) -> FieldSet:
    """All fields of a value. A list counts as one field."""
    if not isinstance(value, dict) or not value:
        return {}
    return {ITSELF: {}, **{name_of(name): whole(inner) for name, inner in value.items()}}


def indexed(items: Iterable[Any], names: Iterable[str]) -> dict[Step, Any]:
    """The items of a list that can be found by these keys."""
    names = tuple(names)
    found = ((Item.of(item, names), item) for item in items)
    return {key: item for key, item in found if key is not None}
