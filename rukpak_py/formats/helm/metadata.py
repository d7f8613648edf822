"""Chart.yaml as a value, judged as helm judges it and refused in its words.

A field of the wrong type makes the file unreadable, as it does for Go's decoder; what it says is judged after that.
A number or a boolean is no wrong type where a string is wanted. Fields that helm does not know count for nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rukpak_py.core.errors import ContentError
from rukpak_py.core.go_text import quoted
from rukpak_py.formats.manifests import go_kind

V1: Final = "v1"
LIBRARY: Final = "library"
_TYPES: Final = ("", "application", LIBRARY)

_VERSION = re.compile(
    r"v?\d+(\.\d+){0,2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?", re.ASCII
)
_ALIAS = re.compile(r"[a-zA-Z0-9_-]+")
_DECODING = "error unmarshaling JSON: while decoding JSON: "

# The type of every field, a list or a mapping by the type of its members.
_Shape = str | list[Any] | dict[str, Any]
_ANY: Final = "any"
_ANNOTATIONS: Final = "map"
_DEPENDENCY: Final[dict[str, _Shape]] = {
    **dict.fromkeys(("name", "version", "repository", "condition", "alias"), "string"),
    "tags": ["string"],
    "enabled": "bool",
    "import-values": [_ANY],
}
_METADATA: Final[dict[str, _Shape]] = {
    **dict.fromkeys(("name", "home", "version", "description", "icon", "apiVersion", "condition"), "string"),
    **dict.fromkeys(("tags", "appVersion", "kubeVersion", "type"), "string"),
    "sources": ["string"],
    "keywords": ["string"],
    "maintainers": [dict.fromkeys(("name", "email", "url"), "string")],
    "deprecated": "bool",
    "annotations": _ANNOTATIONS,
    "dependencies": [_DEPENDENCY],
}
_GO_STRUCTS: Final = {"": "Metadata", "maintainers": "Maintainer", "dependencies": "Dependency"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Dependency:
    name: str
    version: str = ""
    repository: str = ""
    alias: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metadata:
    name: str
    version: str
    api_version: str = V1
    app_version: str = ""
    description: str = ""
    kube_version: str = ""
    type: str = ""
    dependencies: tuple[Dependency, ...] = ()


def metadata_of(document: object) -> Metadata:
    """ContentError for a value that Go's decoder would not take."""
    fields = _mapping(document)
    for problem in _wrong_types(fields, _METADATA, "Metadata", ""):
        raise ContentError(_DECODING + problem)
    return Metadata(
        name=_text(fields, "name"),
        version=_text(fields, "version"),
        api_version=_text(fields, "apiVersion") or V1,
        app_version=_text(fields, "appVersion"),
        description=_text(fields, "description"),
        kube_version=_text(fields, "kubeVersion"),
        type=_text(fields, "type"),
        dependencies=dependencies_of(fields),
    )


def dependencies_of(document: object) -> tuple[Dependency, ...]:
    """Of Chart.yaml, or of the requirements.yaml of charts of apiVersion v1."""
    fields = _mapping(document)
    for problem in _wrong_types(fields, {"dependencies": [_DEPENDENCY]}, "Metadata", ""):
        raise ContentError(_DECODING + problem)
    listed = fields.get("dependencies") or []
    if any(entry is None for entry in listed):
        raise ContentError("validation: dependencies must not contain empty or null nodes")
    return tuple(
        Dependency(**{key: _text(entry, key) for key in ("name", "version", "repository", "alias")}) for entry in listed
    )


def validate(metadata: Metadata) -> None:
    """ContentError in helm's words for the first thing that is wrong."""
    for problem in _invalid(metadata):
        raise ContentError(f"validation: {problem}")


def _invalid(metadata: Metadata) -> Iterator[str]:
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


def _invalid_dependencies(dependencies: tuple[Dependency, ...]) -> Iterator[str]:
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
        raise ContentError(
            f"{_DECODING}json: cannot unmarshal {go_kind(document)} into Go value of type chart.Metadata"
        )
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


def _wrong_types(fields: Mapping[str, Any], shapes: Mapping[str, _Shape], struct: str, at: str) -> Iterator[str]:
    for name, shape in shapes.items():
        yield from _wrong_type(fields.get(name), shape, struct, f"{at}{name}")


def _wrong_type(value: object, shape: _Shape, struct: str, field: str) -> Iterator[str]:
    """`field` is as Go names it, `dependencies.name`; null is no value, whatever the type."""
    match shape, value:
        case (_, None) | ("any", _) | ("string", str() | int() | float()) | ("bool", bool()):
            return
        case ("map", dict()):
            for member in value.values():
                yield from _wrong_type(member, "string", struct, field)
        case (list(), list()):
            for item in value:
                yield from _wrong_type(item, shape[0], struct, field)
        case (dict(), dict()):
            inner = _GO_STRUCTS.get(field, struct)
            yield from _wrong_types(value, shape, inner, f"{field}.")
        case _:
            where = f"Go struct field {struct}.{field} of type {_go_type(shape, field)}"
            yield f"json: cannot unmarshal {go_kind(value)} into {where}"


def _go_type(shape: _Shape, field: str) -> str:
    match shape:
        case "map":
            return "map[string]string"
        case list():
            return f"[]{_go_type(shape[0], field)}"
        case dict():
            return f"*chart.{_GO_STRUCTS.get(field, 'Metadata')}"
        case "any":
            return "interface {}"
        case _:
            return str(shape)
