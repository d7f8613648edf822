"""Rules of the upgrade graph: against a search that follows edges one by one, and what they advise."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.catalog.channel_graph import ChannelGraph
from rukpak_py.catalog.checks.graph_causes import cycle, missing_edges, stranding_edges, wrong_edges
from rukpak_py.catalog.checks.package_versions import PackageVersions
from rukpak_py.catalog.checks.rules import problems_of_catalog
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.model import Bundle, Catalog, Channel, Entry, Package
from rukpak_py.catalog.package_index import PackageIndex
from tests.unit.catalog.samples import Json, errors, sample

NAMES = [f"p.v{number}.0.0" for number in range(6)]
VERSIONS = PackageVersions(index=PackageIndex(name="p"))


@st.composite
def graphs(draw: st.DrawFn) -> ChannelGraph:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1))
    entries = [
        Entry(
            name=name,
            replaces=draw(st.sampled_from(["", "p.v9.0.0", "p.v3.0", *NAMES])),
            skips=tuple(draw(st.lists(st.sampled_from(NAMES), max_size=2))),
        )
        for name in names
    ]
    return ChannelGraph.of(entries)


def expected_rule(graph: ChannelGraph) -> str | None:
    """Found by trying, for every entry, whether some entry leads to it."""
    entries = list(graph.entries.values())
    heads = [one for one in entries if not any(one.name in {other.replaces, *other.skips} for other in entries)]
    if len(heads) != 1:
        return "FBC-M08" if heads else "FBC-M07"
    is_skipped = {name for one in entries for name in one.skips}
    path = [heads[0].name]
    while True:
        (below,) = [one.replaces for one in entries if one.name == path[-1]]
        if below in is_skipped or below not in graph.entries:
            break
        if below in path:
            return "FBC-M09"
        path.append(below)
    reached = all(one.name in path or one.name in is_skipped for one in entries)
    return None if reached else "FBC-M10"


def found_rules(graph: ChannelGraph) -> list[str]:
    catalog = Catalog(
        packages=(Package(name="p", default_channel="a"),),
        channels=(Channel(package="p", name="a", entries=tuple(graph.entries.values())),),
        bundles=tuple(Bundle(package="p", name=name) for name in graph.entries),
    )
    return [rule.id for rule, _ in problems_of_catalog(WholeCatalog(catalog=catalog))]


@given(graphs())
def test_channel_is_refused_by_the_one_rule_that_a_search_finds(graph: ChannelGraph) -> None:
    expected = expected_rule(graph)
    assert found_rules(graph) == ([expected] if expected else [])


@given(graphs())
def test_missing_edges_leave_one_head(graph: ChannelGraph) -> None:
    if len(graph.heads) < 2:
        return
    entries = dict(graph.entries)
    for edge in missing_edges(graph, VERSIONS):
        entry = entries[edge.entry]
        if edge.field == "replaces":
            entries[edge.entry] = Entry(name=entry.name, replaces=edge.name, skips=entry.skips)
        else:
            entries[edge.entry] = Entry(name=entry.name, replaces=entry.replaces, skips=(*entry.skips, edge.name))
    assert len(ChannelGraph(entries).heads) == 1


@given(graphs())
def test_cycle_is_one_and_has_a_wrong_edge(graph: ChannelGraph) -> None:
    if graph.heads:
        return
    path = cycle(graph, VERSIONS)
    assert path[0] == path[-1]
    assert len(set(path)) == len(path) - 1
    for entry, name in pairwise(path):
        assert name in {graph.entries[entry].replaces, *graph.entries[entry].skips}
    assert list(wrong_edges(path, graph, VERSIONS))


@given(graphs())
def test_stranded_entries_are_explained(graph: ChannelGraph) -> None:
    if graph.stranded:
        assert stranding_edges(graph, VERSIONS)


@pytest.mark.parametrize(
    ("entries", "rule", "path", "hint"),
    [
        pytest.param(
            ["v1", "v2", "v3 replaces v2"],
            "FBC-M08",
            "entries[0].name",
            '"p.v1.0.0" is replaced by no entry: set `replaces: p.v1.0.0` in "p.v2.0.0".',
            id="the next newer entry replaces nothing yet",
        ),
        pytest.param(
            ["v1", "v1.5", "v2 replaces v1"],
            "FBC-M08",
            "entries[1].name",
            '"p.v1.5.0" is replaced by no entry: add "p.v1.5.0" to `skips` of "p.v2.0.0".',
            id="the next newer entry replaces another",
        ),
        pytest.param(
            ["v10", {"name": "p.v11.0.0", "replaces": "p.v10.0"}, "v12 replaces v11"],
            "FBC-M08",
            "entries[0].name",
            '"p.v11.0.0" replaces "p.v10.0", which is no entry of the channel: set `replaces: p.v10.0.0` in '
            '"p.v11.0.0".',
            id="a name with a typing error",
        ),
        pytest.param(
            ["v10", "v11 replaces v9"],
            "FBC-M08",
            "entries[0].name",
            '"p.v10.0.0" is replaced by no entry; "p.v11.0.0" replaces "p.v9.0.0", which the channel does not have: '
            'add "p.v10.0.0" to `skips` of "p.v11.0.0".',
            id="the next newer entry replaces what is not there",
        ),
        pytest.param(
            ["v1", "v2 replaces v1", "v3 skips v2"],
            "FBC-M10",
            "entries[0].name",
            'The chain from the head "p.v3.0.0" ends at "p.v3.0.0", which replaces nothing. '
            '"p.v1.0.0" is replaced only by "p.v2.0.0", which "p.v3.0.0" skips, and a skipped entry contributes no '
            'edges: set `replaces: p.v1.0.0` in "p.v3.0.0".',
            id="the head skips what replaces it",
        ),
        pytest.param(
            ["v1", "v2 replaces v1", "v3 replaces v2 skips v2"],
            "FBC-M10",
            "entries[0].name",
            'The chain from the head "p.v3.0.0" ends at "p.v3.0.0", which replaces "p.v2.0.0", which is skipped. '
            '"p.v1.0.0" is replaced only by "p.v2.0.0", which "p.v3.0.0" skips, and a skipped entry contributes no '
            'edges: remove "p.v2.0.0" from `skips` of "p.v3.0.0".',
            id="replaced and skipped",
        ),
        pytest.param(
            ["v1 replaces v3", "v2 replaces v1", "v3 replaces v2", "v4 replaces v3"],
            "FBC-M09",
            "entries[0].replaces",
            '"p.v3.0.0" is not older than "p.v1.0.0", which replaces it: remove `replaces: p.v3.0.0` from "p.v1.0.0".',
            id="a cycle",
        ),
        pytest.param(
            ["v1 skips v1"],
            "FBC-M07",
            "entries[0].skips",
            '"p.v1.0.0" skips itself: remove "p.v1.0.0" from `skips` of "p.v1.0.0".',
            id="skips itself",
        ),
    ],
)
def test_advice_names_the_edge(entries: list[str | Json], rule: str, path: str, hint: str) -> None:
    (finding,) = errors(sample(*entries))
    assert (finding.rule, finding.path, finding.hint) == (rule, path, hint)


def test_many_heads_are_explained_in_part() -> None:
    (finding,) = errors(sample(*(f"v{number}" for number in range(30))))
    assert finding.hint.count("is replaced by no entry") == 10
    assert finding.hint.endswith("So for 19 more.")


def _in_seconds(entries: list[Entry]) -> float:
    start = time.process_time()
    found_rules(ChannelGraph.of(entries))
    return time.process_time() - start


@pytest.mark.parametrize("shape", ["chain", "cycle", "heads", "skips", "stranded"])
def test_ten_thousand_entries_are_checked_in_seconds(shape: str) -> None:
    names = [f"p.v1.{number}.0" for number in range(10_000)]
    below = dict(zip(names[1:], names, strict=False))
    many = tuple(names[5000:5090])
    lowest, skips = {"cycle": (names[-1], ()), "skips": ("", many), "stranded": ("", names[-2:-1])}.get(shape, ("", ()))
    entries = [
        Entry(name=name, replaces=f"{name}1" if shape == "heads" else below.get(name, lowest), skips=tuple(skips))
        for name in names
    ]
    assert _in_seconds(entries) < 5
