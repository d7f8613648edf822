"""Versions of the entries of a package's channels, for sorting and for advice."""

from dataclasses import dataclass, field
from typing import Final

from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.bundle_order import parse_version
from rukpak_py.core.versions import Version

_LOWEST: Final = Version(0)


@dataclass(frozen=True, kw_only=True)
class PackageVersions:
    """Versions of the properties of bundles, else as names end: a name that is replaced need not have a bundle."""

    index: PackageIndex
    _known: dict[str, Version | None] = field(default_factory=dict)

    def of(self, name: str) -> Version | None:
        if name not in self._known:
            bundle = self.index.bundles.get(name)
            version = parse_version(bundle.version) if bundle is not None else None
            self._known[name] = version or parse_version(name.partition(".v")[2])
        return self._known[name]

    def order(self, name: str) -> tuple[bool, Version, str]:
        """Key for sorting: what has no version is the oldest."""
        version = self.of(name)
        return version is not None, version or _LOWEST, name
