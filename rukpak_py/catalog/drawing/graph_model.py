"""The content of a picture of upgrade graphs, whatever it is written in.

An edge runs from the older bundle to the newer one, whose entry contributes it; edges stand in the order of these
entries: the highest version first, of each the skips, then the skipRange, then the replacement. As OLM v0 walks down
a channel, an entry that a higher one skips contributes no replacement and no skipRange, and a bundle is skipped once:
with `draw_v0_semantics` these bundles are marked as skipped, and edges without effect as dead.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from rukpak_py.catalog.model import PACKAGE_PROPERTY, Bundle, Entry
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.bundle_order import Precedence, precedence
from rukpak_py.catalog.upgrades.version_spans import VersionIndex
from rukpak_py.core.go_text import quoted
from rukpak_py.core.ranges import Range
from rukpak_py.core.versions import Version, strict

MAX_EDGES = 200_000  # ranges that cover one another need quadratically many


class EdgeKind(Enum):
    SKIP = "skip"
    SKIP_RANGE = "skipRange"
    REPLACE = "replace"


class WarningKind(Enum):
    INVALID_RANGE = "invalid range"  # the range is not drawn
    INVALID_VERSION = "invalid version"  # the bundle is drawn as one without a version


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawingOptions:
    package: str | None = None  # None: all
    channels: frozenset[str] = frozenset()  # empty: all
    minimum_edge: str = ""  # a bundle: no edge from a lower version, and nothing but its package
    draw_v0_semantics: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphWarning:
    kind: WarningKind
    package: str
    bundle: str
    channel: str = ""
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    name: str
    version: str = ""  # as its bundle has it; empty: there is no bundle, or its version is not valid
    release: str = ""
    skip_range: str = ""  # of its entry, where it is valid
    deprecation: str | None = None  # the message; None: not deprecated
    is_skipped: bool = False
    is_head: bool = False
    is_dangling: bool = False  # named by an entry, and not an entry of the channel


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    old: str
    new: str
    kind: EdgeKind
    range: str = ""  # of a skipRange
    is_dead: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelDrawing:
    name: str
    deprecation: str | None
    is_default: bool
    nodes: tuple[Node, ...]  # entries, the highest version first
    named: tuple[Node, ...]  # other ends of edges: dangling names, and entries that `minimum_edge` leaves out
    edges: tuple[Edge, ...]

    @property
    def all_nodes(self) -> tuple[Node, ...]:
        return self.nodes + self.named


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageDrawing:
    name: str
    deprecation: str | None
    channels: tuple[ChannelDrawing, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphDrawing:
    packages: tuple[PackageDrawing, ...]  # those with a channel to draw
    warnings: tuple[GraphWarning, ...]


def graph_drawing(packages: Mapping[str, PackageIndex], options: DrawingOptions | None = None) -> GraphDrawing:
    """The model of a picture; ValueError for a minimum edge that is not a bundle, or for too many edges."""
    options = options or DrawingOptions()
    chosen = [index for _, index in sorted(packages.items()) if options.package in {None, index.name}]
    if options.minimum_edge:
        chosen = [_package_of(chosen, options.minimum_edge)]
    drawings = [_PackageReader(index, options) for index in chosen]
    drawn: list[PackageDrawing] = []
    left = MAX_EDGES
    for drawing in drawings:
        package = drawing.read(left)
        left -= sum(len(channel.edges) for channel in package.channels)
        if package.channels:
            drawn.append(package)
    return GraphDrawing(
        packages=tuple(drawn), warnings=tuple(warning for drawing in drawings for warning in drawing.warnings)
    )


def _package_of(packages: Iterable[PackageIndex], bundle: str) -> PackageIndex:
    found = next((index for index in packages if bundle in index.bundles), None)
    if found is None:
        raise ValueError(f"unknown minimum edge name: {quoted(bundle)}")
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class _ReadEntry:
    entry: Entry
    range: Range | None


@dataclass
class _PackageReader:
    index: PackageIndex
    options: DrawingOptions
    warnings: list[GraphWarning] = field(default_factory=list)
    versions: dict[str, Version] = field(default_factory=dict)
    ranges: dict[str, Range | ValueError] = field(default_factory=dict)
    edges_left: int = 0

    def read(self, edges_left: int) -> PackageDrawing:
        self.edges_left = edges_left
        for bundle in self.index.bundles.values():
            self._read_version(bundle)
        minimum = self._minimum()
        channels = [self._channel(name, minimum) for name in self.index.graphs if self._is_chosen(name)]
        return PackageDrawing(
            name=self.index.name,
            deprecation=self.index.deprecation,
            channels=tuple(channel for channel in channels if channel is not None),
        )

    def _is_chosen(self, channel: str) -> bool:
        return not self.options.channels or channel in self.options.channels

    def _read_version(self, bundle: Bundle) -> None:
        text = None
        count = sum(1 for _ in bundle.values_of(PACKAGE_PROPERTY))
        if count != 1:
            text = f'has {count} "olm.package" properties, expected exactly 1'
        try:
            self.versions[bundle.name] = strict(bundle.version)
        except ValueError as error:
            text = text or f"has invalid version {quoted(bundle.version)}: {error}"
        if text:
            self._warn(WarningKind.INVALID_VERSION, bundle.name, f"bundle {quoted(bundle.name)} {text}")

    def _warn(self, kind: WarningKind, bundle: str, text: str, channel: str = "") -> None:
        self.warnings.append(
            GraphWarning(kind=kind, package=self.index.name, bundle=bundle, channel=channel, text=text)
        )

    def _minimum(self) -> Version | None:
        name = self.options.minimum_edge
        if name and name not in self.versions:
            raise ValueError(f"minimum edge {quoted(name)} has no valid version")
        return self.versions[name] if name else None

    def _channel(self, name: str, minimum: Version | None) -> ChannelDrawing | None:
        graph = self.index.graphs[name]
        entries = [_ReadEntry(entry=entry, range=self._range(entry, name)) for entry in graph.entries.values()]
        if minimum is not None:
            entries = list(self._from_minimum(entries, minimum))
            if not entries:
                return None
        ordered = sorted(entries, key=lambda one: self._order(one.entry.name), reverse=True)
        edges, skipped = self._edges(ordered, entries)
        listed = {one.entry.name for one in entries}
        named = sorted({edge.old for edge in edges} - listed)

        def node(bundle: str) -> Node:
            found = self.index.bundles.get(bundle)
            return Node(
                name=bundle,
                version=found.version if found and bundle in self.versions else "",
                release=found.release if found else "",
                skip_range=ranges.get(bundle, ""),
                deprecation=self.index.deprecation_of_bundle(bundle),
                is_skipped=bundle in skipped,
                is_head=bundle in heads,
                is_dangling=bundle not in graph.entries,
            )

        ranges = {one.entry.name: one.range.text for one in entries if one.range}
        heads = frozenset(graph.heads)
        default = self.index.package.default_channel if self.index.package else ""
        return ChannelDrawing(
            name=name,
            deprecation=self.index.deprecation_of_channel(name),
            is_default=name == default,
            nodes=tuple(node(one.entry.name) for one in ordered),
            named=tuple(map(node, named)),
            edges=edges,
        )

    def _order(self, bundle: str) -> Precedence | tuple[()]:
        """Bundles without a version are the lowest."""
        version = self.versions.get(bundle)
        return () if version is None else precedence(version)

    def _range(self, entry: Entry, channel: str) -> Range | None:
        if not entry.skip_range:
            return None
        found = self.ranges.get(entry.skip_range)
        if found is None:
            try:
                found = Range.parse(entry.skip_range)
            except ValueError as error:
                found = error
            self.ranges[entry.skip_range] = found
        if isinstance(found, Range):
            return found
        place = f"{quoted(self.index.name)}/{quoted(entry.name)}"
        text = f"ignoring invalid SkipRange for package/edge {place}: {found}"
        self._warn(WarningKind.INVALID_RANGE, entry.name, text, channel)
        return None

    def _from_minimum(self, entries: Iterable[_ReadEntry], minimum: Version) -> Iterator[_ReadEntry]:
        """Entries with the edges that begin at the minimum or above; those that lose all their edges are left out."""
        lowest = precedence(minimum)
        for one in entries:
            entry, wanted = one.entry, one.range
            if entry.name == self.options.minimum_edge:
                yield _ReadEntry(entry=Entry(name=entry.name), range=None)
                continue
            kept = _ReadEntry(
                entry=Entry(
                    name=entry.name,
                    replaces=entry.replaces if self._order(entry.replaces) >= lowest else "",
                    skips=tuple(name for name in entry.skips if self._order(name) >= lowest),
                ),
                range=wanted if wanted and wanted.contains(minimum) else None,
            )
            is_broken = bool(entry.skip_range) and wanted is None and self._order(entry.name) >= lowest
            if kept.entry.replaces or kept.entry.skips or kept.range or is_broken:
                yield kept

    def _edges(
        self, ordered: Iterable[_ReadEntry], entries: Sequence[_ReadEntry]
    ) -> tuple[tuple[Edge, ...], frozenset[str]]:
        """Edges as a walk from the highest version down finds them, and the bundles that it marks as skipped."""
        is_v0 = self.options.draw_v0_semantics
        indexed = VersionIndex(self.versions.get(one.entry.name) for one in entries)
        edges: list[Edge] = []
        skipped: set[str] = set()
        covered: dict[str, list[int]] = {}

        def add(old: str, new: str, kind: EdgeKind, text: str = "", *, is_dead: bool) -> None:
            if len(edges) >= self.edges_left:
                raise ValueError(f"more than {MAX_EDGES:,} edges: choose a package or a channel")
            edges.append(Edge(old=old, new=new, kind=kind, range=text, is_dead=is_dead and is_v0))

        marked: set[str] = set()
        for one in ordered:
            new = one.entry.name
            is_dead = new in skipped
            if is_dead:
                marked.add(new)
            for old in one.entry.skips:
                add(old, new, EdgeKind.SKIP, is_dead=old in skipped)
                skipped.add(old)
            if one.range:
                text = one.range.text
                covered[text] = covered[text] if text in covered else indexed.within(one.range)
                for position in covered[text]:
                    add(entries[position].entry.name, new, EdgeKind.SKIP_RANGE, text, is_dead=is_dead)
            if one.entry.replaces:
                add(one.entry.replaces, new, EdgeKind.REPLACE, is_dead=is_dead)
        self.edges_left -= len(edges)
        marked |= skipped - {one.entry.name for one in entries}
        return tuple(edges), frozenset(marked if is_v0 else ())
