"""The part of a ClusterServiceVersion that catalogs search: `olm.csv.metadata`, instead of all objects of a bundle.

The CSV is decoded as Go decodes it into its type: a field of a wrong type is refused, unknown fields are lost, and
what is left is written in the order of Go's structs. The value of a descriptor is not typed and stays as it is.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from rukpak_py.catalog.json_text import escaped_for_html
from rukpak_py.catalog.making.csv_decoding import decoded
from rukpak_py.catalog.model import BUNDLE_OBJECT, CSV_METADATA, Bundle, Property
from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.shapes import List, Map, Own, Pointer, Shape, Struct
from rukpak_py.formats.registry_v1.kinds import CSV

# Fields in the order in which they are written, and where the CSV has them.
_FIELDS: Final = (
    ("annotations", "metadata", "annotations"),
    ("apiServiceDefinitions", "spec", "apiservicedefinitions"),
    ("crdDescriptions", "spec", "customresourcedefinitions"),
    ("description", "spec", "description"),
    ("displayName", "spec", "displayName"),
    ("installModes", "spec", "installModes"),
    ("keywords", "spec", "keywords"),
    ("labels", "metadata", "labels"),
    ("links", "spec", "links"),
    ("maintainers", "spec", "maintainers"),
    ("maturity", "spec", "maturity"),
    ("minKubeVersion", "spec", "minKubeVersion"),
    ("nativeAPIs", "spec", "nativeAPIs"),
    ("provider", "spec", "provider"),
)
_ALWAYS: Final = frozenset({"apiServiceDefinitions", "crdDescriptions", "provider"})
_TYPES: Final = {"metadata": "ObjectMeta", "spec": "ClusterServiceVersionSpec"}
_NAME: Final = CSV.encode()


def csv_metadata(csv: Mapping[str, Any]) -> Property:
    """The property with the metadata of a ClusterServiceVersion; ContentError where a field has a wrong type."""
    typed = _typed(csv)
    found: dict[str, Any] = {}
    for name, part, key in _FIELDS:
        shape = next(field.shape for field in shapes.fields(_TYPES[part]) if field.name == key)
        value = _in_order(typed[part].get(key), shape)
        if value or name in _ALWAYS:
            found[name] = value or {}
    text = msgspec.json.encode(found).decode()
    return Property(type=CSV_METADATA, value=msgspec.json.decode(text), text=text)


def migrated(bundle: Bundle) -> Bundle:
    """The bundle with the metadata of its CSV instead of its objects.

    A bundle without an image keeps its objects, as there is no other place to get them from.
    """
    if not bundle.image or any(one.type == CSV_METADATA for one in bundle.properties):
        return bundle
    csv = csv_of(bundle)
    if csv is None:
        return bundle
    try:
        metadata = csv_metadata(csv)
    except ContentError as error:
        raise ContentError(f"bundle {bundle.name!r}: {error}") from error
    kept = tuple(one for one in bundle.properties if one.type != BUNDLE_OBJECT)
    return msgspec.structs.replace(bundle, properties=(*kept, metadata))


def csv_of(bundle: Bundle) -> dict[str, Any] | None:
    """The first ClusterServiceVersion among the objects of the bundle."""
    for value in bundle.values_of(BUNDLE_OBJECT):
        data = value.get("data") if isinstance(value, dict) else None
        found = _object(data) if isinstance(data, str) else None
        if isinstance(found, dict) and found.get("kind") == CSV:
            return found
    return None


def _object(data: str) -> Any:
    """The object that is there in base64; None for one that is no CSV at first sight, or cannot be decoded."""
    try:
        text = base64.b64decode(data)
    except ValueError:
        return None
    if _NAME not in text:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        found = yaml.load(text)  # which becomes JSON with its keys sorted
    except ContentError:
        return None
    return msgspec.json.decode(msgspec.json.encode(found, order="sorted"))


def _typed(csv: Mapping[str, Any]) -> Mapping[str, Any]:
    typed: Mapping[str, Any] = decoded(csv, CSV, ())
    spec = csv.get("spec") or {}
    for name in ("version", "release"):
        if name in spec and spec[name] is None:
            raise ContentError(f"spec.{name} of the {CSV} is null: give it a value or remove it")
    return typed


def _in_order(value: Any, shape: Shape) -> Any:
    """A typed value with its keys as Go writes them: fields as their struct declares them, the keys of maps sorted."""
    match shape, value:
        case Pointer(to), _:
            return _in_order(value, to)
        case Struct(name), dict():
            declared = shapes.fields(name)
            return {one.name: _in_order(value[one.name], one.shape) for one in declared if one.name in value}
        case List(item), list():
            return [_in_order(one, item) for one in value]
        case Own("RawMessage"), _:
            return msgspec.Raw(escaped_for_html(msgspec.json.encode(value)))
        case Map(item), dict():
            return {key: _in_order(value[key], item) for key in sorted(value, key=str.encode)}
        case _:
            return value
