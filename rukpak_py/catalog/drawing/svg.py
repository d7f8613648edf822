"""Upgrade graphs as one SVG file that needs nothing else: no script, no font, no link.

Packages stand below one another, the lanes of their channels beside one another as far as the page goes; what an
element stands for is its `<title>`, which viewers show as a tooltip. Names are untrusted: all text is escaped, and
characters that XML or a reader's eyes cannot take are replaced.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from rukpak_py.catalog.drawing.graph_model import EdgeKind, GraphDrawing, PackageDrawing
from rukpak_py.catalog.drawing.svg_lane import (
    PADDING,
    TITLE_CHARACTER,
    Box,
    Lane,
    badge_places,
    lane,
    shortened,
    text_width,
)
from rukpak_py.catalog.drawing.svg_legend import legend
from rukpak_py.catalog.drawing.svg_routes import Direction, Route
from rukpak_py.catalog.drawing.svg_style import STYLE

MAX_NODES = 2_000
MAX_EDGES = 20_000

_PAGE_WIDTH = 1400.0  # lanes go to the next line where they would pass it
_PAGE_PADDING = 24.0
_GAP = 16.0
_PACKAGE_TITLE = 44.0
_LONGEST_TITLE = 80
_LONGEST_TOOLTIP = 1_000
_TOOLTIP_NAMES = 30
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Co"})
_HEADS = {Direction.UP: "l-4 7h8z", Direction.RIGHT: "l-7 -4v8z", Direction.LEFT: "l7 -4v8z"}


def svg(drawing: GraphDrawing) -> str:
    """The file, or ValueError for a graph that is too large to be looked at."""
    channels = [channel for package in drawing.packages for channel in package.channels]
    nodes = sum(len(channel.nodes) + len(channel.named) for channel in channels)
    edges = sum(len(channel.edges) for channel in channels)
    for count, most, noun in ((nodes, MAX_NODES, "versions"), (edges, MAX_EDGES, "edges")):
        if count > most:
            raise ValueError(
                f"a picture of {count:,} {noun} cannot be read (at most {most:,}): choose a package or a channel"
            )
    page = _Page(
        [(package, [lane(package.name, channel) for channel in package.channels]) for package in drawing.packages]
    )
    return "\n".join(page.lines()) + "\n"


def text_of(text: str) -> str:
    """Text as content of an element."""
    seen = (one if one == "\n" or unicodedata.category(one) not in _UNSEEN else "\ufffd" for one in text)
    return escape("".join(seen))


@dataclass
class _Page:
    packages: Sequence[tuple[PackageDrawing, Sequence[Lane]]]
    width: float = 0.0
    y: float = _PAGE_PADDING

    def lines(self) -> Iterator[str]:
        body = [line for package, lanes in self.packages for line in self._package(package, lanes)]
        if not self.packages:
            body = [f'<text class="muted" x="{_PAGE_PADDING:g}" y="{self.y + 14:g}">No channel to draw.</text>']
            self.width, self.y = 240.0, self.y + 24
        all_lanes = [one for _, lanes in self.packages for one in lanes]
        below, legend_width, legend_height = legend(all_lanes, max(self.width - _PAGE_PADDING, 360.0))
        width = max(self.width, legend_width + _PAGE_PADDING) + _PAGE_PADDING
        height = self.y + legend_height + _PAGE_PADDING
        names = ", ".join(package.name for package, _ in self.packages[:_TOOLTIP_NAMES])
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" role="img">'
        )
        yield f"<title>{text_of(shortened(f'Upgrade graphs: {names}', _LONGEST_TOOLTIP))}</title>"
        yield f"<style>{STYLE}</style>"
        yield f'<rect class="page" width="{width:g}" height="{height:g}"/>'
        yield from body
        yield f'<g transform="translate({_PAGE_PADDING:g} {self.y:g})">'
        yield from below
        yield "</g>"
        yield "</svg>"

    def _package(self, package: PackageDrawing, lanes: Sequence[Lane]) -> Iterator[str]:
        title = shortened(package.name or "(no name)", _LONGEST_TITLE)
        badges = ("deprecated",) if package.deprecation is not None else ()
        places = badge_places(badges, _PAGE_PADDING + text_width(title, TITLE_CHARACTER * 18 / 14))
        yield "<g>" + _tooltip(package.name, *_deprecated(package.deprecation))
        yield f'<text class="package-title" x="{_PAGE_PADDING:g}" y="{self.y + 18:g}">{text_of(title)}</text>'
        yield from _badges(badges, places, self.y + 18)
        yield "</g>"
        self.width = max(self.width, places[-1])
        self.y += _PACKAGE_TITLE - 12
        for shelf in _shelves(lanes):
            x = _PAGE_PADDING
            for one in shelf:
                yield f'<g transform="translate({x:g} {self.y:g})">'
                yield from _lane(one)
                yield "</g>"
                x += one.width + _GAP
            self.width = max(self.width, x - _GAP)
            self.y += max(one.height for one in shelf) + _GAP
        self.y += 12


def _shelves(lanes: Iterable[Lane]) -> Iterator[list[Lane]]:
    shelf: list[Lane] = []
    width = 0.0
    for one in lanes:
        if shelf and width + one.width > _PAGE_WIDTH:
            yield shelf
            shelf, width = [], 0.0
        shelf.append(one)
        width += one.width + _GAP
    if shelf:
        yield shelf


def _lane(one: Lane) -> Iterator[str]:
    yield f'<rect class="lane" width="{one.width:g}" height="{one.height:g}" rx="8"/>'
    yield "<g>" + _tooltip(one.channel.name, *_deprecated(one.channel.deprecation))
    yield f'<text class="lane-title" x="{PADDING:g}" y="24">{text_of(one.title)}</text>'
    yield from _badges(one.badges, badge_places(one.badges, PADDING + text_width(one.title, TITLE_CHARACTER)), 24)
    yield "</g>"
    # Dead edges lie below the others.
    for route in sorted(one.routes, key=lambda route: not route.edges[0].is_dead):
        yield from _route(route)
    for box in one.boxes:
        yield from _box(box)
    for text in one.ranges:
        yield (
            f'<text class="range-text" x="{text.x:g}" y="{text.y + 4:g}">{text_of(text.text)}'
            f"{_tooltip(f'skipRange {text.full}')}</text>"
        )


def _route(route: Route) -> Iterator[str]:
    edge = route.edges[0]
    classes = edge.kind.value + (" dead" if edge.is_dead else "")
    olds = [one.old for one in route.edges]
    more = f", and {len(olds) - _TOOLTIP_NAMES} more" if len(olds) > _TOOLTIP_NAMES else ""
    kind = f"skipRange {edge.range}" if edge.kind is EdgeKind.SKIP_RANGE else edge.kind.value
    effect = "no effect: the entry is skipped, or skips again" if edge.is_dead else ""
    names = ", ".join(olds[:_TOOLTIP_NAMES])
    yield "<g>" + _tooltip(f"{names}{more} → {edge.new}", kind, effect)
    yield f'<path class="edge {classes}" d="{route.path}"/>'
    if route.dots:
        yield f'<path class="dots {classes}" d="{"".join(f"M{x:g} {y:g}h0" for x, y in route.dots)}"/>'
    x, y = route.tip
    yield f'<path class="arrow {classes}" d="M{x:g} {y:g}{_HEADS[route.direction]}"/>'
    yield "</g>"


def _box(box: Box) -> Iterator[str]:
    node = box.node
    states = {
        "head": node.is_head,
        "deprecated": node.deprecation is not None,
        "skipped": node.is_skipped,
        "dangling": node.is_dangling,
    }
    classes = " ".join(("node", *(state for state, is_set in states.items() if is_set)))
    version = f"version {node.version}" if node.version else "no version"
    release = f", release {node.release}" if node.release else ""
    yield f'<g class="{classes}">{_tooltip(node.name, version + release, *_deprecated(node.deprecation))}'
    yield f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="5"/>'
    yield f'<text class="label" x="{box.x + 8:g}" y="{box.middle + 4:g}">{text_of(box.label)}</text>'
    ends = badge_places(box.badges, 0)
    yield from _badges(box.badges, [box.x + box.width - ends[-1] + place - 2 for place in ends], box.middle + 3.5)
    yield "</g>"


def _badges(badges: Sequence[str], places: Sequence[float], y: float) -> Iterator[str]:
    for badge, x in zip(badges, places, strict=False):
        kind = badge if badge in {"deprecated", "skipped", "default"} else "muted"
        yield f'<text class="badge {kind}" x="{x:g}" y="{y:g}">{badge}</text>'


def _deprecated(message: str | None) -> Iterator[str]:
    if message is not None:
        yield f"deprecated: {message}" if message else "deprecated"


def _tooltip(*lines: str) -> str:
    return f"<title>{text_of(shortened(chr(10).join(filter(None, lines)), _LONGEST_TOOLTIP))}</title>"
