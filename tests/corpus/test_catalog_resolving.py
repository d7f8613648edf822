"""Every installed version of every real package: the resolver chooses as one that tries every edge."""

import pytest

from rukpak_py.catalog.upgrades.resolution import Resolution
from rukpak_py.catalog.upgrades.resolve import resolve
from rukpak_py.catalog.upgrades.upgrade_graph import UpgradeGraph
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePaths
from tests.corpus.catalogs import real_packages
from tests.corpus.place import needs_corpus
from tests.unit.catalog import resolver_oracle as oracle

pytestmark = needs_corpus


@pytest.mark.parametrize("package", real_packages())
def test_every_version_of_a_real_package_is_upgraded_as_expected(package: str) -> None:
    packages = real_packages()
    index = packages[package]
    for channel in index.channels:
        paths = UpgradePaths(UpgradeGraph.of(index, [channel]))
        fresh = resolve(packages, package, channel=channel)
        assert isinstance(fresh, Resolution)
        assert fresh.bundle.name == oracle.chosen(index, [channel], None, "", None)
        for name, bundle in index.bundles.items():
            answer = resolve(packages, package, channel=channel, installed=bundle.version)
            found = answer.bundle.name if isinstance(answer, Resolution) else None
            assert found == oracle.chosen(index, [channel], None, name, oracle.version(index, name)), name
        for name in paths.graph.candidates:
            path = paths.shortest(name)
            assert (len(path.steps) if path else None) == oracle.shortest(index, [channel], name)
            assert [step.target for step in paths.greedy(name).steps] == oracle.greedy(index, [channel], name)


def test_real_packages_are_all_there() -> None:
    assert len(real_packages()) == 12
