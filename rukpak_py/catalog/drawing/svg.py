"""Upgrade graphs as one SVG file that needs nothing else: no script, no font, no link.

Packages, and in each the lanes of its channels, stand beside one another as far as the page goes; an element says what
it stands for in its `<title>`, which viewers show as a tooltip. Names are untrusted: all text is escaped, and
characters that XML or a reader's eyes cannot take are replaced.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from rukpak_py.catalog.drawing.graph_model import EdgeKind, GraphDrawing, PackageDrawing
from rukpak_py.catalog.drawing.svg_lane import (
    PACKAGE_CHARACTER,
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
_LEGEND_WIDTH = 420.0
_PAGE_PADDING = 24.0
_GAP = 16.0
_PACKAGE_GAP = 32.0
_PACKAGE_TITLE = 32.0
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
    return "\n".join(_page(drawing)) + "\n"


def text_of(text: str) -> str:
    """Text as content of an element."""
    seen = (one if one == "\n" or unicodedata.category(one) not in _UNSEEN else "\ufffd" for one in text)
    return escape("".join(seen))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Block:
    """A part of the page; its lines are placed by a group around them."""

    lines: tuple[str, ...]
    width: float
    height: float


_NOTHING = _Block(lines=('<text class="muted" x="0" y="14">No channel to draw.</text>',), width=200, height=20)


def _page(drawing: GraphDrawing) -> Iterator[str]:
    lanes = {package.name: [lane(package.name, one) for one in package.channels] for package in drawing.packages}
    blocks = [_package(package, lanes[package.name]) for package in drawing.packages]
    body = _on_shelves(blocks, _PACKAGE_GAP) if blocks else _NOTHING
    below, legend_width, legend_height = legend(
        [one for of_package in lanes.values() for one in of_package], max(body.width, _LEGEND_WIDTH)
    )
    width = max(body.width, legend_width) + 2 * _PAGE_PADDING
    height = body.height + legend_height + (_GAP if below else 0) + 2 * _PAGE_PADDING
    title = f"Upgrade graphs: {', '.join(list(lanes)[:_TOOLTIP_NAMES])}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img">{_tooltip(title)}'
    )
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="page" width="{width:g}" height="{height:g}"/>'
    yield from _moved(body.lines, _PAGE_PADDING, _PAGE_PADDING)
    yield from _moved(below, _PAGE_PADDING, _PAGE_PADDING + body.height + _GAP)
    yield "</svg>"


def _package(package: PackageDrawing, lanes: Sequence[Lane]) -> _Block:
    title = shortened(package.name or "(no name)", _LONGEST_TITLE)
    badges = ("deprecated",) if package.deprecation is not None else ()
    places = badge_places(badges, text_width(title, PACKAGE_CHARACTER))
    body = _on_shelves([_Block(lines=tuple(_lane(one)), width=one.width, height=one.height) for one in lanes], _GAP)
    lines = (
        "<g>" + _tooltip(package.name, *_deprecated(package.deprecation)),
        f'<text class="package-title" x="0" y="18">{text_of(title)}</text>',
        *_badges(badges, places, 18),
        "</g>",
        *_moved(body.lines, 0, _PACKAGE_TITLE),
    )
    return _Block(lines=lines, width=max(body.width, places[-1]), height=body.height + _PACKAGE_TITLE)


def _on_shelves(blocks: Iterable[_Block], gap: float) -> _Block:
    """Blocks beside one another as far as the page goes, then below."""
    lines: list[str] = []
    x = y = width = height = 0.0
    for block in blocks:
        if x and x + block.width > _PAGE_WIDTH:
            x, y = 0.0, height + gap
        lines.extend(_moved(block.lines, x, y))
        width, height = max(width, x + block.width), max(height, y + block.height)
        x += block.width + gap
    return _Block(lines=tuple(lines), width=width, height=height)


def _moved(lines: Sequence[str], x: float, y: float) -> Iterator[str]:
    if lines:
        yield f'<g transform="translate({x:g} {y:g})">'
        yield from lines
        yield "</g>"


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
        muted = " muted" if text.is_dead else ""
        yield (
            f'<text class="range-text{muted}" x="{text.x:g}" y="{text.y + 4:g}">{text_of(text.text)}'
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
