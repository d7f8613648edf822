"""Version ranges over a sorted list of versions: a range is a few spans of positions, found by bisection."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from rukpak_py.catalog.bundle_order import Precedence, precedence
from rukpak_py.core.ranges import Range, VersionComparison

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
