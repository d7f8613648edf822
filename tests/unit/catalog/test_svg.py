"""The SVG of upgrade graphs: well-formed and complete whatever the names are, and nothing covers anything else."""

import re
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from rukpak_py.catalog.drawing import svg as svg_file
from rukpak_py.catalog.drawing.graph_model import DrawingOptions, EdgeKind, GraphDrawing, Node, graph_drawing
from rukpak_py.catalog.drawing.svg import svg
from rukpak_py.catalog.drawing.svg_lane import lane
from rukpak_py.catalog.drawing.svg_routes import BOX, Column, Routes
from rukpak_py.catalog.drawing.svg_style import COLOURS
from tests.unit.catalog.upgrade_graphs import HOSTILE, catalog, drawn, entry, indexed, random_drawings

NAMESPACE = "{http://www.w3.org/2000/svg}"
Rectangle = tuple[float, float, float, float]

CHAIN = [
    entry("p.v1.2.0", "p.v1.1.0", skip_range=">=1.0.0 <1.2.0"),
    entry("p.v1.1.0", "p.v1.0.0"),
    entry("p.v1.0.0"),
]


def elements(root: ET.Element, tag: str, of_class: str) -> list[ET.Element]:
    return [one for one in root.iter(NAMESPACE + tag) if of_class in one.get("class", "").split()]


def parsed(drawing: GraphDrawing) -> ET.Element:
    return ET.fromstring(svg(drawing).encode())  # noqa: S314 - written by the test itself


def tooltip(node: Node) -> str:
    version = f"version {node.version}" if node.version else "no version"
    message = (
        [] if node.deprecation is None else [f"deprecated: {node.deprecation}" if node.deprecation else "deprecated"]
    )
    text = "\n".join([*([node.name] if node.name else []), version, *message])
    return re.sub("[\x00-\x09\x0b-\x1f\ud800-\udfff\u202e]", "\ufffd", text)


def rectangles(root: ET.Element, of_class: str) -> list[Rectangle]:
    """Rectangles in coordinates of the page: those of a class, or in a group of that class."""
    found: list[Rectangle] = []
    pending = [(root, 0.0, 0.0, False)]
    while pending:
        element, x, y, is_inside = pending.pop()
        if moved := re.fullmatch(r"translate\((\S+) (\S+)\)", element.get("transform", "")):
            x, y = x + float(moved[1]), y + float(moved[2])
        is_inside = is_inside or of_class in element.get("class", "").split()
        if element.tag == NAMESPACE + "rect" and is_inside:
            left, top = x + float(element.get("x", 0)), y + float(element.get("y", 0))
            found.append((left, top, left + float(element.get("width", 0)), top + float(element.get("height", 0))))
        pending.extend((child, x, y, is_inside) for child in element)
    return found


def overlap(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@given(random_drawings())
def test_file_is_well_formed_and_has_each_bundle_and_edge_whatever_the_names_are(drawing: GraphDrawing) -> None:
    root = parsed(drawing)
    channels = [channel for package in drawing.packages for channel in package.channels]
    titled = [(one, one.findtext(f"{NAMESPACE}title")) for one in root.iter(f"{NAMESPACE}g")]
    titles = [title for one, title in titled if title is not None and "node" in one.get("class", "")]
    assert sorted(titles) == sorted(tooltip(node) for channel in channels for node in channel.all_nodes)
    arrows = [one for one, title in titled if title is not None and one.find(f"{NAMESPACE}path[@class]") is not None]
    lines = [
        (number, edge.kind, edge.new, edge.is_dead, position if edge.kind is EdgeKind.REPLACE else 0)
        for number, channel in enumerate(channels)
        for position, edge in enumerate(channel.edges)
    ]
    assert len(arrows) == len(set(lines))
    assert svg(drawing) == svg(drawing)


@given(random_drawings())
def test_rectangles_overlap_nothing_and_stay_on_the_page(drawing: GraphDrawing) -> None:
    root = parsed(drawing)
    page = (0.0, 0.0, float(root.get("width", 0)), float(root.get("height", 0)))
    lanes, boxes = rectangles(root, "lane"), rectangles(root, "node")
    for of_kind in (lanes, boxes):
        assert not any(overlap(one, other) for one, other in combinations(of_kind, 2))
        assert all(overlap(one, page) and one[2] <= page[2] and one[3] <= page[3] for one in of_kind)
    channels = [channel for package in drawing.packages for channel in package.channels]
    inside = [box for box in boxes if any(one[0] < box[0] and box[2] < one[2] and overlap(one, box) for one in lanes)]
    assert len(inside) == sum(len(channel.all_nodes) for channel in channels)


@given(random_drawings())
def test_each_edge_is_part_of_one_line(drawing: GraphDrawing) -> None:
    for package in drawing.packages:
        for channel in package.channels:
            edges = [edge for route in lane(package.name, channel).routes for edge in route.edges]
            assert sorted(map(repr, edges)) == sorted(map(repr, channel.edges))


def test_lines_on_one_side_share_a_track_only_in_rows_of_their_own() -> None:
    versions = [f"p.v1.{minor}.0" for minor in range(12)]
    entries = [
        entry(name, versions[row - 3] if row > 2 else "", versions[max(row - 5, 0) : max(row - 3, 0)])
        for row, name in enumerate(versions)
    ]
    routes = lane("p", drawn(entries)).routes
    spans = [re.findall(r"Q(\S+) \S+ \S+ (\S+?)V(\S+?)Q", route.path) for route in routes]
    trunks = sorted((x, *sorted(map(float, ends))) for found in spans for x, *ends in found)
    for (x, _, end), (other, start, _) in pairwise(trunks):
        assert x != other or end < start


def test_replacement_of_the_next_version_is_a_straight_arrow() -> None:
    (route, _) = lane(
        "p", drawn([entry("p.v1.1.0", "p.v1.0.0"), entry("p.v1.0.0", "p.v0.8.0"), entry("p.v0.9.0")])
    ).routes
    assert re.fullmatch(r"M\S+ \S+V\S+", route.path)


def test_skips_of_one_entry_are_one_line_with_a_branch_for_each() -> None:
    skips = [f"p.v1.{minor}.0" for minor in range(5)]
    (route,) = lane("p", drawn([entry("p.v2.0.0", skips=skips)])).routes
    assert len(route.edges) == route.path.count("M") == 5


def test_range_is_one_bracket_with_a_dot_for_each_version_in_it() -> None:
    entries = [entry("p.v2.0.0", skip_range="<1.4.0")] + [entry(f"p.v1.{minor}.0") for minor in range(6)]
    one = lane("p", drawn(entries))
    (route,) = one.routes
    rows = {box.node.name: box.middle for box in one.boxes}
    column = one.boxes[0].x + one.boxes[0].width
    assert [round(y - rows[f"p.v1.{minor}.0"]) for minor, (_, y) in zip((3, 2, 1, 0), route.dots, strict=True)] == [
        4
    ] * 4
    assert all(x > column for x, _ in route.dots)
    assert [text.text for text in one.ranges] == ["<1.4.0"]


def test_range_in_which_no_version_is_left_is_told_all_the_same() -> None:
    one = lane("p", drawn([entry("p.v2.0.0", skip_range="<1.0.0")]))
    assert (one.routes, [text.text for text in one.ranges]) == ((), ["<1.0.0"])


def test_labels_are_versions_and_where_two_have_one_the_names() -> None:
    entries = [entry("p.v1.0.0", "p.v0.9.0"), entry("p.one"), entry("p.two")]
    drawing = graph_drawing(indexed(catalog({"a": entries}, versions={"p.one": "0.1.0", "p.two": "0.1.0"})))
    labels = [box.label for box in lane("p", drawing.packages[0].channels[0]).boxes]
    assert labels == ["1.0.0", "v0.9.0", "p.one", "p.two"]


@pytest.mark.parametrize("name", ["p.v1.5.0", "a-v1.5.0", "a.1.5.0", "a.v0.v1.5.0-rc.1"])
def test_bundle_that_is_not_in_the_channel_stands_where_its_name_says(name: str) -> None:
    boxes = lane("p", drawn([entry("p.v2.0.0", skips=[name, "other"]), entry("p.v1.0.0")])).boxes
    assert [box.node.name for box in boxes] == ["p.v2.0.0", name, "p.v1.0.0", "other"]


def test_tooltips_have_the_full_name_and_the_message_of_a_deprecation() -> None:
    name = f"p.v1.0.0-{'x' * 60}"
    packages = indexed(catalog({"a": [entry(name)]}, deprecated={name: 'use "2" <&>'}))
    root = parsed(graph_drawing(packages))
    (node,) = [one for one in elements(root, "g", "node") if one.find(f"{NAMESPACE}title") is not None]
    assert node.findtext(f"{NAMESPACE}title") == f'{name}\nversion 1.0.0-{"x" * 60}\ndeprecated: use "2" <&>'
    assert len(node.findtext(f"{NAMESPACE}text", "")) == 40


def test_file_refers_to_nothing_and_runs_nothing() -> None:
    channels = {name: [entry(other, name) for other in HOSTILE] for name in HOSTILE}
    root = parsed(graph_drawing(indexed(catalog(channels))))
    allowed = {"svg", "title", "style", "g", "rect", "path", "text"}
    assert {one.tag.removeprefix(NAMESPACE) for one in root.iter()} == allowed
    assert not any(name.startswith("on") or "href" in name for one in root.iter() for name in one.attrib)
    assert "url(" not in (root.findtext(f"{NAMESPACE}style") or "")


def test_legend_explains_only_what_the_picture_has() -> None:
    root = parsed(graph_drawing(indexed(catalog({"a": CHAIN}))))
    words = [one.text for one in elements(root, "text", "legend")]
    assert words == ["replaces", "skipRange, a dot for each version in it", "head of the channel"]


def test_catalog_without_channels_is_a_picture_that_says_so() -> None:
    assert "No channel to draw." in svg(GraphDrawing(packages=(), warnings=()))


@pytest.mark.parametrize(("limit", "noun"), [("MAX_NODES", "3 versions"), ("MAX_EDGES", "4 edges")])
def test_picture_that_is_too_large_is_refused(limit: str, noun: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = graph_drawing(indexed(catalog({"a": CHAIN})))
    monkeypatch.setattr(svg_file, limit, 2)
    with pytest.raises(ValueError, match=rf"{noun} cannot be read \(at most 2\): choose a package or a channel"):
        svg(drawing)


def test_largest_picture_is_drawn() -> None:
    number = svg_file.MAX_NODES
    entries = [
        entry(f"p.v1.{minor}.0", f"p.v1.{minor // 2}.0", [f"p.v1.{minor // 3}.0"], f">=1.{minor - 3}.0 <1.{minor}.0")
        for minor in range(3, number)
    ]
    assert svg(graph_drawing(indexed(catalog({"a": entries})), DrawingOptions(draw_v0_semantics=True)))


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def colour_of(selector: str, name: str, screen: int) -> str:
    return dict(one.split(":") for one in COLOURS[selector][screen].split(";"))[name]


TEXTS = [
    ("text", ".page"),
    ("text", ".lane"),
    ("text", ".node rect"),
    ("text", ".deprecated rect"),
    (".head text", ".head rect"),
    (".head text", ".head.deprecated rect"),
    (".muted", ".lane"),
    (".dangling .label", ".lane"),
    (".badge.deprecated", ".deprecated rect"),
    (".badge.deprecated", ".lane"),
    (".badge.skipped", ".node rect"),
    (".badge.skipped", ".deprecated rect"),
    (".badge.default", ".lane"),
    (".range-text", ".lane"),
    (".range-text.muted", ".lane"),
]
LINES = [".replace", ".skip", ".skipRange", ".dead", ".node rect", ".skipped rect", ".deprecated rect"]


@pytest.mark.parametrize("screen", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("name", "kind", "ground", "least"),
    [*((name, "fill", ground, 4.5) for name, ground in TEXTS), *((name, "stroke", ".lane", 3.0) for name in LINES)],
)
def test_colours_have_contrast(name: str, kind: str, ground: str, least: float, screen: int) -> None:
    one, other = luminance(colour_of(name, kind, screen)), luminance(colour_of(ground, "fill", screen))
    assert (max(one, other) + 0.05) / (min(one, other) + 0.05) >= least


def test_routes_of_no_edges_need_no_room() -> None:
    routes = Routes([], {})
    assert (routes.left_width, routes.right_width, [*routes.beside(Column(x=0, width=BOX))]) == (0.0, 0.0, [])
