"""Every real package, cut off below and above each of its versions, stays a valid part with every way up."""

import pytest

from rukpak_py.catalog.checks.rules import CATALOG_FAMILIES, problems_of_catalog
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.filtering import FilteredCatalog, WantedPackage, filter_catalog
from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.upgrades.refusal import Refusal
from rukpak_py.catalog.upgrades.upgrade_graph import UpgradeGraph
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePaths
from tests.corpus.catalogs import REAL, read_catalog, real_packages
from tests.corpus.place import needs_corpus

pytestmark = needs_corpus


def reaching(index: PackageIndex, channel: str) -> set[str]:
    graph = UpgradeGraph.of(index, [channel])
    return set(graph.candidates) - set(UpgradePaths(graph).stranded)


@pytest.mark.parametrize("package", real_packages())
def test_part_of_a_real_package_is_valid_and_keeps_every_way_up(package: str) -> None:
    whole = read_catalog(REAL)
    before = by_package(whole)[package]
    for version in sorted({bundle.version for bundle in before.bundles.values()}):
        for version_range in (f">={version}", f"<={version}", f"!={version}"):
            answer = filter_catalog(whole, {package: WantedPackage(version_range=version_range)})
            if isinstance(answer, Refusal):
                assert version_range.startswith("!=")
                assert len(before.bundles) == 1
                continue
            assert isinstance(answer, FilteredCatalog)
            assert list(problems_of_catalog(WholeCatalog(catalog=answer.catalog), CATALOG_FAMILIES)) == []
            check(before, by_package(answer.catalog)[package])


def check(before: PackageIndex, after: PackageIndex) -> None:
    assert after.package is not None
    assert after.package.default_channel in after.channels
    for channel, graph in after.graphs.items():
        assert set(graph.entries) <= after.bundles.keys()
        assert reaching(before, channel) & graph.entries.keys() <= reaching(after, channel)
    in_channels = {name for graph in after.graphs.values() for name in graph.entries}
    assert in_channels == set(after.bundles)
