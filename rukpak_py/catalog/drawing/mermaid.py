"""Upgrade graphs as Mermaid text, in the lines of `opm alpha render-graph`.

Names are untrusted: a label holds what Mermaid could take for syntax, for HTML or for a directive as entity codes
(`#quot;`); an identifier is the plain name as opm writes it where Mermaid can read that, else a name made from it.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from rukpak_py.catalog.drawing.graph_model import ChannelDrawing, Edge, EdgeKind, GraphDrawing, Node, PackageDrawing

_CLASSES = """\
graph LR
  classDef deprecated fill:#E8960F
  classDef skipped stroke:#FF0000,stroke-width:4px
  classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px"""
_DEPRECATED_PACKAGE = "fill:#989695"
_DEPRECATED_CHANNEL = "fill:#DCD0FF"
_DEAD_EDGE = "stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;"

# Parts that begin with a letter, a digit or `_`, joined by one hyphen: two are a link, and so are `-.` and `-x`.
_PLAIN_IDENTIFIER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+]*+(?:-[A-Za-z0-9_][A-Za-z0-9_.+]*+)*+", re.ASCII)
# Mermaid's scanner takes these for keywords at the beginning of an identifier.
_KEYWORD = re.compile(
    r"(?:_blank|_parent|_self|_top|call|class|classDef|click|default|direction|end|flowchart|graph|href|interpolate"
    r"|linkStyle|style|subgraph)\b",
    re.ASCII | re.IGNORECASE,
)
_UNSAFE_IN_IDENTIFIER = re.compile(r"[^A-Za-z0-9]+", re.ASCII)
_LONGEST_MADE = 100
# The punctuation of names and ranges is written as it is; `<` is not where a tag could begin.
_NAMED = {'"': "#quot;", "<": "#lt;", "&": "#amp;"}
_UNSAFE_IN_LABEL = re.compile(r"<(?![\d =.])|[^\w .+/~,()=!|*^@<>-]")


VIEWER_MAX_CHARACTERS = 50_000
VIEWER_MAX_EDGES = 499


def mermaid(drawing: GraphDrawing) -> str:
    """The text, with a newline at its end."""
    return "\n".join((_CLASSES, *_Writer().lines(drawing))) + "\n"


def beyond_viewer(drawing: GraphDrawing, text: str) -> str | None:
    """The limit of Mermaid's that a text exceeds: a web page shows an error instead unless it is set up for more."""
    edges = sum(len(channel.edges) for package in drawing.packages for channel in package.channels)
    for count, most, noun in (
        (edges, VIEWER_MAX_EDGES, "edges"),
        (len(text), VIEWER_MAX_CHARACTERS, "characters"),
    ):
        if count > most:
            return f"{count:,} {noun}, and Mermaid shows {most:,} unless configured for more"
    return None


class _Identifiers:
    """Identifiers of packages, channels and nodes: each has its own, even where joined names are the same."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, ...], str] = {}
        self._taken: set[str] = set()
        self._made: dict[str, int] = {}

    def of(self, *path: str) -> str:
        if path not in self._by_path:
            wanted = "-".join(path)
            if not is_plain(wanted) or wanted in self._taken:
                wanted = self._free(f"n-{_UNSAFE_IN_IDENTIFIER.sub('_', wanted)[:_LONGEST_MADE]}")
            self._taken.add(wanted)
            self._by_path[path] = wanted
        return self._by_path[path]

    def _free(self, base: str) -> str:
        while True:
            number = self._made[base] = self._made.get(base, 0) + 1
            if (made := f"{base}_{number}") not in self._taken:
                return made


def is_plain(identifier: str) -> bool:
    """Whether Mermaid reads a text as one identifier."""
    return bool(_PLAIN_IDENTIFIER.fullmatch(identifier)) and not _KEYWORD.match(identifier)


def escaped(text: str) -> str:
    """The text of a label within double quotes, which Mermaid does not take empty."""
    return _UNSAFE_IN_LABEL.sub(_entity, text) or "(no name)"


def _entity(found: re.Match[str]) -> str:
    character = found[0]
    if character in _NAMED:
        return _NAMED[character]
    is_surrogate = "\ud800" <= character <= "\udfff"
    return f"#{0xFFFD if is_surrogate else ord(character)};"


class _Writer:
    """Collects what stands behind the packages while it writes them."""

    def __init__(self) -> None:
        self._ids = _Identifiers()
        self._styles: list[str] = []
        self._classes: dict[str, list[str]] = {"deprecated": [], "deprecatedskipped": [], "skipped": []}
        self._links = 0
        self._dead_links: list[int] = []

    def lines(self, drawing: GraphDrawing) -> Iterator[str]:
        for package in drawing.packages:
            yield from self._package(package)
        yield from self._styles
        for name, ids in self._classes.items():
            if ids:
                yield f"class {','.join(sorted(ids))} {name}"
        if self._dead_links:
            yield f"linkStyle {','.join(map(str, self._dead_links))} {_DEAD_EDGE}"

    def _package(self, package: PackageDrawing) -> Iterator[str]:
        identifier = self._ids.of(package.name)
        if package.deprecation is not None:
            self._styles.append(f"style {identifier} {_DEPRECATED_PACKAGE}")
        label = f'"{escaped(package.name)}"'
        yield f"  %% package {label}"
        yield f"  subgraph {label if identifier == package.name else f'{identifier}[{label}]'}"
        for channel in package.channels:
            yield from self._channel(package, channel)
        yield "  end"

    def _channel(self, package: PackageDrawing, channel: ChannelDrawing) -> Iterator[str]:
        identifier = self._ids.of(package.name, channel.name)
        if channel.deprecation is not None:
            self._styles.append(f"style {identifier} {_DEPRECATED_CHANNEL}")
        label = f'"{escaped(channel.name)}"'
        yield f"    %% channel {label}"
        yield f"    subgraph {identifier}[{label}]"
        labels = {
            node.name: f'{self._ids.of(package.name, channel.name, node.name)}["{escaped(node.name)}"]'
            for node in channel.all_nodes
        }
        edges = {new: list(of_entry) for new, of_entry in groupby(channel.edges, key=lambda edge: edge.new)}
        for node in channel.nodes:
            self._classify(self._ids.of(package.name, channel.name, node.name), node)
            yield f"      {labels[node.name]}"
            yield from self._edges(edges.get(node.name, ()), labels)
        yield "    end"

    def _classify(self, identifier: str, node: Node) -> None:
        name = ("deprecated" if node.deprecation is not None else "") + ("skipped" if node.is_skipped else "")
        if name:
            self._classes[name].append(identifier)

    def _edges(self, edges: Iterable[Edge], labels: dict[str, str]) -> Iterator[str]:
        for edge in edges:
            if edge.is_dead:
                self._dead_links.append(self._links)
            self._links += 1
            is_range = edge.kind is EdgeKind.SKIP_RANGE
            text = f'"skipRange({escaped(edge.range)})"' if is_range else edge.kind.value
            yield f"      {labels[edge.old]}-- {text} --> {labels[edge.new]}"
