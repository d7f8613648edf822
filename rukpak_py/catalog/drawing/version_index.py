"""Versions in their order, and which of them a range contains, found without asking each version.

A channel may have thousands of entries, each with a range: a comparison of each range with each version would take
minutes. An alternative of a range is one interval of the order, without a few versions in it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from rukpak_py.core.ranges import Range, VersionComparison
from rukpak_py.core.versions import Version

Precedence: TypeAlias = tuple[int, int, int, tuple[tuple[int, int | str], ...]]

_RELEASED = ((2, 0),)  # behind each pre-release: identifiers begin with 0 (numbers) or 1 (text)


def precedence(version: Version) -> Precedence:
    """A value that compares as the version does; build metadata takes no part."""
    return version.major, version.minor, version.patch, _prerelease(version.prerelease)


def _prerelease(text: str | None) -> tuple[tuple[int, int | str], ...]:
    if text is None:
        return _RELEASED
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in text.split("."))


class VersionIndex:
    """Positions of versions in a list, which `within` returns in ascending order."""

    def __init__(self, versions: Iterable[Version | None]) -> None:
        known = [(precedence(version), position) for position, version in enumerate(versions) if version is not None]
        known.sort()
        self._keys = [key for key, _ in known]
        self._positions = [position for _, position in known]

    def within(self, wanted: Range) -> list[int]:
        found: list[int] = []
        end = 0
        # Alternatives may cover one another: no version is taken twice.
        for first, past in sorted(chain.from_iterable(map(self._intervals, wanted.alternatives))):
            found.extend(self._positions[max(first, end) : past])
            end = max(end, past)
        return sorted(found)

    def _intervals(self, comparisons: Iterable[VersionComparison]) -> Iterator[tuple[int, int]]:
        """The intervals of the order, first and past, that satisfy all of these."""
        low, high = 0, len(self._keys)
        excluded: set[tuple[int, int]] = set()
        for comparison in comparisons:
            key = precedence(comparison.version)
            first, past = bisect_left(self._keys, key), bisect_right(self._keys, key)
            if comparison.comparator in {"!", "!="}:
                excluded.add((first, past))
                continue
            floor, ceiling = {
                ">": (past, high),
                ">=": (first, high),
                "<": (low, first),
                "<=": (low, past),
            }.get(comparison.comparator, (first, past))
            low, high = max(low, floor), min(high, ceiling)
        for first, past in sorted(excluded):
            if low < first < high:
                yield low, first
            if first < high:
                low = max(low, past)
        if low < high:
            yield low, high
