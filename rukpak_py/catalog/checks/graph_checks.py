"""Rules for the upgrade graph of each channel: one head, from which every entry can be reached.

A channel is told one of these at a time: with several heads, or none, there is no chain to look at. The message begins
as upstream's; the advice names the edge that is missing or wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rukpak_py.catalog.channel_graph import ChannelGraph
from rukpak_py.catalog.checks.graph_causes import (
    EXPLAINED,
    Remedy,
    cycle,
    end_of_chain,
    missing_edges,
    stranding_edges,
    wrong_edges,
)
from rukpak_py.catalog.checks.package_versions import PackageVersions
from rukpak_py.catalog.checks.places import place_in, place_of_entry
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.model import Channel
from rukpak_py.core.go_text import quoted
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[WholeCatalog] = Family(title="Upgrade graphs", origin="operator-framework/operator-registry")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Subject:
    channel: Channel
    graph: ChannelGraph
    versions: PackageVersions

    @property
    def name(self) -> str:
        return f"(channel {quoted(self.channel.name)} of package {quoted(self.channel.package)})"


def _graphs(whole: WholeCatalog) -> Iterator[_Subject]:
    """Channels with entries, and whose entries can be told apart."""
    for index in whole.packages.values():
        versions = PackageVersions(index=index)
        for name, graph in index.graphs.items():
            if graph.entries:
                yield _Subject(channel=index.channels[name], graph=graph, versions=versions)


@FAMILY.rule(
    "FBC-M07",
    title="A channel has a head",
    hint="Let one entry, the newest, be named by no `replaces` and no `skips` of the channel.",
)
def channel_has_a_head(whole: WholeCatalog) -> Iterator[Problem]:
    for one in _graphs(whole):
        if not one.graph.heads:
            path = cycle(one.graph, one.versions)
            message = f"no channel head found in graph: {' -> '.join(path)} {one.name}"
            wrong = list(wrong_edges(path, one.graph, one.versions))
            yield Problem(message=message, place=_place(one, wrong), hint=_advice(wrong))


@FAMILY.rule(
    "FBC-M08",
    title="A channel has one head",
    hint="Name every entry but the newest in `replaces` or `skips` of a newer one; a `skipRange` is no edge.",
)
def channel_has_one_head(whole: WholeCatalog) -> Iterator[Problem]:
    for one in _graphs(whole):
        if len(one.graph.heads) > 1:
            message = f"multiple channel heads found in graph: {', '.join(one.graph.heads)} {one.name}"
            missing = missing_edges(one.graph, one.versions)
            place = place_of_entry(one.channel, missing[0].name, "name")
            more = len(one.graph.heads) - 1 - len(missing)
            hint = _advice(missing, f"So for {more} more." if more else "")
            yield Problem(message=message, place=place, hint=hint)


@FAMILY.rule(
    "FBC-M09",
    title="No chain of `replaces` leads in a cycle",
    hint="Remove the `replaces` of the oldest entry of the cycle.",
)
def chain_has_an_end(whole: WholeCatalog) -> Iterator[Problem]:
    for one in _graphs(whole):
        cycle = one.graph.chain.cycle
        if cycle:
            message = f"detected cycle in replaces chain of upgrade graph: {' -> '.join(cycle)} {one.name}"
            wrong = list(wrong_edges(cycle, one.graph, one.versions))
            yield Problem(message=message, place=_place(one, wrong), hint=_advice(wrong))


@FAMILY.rule(
    "FBC-M10",
    title="Every entry leads to the head of its channel",
    hint="Let an entry of the chain below the head replace them, or skip them.",
)
def no_entry_is_stranded(whole: WholeCatalog) -> Iterator[Problem]:
    for one in _graphs(whole):
        stranded = one.graph.stranded
        if stranded:
            message = f"channel contains one or more stranded bundles: {', '.join(stranded)} {one.name}"
            place = place_of_entry(one.channel, stranded[0], "name")
            advice = _advice(stranding_edges(one.graph, one.versions))
            hint = f"{end_of_chain(one.graph)} {advice or ''}".rstrip()
            yield Problem(message=message, place=place, hint=hint)


def _place(one: _Subject, wrong: list[Remedy]) -> Place:
    if not wrong:
        return place_in(one.channel.origin, "entries")
    return place_of_entry(one.channel, wrong[0].entry, wrong[0].field)


def _advice(remedies: list[Remedy], more: str = "") -> str | None:
    texts = [remedy.text for remedy in remedies[:EXPLAINED]]
    return " ".join([*texts, *([more] if more else [])]) if texts else None
