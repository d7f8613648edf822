"""Changing a part of a manifest without touching the rest: what did not change is the same value as before."""

from collections.abc import Callable, Sequence
from typing import Any

from rukpak_py.apply.normalise.notes import Notes


def edit(
    notes: Notes, holder: dict[str, Any], path: Sequence[str], change: Callable[[Any, str], Any], *, at: str = ""
) -> dict[str, Any]:
    """`holder` with the value at `path` changed; as it is where there is no such value."""
    key, *rest = path
    if key not in holder:
        return holder
    where = f"{at}.{key}" if at else key
    old = holder[key]
    new = edit(notes, notes.mapping(old, where), rest, change, at=where) if rest else change(old, where)
    return holder if new is old else {**holder, key: new}


def edit_each(
    notes: Notes, value: object, path: str, change: Callable[[dict[str, Any], str], dict[str, Any]]
) -> list[Any]:
    """The list with each of its mappings changed."""
    old = notes.items(value, path)
    new = [change(notes.mapping(item, f"{path}[{index}]"), f"{path}[{index}]") for index, item in enumerate(old)]
    return old if all(a is b for a, b in zip(old, new, strict=True)) else new


def without(holder: dict[str, Any], *keys: str) -> dict[str, Any]:
    if not any(key in holder for key in keys):
        return holder
    return {key: value for key, value in holder.items() if key not in keys}
