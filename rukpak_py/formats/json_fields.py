"""Fields of JSON objects that nothing has checked: a value of the wrong type counts as absent.

Rules read with them what other rules tell to be of the wrong type.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


def at(value: Any, *path: str | int) -> Any:
    """The value of the field; None where there is no such field."""
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def text(value: Any, *path: str) -> str:
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def mapping(value: Any, *path: str) -> Json:
    found = at(value, *path)
    return found if isinstance(found, dict) else {}


def texts(value: Any, *path: str) -> list[str]:
    found = at(value, *path)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def entries(value: Any, *path: str) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """The mappings of a list, each with its path; null is an empty one."""
    found = at(value, *path)
    for index, item in enumerate(found if isinstance(found, list) else []):
        if isinstance(item, dict | None):
            yield (*path, index), item or {}


def each(value: Json, where: str) -> list[tuple[tuple[str | int, ...], Json]]:
    """The mappings at `spec.links[]`, through several lists too, each with its path; without a list the value."""
    found: list[tuple[tuple[str | int, ...], Json]] = [((), value)]
    for listed in where.split("[]")[:-1]:
        field = listed.removeprefix(".").split(".")
        found = [((*path, *below), item) for path, outer in found for below, item in entries(outer, *field)]
    return found
