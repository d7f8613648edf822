"""A channel of which entries were removed, in order again: one head, nothing stranded, each entry with its way up.

First the removed entries are bridged: an entry that replaced one gets the nearest kept entry below it, skips the one
that it replaced, and takes over what the removed ones skipped. Where nothing is kept below, the name of the removed
entry stays, as the end of the chain. Then the new graph is brought in order: the head is the former one, or else the
highest entry that nothing names; it skips what would be another head, stranded, or without its way.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from msgspec import structs

from rukpak_py.catalog.channel_graph import ChannelGraph
from rukpak_py.catalog.model import Entry


class RepairKind(StrEnum):
    BRIDGED = "Bridged"  # `replaces` is a kept entry further down
    DANGLING = "Dangling"  # `replaces` names a removed entry: nothing below it is kept
    SKIPS_ADDED = "SkipsAdded"
    EDGE_REMOVED = "EdgeRemoved"  # it closed a cycle
    HEAD_CHANGED = "HeadChanged"


@dataclass(frozen=True, kw_only=True, slots=True)
class Repair:
    kind: RepairKind
    entry: str
    before: str = ""
    after: str = ""
    names: tuple[str, ...] = ()  # of the added skips


@dataclass(frozen=True, kw_only=True, slots=True)
class RepairedChannel:
    entries: tuple[Entry, ...]
    repairs: tuple[Repair, ...]


Reaching = Callable[[Iterable[Entry]], frozenset[str]]  # the entries from which a head can be reached


def repair(
    entries: Iterable[Entry], kept: frozenset[str], *, order: Callable[[str], Any], reaching: Reaching
) -> RepairedChannel:
    """The kept entries in their order. `order` is that of versions, by the name of an entry."""
    before = ChannelGraph.of(entries)
    return _Channel(before, kept, order, reaching).repaired()


class _Channel:
    def __init__(
        self, before: ChannelGraph, kept: frozenset[str], order: Callable[[str], Any], reaching: Reaching
    ) -> None:
        self._before = before
        self._order = order
        self._reaching = reaching
        self._entries = {name: one for name, one in before.entries.items() if name in kept}
        self._added: dict[str, dict[str, None]] = {}  # skips, by the entry that got them
        self._repairs: list[Repair] = []

    def repaired(self) -> RepairedChannel:
        self._bridge()
        if self._entries:
            head = self._choose_head()
            self._skip(head, sorted(set(self._graph().heads) - {head}))
            self._cut_cycle()
            self._skip(head, self._graph().stranded)
            could = self._reaching(self._before.entries.values()) & self._entries.keys()
            self._skip(head, sorted(could - self._reaching(self._entries.values())))
            if head != self._before.head:
                repair = Repair(kind=RepairKind.HEAD_CHANGED, entry=head, before=self._before.head or "", after=head)
                self._repairs.append(repair)
        added = [
            Repair(kind=RepairKind.SKIPS_ADDED, entry=name, names=tuple(names)) for name, names in self._added.items()
        ]
        return RepairedChannel(entries=tuple(self._entries.values()), repairs=(*self._repairs, *added))

    def _graph(self) -> ChannelGraph:
        return ChannelGraph(self._entries)

    def _bridge(self) -> None:
        skipped = set(self._graph().skipped)
        nearest: dict[str, str] = {}  # the kept entry below a removed one; empty: there is none
        for name in self._from_the_head():
            entry = self._entries[name]
            if not entry.replaces or entry.replaces in self._entries or entry.replaces not in self._before.entries:
                continue
            removed = list(self._removed_below(entry.replaces, nearest))
            last = removed[-1]
            below = nearest.get(last, self._kept_below(last))
            orphaned = dict.fromkeys(
                skip
                for one in removed
                if one not in nearest
                for skip in self._before.entries[one].skips
                if skip in self._entries and skip not in skipped and skip != name
            )
            nearest.update(dict.fromkeys(removed, below))
            skipped.update(orphaned)
            if below and below != name:
                self._repairs.append(Repair(kind=RepairKind.BRIDGED, entry=name, before=entry.replaces, after=below))
                self._entries[name] = structs.replace(entry, replaces=below)
                orphaned[entry.replaces] = None
            else:
                self._repairs.append(Repair(kind=RepairKind.DANGLING, entry=name, before=entry.replaces))
            self._skip(name, orphaned)

    def _removed_below(self, name: str, nearest: dict[str, str]) -> Iterator[str]:
        """The removed entries that replace each other from here down; it ends with one that was looked at before."""
        visited: set[str] = set()
        while name in self._before.entries and name not in self._entries and name not in visited:
            visited.add(name)
            yield name
            if name in nearest:
                return
            name = self._before.entries[name].replaces

    def _kept_below(self, removed: str) -> str:
        replaces = self._before.entries[removed].replaces
        return replaces if replaces in self._entries else ""

    def _from_the_head(self) -> list[str]:
        """The chain first, so that what removed entries skipped goes to the entry next above them."""
        chain = [name for name in self._before.chain.visited if name in self._entries]
        others = sorted(self._entries.keys() - set(chain))
        return chain + sorted(others, key=self._order, reverse=True)

    def _choose_head(self) -> str:
        heads = self._graph().heads
        if self._before.head in heads:
            return self._before.head or ""
        if heads:
            return max(heads, key=self._order)
        head = max(sorted(self._entries), key=self._order)
        for name, entry in list(self._entries.items()):
            if entry.replaces == head or head in entry.skips:
                self._repairs.append(Repair(kind=RepairKind.EDGE_REMOVED, entry=name, before=head))
                skips = tuple(one for one in entry.skips if one != head)
                replaces = "" if entry.replaces == head else entry.replaces
                self._entries[name] = structs.replace(entry, replaces=replaces, skips=skips)
        return head

    def _cut_cycle(self) -> None:
        cycle = self._graph().chain.cycle
        if cycle:
            closing = self._entries[cycle[-2]]
            self._repairs.append(Repair(kind=RepairKind.EDGE_REMOVED, entry=closing.name, before=closing.replaces))
            self._entries[closing.name] = structs.replace(closing, replaces="")

    def _skip(self, name: str, names: Iterable[str]) -> None:
        entry = self._entries[name]
        missing = dict.fromkeys(one for one in names if one not in entry.skips)
        if missing:
            self._added.setdefault(name, {}).update(missing)
            self._entries[name] = structs.replace(entry, skips=(*entry.skips, *missing))
