"""Text for Graphviz, read by a small parser of its statements."""

import re
from urllib.parse import unquote

from hypothesis import given

from rukpak_py.catalog.drawing.dot import dot, identifier, quoted_label
from rukpak_py.catalog.drawing.graph_model import DrawingOptions, GraphDrawing, graph_drawing
from tests.unit.catalog.upgrade_graphs import HOSTILE, catalog, entry, indexed, random_drawings

QUOTED = r'"(?:[^"\\\n]|\\.)*"'
ATTRIBUTES = rf"\[\w+=(?:{QUOTED}|\w+)(?:, \w+=(?:{QUOTED}|\w+))*\]"
NODE = re.compile(rf"      ({QUOTED}) {ATTRIBUTES}")
EDGE = re.compile(rf"      ({QUOTED}) -> ({QUOTED}) {ATTRIBUTES}")
OTHER = re.compile(
    rf'digraph "upgrade graphs" \{{|  rankdir=LR|  (?:node|edge) {ATTRIBUTES}|(?:    |  |)\}}'
    rf"|(?:    |  )subgraph {QUOTED} \{{|(?:      |    )graph {ATTRIBUTES}"
)


def path(quoted: str) -> tuple[str, ...]:
    return tuple(unquote(part, errors="surrogatepass") for part in quoted[1:-1].split("/"))


@given(random_drawings())
def test_statements_are_the_nodes_and_edges_whatever_the_names_are(drawing: GraphDrawing) -> None:
    text = dot(drawing)
    text.encode()
    lines = text.split("\n")[:-1]
    nodes = [path(found[1]) for line in lines if (found := NODE.fullmatch(line))]
    edges = [(path(found[1]), path(found[2])) for line in lines if (found := EDGE.fullmatch(line))]
    assert [line for line in lines if not any(form.fullmatch(line) for form in (NODE, EDGE, OTHER))] == []
    channels = [(package.name, channel) for package in drawing.packages for channel in package.channels]
    assert nodes == [(package, channel.name, node.name) for package, channel in channels for node in channel.all_nodes]
    assert edges == [
        ((package, channel.name, edge.old), (package, channel.name, edge.new))
        for package, channel in channels
        for edge in channel.edges
    ]
    assert dot(drawing) == text


def test_names_have_identifiers_of_their_own() -> None:
    paths = [("p", one, other) for one in [*HOSTILE, "a/b", "a%2Fb"] for other in ["", "b", "/b"]]
    assert len({identifier(*one) for one in paths}) == len(paths)


def test_labels_hold_no_escapes_of_graphviz() -> None:
    assert quoted_label('\\N "x"\n&amp;') == '"\\\\N \\"x\\"\ufffd&amp;amp;"'


def test_states_have_attributes_of_their_own() -> None:
    entries = [entry("p.v2.0.0", skips=["p.v1.0.0"]), entry("p.v1.0.0", "p.v0.1.0")]
    packages = indexed(catalog({"a": entries}, deprecated={"p.v1.0.0": "old"}))
    text = dot(graph_drawing(packages, DrawingOptions(draw_v0_semantics=True)))
    head, skipped, dangling, skip, dead = (line for line in text.splitlines() if line.startswith('      "p/'))
    assert "peripheries=2" in head
    assert 'tooltip="deprecated: old"' in skipped
    assert "penwidth=3" in skipped
    assert 'style="rounded,dashed"' in dangling
    assert "style=dashed" in skip
    assert 'class="dead"' in dead
