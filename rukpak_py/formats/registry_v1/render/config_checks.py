"""Checks of a deployment configuration for mistakes that the renderer does not refuse by itself.

People mistype the name of a field: in a cluster the server decides about it, which may know more fields than we do;
here it is refused, with the name that was probably meant. Programs hand over values that are no JSON.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.bundle import Json
from rukpak_py.formats.registry_v1.render.config_values import (
    DEPLOYMENT_CONFIG,
    GO_TYPES,
    described,
    did_you_mean,
    given,
    problems_of_config,
)
from rukpak_py.formats.registry_v1.typed.restore import restore
from rukpak_py.formats.registry_v1.typed.shapes import List, Map, Pointer, Shape, Struct, fields, shape
from rukpak_py.formats.rules import path_text

_LIKENESS: Final = 0.75  # all of them are fields of the same object
_MOST: Final = 20
_INTEGERS: Final = range(-(1 << 63), 1 << 63)


def checked_deployment_config(config: Any) -> Json:
    """As JSON; ContentError with everything that cannot be meant."""
    try:
        value = _json(config, ())
    except RecursionError as error:
        raise _refusal("it is nested too deeply") from error
    problems = list(problems_of_config(value)) or list(_typos(value))[:_MOST]
    if problems:
        raise _refusal(described(problems))
    found: Json = value
    return found


def _typos(config: Json) -> Iterator[str]:
    for key, value in given(config):
        unknown: list[Path] = []
        restore(value, GO_TYPES[key], keep_unknown=True, defects=[], unknown=unknown)
        for path in unknown:
            text = f'unknown field "{DEPLOYMENT_CONFIG}.{path_text((key, *path))}"'
            yield text + did_you_mean(str(path[-1]), _siblings(shape(GO_TYPES[key]), path), likeness=_LIKENESS)


def _siblings(current: Shape, path: Path) -> list[str]:
    """The fields that the type has where the path ends."""
    for part in path[:-1]:
        match _without_pointers(current):
            case List(item) | Map(item):
                current = item
            case Struct(name):
                current = next(field.shape for field in fields(name) if field.name == part)
    current = _without_pointers(current)
    return [field.name for field in fields(current.name)] if isinstance(current, Struct) else []


def _without_pointers(current: Shape) -> Shape:
    return _without_pointers(current.to) if isinstance(current, Pointer) else current


def _json(value: Any, path: Path) -> Any:
    match value:
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise _refusal(f'a key of "{_named(path)}" must be a string, got {type(key).__name__} {key!r}')
            return {str(key): _json(item, (*path, key)) for key, item in value.items()}
        case list() | tuple():
            return [_json(item, (*path, index)) for index, item in enumerate(value)]
        case None | bool() | str():
            return value
        case int() if value in _INTEGERS:
            return value
        case float() if math.isfinite(value):
            return value
        case int() | float():
            wanted = "an integer of 64 bits" if isinstance(value, int) else "a finite number"
            raise _refusal(f'invalid value for field "{_named(path)}": it must be {wanted}')
        case _:
            raise _refusal(f'invalid type for field "{_named(path)}": {type(value).__name__} is no JSON')


def _named(path: Path) -> str:
    return path_text((DEPLOYMENT_CONFIG, *path))


def _refusal(problem: str) -> ContentError:
    return ContentError(f"invalid configuration: {problem}")
