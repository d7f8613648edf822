"""The properties of a bundle: given in its metadata and its CSV, and derived from what it provides and requires.

Values of the types that are derived are decoded and written in the order of Go's structs; others stay as they are. No
property is there twice, the last package property decides, and dependencies stay as often as they are listed, but for
kinds. All are sorted by their type and the JSON text of their value.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from rukpak_py.catalog.json_text import compact, compact_for_html
from rukpak_py.catalog.making.bundle_apis import provided, required
from rukpak_py.catalog.making.bundle_files import BundleFiles
from rukpak_py.catalog.making.csv_decoding import member
from rukpak_py.catalog.model import (
    BUNDLE_OBJECT,
    GVK,
    PACKAGE_PROPERTY,
    REQUIRED_GVK,
    REQUIRED_PACKAGE,
    Property,
)
from rukpak_py.content.yaml_scalars import without_surrogates
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.registry_v1.bundle import Dependency
from rukpak_py.formats.registry_v1.metadata import properties
from rukpak_py.formats.registry_v1.metadata.dependencies import GVK as GVK_DEPENDENCY
from rukpak_py.formats.registry_v1.metadata.dependencies import PACKAGE as PACKAGE_DEPENDENCY
from rukpak_py.formats.registry_v1.metadata.dependencies import NoValue
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, renamed

_GVK_FIELDS: Final = ("group", "kind", "version")
_TYPED: Final = {PACKAGE_PROPERTY: ("packageName", "version", "release"), GVK: _GVK_FIELDS}


def properties_of(files: BundleFiles) -> tuple[Property, ...]:
    kinds = [_gvk(GVK, gvk) for gvk in provided(files)]
    given = [
        *map(_given, files.properties),
        _property(PACKAGE_PROPERTY, _package(files)),
        *map(_given, _of_annotation(files)),
    ]
    package = [one for one in given if one.type == PACKAGE_PROPERTY][-1]
    found = [
        *_once([*(one for one in given if one.type != PACKAGE_PROPERTY), package, *kinds]),
        *_once([*_required_kinds(files.dependencies), *(_gvk(REQUIRED_GVK, gvk) for gvk in required(files))]),
        *_other_dependencies(files.dependencies),
        *map(_object, files.objects),
    ]
    return tuple(sorted(found, key=lambda one: (one.type.encode(), one.text.encode())))


def _once(found: Iterable[Property]) -> Iterable[Property]:
    return {(one.type, one.text): one for one in found}.values()


def _package(files: BundleFiles) -> dict[str, str]:
    spec = member(files.csv, "spec", "object", ())
    version, release = spec.get("version"), spec.get("release")
    if not isinstance(version, str | None):
        raise ContentError("spec.version of the ClusterServiceVersion must be a string; put it in quotes")
    if not isinstance(release, str | int | float | None) or isinstance(release, bool):
        raise ContentError("spec.release of the ClusterServiceVersion must be a string or a number")
    text = release if isinstance(release, str | None) else compact(release).decode()
    found = {"packageName": files.package, "version": version or ""}
    return {**found, "release": text} if text else found


def _object(manifest: dict[str, Any]) -> Property:
    return _property(BUNDLE_OBJECT, {"data": base64.b64encode(compact_for_html(manifest)).decode()})


# --- given in files


def _of_annotation(files: BundleFiles) -> Sequence[properties.Property]:
    """Those of the CSV's annotation. One that is no JSON has none, and Go takes what it can of wrong types."""
    annotations = (files.csv.get("metadata") or {}).get("annotations") or {}
    text: str = annotations.get(properties.ANNOTATION) or ""
    found, _ = properties.of_annotation(text) if text else (None, [])
    try:
        items = msgspec.json.decode(text, type=list[msgspec.Raw]) if found else []
    except (msgspec.DecodeError, RecursionError):
        return list(map(_readable, found or ()))
    return [_as_written(one, item) for one, item in zip(found or (), items, strict=True)]


def _as_written(one: properties.Property, item: msgspec.Raw) -> properties.Property:
    """The property with its value as it is written, but for blanks."""
    try:
        members = msgspec.json.decode(item, type=dict[str, msgspec.Raw])
        keys = [key for key, _ in fields(dict(members), ("value",))]
        value = msgspec.json.format(bytes(members[keys[-1]]), indent=-1).decode() if keys else ""
        msgspec.json.decode(value or "null")
    except (msgspec.DecodeError, RecursionError):
        return _readable(one)
    if not value and one.type in _TYPED:
        raise ContentError(f"a property of type {one.type} in the annotation {properties.ANNOTATION} has no value")
    return replace(one, value=value or one.value)


def _readable(one: properties.Property) -> properties.Property:
    """The property without the halves of surrogate pairs, of which Go makes U+FFFD."""
    return replace(one, value=without_surrogates(json.dumps(_loaded(one), ensure_ascii=False)))


def _loaded(one: properties.Property) -> Any:
    try:
        return json.loads(one.value)
    except RecursionError as error:
        raise ContentError(f"the value of a property of type {one.type} is nested too deeply") from error


def _given(one: properties.Property) -> Property:
    value = _loaded(one)
    if one.type not in _TYPED:
        return Property(type=one.type, value=value, text=one.value)
    found = _strings(one.type, value, _TYPED[one.type])
    return _property(one.type, {name: text for name, text in found.items() if text or name != "release"})


def _required_kinds(dependencies: Sequence[Dependency]) -> Iterator[Property]:
    for one in dependencies:
        if one.type == GVK_DEPENDENCY:
            yield _property(REQUIRED_GVK, _strings(one.type, _value(one), _GVK_FIELDS))


def _other_dependencies(dependencies: Sequence[Dependency]) -> Iterator[Property]:
    for one in dependencies:
        if one.type == PACKAGE_DEPENDENCY:
            value = _strings(one.type, _value(one), ("packageName", "version"))
            yield _property(REQUIRED_PACKAGE, {"packageName": value["packageName"], "versionRange": value["version"]})
        elif one.type != GVK_DEPENDENCY:
            other = None if isinstance(one.value, NoValue) else one.value
            yield Property(type=one.type, value=other, text=compact_for_html(other).decode())


def _value(dependency: Dependency) -> Any:
    if isinstance(dependency.value, NoValue):
        raise ContentError(f"{dependency.place.file}: a dependency of type {dependency.type} has no value")
    return dependency.value


# --- values of known types


def _gvk(kind: str, gvk: GroupVersionKind) -> Property:
    return _property(kind, {"group": gvk.group, "kind": gvk.kind, "version": gvk.version})


def _property(kind: str, value: dict[str, str]) -> Property:
    return Property(type=kind, value=value, text=msgspec.json.encode(value).decode())


def _strings(kind: str, value: Any, names: Sequence[str]) -> dict[str, str]:
    """The fields of a value, in this order, empty where it has none."""
    if not isinstance(value, dict | None):
        raise ContentError(f"the value of a property of type {kind} must be an object")
    values = renamed(value or {}, names)
    found = {name: value if (value := values.get(name)) is not None else "" for name in names}
    for name, text in found.items():
        if not isinstance(text, str):
            raise ContentError(f"{name} of a property of type {kind} must be a string")
    return found
