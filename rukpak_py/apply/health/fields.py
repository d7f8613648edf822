"""Reading a live object that may hold anything. Null and absent are the same; a wrong type raises `MalformedStatus`,
which `judge` turns into a message. Paths are dotted; no field that is read here has a dot in its name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Manifest = Mapping[str, Any]


class MalformedStatus(Exception):  # noqa: N818 - not a failure: the reason why an object cannot be judged yet
    """The text says what is odd and where."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedCondition:
    type: str
    status: str
    reason: str
    message: str

    @property
    def is_true(self) -> bool:
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        return self.status == "False"


def value_at(obj: Manifest, path: str) -> Any:
    *parents, last = path.split(".")
    holder: Any = obj
    for depth, key in enumerate(parents, start=1):
        holder = holder.get(key)
        if holder is None:
            return None
        if not isinstance(holder, Mapping):
            raise MalformedStatus(f"{'.'.join(parents[:depth])} is not a mapping")
    return holder.get(last)


def number(obj: Manifest, path: str, default: int) -> int:
    found = optional_number(obj, path)
    return default if found is None else found


def optional_number(obj: Manifest, path: str) -> int | None:
    value = value_at(obj, path)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise MalformedStatus(f"{path} is not a whole number")
    return value


def text(obj: Manifest, path: str, default: str = "") -> str:
    value = value_at(obj, path)
    if value is None:
        return default
    if not isinstance(value, str):
        raise MalformedStatus(f"{path} is not a string")
    return value


def mappings(obj: Manifest, path: str) -> Iterator[Manifest]:
    value = value_at(obj, path)
    if value is None:
        return
    if not isinstance(value, list):
        raise MalformedStatus(f"{path} is not a list")
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise MalformedStatus(f"{path}[{index}] is not a mapping")
        yield item


def conditions(obj: Manifest) -> list[ObservedCondition]:
    return [
        ObservedCondition(
            type=_condition_text(item, "type", index),
            status=_condition_text(item, "status", index),
            reason=_or_blank(item.get("reason")),
            message=_or_blank(item.get("message")),
        )
        for index, item in enumerate(mappings(obj, "status.conditions"))
    ]


def condition(obj: Manifest, wanted: str) -> ObservedCondition | None:
    """The first one of that type."""
    return next((found for found in conditions(obj) if found.type == wanted), None)


def _condition_text(item: Manifest, key: str, index: int) -> str:
    value = item.get(key)
    if value is not None and not isinstance(value, str):
        raise MalformedStatus(f"status.conditions[{index}].{key} is not a string")
    return value or ""


def _or_blank(value: object) -> str:
    return value if isinstance(value, str) else ""
