"""Ways through the upgrade graph: from a bundle to the head of its channel.

The greedy path is the one that an operator takes, which installs the most preferred successor again and again; the
shortest has the fewest steps. Both come from tables that are made once for a graph. A skipRange covers a run of
bundles in the order of versions; each bundle is looked at once per table, so that ten thousand ranges over ten
thousand bundles end soon.
"""

from bisect import bisect_left
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rukpak_py.catalog.upgrades.bundle_order import BundleVersion, Order
from rukpak_py.catalog.upgrades.upgrade_graph import Candidate, Edge, EdgeKind, UpgradeGraph
from rukpak_py.catalog.upgrades.version_spans import Span, Untaken, spans_of


@dataclass(frozen=True, kw_only=True, slots=True)
class UpgradePath:
    """Steps from a bundle on; none: nothing leads from it, or it is a head."""

    source: str
    steps: tuple[Edge, ...] = ()
    reaches_head: bool = False
    is_cycle: bool = False  # the last step leads back to a bundle that the path has

    @property
    def target(self) -> str:
        return self.steps[-1].target if self.steps else self.source


@dataclass(frozen=True)
class UpgradePaths:
    graph: UpgradeGraph

    def greedy(self, source: str, first: Edge | None = None) -> UpgradePath:
        """The most preferred successors, one after another; `first` leads from a bundle that is no candidate."""
        steps = [first] if first else []
        visited = {source}
        name = first.target if first else source
        while edge := self.preferred_edges.get(name):
            visited.add(name)
            steps.append(edge)
            name = edge.target
            if name in visited:
                return UpgradePath(source=source, steps=tuple(steps), is_cycle=True)
        return UpgradePath(source=source, steps=tuple(steps), reaches_head=name in self.graph.heads)

    def shortest(self, source: str, first: Mapping[str, Edge] | None = None) -> UpgradePath | None:
        """The path to a head with the fewest steps; None: no head can be reached.

        `first` has the edges from a bundle that is no candidate.
        """
        steps: list[Edge] = []
        name = source
        if first is not None:
            reaching = [edge for target, edge in first.items() if target in self._distances]
            if not reaching:
                return None
            steps = [min(reaching, key=lambda edge: self._distances[edge.target][0])]
            name = steps[0].target
        if name not in self._distances:
            return None
        while (edge := self._distances[name][1]) is not None:
            steps.append(edge)
            name = edge.target
        return UpgradePath(source=source, steps=tuple(steps), reaches_head=True)

    def nearest(self, version: BundleVersion | None) -> UpgradePath | None:
        """The shortest path of the lowest bundle above this version that reaches a head; else the highest below."""
        reaching = [one for one in self._ascending if one.name in self._distances]
        above = [one for one in reaching if version is None or one.version.order > version.order]
        found = next(iter(above or reversed(reaching)), None)
        return self.shortest(found.name) if found else None

    @property
    def stranded(self) -> tuple[str, ...]:
        """Candidates from which no head can be reached, the highest first."""
        names = [one.name for one in self._ascending if one.name not in self._distances]
        return tuple(reversed(names))

    @cached_property
    def preferred_edges(self) -> Mapping[str, Edge]:
        """The edge to the most preferred successor of each candidate that has one."""
        found: dict[str, Edge] = {}
        untaken = Untaken(len(self._ascending))
        for target in self.graph.candidates.values():
            for edge in self._named_edges_into(target, but=found):
                found[edge.source] = edge
            for edge in self._range_edges_into(target, untaken):
                found.setdefault(edge.source, edge)
        return found

    @cached_property
    def _distances(self) -> Mapping[str, tuple[int, Edge | None]]:
        """Steps to the nearest head, and the first of them; in it are only bundles that reach one."""
        level = [one for name, one in self.graph.candidates.items() if name in self.graph.heads]
        found: dict[str, tuple[int, Edge | None]] = {one.name: (0, None) for one in level}
        preference = {name: number for number, name in enumerate(self.graph.candidates)}
        untaken = Untaken(len(self._ascending))
        distance = 0
        while level:
            distance += 1
            reached: list[Candidate] = []
            for target in level:
                for edges in (self._named_edges_into(target, but=found), self._range_edges_into(target, untaken)):
                    for edge in edges:
                        if edge.source not in found:
                            found[edge.source] = (distance, edge)
                            reached.append(self.graph.candidates[edge.source])
            level = sorted(reached, key=lambda one: preference[one.name])
        return found

    def _named_edges_into(self, target: Candidate, *, but: Container[str]) -> Iterator[Edge]:
        """Edges of `replaces` and `skips`, but not from these: most skips of long lists lead from what is known."""
        places = self.graph.entries[target.name]
        for kind in (EdgeKind.REPLACES, EdgeKind.SKIPS):
            for channel, entry in places:
                for name in (entry.replaces,) if kind is EdgeKind.REPLACES else entry.skips:
                    source = self.graph.candidates.get(name)
                    if source is None or name in but or name == target.name:
                        continue
                    edge = Edge(source=name, target=target.name, kind=kind, channel=channel, text=name)
                    if self.graph.allows(source.version, edge):
                        yield edge

    def _range_edges_into(self, target: Candidate, untaken: Untaken) -> Iterator[Edge]:
        below = (
            len(self._ascending) if self.graph.allows_downgrades else bisect_left(self._orders, target.version.order)
        )
        for channel, entry in self.graph.entries[target.name]:
            for start, end in self._spans.get(entry.skip_range, ()):
                for number in untaken.take(start, min(end, below), but=self._places[target.name]):
                    yield Edge(
                        source=self._ascending[number].name,
                        target=target.name,
                        kind=EdgeKind.SKIP_RANGE,
                        channel=channel,
                        text=entry.skip_range,
                    )

    @cached_property
    def _ascending(self) -> list[Candidate]:
        return sorted(self.graph.candidates.values(), key=lambda one: (one.version.order, one.name))

    @cached_property
    def _orders(self) -> list[Order]:
        return [one.version.order for one in self._ascending]

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {one.name: number for number, one in enumerate(self._ascending)}

    @cached_property
    def _spans(self) -> Mapping[str, list[Span]]:
        versions = [one.version.precedence for one in self._ascending]
        return {text: list(spans_of(versions, one)) for text, one in self.graph.ranges.items()}
