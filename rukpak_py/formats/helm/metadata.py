"""Chart.yaml as a value, judged as helm judges it; what it says is refused in helm's words.

A field of the wrong type makes the file unreadable, as it does for Go's decoder; what it says is judged after that.
A number or a boolean is no wrong type where a string is wanted. Fields that helm does not know count for nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.go_text import quoted
from rukpak_py.formats.rules import path_text
from rukpak_py.formats.type_defects import Wanted, must_be

V1: Final = "v1"
LIBRARY: Final = "library"
_TYPES: Final = ("", "application", LIBRARY)

_VERSION = re.compile(
    r"v?\d+(\.\d+){0,2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?", re.ASCII
)
_ALIAS = re.compile(r"[a-zA-Z0-9_-]+")

# The type of every field, a list or a mapping by the type of its members.
_Shape = str | list[Any] | dict[str, Any]
_ANY: Final = "any"
_ANNOTATIONS: Final = "map"
_DEPENDENCY: Final[dict[str, _Shape]] = {
    **dict.fromkeys(("name", "version", "repository", "condition", "alias"), Wanted.STRING),
    "tags": [Wanted.STRING],
    "enabled": Wanted.BOOLEAN,
    "import-values": [_ANY],
}
_METADATA: Final[dict[str, _Shape]] = {
    **dict.fromkeys(("name", "home", "version", "description", "icon", "apiVersion", "condition"), Wanted.STRING),
    **dict.fromkeys(("tags", "appVersion", "kubeVersion", "type"), Wanted.STRING),
    "sources": [Wanted.STRING],
    "keywords": [Wanted.STRING],
    "maintainers": [dict.fromkeys(("name", "email", "url"), Wanted.STRING)],
    "deprecated": Wanted.BOOLEAN,
    "annotations": _ANNOTATIONS,
    "dependencies": [_DEPENDENCY],
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartDependency:
    name: str
    version: str = ""
    repository: str = ""
    alias: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartMetadata:
    name: str
    version: str
    api_version: str = V1
    app_version: str = ""
    description: str = ""
    kube_version: str = ""
    type: str = ""
    dependencies: tuple[ChartDependency, ...] = ()


def metadata_of(document: object) -> ChartMetadata:
    """ContentError for a value that Go's decoder would not take."""
    fields = _mapping(document)
    _check(fields, _METADATA, ())
    return ChartMetadata(
        name=_text(fields, "name"),
        version=_text(fields, "version"),
        api_version=_text(fields, "apiVersion") or V1,
        app_version=_text(fields, "appVersion"),
        description=_text(fields, "description"),
        kube_version=_text(fields, "kubeVersion"),
        type=_text(fields, "type"),
        dependencies=dependencies_of(fields),
    )


def dependencies_of(document: object) -> tuple[ChartDependency, ...]:
    """Dependencies in Chart.yaml, or in the requirements.yaml of charts of apiVersion v1."""
    fields = _mapping(document)
    _check(fields, {"dependencies": [_DEPENDENCY]}, ())
    listed = fields.get("dependencies") or []
    if any(entry is None for entry in listed):
        raise ContentError("validation: dependencies must not contain empty or null nodes")
    return tuple(
        ChartDependency(**{key: _text(entry, key) for key in ("name", "version", "repository", "alias")})
        for entry in listed
    )


def validate(metadata: ChartMetadata) -> None:
    """ContentError in helm's words for the first thing that is wrong."""
    for problem in _invalid(metadata):
        raise ContentError(f"validation: {problem}")


def _invalid(metadata: ChartMetadata) -> Iterator[str]:
    name = metadata.name
    if not name:
        yield "chart.metadata.name is required"
    if name in {".", ".."}:
        yield f"chart.metadata.name {quoted(name)} is not allowed"
    if "/" in name:
        yield f"chart.metadata.name {quoted(name)} is invalid"
    if not metadata.version:
        yield "chart.metadata.version is required"
    if not _VERSION.fullmatch(metadata.version):
        yield f"chart.metadata.version {quoted(metadata.version)} is invalid"
    if metadata.type not in _TYPES:
        yield "chart.metadata.type must be application or library"
    yield from _invalid_dependencies(metadata.dependencies)


def _invalid_dependencies(dependencies: tuple[ChartDependency, ...]) -> Iterator[str]:
    seen = set()
    for dependency in dependencies:
        if dependency.alias and not _ALIAS.fullmatch(dependency.alias):
            yield f"dependency {quoted(dependency.name)} has disallowed characters in the alias"
        key = dependency.alias or dependency.name
        if key in seen:
            yield f"more than one dependency with name or alias {quoted(key)}"
        seen.add(key)


def _mapping(document: object) -> Mapping[str, Any]:
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ContentError(f"the document {must_be(Wanted.OBJECT, document)}")
    return document


def _text(fields: Mapping[str, Any], name: str) -> str:
    match fields.get(name):
        case None:
            return ""
        case bool(value):
            return str(value).lower()
        case float(value) if value.is_integer():
            return str(int(value))
        case value:
            return str(value)


def _check(value: object, shape: _Shape, path: Path) -> None:
    """ContentError for a value of another type; null is no value, whatever the type."""
    match shape, value:
        case (_, None) | ("any", _) | (Wanted.STRING, str() | int() | float()) | (Wanted.BOOLEAN, bool()):
            return
        case ("map", dict()):
            for key, member in value.items():
                _check(member, Wanted.STRING, (*path, key))
        case (list(), list()):
            for index, item in enumerate(value):
                _check(item, shape[0], (*path, index))
        case (dict(), dict()):
            for name, inner in shape.items():
                _check(value.get(name), inner, (*path, name))
        case _:
            raise ContentError(f"{path_text(path)} {must_be(_wanted(shape), value)}")


def _wanted(shape: _Shape) -> Wanted:
    match shape:
        case Wanted():
            return shape
        case list():
            return Wanted.LIST
        case _:
            return Wanted.OBJECT
