"""Edges beside a column of versions: which are drawn as one line, in which track, and along which path.

A replacement of the version right below is an arrow between the two. Other replacements and skips run in tracks on
the left; the skips of one entry share a line. A skipRange is a bracket in a track on the right, with a dot for each
version in it. Tracks are given to the shortest lines first, so that long ones run outside; lines share a track where
their rows do not meet.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from rukpak_py.catalog.drawing.graph_model import Edge, EdgeKind

TOP = 40.0  # of the first row
ROW = 34.0
BOX = 22.0  # height of the box in a row

_ARROW = 7.0  # length of an arrow head
_BEND = 6.0  # radius
_PORTS_GAP = 7.0
_ARM_ABOVE, _DOT_BELOW = 4.0, 4.0  # of the middle of a row
_WIDEST_TRACK, _NARROWEST_TRACK = 12.0, 4.0
_TRACKS_WIDTH = 240.0  # tracks become narrower where they would need more


class Direction(Enum):
    UP = "up"
    RIGHT = "right"
    LEFT = "left"


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """Edges to one bundle that are drawn as one line. `path` is path data; the arrow head is at `tip`."""

    edges: tuple[Edge, ...]
    path: str
    tip: tuple[float, float]
    direction: Direction
    dots: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """The boxes of all rows."""

    x: float
    width: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @staticmethod
    def top(row: int) -> float:
        return TOP + row * ROW

    def middle(self, row: int) -> float:
        return self.top(row) + BOX / 2


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    edges: tuple[Edge, ...]
    olds: tuple[int, ...]  # rows
    new: int

    @property
    def rows(self) -> range:
        return range(min(self.new, *self.olds), max(self.new, *self.olds) + 1)


@dataclass(frozen=True, kw_only=True)
class _Side:
    """Lines on one side of the column, and the track of each."""

    lines: list[_Line] = field(default_factory=list)
    tracks: list[int] = field(default_factory=list)

    @property
    def step(self) -> float:
        return max(_NARROWEST_TRACK, min(_WIDEST_TRACK, _TRACKS_WIDTH / (max(self.tracks, default=0) + 1)))

    @property
    def width(self) -> float:
        return self.distance(max(self.tracks)) + 4 if self.tracks else 0.0

    def distance(self, track: int) -> float:
        """The distance of a track from the boxes."""
        return 10 + _ARROW + track * self.step


class _Port(NamedTuple):
    """A meeting of a line and a box."""

    line: int
    row: int
    is_arrow: bool


class Routes:
    """The routes of a channel whose bundles stand in `rows`."""

    def __init__(self, edges: Iterable[Edge], rows: Mapping[str, int]) -> None:
        self._straight: list[_Line] = []
        left: list[_Line] = []
        right: list[_Line] = []
        shared: defaultdict[tuple[EdgeKind, str, bool], list[Edge]] = defaultdict(list)
        for edge in edges:
            line = _Line(edges=(edge,), olds=(rows[edge.old],), new=rows[edge.new])
            if edge.kind is not EdgeKind.REPLACE:
                shared[edge.kind, edge.new, edge.is_dead].append(edge)
            elif line.olds[0] == line.new + 1:
                self._straight.append(line)
            else:
                left.append(line)
        for (kind, new, _), of_entry in shared.items():
            olds = tuple(sorted({rows[edge.old] for edge in of_entry}))
            line = _Line(edges=tuple(of_entry), olds=olds, new=rows[new])
            (right if kind is EdgeKind.SKIP_RANGE else left).append(line)
        self._left = _Side(lines=left, tracks=_tracks(left))
        self._right = _Side(lines=right, tracks=_tracks(right))

    @property
    def left_width(self) -> float:
        return self._left.width

    @property
    def right_width(self) -> float:
        return self._right.width

    def beside(self, column: Column) -> Iterator[Route]:
        for line in self._straight:
            yield _straight(line, column)
        ports = _ports(self._left, column)
        for index, line in enumerate(self._left.lines):
            yield _left(line, index, self._left, column, ports)
        for index, line in enumerate(self._right.lines):
            yield _bracket(line, index, self._right, column)


def _tracks(lines: Sequence[_Line]) -> list[int]:
    """A track for each line, none of which has two lines in one row."""
    taken: defaultdict[int, int] = defaultdict(int)  # row -> bits of tracks
    tracks = [0] * len(lines)
    for index in sorted(range(len(lines)), key=lambda index: (len(lines[index].rows), lines[index].rows.start)):
        used = 0
        for row in lines[index].rows:
            used |= taken[row]
        free = ~used & (used + 1)  # the lowest bit that is not used
        for row in lines[index].rows:
            taken[row] |= free
        tracks[index] = free.bit_length() - 1
    return tracks


def _straight(line: _Line, column: Column) -> Route:
    x = column.x + min(column.width / 2, 40)
    tip = column.top(line.new) + BOX
    path = f"M{x:g} {column.top(line.olds[0]):g}V{tip + _ARROW - 1:g}"
    return Route(edges=line.edges, path=path, tip=(x, tip), direction=Direction.UP)


def _ports(side: _Side, column: Column) -> Mapping[_Port, float]:
    """Heights at which lines meet boxes, in an order in which they cross little: inner lines at the outer ports."""
    meeting: defaultdict[int, list[tuple[float, _Port]]] = defaultdict(list)
    for index, line in enumerate(side.lines):
        inner = 1 / (side.tracks[index] + 1)
        below = sum((old > line.new) - (old < line.new) for old in line.olds)
        meeting[line.new].append((inner if below >= 0 else -inner, _Port(index, line.new, is_arrow=True)))
        for old in line.olds:
            meeting[old].append((inner if old < line.new else -inner, _Port(index, old, is_arrow=False)))
    found = {}
    for row, ports in meeting.items():
        gap = min(_PORTS_GAP, (BOX - 6) / max(len(ports) - 1, 1))
        for place, (_, port) in enumerate(sorted(ports)):
            found[port] = column.middle(row) + (place - (len(ports) - 1) / 2) * gap
    return found


def _left(line: _Line, index: int, side: _Side, column: Column, ports: Mapping[_Port, float]) -> Route:
    """A trunk from the farthest old bundle to the new one, on each side of it, which the others join."""
    tip = ports[_Port(index, line.new, is_arrow=True)]
    ends = sorted(ports[_Port(index, old, is_arrow=False)] for old in line.olds)
    x = column.x - side.distance(side.tracks[index])
    radius = min(_BEND, side.step)
    paths: list[str] = []
    for down, one_side in ((1, [y for y in ends if y < tip]), (-1, [y for y in reversed(ends) if y >= tip])):
        for y in one_side[:1]:
            bend = min(radius, abs(y - tip) / 2) * down
            paths.append(
                f"M{column.x:g} {y:g}H{x + radius:g}Q{x:g} {y:g} {x:g} {y + bend:g}"
                f"V{tip - bend:g}Q{x:g} {tip:g} {x + radius:g} {tip:g}H{column.x - _ARROW + 1:g}"
            )
        for y in one_side[1:]:
            bend = min(radius, abs(y - tip) / 2) * down
            paths.append(f"M{column.x:g} {y:g}H{x + radius:g}Q{x:g} {y:g} {x:g} {y + bend:g}")
    return Route(edges=line.edges, path="".join(paths), tip=(column.x, tip), direction=Direction.RIGHT)


def _bracket(line: _Line, index: int, side: _Side, column: Column) -> Route:
    """A line from the new bundle along the versions in its range. Its arm runs above the dots of other ranges."""
    x = column.right + side.distance(side.tracks[index])
    tip = column.middle(line.new) - _ARM_ABOVE
    dots = tuple((x, column.middle(row) + _DOT_BELOW) for row in line.olds)
    path = f"M{column.right + _ARROW - 1:g} {tip:g}"
    radius = min(_BEND, side.step) / 2
    heights = [y for _, y in dots]
    if min(heights) > tip:
        path += f"H{x - radius:g}Q{x:g} {tip:g} {x:g} {tip + radius:g}V{max(heights):g}"
    else:
        path += f"H{x:g}M{x:g} {min(heights):g}V{max(tip, *heights):g}"
    return Route(edges=line.edges, path=path, tip=(column.right, tip), direction=Direction.LEFT, dots=dots)
