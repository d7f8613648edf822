"""Mermaid text: its lines, and that no name can become syntax."""

import re

import pytest
from hypothesis import given

from rukpak_py.catalog.drawing.graph_model import DrawingOptions, GraphDrawing, graph_drawing
from rukpak_py.catalog.drawing.mermaid import VIEWER_MAX_EDGES, beyond_viewer, escaped, is_plain, mermaid
from tests.unit.catalog.upgrade_graphs import catalog, entry, indexed, random_drawings

LABEL = r'"[^"\n`%\[\]{}\\:;]*(?:#(?:\d+|quot|lt|amp);[^"\n`%\[\]{}\\:;]*)*"'
IDENTIFIER = r"[A-Za-z0-9_](?:[A-Za-z0-9_.+]|-(?=[A-Za-z0-9_]))*"
NODE = rf"{IDENTIFIER}\[{LABEL}\]"
LINES = (
    "graph LR",
    r"  classDef \w+ [\w:#,-]+",
    rf"  %% package {LABEL}",
    rf"  subgraph (?:{LABEL}|{NODE})",
    rf"    %% channel {LABEL}",
    rf"    subgraph {NODE}",
    rf"      {NODE}",
    rf"      {NODE}-- (?:skip|replace|{LABEL}) --> {NODE}",
    "(?:    |  )end",
    rf"style {IDENTIFIER} fill:#\w+",
    rf"class {IDENTIFIER}(?:,{IDENTIFIER})* (?:deprecated|deprecatedskipped|skipped)",
    r"linkStyle \d+(?:,\d+)* stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;",
)
LINE = re.compile("|".join(LINES))


def text_of(*catalogs: object, v0: bool = True) -> str:
    return mermaid(graph_drawing(indexed(*catalogs), DrawingOptions(draw_v0_semantics=v0)))  # type: ignore[arg-type]


def test_text_of_a_package_with_everything() -> None:
    entries = [
        entry("p.v3.0.0", "p.v2.0.0", ["p.v2.0.0"]),
        entry("p.v2.0.0", "p.v1.0.0", skip_range=">=1.0.0 <2.0.0"),
        entry("p.v1.0.0"),
    ]
    deprecated = {"package": "", "a": "", "p.v2.0.0": "", "p.v1.0.0": ""}
    assert (
        text_of(catalog({"a": entries}, deprecated=deprecated))
        == """\
graph LR
  classDef deprecated fill:#E8960F
  classDef skipped stroke:#FF0000,stroke-width:4px
  classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px
  %% package "p"
  subgraph "p"
    %% channel "a"
    subgraph p-a["a"]
      p-a-p.v3.0.0["p.v3.0.0"]
      p-a-p.v2.0.0["p.v2.0.0"]-- skip --> p-a-p.v3.0.0["p.v3.0.0"]
      p-a-p.v2.0.0["p.v2.0.0"]-- replace --> p-a-p.v3.0.0["p.v3.0.0"]
      p-a-p.v2.0.0["p.v2.0.0"]
      p-a-p.v1.0.0["p.v1.0.0"]-- "skipRange(>=1.0.0 <2.0.0)" --> p-a-p.v2.0.0["p.v2.0.0"]
      p-a-p.v1.0.0["p.v1.0.0"]-- replace --> p-a-p.v2.0.0["p.v2.0.0"]
      p-a-p.v1.0.0["p.v1.0.0"]
    end
  end
style p fill:#989695
style p-a fill:#DCD0FF
class p-a-p.v1.0.0 deprecated
class p-a-p.v2.0.0 deprecatedskipped
linkStyle 2,3 stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;
"""
    )


def test_deprecations_of_one_package_style_nothing_of_another() -> None:
    first = catalog({"a": [entry("x.v1.0.0")]}, deprecated={"package": "", "a": "", "x.v1.0.0": ""})
    lines = text_of(first, catalog({"a": [entry("x.v1.0.0")]}, package="q")).splitlines()
    assert lines[-3:] == ["style p fill:#989695", "style p-a fill:#DCD0FF", "class p-a-x.v1.0.0 deprecated"]


def test_each_deprecated_package_is_styled() -> None:
    packages = [catalog({"a": []}, package=name, deprecated={"package": ""}) for name in "pq"]
    assert text_of(*packages).splitlines()[-2:] == ["style p fill:#989695", "style q fill:#989695"]


def test_links_are_numbered_as_they_are_printed_across_packages() -> None:
    entries = [entry("v.v2.0.0", skips=["v.v1.0.0"]), entry("v.v1.0.0", "v.v0.1.0")]
    lines = text_of(catalog({"z": entries}), catalog({"a": entries}, package="q")).splitlines()
    links = [line for line in lines if "-->" in line]
    assert lines[-1].startswith("linkStyle 1,3 ")
    assert all("-- replace -->" in links[number] for number in (1, 3))


def test_names_that_join_to_the_same_have_identifiers_of_their_own() -> None:
    text = text_of(catalog({"b-c": [entry("d")]}, package="a"), catalog({"c": [entry("d")]}, package="a-b"))
    identifiers = re.findall(r'^ +(\S+)\["d"\]$', text, re.MULTILINE)
    assert len(identifiers) == len(set(identifiers)) == 2


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("rabbitmq-cluster-operator-stable-v1.0.0+1", True),
        ("clickhouse-a", True),
        ("graphql", True),
        ("click-a", False),
        ("end", False),
        ("style.v1", False),
        ("a--b", False),
        ("a-", False),
        ("a-.b", False),
        ("a b", False),
        ("", False),
    ],
)
def test_plain_identifiers(name: str, plain: bool) -> None:  # noqa: FBT001 - a table
    assert is_plain(name) is plain


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (">=1.0.0 <2.0.0", ">=1.0.0 <2.0.0"),
        ("<script>", "#lt;script>"),
        ('a"b]', "a#quot;b#93;"),
        ("a\nb", "a#10;b"),
        ("%%{init}", "#37;#37;#123;init#125;"),
        ("#quot;&", "#35;quot#59;#amp;"),
        ("\ud800", "#65533;"),
        ("", "(no name)"),
    ],
)
def test_labels_hold_entity_codes_for_syntax(text: str, label: str) -> None:
    assert escaped(text) == label


@given(random_drawings())
def test_lines_have_the_form_of_a_graph_whatever_the_names_are(drawing: GraphDrawing) -> None:
    text = mermaid(drawing)
    text.encode()
    assert [line for line in text.splitlines() if not LINE.fullmatch(line)] == []
    assert text.count('"]-- ') == sum(len(one.edges) for package in drawing.packages for one in package.channels)
    assert mermaid(drawing) == text


def test_limits_of_viewers_are_told() -> None:
    skips = [f"p.v1.{minor}.0" for minor in range(VIEWER_MAX_EDGES + 1)]
    large = graph_drawing(indexed(catalog({"a": [entry("p.v2.0.0", skips=skips)]})))
    assert beyond_viewer(large, "") == "500 edges, and Mermaid shows 499 unless configured for more"
    small = graph_drawing(indexed(catalog({"a": []})))
    assert beyond_viewer(small, "") is None
    assert (
        beyond_viewer(small, "x" * 50_001) == "50,001 characters, and Mermaid shows 50,000 unless configured for more"
    )
