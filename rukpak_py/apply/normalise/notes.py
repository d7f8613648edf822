"""Notes on one manifest, and changes of a part of it: what does not change is the same value as before.

Notes are warnings collected on the way, and the error for a value of the wrong type. A text names the object and the
path, never the value: a Secret's values pass through here too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rukpak_py.core.errors import ContentError

_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (int, "a number"),
    (float, "a number"),
    (str, "a string"),
    (dict, "a mapping"),
    (list, "a list"),
)


@dataclass(frozen=True, kw_only=True)
class Notes:
    """`subject` is the object as a user knows it, for example `Deployment shop/web`."""

    subject: str
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        self.warnings.append(f"{self.subject}: {text}")

    def error(self, text: str) -> ContentError:
        return ContentError(f"{self.subject}: {text}")

    def mapping(self, value: object, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(value, path, "a mapping")
        for key in value:
            if not isinstance(key, str):
                raise self.error(f"{path} has a key that is {_type_name(key)}; keys must be strings")
        return value

    def items(self, value: object, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._wrong(value, path, "a list")
        return value

    def text(self, value: object, path: str) -> str:
        if not isinstance(value, str):
            raise self._wrong(value, path, "a string")
        return value

    def text_map(self, value: object, path: str) -> dict[str, str]:
        return {key: self.text(item, f"{path}[{key}]") for key, item in self.mapping(value, path).items()}

    def _wrong(self, value: object, path: str, wanted: str) -> ContentError:
        return self.error(f"{path} must be {wanted}, got {_type_name(value)}")


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    return next((name for kind, name in _NAMES if isinstance(value, kind)), type(value).__name__)


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
