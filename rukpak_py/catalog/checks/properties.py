"""Properties of a bundle whose values OLM decodes: what they have to look like.

Each is a struct of the reference; every other type may have any value. A constraint is opaque here: resolvers read it.
An object of a bundle is one whole manifest in base64, of which only so much is looked at as decides whether a reader
takes it: text that begins as JSON passes as it is.
"""

import binascii
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from msgspec import UNSET

from rukpak_py.catalog.blobs import is_base64
from rukpak_py.catalog.checks import advice
from rukpak_py.catalog.fields import Map, Schema, Struct, defects, is_exact, member
from rukpak_py.catalog.model import (
    BUNDLE_OBJECT,
    CSV_METADATA,
    GVK,
    PACKAGE_PROPERTY,
    REQUIRED_GVK,
    REQUIRED_PACKAGE,
    Bundle,
    Property,
)
from rukpak_py.catalog.upgrades.bundle_order import parse_version
from rukpak_py.content import yaml
from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS

CHANNEL_PROPERTY: Final = "olm.channel"

_DESCRIPTOR: Final = Struct(
    {"path": "string", "displayName": "string", "description": "string", "x-descriptors": ["string"], "value": "any"}
)
_RESOURCE: Final = Struct({"name": "string", "kind": "string", "version": "string"})
_DESCRIPTION: Final[dict[str, Schema]] = {
    "name": "string",
    "version": "string",
    "kind": "string",
    "displayName": "string",
    "description": "string",
    "resources": [_RESOURCE],
    "statusDescriptors": [_DESCRIPTOR],
    "specDescriptors": [_DESCRIPTOR],
    "actionDescriptors": [_DESCRIPTOR],
}
_CRD: Final = Struct(_DESCRIPTION)
_API_SERVICE: Final = Struct(
    {**_DESCRIPTION, "group": "string", "deploymentName": "string", "containerPort": "int32"},
)
_LINK: Final = Struct({"name": "string", "url": "string"})
_API: Final = Struct({"group": "string", "version": "string", "kind": "string"})
_CSV: Final = Struct(
    {
        "annotations": Map("string"),
        "apiServiceDefinitions": Struct({"owned": [_API_SERVICE], "required": [_API_SERVICE]}),
        "crdDescriptions": Struct({"owned": [_CRD], "required": [_CRD]}),
        "description": "string",
        "displayName": "string",
        "installModes": [Struct({"type": "string", "supported": "bool"})],
        "keywords": ["string"],
        "labels": Map("string"),
        "links": [_LINK],
        "maintainers": [Struct({"name": "string", "email": "string"})],
        "maturity": "string",
        "minKubeVersion": "string",
        "nativeAPIs": [_API],
        "provider": _LINK,
    }
)
TYPES: Final[dict[str, Struct]] = {
    PACKAGE_PROPERTY: Struct({"packageName": "string", "version": "string", "release": "string"}),
    REQUIRED_PACKAGE: Struct({"packageName": "string", "versionRange": "string"}),
    GVK: _API,
    REQUIRED_GVK: _API,
    CHANNEL_PROPERTY: Struct({"channelName": "string", "priority": "integer"}),
    CSV_METADATA: _CSV,
}
_JSON_START: Final = b"{"
_BYTES: Final = range(256)
# A file may hold very many objects, and each could be a few bytes of aliases that become megabytes.
_ALIASES_FREE: Final = 4096
_MOST_GROWTH: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class PropertyDefect:
    path: Path  # in the property, as the file spells it
    text: str
    hint: str | None = None


def defects_of(one: Property) -> Iterator[PropertyDefect]:
    """Everything that keeps the value from being decoded; objects are left to `defect_of_object`."""
    if one.type == BUNDLE_OBJECT:
        return
    if one.value is UNSET:
        yield PropertyDefect(path=(), text="unexpected end of JSON input")
    elif one.type in TYPES:
        schema = TYPES[one.type]
        for defect in () if isinstance(schema, Struct) and is_exact(schema, one.value) else defects(schema, one.value):
            text = defect.message if defect.path else f"the value {defect.message}"
            yield PropertyDefect(path=("value", *defect.path), text=text, hint=advice.on_type(defect))


def defect_of_object(one: Property, index: int) -> PropertyDefect | None:
    """Why a property is no object of a bundle; what is missing in it counts as an empty object."""
    undecoded = f"parse property at index {index} as bundle object"
    if one.value is UNSET:
        return PropertyDefect(path=(), text=f"{undecoded}: unexpected end of JSON input")
    for defect in defects(Struct({"data": "any"}), one.value):
        return PropertyDefect(path=("value",), text=f"{undecoded}: the value {defect.message}")
    if one.value is None:
        return None
    key, data = member(one.value, "data")
    path: Path = ("value", key)
    decoded = _decoded(data)
    if decoded is None:
        return PropertyDefect(path=path, text=f"{undecoded}: illegal base64 data")
    if decoded.lstrip().startswith(_JSON_START):
        return None
    limits = replace(DEFAULT_LIMITS, rendered_bytes=_ALIASES_FREE + _MOST_GROWTH * len(decoded))
    try:
        yaml.load(decoded, limits=limits)
    except ContentError as error:
        return PropertyDefect(path=path, text=f"convert bundle object property at index {index} to JSON: {error}")
    return None


def _decoded(data: Any) -> bytes | None:
    match data:
        case None:
            return b""
        case str() if is_base64(data):
            return binascii.a2b_base64(data)
        case list() if all(number is None or (type(number) is int and number in _BYTES) for number in data):
            return bytes(number or 0 for number in data)
        case _:
            return None


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageProperty:
    """The package property of a bundle; what it does not have is empty."""

    index: int
    package: str
    version: str
    release: str
    is_null: bool

    @property
    def has_valid_version(self) -> bool:
        return parse_version(self.version) is not None

    def path(self, name: str, value: Any) -> Path:
        return ("properties", self.index, "value", member(value or {}, name)[0])


def package_property(bundle: Bundle) -> PackageProperty | None:
    """The one package property of a bundle; None where there is another number of them, or it cannot be decoded."""
    found = [index for index, one in enumerate(bundle.properties) if one.type == PACKAGE_PROPERTY]
    if len(found) != 1 or any(defects_of(bundle.properties[found[0]])):
        return None
    value = bundle.properties[found[0]].value
    package, version, release = (member(value or {}, name)[1] or "" for name in ("packageName", "version", "release"))
    return PackageProperty(index=found[0], package=package, version=version, release=release, is_null=value is None)
