"""The edges along which installed bundles are upgraded in one or several channels of a package.

An edge leads from an installed bundle to an entry that replaces it, skips it, or has a skipRange with its version.
Every entry contributes its edges, skipped ones too: any of them may be what leads on from an installed bundle.
Candidates are the entries that can be installed; their order is the order of preference: bundles that are not
deprecated first, then the highest version and release, then heads of channels, then names.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from rukpak_py.catalog.model import Bundle, Entry
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.bundle_order import BundleVersion, bundle_version
from rukpak_py.core.ranges import Range
from rukpak_py.core.versions import Version


class EdgeKind(StrEnum):
    """In order of preference, where several lead to one bundle."""

    REPLACES = "replaces"
    SKIPS = "skips"
    SKIP_RANGE = "skipRange"


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    source: str  # name of a bundle; of one that the catalog does not know, its name or its version
    target: str
    kind: EdgeKind
    channel: str
    text: str  # the name or the range, as the entry has it


class Unusable(StrEnum):
    NO_BUNDLE = "no bundle"
    INVALID_VERSION = "invalid version"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    bundle: Bundle
    version: BundleVersion
    channels: tuple[str, ...]
    is_head: bool
    deprecation: str | None

    @property
    def name(self) -> str:
        return self.bundle.name


@dataclass(frozen=True, kw_only=True)
class UpgradeGraph:
    package: str
    channels: tuple[str, ...]
    candidates: Mapping[str, Candidate]  # in order of preference
    unusable: Mapping[str, Unusable]
    entries: Mapping[str, tuple[tuple[str, Entry], ...]]  # (channel, entry) by name of the entry
    heads: frozenset[str]
    allows_downgrades: bool = False

    @classmethod
    def of(cls, index: PackageIndex, channels: Iterable[str], *, allow_downgrade: bool = False) -> "UpgradeGraph":
        """The graph of these channels; channels that the package does not have are left out."""
        chosen = tuple(dict.fromkeys(name for name in channels if name in index.graphs))
        entries: dict[str, tuple[tuple[str, Entry], ...]] = {}
        for channel in chosen:
            for name, entry in index.graphs[channel].entries.items():
                entries[name] = (*entries.get(name, ()), (channel, entry))
        heads = frozenset(name for channel in chosen for name in index.graphs[channel].heads)
        found: list[Candidate] = []
        unusable: dict[str, Unusable] = {}
        for name, places in entries.items():
            bundle = index.bundles.get(name)
            version = bundle_version(bundle) if bundle else None
            if bundle is None or version is None:
                unusable[name] = Unusable.INVALID_VERSION if bundle else Unusable.NO_BUNDLE
                continue
            candidate = Candidate(
                bundle=bundle,
                version=version,
                channels=tuple(channel for channel, _ in places),
                is_head=name in heads,
                deprecation=index.deprecation_of_bundle(name),
            )
            found.append(candidate)
        return cls(
            package=index.name,
            channels=chosen,
            candidates={one.name: one for one in in_order_of_preference(found)},
            unusable=unusable,
            entries=entries,
            heads=heads,
            allows_downgrades=allow_downgrade,
        )

    @cached_property
    def ranges(self) -> Mapping[str, Range]:
        """Every valid skipRange by its text; one that is not valid makes no edge."""
        texts = {entry.skip_range for places in self.entries.values() for _, entry in places if entry.skip_range}
        return {text: found for text in texts if (found := parse_range(text)) is not None}

    def edges_from(self, name: str, version: Version | None) -> dict[str, Edge]:
        """The best edge to each candidate, in order of preference, upwards and downwards.

        No edge that names bundles leads from an empty name, and no skipRange from an unknown version.
        """
        covering = {text for text, one in self.ranges.items() if version and one.contains(version)}
        source = name or str(version)
        found: dict[str, Edge] = {}
        for target in self.candidates:
            if target != name:
                for kind, channel, text in self._links(target, name, covering):
                    found[target] = Edge(source=source, target=target, kind=kind, channel=channel, text=text)
                    break
        return found

    def upgrades_of(self, name: str, version: BundleVersion | None) -> dict[str, Edge]:
        """The edges that lead upwards from a bundle, by their targets, in order of preference."""
        edges = self.edges_from(name, version.version if version else None)
        return {target: edge for target, edge in edges.items() if version is None or self.allows(version, edge)}

    def _links(self, target: str, name: str, covering: Container[str]) -> Iterator[tuple[EdgeKind, str, str]]:
        places = self.entries[target]
        yield from ((EdgeKind.REPLACES, channel, name) for channel, one in places if name and one.replaces == name)
        yield from ((EdgeKind.SKIPS, channel, name) for channel, one in places if name and name in one.skips)
        for channel, one in places:
            if one.skip_range in covering:
                yield EdgeKind.SKIP_RANGE, channel, one.skip_range

    def allows(self, source: BundleVersion, edge: Edge) -> bool:
        """Whether the edge leads to a higher bundle; one that names its source may lead to an equal one, a rebuild."""
        target = self.candidates[edge.target].version
        is_named = edge.kind is not EdgeKind.SKIP_RANGE
        return self.allows_downgrades or target.order > source.order or (is_named and target.order == source.order)


def in_order_of_preference(candidates: Iterable[Candidate]) -> list[Candidate]:
    by_name = sorted(candidates, key=lambda one: (not one.is_head, one.name))
    by_version = sorted(by_name, key=lambda one: one.version.order, reverse=True)
    return sorted(by_version, key=lambda one: one.deprecation is not None)


def parse_range(text: str) -> Range | None:
    try:
        return Range.parse(text)
    except ValueError:
        return None
