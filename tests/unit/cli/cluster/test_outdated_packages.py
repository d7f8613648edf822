"""The packages of a cluster against a catalog: the rows of `rukpakctl catalog outdated`, and what it prints of them."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import BUNDLE_INSTANCE_KIND, REGISTRY_CLASS
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.cli.cluster.outdated_packages import FoundDeployment, OutdatedRow, list_deployments, outdated
from rukpak_py.cli.reports import outdated as report
from rukpak_py.cli.terminal import Style
from rukpak_py.kube.answers import Page
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, Resource
from tests.unit.catalog.catalogs import catalog, entry, packages
from tests.unit.cli.cluster.catalog_deployments import annotations, deployment
from tests.unit.cli.streams import terminal

if TYPE_CHECKING:
    from rukpak_py.kube.client import Client

CHANNELS = {
    "stable": [entry("1.0.0"), entry("1.1.0", replaces="1.0.0"), entry("1.2.0", replaces="1.1.0")],
    "fast": [entry("1.2.0"), entry("2.0.0", replaces="1.2.0")],
}
KNOWN = packages(catalog(CHANNELS, default="stable", deprecated={"1.0.0": "gets no fixes"}))


def rows(
    *deployments: BundleDeployment, known: dict[str, PackageIndex] = KNOWN, channel: str | None = None
) -> list[OutdatedRow]:
    found = [FoundDeployment(deployment=one, annotations=one.metadata.annotations) for one in deployments]
    return outdated(found, known, channel)


def lines(found: Sequence[OutdatedRow], monkeypatch: pytest.MonkeyPatch, others: int = 0) -> list[str]:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    return "\n".join(report.lines_of(found, others, Style(terminal()))).splitlines()


def test_next_is_one_step_along_the_edges_and_head_the_end_of_the_channel() -> None:
    (row,) = rows(deployment("1.0.0", installed="1.0.0"))
    assert row.comparison is not None
    assert (row.channel, row.comparison.next_version, row.head, row.comparison.upgrades_left) == (
        "stable",
        "1.1.0",
        "1.2.0",
        2,
    )


def test_channel_is_that_of_the_annotation() -> None:
    (row,) = rows(deployment("1.2.0", installed="1.2.0", annotated=annotations("1.2.0", channel="fast")))
    assert row.comparison is not None
    assert (row.channel, row.comparison.next_version) == ("fast", "2.0.0")


def test_chosen_channel_is_for_packages_that_have_it_and_name_none() -> None:
    own = deployment("1.2.0", installed="1.2.0", name="own", annotated=annotations("1.2.0"))
    found = rows(own, deployment("1.2.0", installed="1.2.0"), channel="fast")
    assert [row.channel for row in found] == ["stable", "fast"]
    assert [row.channel for row in rows(deployment("1.2.0", installed="1.2.0"), channel="beta")] == ["stable"]


def test_deployment_without_a_package_has_no_row() -> None:
    assert rows(deployment("1.0.0")) == []


def test_states_are_told_in_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = annotations("1.2.0", channel="beta")
    found = rows(
        deployment("1.0.0", installed="1.0.0", name="old"),
        deployment("1.2.0", installed="1.2.0", name="new"),
        deployment("1.2.0", installed="1.2.0", name="lost", annotated=gone),
        deployment("1.0.0", installed="1.0.0", name="other", package="q"),
        deployment("1.0.0", name="waits", annotated=annotations("1.0.0")),
    )
    assert lines(found, monkeypatch, others=2) == [
        "NAME   PACKAGE  CHANNEL  VERSION  NEXT   HEAD   STATE",
        "old    p        stable   1.0.0    1.1.0  1.2.0  upgrade",
        "  this bundle is deprecated: gets no fixes",
        "new    p        stable   1.2.0    -      1.2.0  up to date",
        "lost   p        beta     1.2.0    -      -      channel gone",
        '  package "p" has no channel "beta"; choose one of its channels: fast, stable',
        "other  q        -        1.0.0    -      -      unknown package",
        "waits  p        stable   -        -      1.2.0  not installed",
        "2 BundleDeployments without an OLM package left out.",
    ]


def test_installed_bundle_that_no_edge_leads_on_from_has_no_upgrade_path(monkeypatch: pytest.MonkeyPatch) -> None:
    known = packages(catalog({"stable": [entry("1.0.0"), entry("0.9.0", replaces="1.0.0"), entry("2.0.0")]}))
    (_, row) = lines(rows(deployment("1.0.0", installed="1.0.0"), known=known), monkeypatch)
    assert row.endswith("no upgrade path")


@pytest.mark.parametrize(
    ("installed", "channel", "package", "is_behind"),
    [
        ("1.0.0", "stable", "p", True),
        ("1.2.0", "stable", "p", False),
        ("1.2.0", "beta", "p", True),
        ("1.0.0", "stable", "q", False),
        ("0.9.0", "stable", "p", True),
        ("2.0.0", "stable", "p", True),
    ],
)
def test_exit_code_counts_what_can_be_done(installed: str, channel: str, package: str, *, is_behind: bool) -> None:
    marks = annotations(installed, package=package, channel=channel)
    found = rows(deployment(installed, installed=installed, package=package, annotated=marks))
    assert report.has_outdated(found) is is_behind


@pytest.mark.parametrize(
    ("wanted", "annotated", "state"),
    [
        ("1.1.0", "1.1.0", "asked for"),
        ("1.2.0", "1.2.0", "upgrade"),  # of which 1.2.0 is not the next step
        ("1.0.0", "1.1.0", "upgrade"),  # the template was set back, the annotations were not
    ],
)
def test_upgrade_that_the_spec_asks_for_is_not_asked_for_again(wanted: str, annotated: str, state: str) -> None:
    (row,) = rows(deployment(wanted, installed="1.0.0", annotated=annotations(annotated)))
    assert report.state_of(row) == state
    assert report.has_outdated([row]) is (state == "upgrade")
    assert (report.document([row], 0)["packages"][0]["state"] == "AskedFor") is (state == "asked for")


def test_bundle_that_the_package_lacks_is_shown_with_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    (_, row) = lines(rows(deployment("0.9.0", installed="0.9.0")), monkeypatch)
    assert row.split()[-3:] == ["1.2.0", "unknown", "bundle"]


def test_long_names_are_cut_where_the_line_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{'deployment-' * 4}x"
    found = rows(deployment("1.0.0", installed="1.0.0", name=name, annotated=annotations("1.0.0", channel="c" * 60)))
    assert max(map(len, lines(found, monkeypatch))) <= 100


def test_document_has_states_and_versions() -> None:
    found = report.document(rows(deployment("1.0.0", installed="1.0.0")), 1)
    (row,) = found["packages"]
    assert found["others"] == 1
    assert (row["state"], row["next"], row["head"]) == (
        "Upgradable",
        {"bundle": "p.v1.1.0", "version": "1.1.0"},
        "1.2.0",
    )
    assert [one["message"] for one in row["deprecations"]] == ["gets no fixes"]


class Listing:
    """A client that answers lists, page by page, and counts them."""

    def __init__(self, *pages: Sequence[dict[str, Any]], instances: Sequence[dict[str, Any]] = ()) -> None:
        self._pages = {BUNDLE_DEPLOYMENTS: pages, BUNDLE_INSTANCES: (instances,)}
        self.asked: list[Resource] = []

    async def list_by_page(self, resource: Resource, **_: object) -> AsyncIterator[Page]:
        self.asked.append(resource)
        for page in self._pages[resource]:
            items = [
                LiveObject(key=resource.key("", "x"), metadata=Metadata(), json=json.dumps(one).encode())
                for one in page
            ]
            yield Page(items=items, resource_version="1", token="")


def listed(name: str, owner: str = "", **annotations: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-of-{name}", "annotations": annotations}
    if owner:
        metadata["ownerReferences"] = [
            {"kind": BUNDLE_INSTANCE_KIND, "name": owner, "uid": f"uid-of-{owner}", "controller": True}
        ]
    source = {"type": "image", "image": {"ref": "example.com/p:v1"}}
    template = {"spec": {"provisionerClassName": REGISTRY_CLASS, "source": source}}
    return {"metadata": metadata, "spec": {"provisionerClassName": REGISTRY_CLASS, "template": template}}


async def test_cluster_is_asked_for_one_list() -> None:
    client = Listing([listed("b", a="1")], [listed("a")])
    found = await list_deployments(cast("Client", client))
    assert [(one.deployment.metadata.name, one.annotations) for one in found] == [("a", {}), ("b", {"a": "1"})]
    assert client.asked == [BUNDLE_DEPLOYMENTS]


async def test_annotations_of_an_owned_deployment_are_those_of_its_instance() -> None:
    client = Listing([listed("a", owner="i", a="mirror"), listed("b")], instances=[listed("i", a="edited")])
    found = await list_deployments(cast("Client", client))
    assert [one.annotations for one in found] == [{"a": "edited"}, {}]
    assert client.asked == [BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES]


def test_nothing_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines([], monkeypatch) == ["No BundleDeployment has an OLM package."]
