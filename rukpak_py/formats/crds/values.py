"""Values held against a schema of a CRD, as far as that is easily told: defaults, examples, and shipped objects."""

from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final

import re2

from rukpak_py.formats.json_fields import Json

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_KEEPING: Final = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
_OPEN: Final = (*_KEEPING, "additionalProperties")
_DEEPEST: Final = 40
_MOST: Final = 1_000  # values of an enum, and required fields, with which each of many values is compared
_PATTERN_BYTES: Final = 8 << 20  # of a compiled pattern and its states
_PATTERNS: Final = 32  # that are kept compiled; schemas use them in turn
_TYPES: Final = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "number": int | float,
    "object": dict,
    "string": str,
}


def problem_of_pattern(pattern: str) -> str:
    return _compiled(pattern)[1]


@lru_cache(maxsize=_PATTERNS)
def _compiled(pattern: str) -> tuple[Any, str]:
    """The pattern, and why it is none. A refused one is remembered too: it costs most, and is asked for each value."""
    options = re2.Options()
    options.max_mem = _PATTERN_BYTES
    options.log_errors = False
    try:
        return re2.compile(pattern, options), ""
    except re2.error as error:
        said = error.args[0] if error.args else ""
        return None, f"no regular expression of Go: {said.decode() if isinstance(said, bytes) else said}"


class Unknown(Enum):
    """Fields without a property that are told: none, those that server-side apply refuses, or dropped ones as well."""

    NONE = auto()
    REFUSED = auto()
    DROPPED = auto()


def unfit(value: Any, schema: Json, at: str, deepest: int = _DEEPEST, *, unknown: Unknown = Unknown.DROPPED) -> str:
    """Say what is wrong with a value; empty where nothing is, or where that is not easily told."""
    if deepest == 0 or (value is None and schema.get("nullable") is True):
        return ""
    type_name = schema.get("type")
    if schema.get(_INT_OR_STRING) is True:
        return (
            ""
            if isinstance(value, int | str) and not isinstance(value, bool)
            else f"{at} must be an integer or a string"
        )
    if isinstance(type_name, str) and type_name in _TYPES and not _is_of(value, type_name):
        return f"{at} must be of type {type_name}"
    allowed = schema.get("enum")
    if isinstance(allowed, list) and len(allowed) <= _MOST and value not in allowed:
        return f"{at} must be one of {', '.join(str(one)[:40] for one in allowed[:10])}"
    if isinstance(value, str) and isinstance(pattern := schema.get("pattern"), str) and not _matches(pattern, value):
        return f'{at} must match the pattern "{pattern[:80]}"'
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _out_of_bounds(value, schema, at)
    if isinstance(value, dict):
        return _unfit_object(value, schema, at, deepest, unknown=unknown)
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        below = (unfit(one, items, f"{at}[{n}]", deepest - 1, unknown=unknown) for n, one in enumerate(value))
        return next(filter(None, below), "")
    return ""


def _unfit_object(value: Json, schema: Json, at: str, deepest: int, *, unknown: Unknown) -> str:
    required, properties = schema.get("required"), schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    for name in required[:_MOST] if isinstance(required, list) else []:
        if not isinstance(name, str):
            continue  # told where schemas are judged
        inner = properties.get(name)
        if name not in value and not (isinstance(inner, dict) and "default" in inner):
            return f"{at}.{name} is required"
    if unknown is Unknown.REFUSED and any(schema.get(one) is True for one in _KEEPING):
        unknown = Unknown.NONE  # below it, the server drops what it does not know
    for name, one in value.items():
        inner = properties.get(name)
        if isinstance(inner, dict) and (problem := unfit(one, inner, f"{at}.{name}", deepest - 1, unknown=unknown)):
            return problem
        if inner is not None:
            continue
        others = schema.get("additionalProperties")
        if isinstance(others, dict) and (problem := unfit(one, others, f"{at}.{name}", deepest - 1, unknown=unknown)):
            return problem
        is_open = unknown is Unknown.NONE or any(schema.get(one) for one in _OPEN)
        if not is_open and properties:
            return f"{at}.{name} is not declared in the schema"
    return ""


def _is_of(value: Any, type_name: str) -> bool:
    if type_name == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    if type_name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, _TYPES[type_name])


def _out_of_bounds(value: float, schema: Json, at: str) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, int | float) and (
        value < least or (value == least and schema.get("exclusiveMinimum") is True)
    ):
        return f"{at} must be at least {least}"
    if isinstance(most, int | float) and (value > most or (value == most and schema.get("exclusiveMaximum") is True)):
        return f"{at} must be at most {most}"
    return ""


def _matches(pattern: str, value: str) -> bool:
    compiled, problem = _compiled(pattern)
    return bool(problem) or compiled.search(value) is not None  # a problem is told of the schema
