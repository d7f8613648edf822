"""The resolver against one that tries everything, on random packages."""

from random import Random

import pytest

from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.resolution import Resolution
from rukpak_py.catalog.upgrades.resolve import resolve
from rukpak_py.catalog.upgrades.upgrade_graph import UpgradeGraph
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePaths
from rukpak_py.core.ranges import Range
from rukpak_py.core.versions import strict
from tests.unit.catalog import resolver_oracle as oracle
from tests.unit.catalog.catalogs import packages
from tests.unit.catalog.random_packages import random_package, random_range, random_versions

GRAPHS = 2_000


def resolved(index: PackageIndex, channels: list[str], wanted: Range | None, installed: str | None) -> str | None:
    answer = resolve({"p": index}, "p", channel=channels, version_range=wanted, installed=installed)
    return answer.bundle.name if isinstance(answer, Resolution) else None


@pytest.mark.parametrize("part", range(4))
def test_resolver_chooses_as_one_that_tries_every_edge(part: int) -> None:
    for number in range(part, GRAPHS, 4):
        random = Random(number)  # noqa: S311 - a graph that can be made again
        index = packages(random_package(random))["p"]
        channels = random.sample(list(index.channels), random.randrange(1, len(index.channels) + 1))
        wanted = Range.parse(random_range(random, random_versions(random, 3))) if random.random() < 0.3 else None
        assert resolved(index, channels, wanted, None) == oracle.chosen(index, channels, wanted, "", None), number
        for name in index.bundles:
            expected = oracle.chosen(index, channels, wanted, name, oracle.version(index, name))
            assert resolved(index, channels, wanted, name) == expected, (number, name)
        unknown = "0.2.2-unknown"
        expected = oracle.chosen(index, channels, wanted, "", strict(unknown))
        assert resolved(index, channels, wanted, unknown) == expected, number


@pytest.mark.parametrize("part", range(4))
def test_paths_are_those_of_a_search_through_every_edge(part: int) -> None:
    for number in range(part, GRAPHS, 4):
        random = Random(number)  # noqa: S311 - a graph that can be made again
        index = packages(random_package(random))["p"]
        channels = random.sample(list(index.channels), random.randrange(1, len(index.channels) + 1))
        paths = UpgradePaths(UpgradeGraph.of(index, channels))
        for name in paths.graph.candidates:
            found = paths.shortest(name)
            assert (len(found.steps) if found else None) == oracle.shortest(index, channels, name), (number, name)
            assert [step.target for step in paths.greedy(name).steps] == oracle.greedy(index, channels, name), number
