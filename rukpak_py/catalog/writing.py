"""Blobs as text: JSON byte for byte as `opm` writes it, or YAML with the same values.

A catalog is written package by package: the package, its channels and bundles by name, custom blobs by schema, its
deprecations; custom blobs without a package come last. Blobs are encoded one by one, so that processes can share the
work, and each carries the key that it is sorted by. A blob that belongs to no package but should is not written, as
`opm` does not write it: `lost_blobs` tells which.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from rukpak_py.catalog.blobs import Blob
from rukpak_py.catalog.json_text import compact, indented
from rukpak_py.catalog.model import (
    BUNDLE,
    CHANNEL,
    DEPRECATIONS,
    PACKAGE,
    Bundle,
    Catalog,
    Channel,
    CustomBlob,
    Deprecation,
    Deprecations,
    Entry,
    Icon,
    Package,
    Property,
    RelatedImage,
)
from rukpak_py.content.yaml_dump import dump_all
from rukpak_py.formats.go_types.leaves import canonical_base64
from rukpak_py.formats.rules import Place, Problem

Key: TypeAlias = tuple[bool, bytes, int, bytes]

_SCHEMAS: Final = {Package: PACKAGE, Channel: CHANNEL, Bundle: BUNDLE, Deprecations: DEPRECATIONS}


class Encoded(NamedTuple):
    key: Key
    data: bytes


def encoded(blob: Blob, *, as_yaml: bool = False) -> Encoded | None:
    """The text of a blob, with a line end; None for a blob that is lost."""
    if _is_lost(blob):
        return None
    fields = _fields(blob)
    return Encoded(_key(blob), _yaml(fields) if as_yaml else indented(fields, keeps_numbers=_has_texts(blob)))


def in_order(blobs: Iterable[Encoded]) -> Iterator[bytes]:
    """The texts in the order of a catalog; those with equal keys stay in the order in which they came."""
    return (blob.data for blob in sorted(blobs, key=lambda blob: blob.key))


def written(catalog: Catalog, *, as_yaml: bool = False) -> Iterator[bytes]:
    found = (encoded(blob, as_yaml=as_yaml) for blob in blobs_of(catalog))
    return in_order(one for one in found if one is not None)


def blobs_of(catalog: Catalog) -> Iterator[Blob]:
    yield from catalog.packages
    yield from catalog.channels
    yield from catalog.bundles
    yield from catalog.deprecations
    yield from catalog.custom


def lost_blobs(catalog: Catalog) -> Iterator[Problem]:
    """Blobs that are not written, each as a problem of the place where it stands."""
    for blob in blobs_of(catalog):
        if not _is_lost(blob):
            continue
        missing = "name" if isinstance(blob, Package) else "package"
        name = f" {blob.name!r}" if isinstance(blob, Channel | Bundle) else ""
        yield Problem(
            message=f"the {_SCHEMAS[type(blob)]}{name} has no {missing}, so it is not written",
            place=Place(file=blob.origin.file, document=blob.origin.document) if blob.origin.file else None,
            hint=f"Give the blob its `{missing}`.",
        )


def _is_lost(blob: Blob) -> bool:
    match blob:
        case Package():
            return not blob.name
        case CustomBlob():
            return False
        case _:
            return not blob.package


def _key(blob: Blob) -> Key:
    match blob:
        case Package():
            return False, blob.name.encode(), 0, b""
        case Channel():
            return False, blob.package.encode(), 1, blob.name.encode()
        case Bundle():
            return False, blob.package.encode(), 2, blob.name.encode()
        case CustomBlob() if blob.package:
            return False, blob.package.encode(), 3, blob.schema.encode()
        case CustomBlob():
            return True, b"", 0, b""
        case Deprecations():
            return False, blob.package.encode(), 4, b""


def _yaml(value: Any) -> bytes:
    """Keys sorted, those of OLM's own fields too."""
    plain = msgspec.json.decode(msgspec.json.encode(value))  # texts of properties must be sorted as well
    return "".join(dump_all([msgspec.json.decode(msgspec.json.encode(plain, order="sorted"))])).encode()


# --- fields, in the order in which they are written; UNSET ones are not


class _Property(msgspec.Struct, kw_only=True):
    type: str
    value: Any


class _Icon(msgspec.Struct, kw_only=True):
    base64data: str | None
    mediatype: str


class _Package(msgspec.Struct, kw_only=True, rename="camel"):
    schema: str = PACKAGE
    name: str
    default_channel: str
    icon: _Icon | UnsetType
    description: str | UnsetType
    properties: list[_Property] | UnsetType


class _Entry(msgspec.Struct, kw_only=True, rename="camel"):
    name: str
    replaces: str | UnsetType
    skips: tuple[str, ...] | UnsetType
    skip_range: str | UnsetType


class _Channel(msgspec.Struct, kw_only=True):
    schema: str = CHANNEL
    name: str
    package: str
    entries: list[_Entry]
    properties: list[_Property] | UnsetType


class _Bundle(msgspec.Struct, kw_only=True, rename="camel"):
    schema: str = BUNDLE
    name: str | UnsetType
    package: str
    image: str
    properties: list[_Property] | UnsetType
    related_images: tuple[RelatedImage, ...] | UnsetType


class _Reference(msgspec.Struct, kw_only=True):
    schema: str
    name: str | UnsetType


class _Deprecation(msgspec.Struct, kw_only=True):
    reference: _Reference
    message: str


class _Deprecations(msgspec.Struct, kw_only=True):
    schema: str = DEPRECATIONS
    package: str
    entries: list[_Deprecation]


def _fields(blob: Blob) -> msgspec.Struct | dict[str, Any]:
    match blob:
        case Package():
            return _Package(
                name=blob.name,
                default_channel=blob.default_channel,
                icon=_icon(blob.icon) if blob.icon is not None else UNSET,
                description=blob.description or UNSET,
                properties=_properties(blob),
            )
        case Channel():
            return _Channel(
                name=blob.name,
                package=blob.package,
                entries=list(map(_entry, blob.entries)),
                properties=_properties(blob),
            )
        case Bundle():
            return _Bundle(
                name=blob.name or UNSET,
                package=blob.package,
                image=blob.image,
                properties=_properties(blob),
                related_images=blob.related_images or UNSET,
            )
        case Deprecations():
            return _Deprecations(package=blob.package, entries=list(map(_deprecation, blob.entries)))
        case CustomBlob():
            return blob.value


def _icon(icon: Icon) -> _Icon:
    try:
        data = canonical_base64(icon.data)
    except ValueError:  # told when the file was read
        data = icon.data
    return _Icon(base64data=data or None, mediatype=icon.media_type)


def _entry(entry: Entry) -> _Entry:
    return _Entry(
        name=entry.name,
        replaces=entry.replaces or UNSET,
        skips=entry.skips or UNSET,
        skip_range=entry.skip_range or UNSET,
    )


def _deprecation(entry: Deprecation) -> _Deprecation:
    return _Deprecation(reference=_Reference(schema=entry.schema, name=entry.name or UNSET), message=entry.message)


def _properties(blob: Package | Channel | Bundle) -> list[_Property] | UnsetType:
    value = _exact_value if _has_texts(blob) else _plain_value
    return [_Property(type=one.type, value=value(one)) for one in blob.properties] or UNSET


def _has_texts(blob: Blob) -> bool:
    return isinstance(blob, Bundle) and any(one.text for one in blob.properties)


def _plain_value(one: Property) -> Any:
    return None if one.value is UNSET else one.value


def _exact_value(one: Property) -> Any:
    """The value as JSON in which nothing is to be changed any more."""
    return msgspec.Raw(one.text.encode() or compact(_plain_value(one)))
