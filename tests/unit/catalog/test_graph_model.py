"""Nodes and edges of a picture: their order, and what a bundle that is skipped does to them."""

import pytest

from rukpak_py.catalog.drawing import graph_model
from rukpak_py.catalog.drawing.graph_model import (
    ChannelDrawing,
    DrawingOptions,
    WarningKind,
    graph_drawing,
)
from rukpak_py.catalog.model import Entry
from tests.unit.catalog.upgrade_graphs import catalog, drawn, entry, indexed

CHAIN = [
    entry("p.v1.2.0", "p.v1.1.0", skip_range=">=1.0.0 <1.2.0"),
    entry("p.v1.0.0"),
    entry("p.v1.1.0", "p.v1.0.0"),
]


def edges(channel: ChannelDrawing) -> list[str]:
    return [
        f"{one.old.removeprefix('p.v')} {one.kind.value} {one.new.removeprefix('p.v')}{' dead' * one.is_dead}"
        for one in channel.edges
    ]


def names(channel: ChannelDrawing) -> list[str]:
    return [node.name for node in channel.nodes]


def test_entries_stand_from_the_highest_version_to_the_lowest() -> None:
    entries = [entry(f"p.v{version}") for version in ("1.2.0", "1.10.0", "1.10.0-rc.1", "1.9.0")]
    assert names(drawn(entries)) == ["p.v1.10.0", "p.v1.10.0-rc.1", "p.v1.9.0", "p.v1.2.0"]


def test_bundles_of_the_same_version_keep_the_order_of_the_file() -> None:
    assert names(drawn([entry("p.v1.0.0+2"), entry("p.v1.0.0+1")])) == ["p.v1.0.0+2", "p.v1.0.0+1"]


def test_edges_of_an_entry_are_skips_then_the_range_then_the_replacement() -> None:
    channel = drawn([entry("p.v1.2.0", "p.v1.1.0", ["p.v1.1.0", "p.v1.0.0"], "<1.2.0"), *CHAIN[1:]])
    assert edges(channel) == [
        "1.1.0 skip 1.2.0",
        "1.0.0 skip 1.2.0",
        "1.0.0 skipRange 1.2.0",
        "1.1.0 skipRange 1.2.0",
        "1.1.0 replace 1.2.0",
        "1.0.0 replace 1.1.0 dead",
    ]


def test_range_that_contains_its_own_version_leads_to_itself() -> None:
    assert edges(drawn([entry("p.v1.0.0", skip_range="<=1.0.0")])) == ["1.0.0 skipRange 1.0.0"]


def test_skipped_entry_contributes_dead_edges() -> None:
    skipped = entry("p.v2.0.0", "p.v1.0.0", skip_range="<2.0.0")
    channel = drawn([entry("p.v3.0.0", skips=["p.v2.0.0"]), skipped, CHAIN[1]])
    assert edges(channel) == ["2.0.0 skip 3.0.0", "1.0.0 skipRange 2.0.0 dead", "1.0.0 replace 2.0.0 dead"]
    assert [node.name for node in channel.nodes if node.is_skipped] == ["p.v2.0.0"]


def test_second_skip_of_a_bundle_is_dead() -> None:
    channel = drawn([entry("p.v3.0.0", skips=["p.v1.0.0"]), entry("p.v2.0.0", skips=["p.v1.0.0"]), CHAIN[1]])
    assert edges(channel) == ["1.0.0 skip 3.0.0", "1.0.0 skip 2.0.0 dead"]


def test_nothing_is_dead_or_skipped_without_the_semantics_of_v0() -> None:
    channel = drawn([entry("p.v2.0.0", skips=["p.v1.0.0"]), entry("p.v1.0.0", "p.v0.1.0")], v0=False)
    assert not any(edge.is_dead for edge in channel.edges)
    assert not any(node.is_skipped for node in channel.all_nodes)


def test_name_that_is_not_an_entry_is_dangling() -> None:
    channel = drawn([entry("p.v2.0.0", "p.v1.0.0", ["", "gone"])])
    assert [(node.name, node.is_dangling) for node in channel.all_nodes] == [
        ("p.v2.0.0", False),
        ("", True),
        ("gone", True),
        ("p.v1.0.0", True),
    ]


@pytest.mark.parametrize(
    ("entries", "heads"),
    [
        (CHAIN, ["p.v1.2.0"]),
        ([entry("p.v1.0.0"), entry("p.v2.0.0")], ["p.v2.0.0", "p.v1.0.0"]),
        ([entry("p.v1.0.0", "p.v1.0.0")], []),
    ],
)
def test_heads_are_the_entries_that_no_entry_replaces_or_skips(entries: list[Entry], heads: list[str]) -> None:
    assert [node.name for node in drawn(entries).nodes if node.is_head] == heads


def test_default_channel_and_deprecations_are_those_of_the_package() -> None:
    first = catalog({"a": CHAIN, "b": CHAIN}, deprecated={"package": "m", "b": "n", "p.v1.0.0": "o"})
    second = catalog({"b": [entry("p.v1.0.0")]}, package="q")
    p, q = graph_drawing(indexed(first, second)).packages
    assert (p.deprecation, q.deprecation) == ("m", None)
    assert [(one.name, one.is_default, one.deprecation) for one in p.channels] == [("a", True, None), ("b", False, "n")]
    assert [node.deprecation for node in p.channels[0].nodes] == [None, None, "o"]
    assert [node.deprecation for node in q.channels[0].nodes] == [None]


def test_minimum_edge_keeps_what_leads_up_from_it() -> None:
    channel = drawn([*CHAIN, entry("p.v0.9.0", "p.v0.8.0")], minimum_edge="p.v1.1.0")
    assert names(channel) == ["p.v1.2.0", "p.v1.1.0"]
    assert edges(channel) == ["1.1.0 skipRange 1.2.0", "1.1.0 replace 1.2.0"]


def test_entry_whose_only_edge_is_an_invalid_range_stays_above_the_minimum_edge() -> None:
    entries = [entry("p.v2.0.0", skip_range="^1"), entry("p.v1.0.0"), entry("p.v0.1.0", skip_range="^1")]
    assert names(drawn(entries, minimum_edge="p.v1.0.0")) == ["p.v2.0.0", "p.v1.0.0"]


def test_entry_that_the_minimum_edge_leaves_out_is_not_dangling() -> None:
    entries = [entry("p.v3.0.0", "p.v2.0.0"), entry("p.v2.0.0", "p.v0.1.0"), entry("p.v1.0.0")]
    (left_out,) = drawn(entries, minimum_edge="p.v1.0.0").named
    assert (left_out.name, left_out.is_dangling) == ("p.v2.0.0", False)


def test_minimum_edge_leaves_out_other_packages_and_channels_without_entries() -> None:
    first = catalog({"a": CHAIN, "old": [entry("p.v0.1.0")]})
    options = DrawingOptions(minimum_edge="p.v1.1.0")
    (package,) = graph_drawing(indexed(first, catalog({"a": [entry("q.v9.0.0")]}, package="q")), options).packages
    assert (package.name, [channel.name for channel in package.channels]) == ("p", ["a"])


def test_unknown_minimum_edge_is_refused() -> None:
    with pytest.raises(ValueError, match='unknown minimum edge name: "no"'):
        drawn(CHAIN, minimum_edge="no")


def test_package_and_channels_are_chosen_by_name() -> None:
    packages = indexed(catalog({"a": CHAIN, "b": CHAIN}), catalog({"a": [entry("q.v1.0.0")]}, package="q"))
    (package,) = graph_drawing(packages, DrawingOptions(package="p", channels=frozenset({"b"}))).packages
    assert (package.name, [channel.name for channel in package.channels]) == ("p", ["b"])
    assert graph_drawing(packages, DrawingOptions(package="none")).packages == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("^1.0.0", 'Could not parse Range "^1.0.0": Could not parse comparator "^" in "^1.0.0"'),
        ("1.0.0 || || 2.0.0", "Nothing stands between '||' and '||' in range"),
    ],
)
def test_invalid_range_is_a_warning(text: str, reason: str) -> None:
    drawing = graph_drawing(indexed(catalog({"a": [entry("p.v1.0.0", skip_range=text)]})))
    (warning,) = drawing.warnings
    assert warning.kind is WarningKind.INVALID_RANGE
    assert warning.text == f'ignoring invalid SkipRange for package/edge "p"/"p.v1.0.0": {reason}'
    assert (warning.package, warning.channel, warning.bundle) == ("p", "a", "p.v1.0.0")


def test_invalid_version_is_a_warning_and_the_lowest() -> None:
    drawing = graph_drawing(indexed(catalog({"a": CHAIN}, versions={"p.v1.2.0": "v1"})))
    (warning,) = drawing.warnings
    assert warning.kind is WarningKind.INVALID_VERSION
    assert warning.text == 'bundle "p.v1.2.0" has invalid version "v1": No Major.Minor.Patch elements found'
    assert names(drawing.packages[0].channels[0])[-1] == "p.v1.2.0"


def test_entry_without_a_bundle_is_drawn_without_a_version() -> None:
    drawing = graph_drawing(indexed(catalog({"a": CHAIN}, versions={"p.v1.0.0": "none"})))
    assert [node.version for node in drawing.packages[0].channels[0].nodes] == ["1.2.0", "1.1.0", ""]
    assert drawing.warnings == ()


def test_too_many_edges_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_model, "MAX_EDGES", 4)
    graph_drawing(indexed(catalog({"a": CHAIN})))
    with pytest.raises(ValueError, match="more than 4 edges: choose a package or a channel"):
        graph_drawing(indexed(catalog({"a": CHAIN, "b": CHAIN})))


def test_ten_thousand_ranges_that_contain_nothing_are_found_fast() -> None:
    number = 10_000  # one by one these are 100 million comparisons
    entries = [entry(f"p.v1.{minor}.0", skip_range=f">2.{minor}.0 || >3.0.0 <2.0.0") for minor in range(number)]
    assert drawn(entries).edges == ()
