"""Questions about a catalog: who provides a kind, which way leads to a head, what is newest, what a bundle needs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rukpak_py.catalog.model import Bundle
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.similar_names import close_names
from rukpak_py.catalog.upgrades.bundle_order import bundle_version
from rukpak_py.catalog.upgrades.choosing import choose_channels, find_package
from rukpak_py.catalog.upgrades.dependencies import Dependency, dependencies_of
from rukpak_py.catalog.upgrades.installed import Installed, InstalledBundle, find_installed, unknown_bundle
from rukpak_py.catalog.upgrades.providers import GroupVersionKind, Providers, kinds_provided
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal
from rukpak_py.catalog.upgrades.resolve import Resolver
from rukpak_py.catalog.upgrades.upgrade_graph import Candidate, UpgradeGraph
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePath, UpgradePaths

_MOST_SIMILAR: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class KindProvider:
    """A package with the kind. `heads` are its channels whose head has it, with that head."""

    package: str
    kind: GroupVersionKind
    heads: tuple[tuple[str, str], ...]
    bundles: tuple[str, ...]  # the highest first


@dataclass(frozen=True, kw_only=True, slots=True)
class PathsToHead:
    installed: InstalledBundle
    channels: tuple[str, ...]
    shortest: UpgradePath | None  # None: no head can be reached
    greedy: UpgradePath  # as an operator that takes the most preferred successor each time
    refusal: Refusal | None = None  # why there is not even a first upgrade, and where there is one


@dataclass(frozen=True, kw_only=True, slots=True)
class NewestBundle:
    package: str
    channel: str
    bundle: str
    version: str
    heads: tuple[str, ...]
    is_default: bool = False
    deprecation: str | None = None  # of the bundle, else of the channel

    @property
    def is_head(self) -> bool:
        return self.heads == (self.bundle,)


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleInterface:
    package: str
    bundle: str
    version: str
    provides: tuple[GroupVersionKind, ...]
    requires: tuple[Dependency, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreachableHead:
    """The bundles of a channel from which its head cannot be reached, the highest first."""

    package: str
    channel: str
    heads: tuple[str, ...]
    bundles: tuple[str, ...]


def providers_of(
    packages: Mapping[str, PackageIndex], kind: str, *, group: str | None = None, version: str | None = None
) -> tuple[KindProvider, ...]:
    """The packages of which a bundle provides the kind, in any group or version where none is given."""

    def is_wanted(one: GroupVersionKind) -> bool:
        return one.kind == kind and group in {None, one.group} and version in {None, one.version}

    return tuple(
        _kind_provider(index, one, bundles)
        for _, index in sorted(packages.items())
        for one, bundles in sorted(_bundles_by_kind(index).items())
        if is_wanted(one)
    )


def similar_kinds(packages: Mapping[str, PackageIndex], kind: str) -> tuple[str, ...]:
    """Kinds of the catalog that are spelt like this one: in other case or as a plural, else those that are close."""
    bundles = (bundle for index in packages.values() for bundle in index.bundles.values())
    known = {one.kind for bundle in bundles for one in kinds_provided(bundle)} - {kind}
    typed = kind.lower()
    if same := sorted(one for one in known if typed in _spellings(one.lower())):
        return tuple(same[:_MOST_SIMILAR])
    by_spelling = {one.lower(): one for one in sorted(known)}
    return tuple(by_spelling[one] for one in close_names(typed, by_spelling))


def _spellings(kind: str) -> set[str]:
    plurals = {f"{kind}s", f"{kind}es"}
    return {kind, *plurals, f"{kind[:-1]}ies"} if kind.endswith("y") else {kind, *plurals}


def paths_to_head(
    packages: Mapping[str, PackageIndex],
    package: str,
    installed: str | Installed,
    *,
    channel: str | Iterable[str] | None = None,
) -> PathsToHead | Refusal:
    """The ways from an installed bundle to the head of the channel, by default of the default channel."""
    channels = choose_channels(packages, package, channel)
    if isinstance(channels, Refusal):
        return channels
    found = find_installed(packages[package], Installed.of(installed) if isinstance(installed, str) else installed)
    if isinstance(found, Refusal):
        return found
    graph = UpgradeGraph.of(packages[package], channels)
    paths = UpgradePaths(graph)
    if found.name in graph.candidates:
        shortest, greedy = paths.shortest(found.name), paths.greedy(found.name)
    else:
        first = graph.upgrades_of(found.name, found.version)
        preferred = next(iter(first.values()), None)
        shortest = paths.shortest(found.text, first)
        greedy = paths.greedy(found.text, preferred) if preferred else UpgradePath(source=found.text)
    refused = None
    if shortest is None:
        answer = Resolver(packages).resolve(package, channel=channels, installed=installed)
        refused = answer if isinstance(answer, Refusal) else None
    if refused is not None and refused.cause is Cause.UNKNOWN_BUNDLE:
        return refused
    return PathsToHead(installed=found, channels=channels, shortest=shortest, greedy=greedy, refusal=refused)


def newest(packages: Mapping[str, PackageIndex], package: str) -> tuple[NewestBundle, ...] | Refusal:
    """The bundle of each channel that is installed where nothing is; channels without one are left out."""
    index = find_package(packages, package)
    if isinstance(index, Refusal):
        return index
    default = index.default_channel
    found = []
    for name, graph in index.graphs.items():
        one = next(iter(UpgradeGraph.of(index, [name]).candidates.values()), None)
        if one is not None:
            found.append(_newest(index, name, one, graph.heads, is_default=name == default))
    return tuple(found)


def interface_of(
    packages: Mapping[str, PackageIndex], package: str, bundle: str, *, providers: Providers | None = None
) -> BundleInterface | Refusal:
    """The kinds that a bundle, by name or version, provides, and what it requires of others."""
    index = find_package(packages, package)
    if isinstance(index, Refusal):
        return index
    found = find_installed(index, Installed.of(bundle))
    if isinstance(found, Refusal):
        return found
    if found.bundle is None:
        return unknown_bundle(index, bundle)
    return BundleInterface(
        package=package,
        bundle=found.bundle.name,
        version=found.bundle.version,
        provides=kinds_provided(found.bundle),
        requires=dependencies_of(found.bundle, providers or Providers(packages)),
    )


def unreachable_heads(
    packages: Mapping[str, PackageIndex], package: str, *, channel: str | None = None
) -> tuple[UnreachableHead, ...] | Refusal:
    """The channels that have bundles from which the head cannot be reached."""
    index = find_package(packages, package)
    if isinstance(index, Refusal):
        return index
    if channel is not None and channel not in index.graphs:
        return Refusal(cause=Cause.UNKNOWN_CHANNEL, package=package, asked=channel, alternatives=tuple(index.graphs))
    found = []
    for name in index.graphs if channel is None else (channel,):
        graph = UpgradeGraph.of(index, [name])
        stranded = UpgradePaths(graph).stranded
        if stranded:
            heads = index.graphs[name].heads
            found.append(UnreachableHead(package=package, channel=name, heads=heads, bundles=stranded))
    return tuple(found)


def _bundles_by_kind(index: PackageIndex) -> dict[GroupVersionKind, list[Bundle]]:
    found: dict[GroupVersionKind, list[Bundle]] = {}
    for bundle in index.bundles.values():
        for kind in kinds_provided(bundle):
            found.setdefault(kind, []).append(bundle)
    return found


def _kind_provider(index: PackageIndex, kind: GroupVersionKind, bundles: Iterable[Bundle]) -> KindProvider:
    names = [bundle.name for bundle in _descending(bundles)]
    known = set(names)
    heads = tuple((name, graph.head) for name, graph in index.graphs.items() if graph.head in known and graph.head)
    return KindProvider(package=index.name, kind=kind, heads=heads, bundles=tuple(names))


def _descending(bundles: Iterable[Bundle]) -> Iterator[Bundle]:
    """The highest first; those without a valid version last."""
    versions = [(one, bundle_version(one)) for one in sorted(bundles, key=lambda one: one.name)]
    ordered = sorted(((one, version.order) for one, version in versions if version), key=lambda pair: pair[1])
    yield from (one for one, _ in reversed(ordered))
    yield from (one for one, version in versions if version is None)


def _newest(
    index: PackageIndex, channel: str, one: Candidate, heads: tuple[str, ...], *, is_default: bool
) -> NewestBundle:
    return NewestBundle(
        package=index.name,
        channel=channel,
        bundle=one.name,
        version=one.bundle.version,
        heads=heads,
        is_default=is_default,
        deprecation=index.deprecation_of_channel(channel) if one.deprecation is None else one.deprecation,
    )
