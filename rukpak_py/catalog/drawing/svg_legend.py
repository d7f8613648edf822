"""The legend of a picture: a sample and a few words for each thing that the picture has, and for nothing else."""

from collections.abc import Iterable, Iterator, Sequence

from rukpak_py.catalog.drawing.svg_lane import Lane, text_width

_CHARACTER = 6.9  # width at 12 px
_SAMPLE = 40.0
_GAP = 24.0
_LINE = 26.0

_EDGES = {
    "replace": "replaces",
    "skip": "skips",
    "skipRange": "skipRange, a dot for each version in it",
    "dead": "no effect: its entry is skipped, or skips again",
}
_NODES = {
    "head": "head of the channel",
    "deprecated": "deprecated",
    "skipped": "skipped",
    "dangling": "named, but not in the channel",
}


def legend(lanes: Sequence[Lane], width: float) -> tuple[list[str], float, float]:
    """Lines of SVG, and the width and height that they need."""
    present = set(_present(lanes))
    found: list[str] = []
    x, y, widest = 0.0, 0.0, 0.0
    for name, words in (_EDGES | _NODES).items():
        if name not in present:
            continue
        needed = _SAMPLE + 8 + text_width(words, _CHARACTER)
        if x and x + needed > width:
            x, y = 0.0, y + _LINE
        found.append(f'<g transform="translate({x:g} {y:g})">{_sample(name)}')
        found.append(f'<text class="legend" x="{_SAMPLE + 8:g}" y="15">{words}</text></g>')
        widest = max(widest, x + needed)
        x += needed + _GAP
    return found, widest, y + _LINE if found else 0.0


def _present(lanes: Iterable[Lane]) -> Iterator[str]:
    for lane in lanes:
        for route in lane.routes:
            yield "dead" if route.edges[0].is_dead else route.edges[0].kind.value
        for box in lane.boxes:
            node = box.node
            states = (node.is_head, node.deprecation is not None, node.is_skipped, node.is_dangling)
            yield from (name for name, is_set in zip(_NODES, states, strict=True) if is_set)


def _sample(name: str) -> str:
    if name in _NODES:
        return f'<g class="node {name}"><rect x="4" y="1" width="32" height="18" rx="5"/></g>'
    classes = f"replace {name}" if name == "dead" else name
    dots = f'<path class="dots {classes}" d="M8 10h0M20 10h0"/>' if name == "skipRange" else ""
    return f'<path class="edge {classes}" d="M2 10H32"/>{dots}<path class="arrow {classes}" d="M38 10l-7 -4v8z"/>'
