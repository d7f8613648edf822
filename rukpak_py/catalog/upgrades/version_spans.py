"""Version ranges over a sorted list of versions: a range is a few spans of positions, found by bisection.

A channel may have thousands of entries, each with a range: to compare each range with each version would take minutes.
An alternative of a range is one span of the order, without a few versions in it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from rukpak_py.catalog.upgrades.bundle_order import Precedence, precedence
from rukpak_py.core.ranges import Range, VersionComparison
from rukpak_py.core.versions import Version

Span = tuple[int, int]  # from, to (excluded)


def spans_of(versions: Sequence[Precedence], covered: Range) -> Iterator[Span]:
    """Positions of the versions in the range. Spans of alternatives may overlap."""
    for comparisons in covered.alternatives:
        yield from _spans_of_all(versions, comparisons)


def _spans_of_all(versions: Sequence[Precedence], comparisons: Sequence[VersionComparison]) -> Iterator[Span]:
    start, end = 0, len(versions)
    holes: list[Span] = []
    for one in comparisons:
        key = precedence(one.version)
        first, past = bisect_left(versions, key), bisect_right(versions, key)
        match one.comparator:
            case ">":
                start = max(start, past)
            case ">=":
                start = max(start, first)
            case "<":
                end = min(end, first)
            case "<=":
                end = min(end, past)
            case "!" | "!=":
                holes.append((first, past))
            case _:
                start, end = max(start, first), min(end, past)
    for first, past in sorted(holes):
        if start < first:
            yield start, min(first, end)
        start = max(start, past)
    if start < end:
        yield start, end


class VersionIndex:
    """Positions of versions in a list, which `within` returns in ascending order."""

    def __init__(self, versions: Iterable[Version | None]) -> None:
        known = [(precedence(version), position) for position, version in enumerate(versions) if version is not None]
        known.sort()
        self._versions = [version for version, _ in known]
        self._positions = [position for _, position in known]

    def within(self, wanted: Range) -> list[int]:
        found: list[int] = []
        past = 0
        for start, end in sorted(spans_of(self._versions, wanted)):
            found.extend(self._positions[max(start, past) : end])
            past = max(past, end)
        return sorted(found)


class Untaken:
    """Positions that can be taken once each; positions that were taken are stepped over in almost no time."""

    def __init__(self, number: int) -> None:
        self._next = list(range(number + 1))

    def take(self, start: int, end: int, *, but: int) -> Iterator[int]:
        """The positions from `start` to `end` (excluded) that are left, except one that is kept."""
        position = self._find(start)
        while position < end:
            following = self._find(position + 1)
            if position != but:
                self._next[position] = following
                yield position
            position = following

    def _find(self, position: int) -> int:
        found = position
        while self._next[found] != found:
            found = self._next[found]
        while self._next[position] != found:
            self._next[position], position = found, self._next[position]
        return found
