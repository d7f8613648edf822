"""Packages of a hostile size end in seconds."""

from time import process_time

from rukpak_py.catalog.differences import diff
from rukpak_py.catalog.filtering import FilteredCatalog, WantedPackage, filter_catalog
from rukpak_py.catalog.model import Catalog, Channel, Entry
from rukpak_py.catalog.upgrades.outdated import InstalledPackage, compare
from rukpak_py.catalog.upgrades.query import PathsToHead, newest, paths_to_head, unreachable_heads
from rukpak_py.catalog.upgrades.refusal import Refusal
from rukpak_py.catalog.upgrades.resolution import Resolution
from rukpak_py.catalog.upgrades.resolve import resolve
from rukpak_py.catalog.upgrades.upgrade_graph import UpgradeGraph
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePaths
from tests.unit.catalog.catalogs import bundle, catalog, entry, packages

SECONDS = 20  # ten times what two busy cores need; a quadratic loop needs minutes
MANY = 10_000


def version(number: int) -> str:
    return f"1.{number}.0"


def large(entries: list[Entry], channels: int = 1) -> Catalog:
    return catalog({f"c{number}": entries for number in range(channels)})


def answered(of: Catalog, **options: object) -> Resolution | Refusal:
    started = process_time()
    answer = resolve(packages(of), "p", **options)  # type: ignore[arg-type]
    assert process_time() - started < SECONDS
    return answer


def test_long_chain_is_walked_to_its_head() -> None:
    chain = [entry(version(number), version(number - 1) if number else "") for number in range(MANY)]
    answer = answered(large(chain), installed=version(0))
    assert isinstance(answer, Resolution)
    assert len(answer.path.steps) == MANY - 2


def tangled() -> list[Entry]:
    """Every entry skips a hundred others, and its range covers all below."""
    return [
        entry(
            version(number),
            version(number - 1) if number else "",
            [version(one) for one in range(max(0, number - 100), number)],
            f"<{version(number)}" if number else "",
        )
        for number in range(MANY)
    ]


def test_every_entry_skips_a_hundred_and_covers_all_below() -> None:
    answer = answered(large(tangled()), installed=version(0))
    assert isinstance(answer, Resolution)
    assert answer.is_head


def test_other_questions_about_a_tangled_package_end_too() -> None:
    catalog_before, catalog_after = large(tangled()), large(tangled()[:-1])
    found = packages(catalog_before)
    installed = [InstalledPackage(package="p", version=version(number)) for number in range(20)]
    started = process_time()
    paths = paths_to_head(found, "p", version(0))
    assert isinstance(paths, PathsToHead)
    assert paths.shortest is not None
    assert unreachable_heads(found, "p") == ()
    assert {one.next for one in compare(installed, found)} == {f"p.v{version(MANY - 1)}"}
    assert len(diff(catalog_before, catalog_after)) == 1
    assert isinstance(filter_catalog(catalog_before, {"p": WantedPackage(version_range="!1.50.0")}), FilteredCatalog)
    assert process_time() - started < 3 * SECONDS


def test_a_thousand_channels_are_filtered_and_asked_for_their_newest() -> None:
    chain = [entry(version(number), version(number - 1) if number else "") for number in range(50)]
    whole = large(chain, 1_000)
    started = process_time()
    assert isinstance(filter_catalog(whole, {"p": WantedPackage(version_range="!1.20.0")}), FilteredCatalog)
    assert not isinstance(newest(packages(whole), "p"), Refusal)
    assert process_time() - started < SECONDS


def test_ranges_in_which_every_step_is_one_version_are_walked() -> None:
    entries = [
        entry(version(number), skip_range=f">={version(number - 1)} <{version(number)}" if number else "")
        for number in range(MANY)
    ]
    started = process_time()
    paths = UpgradePaths(UpgradeGraph.of(packages(large(entries))["p"], ["c0"]))
    assert len(paths.greedy("p.v1.0.0").steps) == MANY - 1
    assert process_time() - started < SECONDS


def test_cycle_through_every_entry_ends() -> None:
    entries = [entry(f"1.0.0+{number}", f"1.0.0+{(number - 1) % MANY}") for number in range(MANY)]
    answer = answered(large(entries), installed="1.0.0+0")
    assert isinstance(answer, Resolution)
    assert answer.path.is_cycle


def test_a_thousand_channels_are_asked_together() -> None:
    chain = [entry(version(number), version(number - 1) if number else "") for number in range(100)]
    answer = answered(large(chain, 1_000), channel=[f"c{number}" for number in range(1_000)], installed=version(3))
    assert isinstance(answer, Resolution)
    assert answer.version == version(4)


def test_refusal_of_a_large_package_comes_soon() -> None:
    entries = [entry(version(number), version(number - 1) if number else "") for number in range(MANY)]
    assert isinstance(answered(large(entries), installed="0.1.0"), Refusal)
    assert isinstance(answered(large(entries), version_range=">9.0.0"), Refusal)


def test_names_of_many_channels_without_bundles_are_refused() -> None:
    entries = tuple(Entry(name=f"q{number}") for number in range(MANY))
    found = Catalog(channels=(Channel(package="p", name="a", entries=entries),), bundles=(bundle("1.0.0"),))
    assert isinstance(answered(found, channel="a"), Refusal)
