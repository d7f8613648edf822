"""The layout of one channel: a column of versions with the highest on top, edges on both sides of it.

The text of a skipRange stands in the row of its entry. Coordinates are of the lane. A picture is laid out without
knowing the fonts that it is shown in: names are monospaced, so that their widths can be told from their lengths.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from rukpak_py.catalog.drawing.graph_model import ChannelDrawing, Node
from rukpak_py.catalog.drawing.svg_routes import BOX, ROW, TOP, Column, Route, Routes
from rukpak_py.catalog.upgrades.bundle_order import Precedence, precedence
from rukpak_py.core.versions import strict

PADDING = 16.0
LABEL_CHARACTER = 7.4  # width at 12 px, monospaced
TITLE_CHARACTER = 8.6  # the same at 14 px
PACKAGE_CHARACTER = 11.1  # the same at 18 px
BADGE_CHARACTER = 6.2  # width at 10 px of a few known words

_LONGEST_LABEL = 40
_LONGEST_RANGE = 72
_LONGEST_TITLE = 60
_BADGE_GAP = 8.0
_NO_NAME = "(no name)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    node: Node
    label: str
    badges: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float = BOX

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeText:
    text: str
    full: str
    is_dead: bool
    x: float
    y: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    channel: ChannelDrawing
    title: str
    badges: tuple[str, ...]
    width: float
    height: float
    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    ranges: tuple[RangeText, ...]


def shortened(text: str, longest: int) -> str:
    """The beginning and the end of a text that is too long."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[: half - 1]}…{text[-half:]}"


def text_width(text: str, character: float) -> float:
    """The width of a text of characters of that width; those of Chinese, Japanese and Korean are twice as wide."""
    return character * sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def badge_places(badges: Sequence[str], start: float) -> list[float]:
    """The beginning of each badge, and the end of the last."""
    places = [start + _BADGE_GAP]
    for badge in badges:
        places.append(places[-1] + text_width(badge, BADGE_CHARACTER) + _BADGE_GAP)
    return places


def lane(package: str, channel: ChannelDrawing) -> Lane:
    nodes = _in_rows(channel.all_nodes)
    routes = Routes(channel.edges, {node.name: row for row, node in enumerate(nodes)})
    labels = _labels(package, nodes)
    badges = list(map(_badges, nodes))
    widths = [
        badge_places(of_node, text_width(label, LABEL_CHARACTER) + 8)[-1] + (2 if of_node else 0)
        for label, of_node in zip(labels, badges, strict=True)
    ]
    column = Column(x=PADDING + routes.left_width, width=max(widths, default=0.0))
    boxes = tuple(
        Box(node=node, label=label, badges=of_node, x=column.x, y=column.top(row), width=column.width)
        for row, (node, label, of_node) in enumerate(zip(nodes, labels, badges, strict=True))
    )
    behind = column.right + routes.right_width + 8
    ranges = tuple(
        RangeText(
            text=shortened(box.node.skip_range, _LONGEST_RANGE),
            full=box.node.skip_range,
            is_dead=box.node.is_skipped,
            x=behind,
            y=box.middle,
        )
        for box in boxes
        if box.node.skip_range
    )
    title = shortened(channel.name or _NO_NAME, _LONGEST_TITLE)
    states = {"default": channel.is_default, "deprecated": channel.deprecation is not None}
    title_badges = tuple(badge for badge, is_set in states.items() if is_set)
    ends = [
        column.right,
        badge_places(title_badges, PADDING + text_width(title, TITLE_CHARACTER))[-1],
        *(one.x + text_width(one.text, LABEL_CHARACTER) for one in ranges),
    ]
    return Lane(
        channel=channel,
        title=title,
        badges=title_badges,
        width=max(ends) + PADDING,
        height=TOP + max(len(nodes), 1) * ROW - (ROW - BOX) + PADDING,
        boxes=boxes,
        routes=tuple(routes.beside(column)),
        ranges=ranges,
    )


def _in_rows(nodes: Iterable[Node]) -> list[Node]:
    """The highest version first. A bundle without one is placed by its name where that ends with a version."""

    def order(node: Node) -> Precedence | tuple[()]:
        name = node.name
        endings = (name.rpartition(".v")[2], name.rpartition("-v")[2], name.partition(".")[2])
        for text in (node.version,) if node.version else endings:
            with suppress(ValueError):
                return precedence(strict(text))
        return ()

    return sorted(nodes, key=order, reverse=True)


def _labels(package: str, nodes: Sequence[Node]) -> list[str]:
    """Versions; of bundles that have the same, the names."""

    def label(node: Node) -> str:
        if node.version:
            return f"{node.version} ({node.release})" if node.release else node.version
        return node.name.removeprefix(f"{package}.") or _NO_NAME

    labels = list(map(label, nodes))
    count = Counter(labels)
    return [
        shortened(text if count[text] == 1 else node.name or _NO_NAME, _LONGEST_LABEL)
        for text, node in zip(labels, nodes, strict=True)
    ]


def _badges(node: Node) -> tuple[str, ...]:
    states = {
        "head": node.is_head,
        "deprecated": node.deprecation is not None,
        "skipped": node.is_skipped,
        "not in channel": node.is_dangling,
    }
    return tuple(badge for badge, is_set in states.items() if is_set)
