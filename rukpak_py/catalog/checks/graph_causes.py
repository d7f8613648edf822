"""Why the graph of a channel is not in order, and which edges would mend it.

Several heads: all but the newest lack an edge from the next newer entry. No head: names lead in a cycle. Stranded
entries: what replaces them is skipped, and a skipped entry contributes no edges. A cycle has an edge to a version that
is not older.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rukpak_py.catalog.channel_graph import ChannelGraph
from rukpak_py.catalog.checks.package_versions import PackageVersions
from rukpak_py.catalog.similar_names import near
from rukpak_py.core.go_text import quoted

EXPLAINED: Final = 10  # heads or stranded entries that are explained; the others are alike


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedy:
    """A change of one entry that mends the graph; `field` is `replaces` or `skips`."""

    entry: str
    field: str
    name: str
    cause: str  # a clause
    is_removal: bool = False

    @property
    def text(self) -> str:
        entry = quoted(self.entry)
        match self.field, self.is_removal:
            case "replaces", True:
                change = f"remove `replaces: {self.name}` from {entry}"
            case "replaces", False:
                change = f"set `replaces: {self.name}` in {entry}"
            case _, True:
                change = f"remove {quoted(self.name)} from `skips` of {entry}"
            case _:
                change = f"add {quoted(self.name)} to `skips` of {entry}"
        return f"{self.cause}: {change}."


def missing_edges(graph: ChannelGraph, versions: PackageVersions, most: int = EXPLAINED) -> list[Remedy]:
    """For each head but the newest, the edge to it that is missing."""
    *others, newest = sorted(graph.heads, key=versions.order)
    ordered = sorted(graph.entries, key=versions.order)
    keys = [versions.order(name) for name in ordered]
    misspelled = _misspelled(graph, versions)
    taken: set[str] = set()  # entries whose `replaces` is given, or advised
    found = []
    for head in others[:most]:
        similar = near(head, misspelled)
        entry = misspelled.get(similar or "")
        is_newer = entry is not None and versions.order(entry) > versions.order(head)
        if entry is not None and is_newer and entry not in taken and not _leads_to(graph, head, entry):
            taken.add(entry)
            cause = f"{quoted(entry)} replaces {quoted(similar or '')}, which is no entry of the channel"
            found.append(Remedy(entry=entry, field="replaces", name=head, cause=cause))
            continue
        start = bisect_right(keys, versions.order(head))
        newer = _successor(graph, head, ordered[start : start + EXPLAINED]) or newest
        replaced = graph.entries[newer].replaces
        cause = f"{quoted(head)} is replaced by no entry"
        if replaced and replaced not in graph.entries:
            cause = f"{cause}; {quoted(newer)} replaces {quoted(replaced)}, which the channel does not have"
        if replaced or newer in taken:
            found.append(Remedy(entry=newer, field="skips", name=head, cause=cause))
        else:
            taken.add(newer)
            found.append(Remedy(entry=newer, field="replaces", name=head, cause=cause))
    return found


def stranding_edges(graph: ChannelGraph, versions: PackageVersions, most: int = EXPLAINED) -> list[Remedy]:
    """For the newest entries of those that are stranded, the edge that does not count and what to do."""
    stranded = frozenset(graph.stranded)
    replacers = _replacers(graph)
    last = graph.chain.visited[-1]
    is_free = not graph.entries[last].replaces or graph.entries[last].replaces in graph.skipped
    skippers = _skippers(graph)
    found = []
    tops = [name for name in stranded if not any(one in stranded for one in replacers.get(name, ()))]
    for top in sorted(tops, key=versions.order, reverse=True)[:most]:
        skipped = next(iter(replacers.get(top, ())), None)
        if skipped is None or skipped not in skippers:
            continue
        skipper = skippers[skipped]
        cause = (
            f"{quoted(top)} is replaced only by {quoted(skipped)}, which {quoted(skipper)} skips, and a skipped entry "
            "contributes no edges"
        )
        if graph.entries[last].replaces == skipped and skipped in graph.entries[last].skips:
            found.append(Remedy(entry=last, field="skips", name=skipped, cause=cause, is_removal=True))
        elif is_free:
            is_free = False
            found.append(Remedy(entry=last, field="replaces", name=top, cause=cause))
        else:
            found.append(Remedy(entry=skipper, field="skips", name=top, cause=cause))
    for path in _cycles(graph, stranded):
        found.extend(wrong_edges(path, graph, versions))
    return found[:most]


def end_of_chain(graph: ChannelGraph) -> str:
    """Where the chain of `replaces` below the head ends, and why."""
    last = graph.chain.visited[-1]
    replaced = graph.entries[last].replaces
    match replaced:
        case "":
            reason = "replaces nothing"
        case _ if replaced in graph.skipped:
            reason = f"replaces {quoted(replaced)}, which is skipped"
        case _:
            reason = f"replaces {quoted(replaced)}, which is no entry of the channel"
    return f"The chain from the head {quoted(graph.chain.visited[0])} ends at {quoted(last)}, which {reason}."


def cycle(graph: ChannelGraph, versions: PackageVersions) -> tuple[str, ...]:
    """Names from the newest entry upwards, each replaced or skipped by the next, as far as one comes again.

    Of a graph without a head; written from the top down: each replaces or skips the one behind it.
    """
    above: dict[str, str] = {}
    for entry in graph.entries.values():
        for name in (entry.replaces, *entry.skips):
            if name in graph.entries:
                above.setdefault(name, entry.name)
    name = max(graph.entries, key=versions.order)
    seen: dict[str, int] = {}
    while name not in seen:
        seen[name] = len(seen)
        name = above[name]
    path = [*list(seen)[seen[name] :], name]
    return tuple(reversed(path))


def wrong_edges(path: tuple[str, ...], graph: ChannelGraph, versions: PackageVersions) -> Iterator[Remedy]:
    """The edges of a cycle that lead to a version that is not older."""
    for entry, name in pairwise(path):
        if versions.order(name) >= versions.order(entry):
            field = "replaces" if graph.entries[entry].replaces == name else "skips"
            cause = f"{quoted(entry)} {field} itself"
            if name != entry:
                cause = f"{quoted(name)} is not older than {quoted(entry)}, which {field} it"
            yield Remedy(entry=entry, field=field, name=name, cause=cause, is_removal=True)


def _cycles(graph: ChannelGraph, names: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """Circles of `replaces` among some entries, each once."""
    known: set[str] = set()
    for start in sorted(names):
        path: dict[str, int] = {}
        name = start
        while name in names and name not in known:
            known.add(name)
            path[name] = len(path)
            name = graph.entries[name].replaces
        if name in path:
            yield (*list(path)[path[name] :], name)


def _successor(graph: ChannelGraph, head: str, newer: list[str]) -> str | None:
    """The first of some newer entries that may replace the head: it counts, and is not below the head itself."""
    return next((name for name in newer if name not in graph.skipped and not _leads_to(graph, head, name)), None)


def _leads_to(graph: ChannelGraph, top: str, wanted: str) -> bool:
    """Whether the chain of `replaces` from `top` has the entry."""
    name, seen = top, set[str]()
    while name in graph.entries and name not in seen:
        if name == wanted:
            return True
        seen.add(name)
        name = graph.entries[name].replaces
    return False


def _misspelled(graph: ChannelGraph, versions: PackageVersions) -> dict[str, str]:
    """Names that an entry replaces, that are no entries and do not end with a version; and the entry."""
    return {
        entry.replaces: entry.name
        for entry in graph.entries.values()
        if entry.replaces and entry.replaces not in graph.entries and versions.of(entry.replaces) is None
    }


def _replacers(graph: ChannelGraph) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in graph.entries.values():
        if entry.replaces:
            found.setdefault(entry.replaces, []).append(entry.name)
    return found


def _skippers(graph: ChannelGraph) -> dict[str, str]:
    """The entry that skips a name; of several, one that also replaces it."""
    found: dict[str, str] = {}
    for entry in graph.entries.values():
        for name in entry.skips:
            if name not in found or entry.replaces == name:
                found[name] = entry.name
    return found
