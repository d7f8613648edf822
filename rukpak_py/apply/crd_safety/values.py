"""An object as an API server reads it with a schema: what no schema names is dropped, defaults are filled in.

Both change the object in place, and drop in the server's order: unknown fields, nulls, then defaults are set.

A default may be a list, whose items get defaults in their turn: a small schema can ask for gigabytes. So what is filled
in is counted.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from rukpak_py.apply.crd_safety.schema import ABSENT, METADATA, Json, Schema
from rukpak_py.apply.crd_safety.verdicts import ANY_KEY, below

MOST_FILLED_IN = 1_000_000  # values, in one object; a hundred MiB


class ExcessiveDefaultsError(Exception):
    """Defaults would make an object too large."""

    def __init__(self) -> None:
        super().__init__(f"its defaults add more than {MOST_FILLED_IN} values to an object")


def prune(value: Any, schema: Schema | None, path: str = "", *, is_object: bool = True) -> Iterator[str]:
    """Drop the fields that the schema does not have; their paths. `is_object`: `value` is an object of the API."""
    if isinstance(value, list):
        for one in value:
            yield from prune(one, schema.items if schema is not None else None, f"{path}[]", is_object=False)
    elif isinstance(value, dict):
        is_object = is_object or (schema is not None and schema.embedded)
        for name in [*value]:
            if is_object and name in METADATA:
                continue
            if schema is None or not _has(schema, name):
                del value[name]
                yield below(path, name)
            elif name in schema.properties or schema.additional is not False:
                yield from prune(value[name], schema.of_field(name), step(path, schema, name), is_object=False)


def step(path: str, schema: Schema, name: str) -> str:
    """Path of a value; keys of a map are one, or there would be as many paths as keys."""
    return below(path, name if name in schema.properties or schema.additional is False else ANY_KEY)


def _has(schema: Schema, name: str) -> bool:
    return schema.preserves or name in schema.properties or schema.additional is not False


def drop_nulls(value: Any, schema: Schema | None, path: str = "") -> Iterator[str]:
    """Drop nulls where the schema does not allow them; a default takes the place of one. Their paths."""
    if schema is None:
        return
    if isinstance(value, list):
        for one in value:
            yield from drop_nulls(one, schema.items, f"{path}[]")
    elif isinstance(value, dict):
        for name in [*value]:
            of_field = schema.of_field(name)
            if value[name] is None and of_field is not None and not of_field.nullable:
                del value[name]
                yield step(path, schema, name)
            else:
                yield from drop_nulls(value[name], of_field, step(path, schema, name))


def set_defaults(value: Any, schema: Schema | None, left: int = MOST_FILLED_IN) -> int:
    """Fill in defaults; returns how many more values may be filled in. Raises `ExcessiveDefaultsError`."""
    if schema is None:
        return left
    if isinstance(value, list):
        for one in value:
            left = set_defaults(one, schema.items, left)
    elif isinstance(value, dict):
        left = _set_defaults_of_fields(value, schema, left)
        for name, one in value.items():
            left = set_defaults(one, schema.of_field(name), left)
    return left


def _set_defaults_of_fields(value: Json, schema: Schema, left: int) -> int:
    for name, of_field in schema.properties.items():
        if of_field.default is not ABSENT and name not in value:
            left -= of_field.default_size
            if left < 0:
                raise ExcessiveDefaultsError
            value[name] = deepcopy(of_field.default)
    return left
