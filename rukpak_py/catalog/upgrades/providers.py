"""Which bundles of a catalog provide a kind, or a package in a range of versions.

Of several bundles the preferred one is that of the first package by name; in it, one that is not deprecated, of the
default channel, and then of the highest version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rukpak_py.catalog.fields import member
from rukpak_py.catalog.model import GVK, Bundle
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.bundle_order import Precedence
from rukpak_py.catalog.upgrades.upgrade_graph import Candidate, UpgradeGraph
from rukpak_py.catalog.upgrades.version_spans import spans_of
from rukpak_py.core.ranges import Range

_KEYS = ("group", "version", "kind")


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class GroupVersionKind:
    group: str = ""
    version: str = ""
    kind: str = ""

    @classmethod
    def of(cls, value: object) -> "GroupVersionKind | None":
        """The kind that the value of a property names; None: it names none."""
        if not isinstance(value, dict):
            return None
        parts = ["" if found is None else found for found in (member(value, key)[1] for key in _KEYS)]
        if not all(isinstance(part, str) for part in parts) or not parts[2]:
            return None
        return cls(group=parts[0], version=parts[1], kind=parts[2])


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    package: str
    bundle: str
    version: str


@dataclass(frozen=True)
class Providers:
    packages: Mapping[str, PackageIndex]

    def of_kind(self, kind: GroupVersionKind) -> tuple[Provider, ...]:
        """The preferred provider of each package that has one, sorted by package."""
        preferred: dict[str, Bundle] = {}
        for package, bundle in self._by_kind.get(kind, ()):
            preferred.setdefault(package, bundle)
        return tuple(_provider(package, bundle) for package, bundle in preferred.items())

    def of_package(self, package: str, versions: Range) -> Provider | None:
        return self._bundles(package).preferred_in(versions)

    @cached_property
    def _by_kind(self) -> Mapping[GroupVersionKind, list[tuple[str, Bundle]]]:
        found: dict[GroupVersionKind, list[tuple[str, Bundle]]] = {}
        for package in sorted(self.packages):
            for candidate in self._bundles(package).candidates:
                for kind in kinds_provided(candidate.bundle):
                    found.setdefault(kind, []).append((package, candidate.bundle))
        return found

    @cached_property
    def _by_package(self) -> "dict[str, _PackageBundles]":
        return {}

    def _bundles(self, package: str) -> "_PackageBundles":
        known = self._by_package.get(package)
        if known is None:
            known = self._by_package[package] = _PackageBundles.of(package, self.packages.get(package))
        return known


@dataclass(frozen=True)
class _PackageBundles:
    """The bundles of a package that can be installed from one of its channels, in order of preference."""

    package: str
    candidates: list[Candidate]

    @classmethod
    def of(cls, package: str, index: PackageIndex | None) -> "_PackageBundles":
        if index is None:
            return cls(package, [])
        default = index.default_channel
        found = UpgradeGraph.of(index, index.graphs).candidates.values()
        return cls(package, sorted(found, key=lambda one: (one.deprecation is not None, default not in one.channels)))

    def preferred_in(self, versions: Range) -> Provider | None:
        found = [min(self._ranks[start:end]) for start, end in spans_of(self._versions, versions) if start < end]
        return _provider(self.package, self.candidates[min(found)].bundle) if found else None

    @cached_property
    def _ranks(self) -> list[int]:
        """Positions in the order of preference, in the order of versions."""
        return sorted(range(len(self.candidates)), key=lambda rank: self.candidates[rank].version.precedence)

    @cached_property
    def _versions(self) -> list[Precedence]:
        return [self.candidates[rank].version.precedence for rank in self._ranks]


def kinds_provided(bundle: Bundle) -> tuple[GroupVersionKind, ...]:
    return tuple(sorted({kind for value in bundle.values_of(GVK) if (kind := GroupVersionKind.of(value))}))


def _provider(package: str, bundle: Bundle) -> Provider:
    return Provider(package=package, bundle=bundle.name, version=bundle.version)
