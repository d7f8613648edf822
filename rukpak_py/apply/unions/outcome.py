"""The outcome of an apply, computed here: the server cannot say it of a union to be switched.

Whether the server takes the outcome is asked by a JSON patch to it, as a dry run. A strategic merge patch would not do:
it keeps the items of lists that the content dropped, and it takes two ports of one number, UDP and TCP, for one.
"""

from collections.abc import Collection, Mapping
from typing import Any

from rukpak_py.apply.field_paths import ITSELF, FieldSet, Item, Step, indexed, name_of, step_of, union

_OF_THE_SERVER = frozenset({"apiVersion", "kind", "metadata", "status"})
_MAPS_OF_METADATA = ("annotations", "labels")

JsonPatch = list[dict[str, Any]]


def outcome_patch(live: Mapping[str, Any], wanted: Mapping[str, Any], *, ours: FieldSet, others: FieldSet) -> JsonPatch:
    """The patch from the live object to the outcome of an apply of the content, with these fields ours and others'."""
    left = _without_dropped(dict(live), wanted, ours, others) or {}
    outcome = _merged(left, dict(wanted), union(ours, others))
    patch = [_add((name,), value) for name, value in outcome.items() if name not in _OF_THE_SERVER]
    patch += [
        {"op": "remove", "path": _pointer((name,))}
        for name in live
        if name not in _OF_THE_SERVER and name not in outcome
    ]
    metadata = outcome["metadata"]
    return patch + [_add(("metadata", name), metadata[name]) for name in _MAPS_OF_METADATA if name in metadata]


def _add(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    return {"op": "add", "path": _pointer(path), "value": value}


def _pointer(path: tuple[str, ...]) -> str:
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)


def _without_dropped(live: Any, wanted: Any, ours: FieldSet, others: FieldSet, keys: Collection[str] = ()) -> Any:
    """The value without what we alone own and do not want any more: such a part goes with its defaults.

    None: nothing of it is left. `keys`: what an item of a list is found by, which stays as long as the item.
    """
    steps = {name: step for name in ours if (step := step_of(name)) is not None and step not in keys}
    found, mine = _children(live, steps.values()), _children(wanted, steps.values())
    left: dict[Step, Any] = {}
    for name, step in steps.items():
        if step not in found:
            continue
        if step not in mine and _is_dropped(ours[name], others.get(name)):
            left[step] = None
        else:
            below = step.names if isinstance(step, Item) else ()
            left[step] = _without_dropped(found[step], mine.get(step), ours[name], others.get(name, {}), below)
    return _with_children(live, left)


def _is_dropped(ours: FieldSet, others: FieldSet | None) -> bool:
    """Whether a field, or an item of a list, goes with us: an item does with all that others have in it."""
    if others is None:
        return not ours or ITSELF in ours
    return ITSELF in ours and bool(others) and ITSELF not in others


def _children(value: Any, steps: Any) -> Mapping[Step, Any]:
    if isinstance(value, dict):
        return value
    names = _keys_among(steps)
    return indexed(value, names) if isinstance(value, list) and names else {}


def _keys_among(steps: Any) -> tuple[str, ...]:
    """The keys of a list, as its first item in the set of fields has them."""
    return next((step.names for step in steps if isinstance(step, Item)), ())


def _with_children(holder: Any, children: Mapping[Step, Any]) -> Any:
    """The holder with these children in the place of its own; None is none. Without any it is nothing itself."""
    if not children:
        return holder
    if isinstance(holder, dict):
        return {name: value for name, value in {**holder, **children}.items() if value is not None} or None
    names = _keys_among(children)
    items = [children.get(key, item) if (key := Item.of(item, names)) else item for item in holder]
    return [item for item in items if item is not None] or None


def _merged(live: Any, wanted: Any, fields: FieldSet) -> Any:
    if isinstance(live, dict) and isinstance(wanted, dict):
        return {
            **live,
            **{name: _merged(live.get(name), value, fields.get(name_of(name), {})) for name, value in wanted.items()},
        }
    names = _keys_among(map(step_of, fields))
    if isinstance(live, list) and isinstance(wanted, list) and names:
        return _merged_items(live, wanted, fields, names)
    return wanted


def _merged_items(live: list[Any], wanted: list[Any], fields: FieldSet, names: tuple[str, ...]) -> list[Any]:
    places = {Item.of(item, names): index for index, item in enumerate(live)}
    result = list(live)
    for item in wanted:
        key = Item.of(item, names)
        if key is None or key not in places:
            result.append(item)
        else:
            place = places[key]
            result[place] = _merged(result[place], item, fields.get(name_of(key), {}))
    return result
