"""The subject of rules that look at a whole catalog: its blobs by package, and what is known to be missing.

A blob that could not be read has been reported where it stands. Rules that would report its absence stay silent for
the packages that may have lost one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rukpak_py.catalog.model import Catalog
from rukpak_py.catalog.package_index import PackageIndex, by_package


@dataclass(frozen=True, kw_only=True)
class WholeCatalog:
    """`broken`: packages of which a blob may be lost; None: any package.

    `unknown_fields`: those of a blob that its schema does not have, by file and document.
    """

    catalog: Catalog
    broken: frozenset[str] | None = frozenset()
    unknown_fields: Mapping[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)

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
