"""A resolver that tries every edge and every path, for small catalogs; slow, short, and of other parts."""

from collections.abc import Iterable
from functools import cmp_to_key

from rukpak_py.catalog.model import Entry
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.core.ranges import Range
from rukpak_py.core.versions import Version, strict


def in_order(index: PackageIndex, channels: Iterable[str]) -> list[str]:
    """The names of what can be installed, the preferred first."""
    found = {entry.name for channel in channels for entry in index.channels[channel].entries}
    heads = {name for channel in channels for name in heads_of(index.channels[channel].entries)}
    names = sorted((name for name in found if name in index.bundles), key=lambda name: (name not in heads, name))
    names.sort(key=lambda name: cmp_to_key(Version.compare)(version(index, name)), reverse=True)
    return sorted(names, key=lambda name: index.deprecation_of_bundle(name) is not None)


def heads_of(entries: Iterable[Entry]) -> list[str]:
    named = {name for entry in entries for name in (entry.replaces, *entry.skips)}
    return [entry.name for entry in entries if entry.name not in named]


def version(index: PackageIndex, name: str) -> Version:
    return strict(index.bundles[name].version)


def successors(index: PackageIndex, channels: Iterable[str], name: str, installed: Version) -> list[str]:
    """Higher entries that replace, skip or cover the installed bundle, the preferred first."""
    entries = [entry for channel in channels for entry in index.channels[channel].entries]
    naming = {entry.name for entry in entries if name and name in {entry.replaces, *entry.skips}}
    covering = {one.name for one in entries if one.skip_range and Range.parse(one.skip_range).contains(installed)}
    ordered = [one for one in in_order(index, channels) if one != name]
    return [
        one
        for one in ordered
        if (one in naming and version(index, one) >= installed) or (one in covering and version(index, one) > installed)
    ]


def chosen(
    index: PackageIndex, channels: list[str], wanted: Range | None, name: str, installed: Version | None
) -> str | None:
    fits = {one for one in in_order(index, channels) if wanted is None or wanted.contains(version(index, one))}
    ordered = successors(index, channels, name, installed) if installed else in_order(index, channels)
    return next((one for one in ordered if one in fits), name if installed and name in fits else None)


def shortest(index: PackageIndex, channels: list[str], name: str) -> int | None:
    """The number of steps of the shortest of all paths to a head."""
    heads = {one for channel in channels for one in heads_of(index.channels[channel].entries)}
    level, seen, steps = {name}, {name}, 0
    while level and not level & heads:
        level = {to for one in level for to in successors(index, channels, one, version(index, one))} - seen
        seen |= level
        steps += 1
    return steps if level else None


def greedy(index: PackageIndex, channels: list[str], name: str) -> list[str]:
    path = [name]
    while path[-1] not in path[:-1]:
        following = successors(index, channels, path[-1], version(index, path[-1]))
        if not following:
            return path[1:]
        path.append(following[0])
    return path[1:]
