"""A part of a catalog that is a catalog itself: some packages, of them some channels, and of those a range of versions.

What is removed leaves gaps, which are repaired: the graph of each channel (graph_repair), the default channel, and
deprecations of what is not there any more. Every repair is noted. A valid catalog stays valid.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from msgspec import structs

from rukpak_py.catalog.graph_repair import RepairKind, repair
from rukpak_py.catalog.model import BUNDLE, CHANNEL, Catalog, Channel, Deprecation, Deprecations, Entry, Package
from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.required_packages import dependencies_lost, packages_required
from rukpak_py.catalog.upgrades.bundle_order import bundle_version
from rukpak_py.catalog.upgrades.choosing import VersionRange, find_package, parse_version_range
from rukpak_py.catalog.upgrades.providers import Providers
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal
from rukpak_py.catalog.upgrades.upgrade_graph import UpgradeGraph
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePaths


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedPackage:
    """None: every channel, every version."""

    channels: tuple[str, ...] | None = None
    version_range: str | VersionRange | None = None


EVERYTHING = WantedPackage()


class NoteKind(StrEnum):
    ENTRY_REPAIRED = "EntryRepaired"
    CHANNEL_REMOVED = "ChannelRemoved"  # it was wanted, and no entry of it is in the range
    DEFAULT_CHANNEL_CHANGED = "DefaultChannelChanged"
    DEPRECATION_REMOVED = "DeprecationRemoved"
    PACKAGE_ADDED = "PackageAdded"  # a kept bundle requires it
    DEPENDENCY_MISSING = "DependencyMissing"  # what a kept bundle requires was filtered out of a wanted package


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    kind: NoteKind
    package: str
    channel: str = ""
    name: str = ""  # of the entry, the bundle, or what was deprecated
    repair: RepairKind | None = None
    before: str = ""
    after: str = ""
    names: tuple[str, ...] = ()  # skips that were added; bundles that require a package


@dataclass(frozen=True, kw_only=True, slots=True)
class FilteredCatalog:
    catalog: Catalog
    notes: tuple[Note, ...] = ()


def filter_catalog(
    catalog: Catalog, wanted: Mapping[str, WantedPackage], *, with_dependencies: bool = False
) -> FilteredCatalog | Refusal:
    """The wanted packages. Blobs without a package are kept; the order of blobs stays.

    `with_dependencies`: for what a kept bundle requires, a package that provides it is kept, too, all of it.
    """
    packages = by_package(catalog)
    providers = Providers(packages)
    parts: dict[str, _Part] = {}
    added: list[Note] = []
    left = dict(wanted)
    while left:
        name = next(iter(left))
        part = _part(packages, name, left.pop(name))
        if isinstance(part, Refusal):
            return part
        parts[name] = part
        if with_dependencies:
            bundles = [packages[name].bundles[one] for one in sorted(part.bundles & packages[name].bundles.keys())]
            for package, requiring in packages_required(bundles, providers, known={*parts, *left}).items():
                left[package] = EVERYTHING
                added.append(Note(kind=NoteKind.PACKAGE_ADDED, package=package, names=requiring))
    kept = _assembled(catalog, parts)
    missing = [
        Note(kind=NoteKind.DEPENDENCY_MISSING, package=package, name=provider, names=requiring)
        for package, provider, requiring in dependencies_lost(kept, providers)
    ]
    notes = [note for _, part in sorted(parts.items()) for note in part.notes]
    return FilteredCatalog(catalog=kept, notes=(*added, *notes, *missing))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """The kept blobs of a package."""

    package: Package | None
    channels: Mapping[str, Channel]
    bundles: frozenset[str]
    deprecations: Deprecations | None
    notes: tuple[Note, ...]


def _part(packages: Mapping[str, PackageIndex], name: str, wanted: WantedPackage) -> _Part | Refusal:
    index = find_package(packages, name)
    if isinstance(index, Refusal):
        return index
    for channel in wanted.channels or ():
        if channel not in index.channels:
            alternatives = tuple(index.graphs)
            return Refusal(cause=Cause.UNKNOWN_CHANNEL, package=name, asked=channel, alternatives=alternatives)
    versions = parse_version_range(name, wanted.version_range)
    if isinstance(versions, Refusal):
        return versions
    fitting = _fitting(index, versions)
    notes: list[Note] = []
    channels: dict[str, Channel] = {}
    for channel in dict.fromkeys(index.channels if wanted.channels is None else wanted.channels):
        kept = frozenset(one.name for one in index.channels[channel].entries if one.name in fitting)
        if kept:
            channels[channel] = _repaired(index, index.channels[channel], kept, notes)
        else:
            notes.append(Note(kind=NoteKind.CHANNEL_REMOVED, package=name, channel=channel))
    if not channels:
        return _nothing_left(index, wanted, versions)
    bundles = frozenset(entry.name for channel in channels.values() for entry in channel.entries)
    return _Part(
        package=_with_default(index, channels, notes),
        channels=channels,
        bundles=bundles,
        deprecations=_remaining(index, channels, bundles, notes),
        notes=tuple(notes),
    )


def _fitting(index: PackageIndex, versions: VersionRange | None) -> frozenset[str]:
    """Names that are kept; of entries without a bundle or a valid version nothing says that they are in a range."""
    if versions is None:
        return frozenset(entry.name for channel in index.channels.values() for entry in channel.entries)
    found = ((name, bundle_version(bundle)) for name, bundle in index.bundles.items())
    return frozenset(name for name, version in found if version and versions.contains(version.version))


def _nothing_left(index: PackageIndex, wanted: WantedPackage, versions: VersionRange | None) -> Refusal:
    channels = tuple(index.graphs if wanted.channels is None else wanted.channels)
    if versions is None:
        return Refusal(cause=Cause.EMPTY_CHANNEL, package=index.name, channels=channels)
    known = UpgradeGraph.of(index, channels).candidates.values()
    ordered = sorted(known, key=lambda one: one.version.order, reverse=True)
    return Refusal(
        cause=Cause.NO_VERSION_IN_RANGE,
        package=index.name,
        asked=versions.text,
        channels=channels,
        alternatives=tuple(dict.fromkeys(one.bundle.version for one in ordered)),
    )


def _repaired(index: PackageIndex, channel: Channel, kept: frozenset[str], notes: list[Note]) -> Channel:
    if len(kept) == len({one.name for one in channel.entries}):
        return channel

    def order(name: str) -> tuple[bool, Any, str]:
        bundle = index.bundles.get(name)
        version = bundle_version(bundle) if bundle else None
        return version is not None, version.order if version else (), name

    def reaching(entries: Iterable[Entry]) -> frozenset[str]:
        changed = structs.replace(channel, entries=tuple(entries))
        alone = PackageIndex(name=index.name, channels={channel.name: changed}, bundles=index.bundles)
        graph = UpgradeGraph.of(alone, [channel.name], allow_downgrade=True)
        return frozenset(graph.candidates) - set(UpgradePaths(graph).stranded)

    found = repair(channel.entries, kept, order=order, reaching=reaching)
    notes.extend(
        Note(
            kind=NoteKind.ENTRY_REPAIRED,
            package=index.name,
            channel=channel.name,
            name=one.entry,
            repair=one.kind,
            before=one.before,
            after=one.after,
            names=one.names,
        )
        for one in found.repairs
    )
    return structs.replace(channel, entries=found.entries)


def _with_default(index: PackageIndex, channels: Mapping[str, Channel], notes: list[Note]) -> Package | None:
    """The package with a default channel that is kept: the one with the highest head."""
    package = index.package
    if package is None or package.default_channel in channels:
        return package
    alone = PackageIndex(name=index.name, channels=dict(channels), bundles=index.bundles)

    def height(channel: str) -> tuple[bool, Any]:
        candidates = UpgradeGraph.of(alone, [channel]).candidates.values()
        highest = max((one.version.order for one in candidates if one.is_head), default=None)
        return highest is not None, highest or ()

    default = max(sorted(channels), key=height)
    note = Note(
        kind=NoteKind.DEFAULT_CHANNEL_CHANGED, package=index.name, before=package.default_channel, after=default
    )
    notes.append(note)
    return structs.replace(package, default_channel=default)


def _remaining(
    index: PackageIndex, channels: Mapping[str, Channel], bundles: frozenset[str], notes: list[Note]
) -> Deprecations | None:
    if index.deprecations is None:
        return None
    kept: list[Deprecation] = []
    for one in index.deprecations.entries:
        is_removed = (one.schema == CHANNEL and one.name not in channels) or (
            one.schema == BUNDLE and one.name not in bundles
        )
        if is_removed:
            notes.append(Note(kind=NoteKind.DEPRECATION_REMOVED, package=index.name, name=one.name, before=one.message))
        else:
            kept.append(one)
    return structs.replace(index.deprecations, entries=tuple(kept)) if kept else None


def _assembled(catalog: Catalog, parts: Mapping[str, _Part]) -> Catalog:
    """The kept blobs in the order of the catalog; of blobs with the same name the first."""
    packages = dict.fromkeys(one.name for one in catalog.packages)
    channels = dict.fromkeys((one.package, one.name) for one in catalog.channels)
    deprecations = dict.fromkeys(one.package for one in catalog.deprecations)
    bundles = {(one.package, one.name): one for one in reversed(catalog.bundles)}
    return Catalog(
        packages=tuple(part.package for name in packages if (part := parts.get(name)) and part.package),
        channels=tuple(
            part.channels[name] for package, name in channels if (part := parts.get(package)) and name in part.channels
        ),
        bundles=tuple(
            bundles[place]
            for place in dict.fromkeys((one.package, one.name) for one in catalog.bundles)
            if (part := parts.get(place[0])) and place[1] in part.bundles
        ),
        deprecations=tuple(
            part.deprecations for name in deprecations if (part := parts.get(name)) and part.deprecations
        ),
        custom=tuple(one for one in catalog.custom if not one.package or one.package in parts),
    )
