"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386), strictly: what is odd is an error that names the place.

A document is changed as a copy. The budget bounds what `copy` and `move` read: a few operations that copy a document
into itself would double it each time. No message has a value: it may be secret.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from rukpak_py.core.objects import canonical_json
from rukpak_py.core.text import quoted

_END = "-"  # of a list
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_WRONG_ESCAPE = re.compile(r"~(?![01])")


class PatchError(ValueError):
    """The patch is none, or does not fit the document."""


@dataclass(kw_only=True, slots=True)
class CopyBudget:
    """`left`: bytes of JSON that operations may still copy."""

    left: int

    def copied(self, value: Any) -> Any:
        text = canonical_json(value)
        self.left -= len(text)
        if self.left < 0:
            raise PatchError("its operations copy too much")
        return orjson.loads(text)


def merge(document: Any, patch: Any) -> Any:
    """RFC 7386: null removes a member, a mapping is merged, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def patch(document: Any, operations: Sequence[Any], budget: CopyBudget) -> Any:
    """RFC 6902: all operations one after the other, or `PatchError`."""
    root = [budget.copied(document)]  # in a list, so that the document itself can be replaced
    for number, operation in enumerate(operations):
        try:
            _operate(root, operation, budget)
        except PatchError as error:
            raise PatchError(f"operation {number}: {error}") from error
    return root[0]


def _operate(root: list[Any], operation: Any, budget: CopyBudget) -> None:
    if not isinstance(operation, dict):
        raise PatchError("it is not a mapping")
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            _add(root, path, budget.copied(_value(operation)))
        case "remove":
            if not path:
                raise PatchError("the whole document cannot be removed")
            _remove(root, path)
        case "replace":
            _remove(root, path)
            _add(root, path, budget.copied(_value(operation)))
        case "test":
            if not _equal(_read(root, path), _value(operation)):
                raise PatchError(f"the test failed: {_shown(path)} has another value")
        case "copy":
            _add(root, path, budget.copied(_read(root, _pointer(operation, "from"))))
        case "move":
            _move(root, _pointer(operation, "from"), path, budget)
        case _:
            raise PatchError("op must be one of add, remove, replace, move, copy and test")


def _move(root: list[Any], source: tuple[str, ...], path: tuple[str, ...], budget: CopyBudget) -> None:
    value = budget.copied(_read(root, source))
    if path == source:
        return
    if path[: len(source)] == source:
        raise PatchError(f"{_shown(source)} cannot be moved into itself")
    _remove(root, source)
    _add(root, path, value)


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchError("value is missing")
    return operation["value"]


def _pointer(operation: dict[str, Any], member: str) -> tuple[str, ...]:
    """RFC 6901, without the steps into `root`."""
    text = operation.get(member)
    if not isinstance(text, str):
        raise PatchError(f"{member} must be a string")
    if (text and not text.startswith("/")) or _WRONG_ESCAPE.search(text):
        raise PatchError(f"{member} is not a JSON pointer: {quoted(text)}")
    return tuple(one.replace("~1", "/").replace("~0", "~") for one in text.split("/")[1:])


def _holder(root: list[Any], path: tuple[str, ...]) -> tuple[dict[str, Any] | list[Any], str]:
    """The mapping or list that has the last token, and that token."""
    holder: Any = root
    steps = ("0", *path)
    for depth, token in enumerate(steps[:-1]):
        holder = _member(holder, token, path[:depth])
    if not isinstance(holder, dict | list):
        raise PatchError(f"{_shown(path[:-1])} is neither a mapping nor a list")
    return holder, steps[-1]


def _read(root: list[Any], path: tuple[str, ...]) -> Any:
    holder, token = _holder(root, path)
    return _member(holder, token, path)


def _member(holder: Any, token: str, path: tuple[str, ...]) -> Any:
    if isinstance(holder, dict) and token in holder:
        return holder[token]
    if isinstance(holder, list) and (index := _index(token)) is not None and index < len(holder):
        return holder[index]
    raise PatchError(f"{_shown(path)} does not exist")


def _remove(root: list[Any], path: tuple[str, ...]) -> None:
    holder, token = _holder(root, path)
    _member(holder, token, path)
    if isinstance(holder, list):
        if path:  # else the document, which is replaced
            del holder[int(token)]
        return
    del holder[token]


def _add(root: list[Any], path: tuple[str, ...], value: Any) -> None:
    if not path:
        root[0] = value
        return
    holder, token = _holder(root, path)
    if isinstance(holder, dict):
        holder[token] = value
        return
    index = len(holder) if token == _END else _index(token)
    if index is None or index > len(holder):
        raise PatchError(f"{_shown(path)} is not a place in its list")
    holder.insert(index, value)


def _index(token: str) -> int | None:
    return int(token) if _INDEX.fullmatch(token) else None


def _equal(one: Any, other: Any) -> bool:
    """As JSON: true is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


def _shown(path: tuple[str, ...]) -> str:
    return quoted("".join(f"/{token.replace('~', '~0').replace('/', '~1')}" for token in path))
