"""Which bundle of a package to install, or to upgrade to, and why.

Candidates are the entries of the chosen channels whose version is in the range. Nothing installed: the most preferred
one (not deprecated, highest version, head). Something installed: its most preferred direct successor, which an entry
is by `replaces`, `skips` or `skipRange`; without a successor that fits, the installed bundle stays, where the channels
have it and the range contains it. A successor is never lower, unless downgrades are allowed.

The answer is a `Resolution` or a `Refusal`: facts alone, of which messages are made by others. Channels, entries and
ranges of catalogs are text of strangers: the time grows with the number of entries and of what they skip.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.choosing import VersionRange, choose_channels, parse_version_range
from rukpak_py.catalog.upgrades.dependencies import dependencies_of
from rukpak_py.catalog.upgrades.installed import Installed, InstalledBundle, find_installed, unknown_bundle
from rukpak_py.catalog.upgrades.providers import Providers
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal
from rukpak_py.catalog.upgrades.resolution import PassedOver, Reason, Resolution, deprecations_of
from rukpak_py.catalog.upgrades.upgrade_graph import Candidate, Edge, UpgradeGraph
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePaths

MOST_GRAPHS: Final = 256  # that a resolver keeps; each is about as large as its package


def resolve(
    packages: Mapping[str, PackageIndex],
    package: str,
    *,
    channel: str | Iterable[str] | None = None,
    version_range: str | VersionRange | None = None,
    installed: str | Installed | None = None,
    allow_downgrade: bool = False,
) -> Resolution | Refusal:
    """The bundle to install; `channel` None is the default channel, `installed` a version or a name."""
    return Resolver(packages).resolve(
        package,
        channel=channel,
        version_range=version_range,
        installed=installed,
        allow_downgrade=allow_downgrade,
    )


@dataclass(frozen=True)
class Resolver:
    """Answers many questions about one catalog; graphs and providers are made once. It is not for several threads."""

    packages: Mapping[str, PackageIndex]

    def resolve(
        self,
        package: str,
        *,
        channel: str | Iterable[str] | None = None,
        version_range: str | VersionRange | None = None,
        installed: str | Installed | None = None,
        allow_downgrade: bool = False,
    ) -> Resolution | Refusal:
        """The same as the function `resolve`."""
        channels = choose_channels(self.packages, package, channel)
        if isinstance(channels, Refusal):
            return channels
        wanted = parse_version_range(package, version_range)
        if isinstance(wanted, Refusal):
            return wanted
        paths = self._paths_in(package, channels, allow_downgrade=allow_downgrade)
        if not paths.graph.candidates:
            return Refusal(cause=Cause.EMPTY_CHANNEL, package=package, channels=channels)
        index = self.packages[package]
        if installed is None:
            return _Question(index, paths, wanted, None, self.providers).fresh()
        found = find_installed(index, Installed.of(installed) if isinstance(installed, str) else installed)
        if isinstance(found, Refusal):
            return found
        return _Question(index, paths, wanted, found, self.providers).upgrade(found)

    @cached_property
    def providers(self) -> Providers:
        return Providers(self.packages)

    @cached_property
    def _known_paths(self) -> dict[tuple[str, tuple[str, ...], bool], UpgradePaths]:
        return {}

    def _paths_in(self, package: str, channels: tuple[str, ...], *, allow_downgrade: bool) -> UpgradePaths:
        key = (package, channels, allow_downgrade)
        known = self._known_paths.get(key)
        if known is None:
            if len(self._known_paths) >= MOST_GRAPHS:
                self._known_paths.clear()
            graph = UpgradeGraph.of(self.packages[package], channels, allow_downgrade=allow_downgrade)
            known = self._known_paths[key] = UpgradePaths(graph)
        return known


@dataclass(frozen=True)
class _Question:
    index: PackageIndex
    paths: UpgradePaths
    wanted: VersionRange | None
    installed: InstalledBundle | None
    providers: Providers

    @property
    def graph(self) -> UpgradeGraph:
        return self.paths.graph

    def fresh(self) -> Resolution | Refusal:
        reasons = {name: Reason.OUT_OF_RANGE for name, one in self.graph.candidates.items() if not self._fits(one)}
        chosen = next((one for name, one in self.graph.candidates.items() if name not in reasons), None)
        if chosen is None:
            return self._nothing_in_range(self.graph.candidates.values())
        return self._resolution(chosen, reasons)

    def upgrade(self, installed: InstalledBundle) -> Resolution | Refusal:
        edges = self.graph.edges_from(installed.name, installed.version.version if installed.version else None)
        reasons = {name: self._reason(installed, one, edges.get(name)) for name, one in self.graph.candidates.items()}
        chosen = next((one for name, one in self.graph.candidates.items() if reasons[name] is None), None)
        if chosen is not None:
            return self._resolution(chosen, reasons, edges[chosen.name])
        current = self.graph.candidates.get(installed.name)
        if current is not None and self._fits(current):
            return self._resolution(current, reasons)
        if Reason.OUT_OF_RANGE in reasons.values():
            outside = [one for name, one in self.graph.candidates.items() if reasons[name] is Reason.OUT_OF_RANGE]
            return self._nothing_in_range(outside)
        return self._no_successor(installed)

    def _fits(self, candidate: Candidate) -> bool:
        return self.wanted is None or self.wanted.contains(candidate.version.version)

    def _reason(self, installed: InstalledBundle, candidate: Candidate, edge: Edge | None) -> Reason | None:
        """Why a candidate is no upgrade of the installed bundle; None: it is one."""
        if edge is None:
            is_higher = installed.version is None or candidate.version.order > installed.version.order
            return Reason.NO_EDGE if is_higher else Reason.NOT_HIGHER
        if installed.version is not None and not self.graph.allows(installed.version, edge):
            return Reason.NOT_HIGHER
        return None if self._fits(candidate) else Reason.OUT_OF_RANGE

    def _resolution(
        self, chosen: Candidate, reasons: Mapping[str, Reason | None], edge: Edge | None = None
    ) -> Resolution:
        return Resolution(
            package=self.index.name,
            bundle=chosen.bundle,
            channels=chosen.channels,
            installed=self.installed,
            edge=edge,
            skipped=tuple(self._between(chosen)),
            passed_over=tuple(self._passed_over(chosen, reasons)),
            deprecations=deprecations_of(self.index, chosen.channels, chosen.name),
            path=self.paths.greedy(chosen.name),
            dependencies=dependencies_of(chosen.bundle, self.providers),
        )

    def _between(self, chosen: Candidate) -> Iterator[str]:
        if self.installed is None or self.installed.version is None:
            return
        lowest = self.installed.version.order
        for one in sorted(self.graph.candidates.values(), key=lambda one: (one.version.order, one.name)):
            if lowest < one.version.order < chosen.version.order:
                yield one.name

    def _passed_over(self, chosen: Candidate, reasons: Mapping[str, Reason | None]) -> Iterator[PassedOver]:
        ordered = sorted(self.graph.candidates.values(), key=lambda one: one.version.order, reverse=True)
        for one in ordered:
            if one.name == chosen.name or (self.installed and one.name == self.installed.name):
                continue
            reason = reasons.get(one.name)
            detail = self.wanted.text if self.wanted and reason is Reason.OUT_OF_RANGE else ""
            if reason is None:
                is_deprecated = one.deprecation is not None and chosen.deprecation is None
                reason = Reason.DEPRECATED if is_deprecated and self._is_higher(one, chosen) else Reason.LOWER_VERSION
                detail = (one.deprecation or "") if reason is Reason.DEPRECATED else ""
            yield PassedOver(bundle=one.name, version=one.bundle.version, reason=reason, detail=detail)
        for name in sorted(self.graph.unusable):
            bundle = self.index.bundles.get(name)
            reason = Reason.INVALID_VERSION if bundle else Reason.NO_BUNDLE
            yield PassedOver(bundle=name, version=bundle.version if bundle else "", reason=reason)

    @staticmethod
    def _is_higher(one: Candidate, other: Candidate) -> bool:
        return one.version.order > other.version.order

    def _nothing_in_range(self, candidates: Iterable[Candidate]) -> Refusal:
        available = sorted(candidates, key=lambda one: one.version.order, reverse=True)
        return Refusal(
            cause=Cause.NO_VERSION_IN_RANGE,
            package=self.index.name,
            asked=self.wanted.text if self.wanted else "",
            channels=self.graph.channels,
            alternatives=tuple(dict.fromkeys(one.bundle.version for one in available)),
        )

    def _no_successor(self, installed: InstalledBundle) -> Refusal:
        elsewhere = tuple(self._upgrades_elsewhere(installed))
        is_known = installed.bundle is not None or installed.name in self.graph.unusable
        if not is_known and installed.version is None and not elsewhere:
            return unknown_bundle(self.index, installed.text)
        upgradable = [one for name, one in self.graph.candidates.items() if name in self.paths.preferred_edges]
        upgradable.sort(key=lambda one: one.version.order, reverse=True)
        return Refusal(
            cause=Cause.NO_SUCCESSOR,
            package=self.index.name,
            asked=installed.text,
            channels=self.graph.channels,
            alternatives=tuple(one.name for one in upgradable),
            nearest=self.paths.nearest(installed.version),
            elsewhere=elsewhere,
            is_known=is_known,
        )

    def _upgrades_elsewhere(self, installed: InstalledBundle) -> Iterator[tuple[str, str]]:
        for channel in self.index.graphs:
            if channel not in self.graph.channels:
                upgrades = UpgradeGraph.of(self.index, [channel]).upgrades_of(installed.name, installed.version)
                yield from ((channel, target) for target in islice(upgrades, 1))
