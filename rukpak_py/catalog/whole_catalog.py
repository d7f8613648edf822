"""The subject of rules that look at a whole catalog: its blobs by package, and what is known to be missing.

A blob that could not be read has been reported where it stands. Rules that would report its absence stay silent for
the packages that may have lost one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rukpak_py.catalog.model import Catalog, Channel, Origin
from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.core import versions
from rukpak_py.core.versions import Version
from rukpak_py.formats.rules import Place


@dataclass(frozen=True, kw_only=True)
class WholeCatalog:
    """`broken`: packages of which a blob may be lost; None: any package."""

    catalog: Catalog
    broken: frozenset[str] | None = frozenset()

    @cached_property
    def packages(self) -> Mapping[str, PackageIndex]:
        return by_package(self.catalog)

    @cached_property
    def known(self) -> frozenset[str]:
        """Names of packages that have a blob of their own."""
        return frozenset(package.name for package in self.catalog.packages)

    def is_complete(self, package: str) -> bool:
        return self.broken is not None and package not in self.broken

    @cached_property
    def in_channels(self) -> Mapping[str, frozenset[str]]:
        """Names of all entries of a package's channels."""
        found: dict[str, set[str]] = {}
        for channel in self.catalog.channels:
            found.setdefault(channel.package, set()).update(entry.name for entry in channel.entries)
        return {package: frozenset(names) for package, names in found.items()}


@dataclass(frozen=True, kw_only=True)
class PackageVersions:
    """Versions of the bundles of a package: of their properties, else as their names end."""

    index: PackageIndex
    _known: dict[str, Version | None] = field(default_factory=dict)

    def of(self, name: str) -> Version | None:
        if name not in self._known:
            bundle = self.index.bundles.get(name)
            self._known[name] = _version(bundle.version if bundle else "") or _version(name.partition(".v")[2])
        return self._known[name]

    def order(self, name: str) -> tuple[bool, Version, str]:
        """Key for sorting: what has no version is the oldest."""
        version = self.of(name)
        return version is not None, version or _NO_VERSION, name


def _version(text: str) -> Version | None:
    try:
        return versions.strict(text) if text else None
    except ValueError:
        return None


_NO_VERSION = Version(0)


def at(origin: Origin, *path: str | int) -> Place:
    return Place(file=origin.file, document=origin.document, path=path)


def at_entry(channel: Channel, name: str, *path: str | int) -> Place:
    """The first entry of that name; the channel where it has none."""
    found = (index for index, entry in enumerate(channel.entries) if entry.name == name)
    index = next(found, None)
    return at(channel.origin) if index is None else at(channel.origin, "entries", index, *path)
