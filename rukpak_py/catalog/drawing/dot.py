"""Upgrade graphs in the language of Graphviz: a cluster for each package and channel, newer bundles on the right.

Names are untrusted. An identifier is the path of a node, of parts that are percent-encoded; a label is quoted, and
holds no escape sequence or entity of Graphviz but those that are written here.
"""

import re
from collections.abc import Iterator
from urllib.parse import quote

from rukpak_py.catalog.drawing.graph_model import ChannelDrawing, Edge, EdgeKind, GraphDrawing, Node, PackageDrawing

_HEADER = """\
digraph "upgrade graphs" {
  rankdir=LR
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", color="#6e7781", fontname="monospace", fontsize=11]
  edge [color="#424a53", fontname="sans-serif", fontsize=9]"""
_DEPRECATED_PACKAGE = "#989695"
_DEPRECATED_CHANNEL = "#DCD0FF"
_DEPRECATED_BUNDLE = "#E8960F"
_SKIPPED = "#cf222e"
_DEAD = "#7d8590"
_COLOURS = {EdgeKind.REPLACE: "#424a53", EdgeKind.SKIP: "#8250df", EdgeKind.SKIP_RANGE: "#0b7a6b"}
_LINES = {EdgeKind.REPLACE: "solid", EdgeKind.SKIP: "dashed", EdgeKind.SKIP_RANGE: "dotted"}
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def dot(drawing: GraphDrawing) -> str:
    """The text, with a newline at its end."""
    return "\n".join((_HEADER, *(line for package in drawing.packages for line in _package(package)), "}")) + "\n"


def quoted_label(text: str) -> str:
    seen = _UNSEEN.sub("\ufffd", text)
    return f'"{seen.translate(_ESCAPES)}"'


def identifier(*path: str) -> str:
    return f'"{"/".join(quote(part, safe="+:@", errors="surrogatepass") for part in path)}"'


def _cluster(*path: str) -> str:
    return f'"cluster {identifier(*path)[1:]}'


def _attributes(values: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _group(name: str, deprecation: str | None, colour: str) -> dict[str, str]:
    values = {"label": quoted_label(name)}
    if deprecation is not None:
        values |= {"bgcolor": f'"{colour}"', "tooltip": quoted_label(f"deprecated: {deprecation}")}
    return values


def _package(package: PackageDrawing) -> Iterator[str]:
    yield f"  subgraph {_cluster(package.name)} {{"
    yield f"    graph [{_attributes(_group(package.name, package.deprecation, _DEPRECATED_PACKAGE))}]"
    for channel in package.channels:
        yield from _channel(package.name, channel)
    yield "  }"


def _channel(package: str, channel: ChannelDrawing) -> Iterator[str]:
    yield f"    subgraph {_cluster(package, channel.name)} {{"
    yield f"      graph [{_attributes(_group(channel.name, channel.deprecation, _DEPRECATED_CHANNEL))}]"
    ids = {node.name: identifier(package, channel.name, node.name) for node in channel.all_nodes}
    for node in channel.all_nodes:
        yield f"      {ids[node.name]} [{_attributes(_node(node))}]"
    for edge in channel.edges:
        yield f"      {ids[edge.old]} -> {ids[edge.new]} [{_attributes(_edge(edge))}]"
    yield "    }"


def _node(node: Node) -> dict[str, str]:
    values = {"label": quoted_label(node.name), "tooltip": quoted_label(node.version or node.name)}
    if node.deprecation is not None:
        values |= {"fillcolor": f'"{_DEPRECATED_BUNDLE}"', "tooltip": quoted_label(f"deprecated: {node.deprecation}")}
    if node.is_head:
        values["peripheries"] = "2"
    if node.is_skipped:
        values |= {"color": f'"{_SKIPPED}"', "penwidth": "3"}
    if node.is_dangling:
        values["style"] = '"rounded,dashed"'
    return values


def _edge(edge: Edge) -> dict[str, str]:
    text = f"skipRange({edge.range})" if edge.kind is EdgeKind.SKIP_RANGE else edge.kind.value
    colour = _DEAD if edge.is_dead else _COLOURS[edge.kind]
    return {
        "label": quoted_label(text),
        "color": f'"{colour}"',
        "fontcolor": f'"{colour}"',
        "style": _LINES[edge.kind],
    } | ({"class": '"dead"'} if edge.is_dead else {})
