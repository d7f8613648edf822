"""The upgrade graph of one channel, as OLM walks it: heads, the chain of `replaces` below the head, who is stranded.

An edge comes from `replaces` and `skips`; a `skipRange` makes none. A skipped entry contributes no edges: the chain
ends in front of it. Names may be of entries that the channel does not have: an edge from below its tail.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from rukpak_py.catalog.model import Entry


@dataclass(frozen=True)
class ChannelGraph:
    entries: Mapping[str, Entry]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "ChannelGraph":
        """Index entries by name; of several with one name the first counts."""
        found: dict[str, Entry] = {}
        for entry in entries:
            found.setdefault(entry.name, entry)
        return cls(found)

    @cached_property
    def skipped(self) -> frozenset[str]:
        """Names that an entry skips, be they entries or not."""
        return frozenset(name for entry in self.entries.values() for name in entry.skips)

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """Entries that no entry replaces or skips, sorted. A channel that is in order has one."""
        replaced = {entry.replaces for entry in self.entries.values() if entry.replaces}
        return tuple(sorted(self.entries.keys() - replaced - self.skipped))

    @cached_property
    def head(self) -> str | None:
        return self.heads[0] if len(self.heads) == 1 else None

    @cached_property
    def chain(self) -> "Chain":
        """The entries that replace one another, from the head down; of a channel without one head, nothing."""
        visited: dict[str, int] = {}
        name = self.head
        while name is not None and name in self.entries:
            visited[name] = len(visited)
            replaced = self.entries[name].replaces
            if replaced in visited:
                path = tuple(visited)
                return Chain(visited=path, cycle=(*path[visited[replaced] :], replaced))
            name = None if replaced in self.skipped else replaced
        return Chain(visited=tuple(visited))

    @cached_property
    def stranded(self) -> tuple[str, ...]:
        """Entries from which nothing leads to the head, sorted."""
        if self.head is None or self.chain.cycle:
            return ()
        return tuple(sorted(self.entries.keys() - set(self.chain.visited) - self.skipped))


@dataclass(frozen=True, kw_only=True)
class Chain:
    visited: tuple[str, ...] = ()
    cycle: tuple[str, ...] = ()  # from an entry back to it; empty: there is none
