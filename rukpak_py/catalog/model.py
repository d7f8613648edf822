"""The blobs of a file-based catalog, as typed values.

A catalog is a bag of blobs; each knows its file and which document of that file it is: lines and columns are looked up
on request (`Positions` of rukpak_py.content). Values are what the file says, checked for their types
only: whether a catalog is valid is decided by `checks`. Structs are frozen, travel between processes and are kept in
the cache of the command line, which knows by the files of the program when a field has changed.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from rukpak_py.catalog.fields import member

PACKAGE = "olm.package"
CHANNEL = "olm.channel"
BUNDLE = "olm.bundle"
DEPRECATIONS = "olm.deprecations"

PACKAGE_PROPERTY = "olm.package"
REQUIRED_PACKAGE = "olm.package.required"
GVK = "olm.gvk"
REQUIRED_GVK = "olm.gvk.required"
BUNDLE_OBJECT = "olm.bundle.object"
CSV_METADATA = "olm.csv.metadata"
CONSTRAINT = "olm.constraint"


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    file: str = ""  # relative to the root of the catalog
    document: int = 0


NOWHERE = Origin()


class Property(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is UNSET where the file gives none, which is no property that a reader takes.

    `text` is the JSON of a value that is not written with its keys sorted and without escapes for HTML, which is the
    case of some that are made from a bundle; empty for all others.
    """

    type: str
    value: Any = UNSET
    text: str = ""


class RelatedImage(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    image: str = ""


class Icon(msgspec.Struct, frozen=True, kw_only=True):
    data: str = ""  # base64, as written
    media_type: str = ""


class Package(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    default_channel: str = ""
    icon: Icon | None = None
    description: str = ""
    properties: tuple[Property, ...] = ()
    origin: Origin = NOWHERE


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    package: str
    name: str
    entries: tuple[Entry, ...] = ()
    properties: tuple[Property, ...] = ()
    origin: Origin = NOWHERE


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """`properties` of a catalog that was read slimly have no value for objects and the metadata of the CSV."""

    package: str
    name: str
    image: str = ""
    properties: tuple[Property, ...] = ()
    related_images: tuple[RelatedImage, ...] = ()
    origin: Origin = NOWHERE

    def values_of(self, kind: str) -> Iterator[Any]:
        return (one.value for one in self.properties if one.type == kind)

    @property
    def has_objects(self) -> bool:
        return any(one.type == BUNDLE_OBJECT for one in self.properties)

    @property
    def version(self) -> str:
        """As its first package property has it; empty where there is none."""
        return self._of_package_property("version")

    @property
    def release(self) -> str:
        return self._of_package_property("release")

    def _of_package_property(self, key: str) -> str:
        value = next(self.values_of(PACKAGE_PROPERTY), None)
        found = member(value, key)[1] if isinstance(value, dict) else None
        return found if isinstance(found, str) else ""


class Deprecation(msgspec.Struct, frozen=True, kw_only=True):
    """One entry: `schema` is that of a package, a channel or a bundle; a package has no name."""

    schema: str
    name: str = ""
    message: str = ""


class Deprecations(msgspec.Struct, frozen=True, kw_only=True):
    package: str
    entries: tuple[Deprecation, ...] = ()
    origin: Origin = NOWHERE


class CustomBlob(msgspec.Struct, frozen=True, kw_only=True):
    """A blob of a schema that is not OLM's, kept as it is."""

    schema: str
    package: str = ""
    name: str = ""
    value: dict[str, Any] = {}
    origin: Origin = NOWHERE


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """Blobs by schema, in the order in which they were read: files by path, documents as they stand in them."""

    packages: tuple[Package, ...] = ()
    channels: tuple[Channel, ...] = ()
    bundles: tuple[Bundle, ...] = ()
    deprecations: tuple[Deprecations, ...] = ()
    custom: tuple[CustomBlob, ...] = ()

    @classmethod
    def joined(cls, catalogs: "Iterable[Catalog]") -> "Catalog":
        several = list(catalogs)
        return cls(
            packages=tuple(one for catalog in several for one in catalog.packages),
            channels=tuple(one for catalog in several for one in catalog.channels),
            bundles=tuple(one for catalog in several for one in catalog.bundles),
            deprecations=tuple(one for catalog in several for one in catalog.deprecations),
            custom=tuple(one for catalog in several for one in catalog.custom),
        )

    def __add__(self, other: "Catalog") -> "Catalog":
        return self.joined((self, other))
