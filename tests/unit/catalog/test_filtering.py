"""Parts of catalogs: what is kept, what is repaired, and that the rest stays valid and upgradable."""

from random import Random
from time import process_time

import pytest

from rukpak_py.catalog.checks.rules import CATALOG_FAMILIES, problems_of_catalog
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.filtering import EVERYTHING, FilteredCatalog, NoteKind, WantedPackage, filter_catalog
from rukpak_py.catalog.graph_repair import RepairKind
from rukpak_py.catalog.model import REQUIRED_GVK, REQUIRED_PACKAGE, Catalog, CustomBlob, Entry, Property
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal
from rukpak_py.catalog.upgrades.upgrade_graph import UpgradeGraph
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePaths
from rukpak_py.core.versions import Version
from tests.unit.catalog.catalogs import catalog, entry, name_of, packages, provides

MANY = 5_000
CHAIN = [entry(f"1.{minor}.0", f"1.{minor - 1}.0" if minor else "") for minor in range(5)]


def filtered(of: Catalog, version_range: str | None = None, channels: tuple[str, ...] | None = None) -> FilteredCatalog:
    answer = filter_catalog(of, {"p": WantedPackage(channels=channels, version_range=version_range)})
    assert isinstance(answer, FilteredCatalog), answer
    return answer


def refused(of: Catalog, package: str, wanted: WantedPackage) -> Cause:
    answer = filter_catalog(of, {package: wanted})
    assert isinstance(answer, Refusal)
    return answer.cause


def entries(answer: FilteredCatalog, channel: str = "a") -> list[Entry]:
    return list(packages(answer.catalog)["p"].channels[channel].entries)


def kinds(answer: FilteredCatalog) -> list[NoteKind]:
    return [note.kind for note in answer.notes]


def test_nothing_is_repaired_where_nothing_is_removed() -> None:
    whole = catalog({"a": CHAIN, "b": CHAIN[:2]}, deprecated={"b": "old"})
    assert filtered(whole) == FilteredCatalog(catalog=whole)


def test_removed_entry_in_the_middle_is_bridged_and_still_upgraded() -> None:
    answer = filtered(catalog({"a": CHAIN}), "!1.2.0 !1.1.0")
    assert entries(answer) == [CHAIN[0], entry("1.3.0", "1.0.0", ["1.2.0"]), CHAIN[4]]
    assert [note.repair for note in answer.notes] == [RepairKind.BRIDGED, RepairKind.SKIPS_ADDED]


def test_removed_tail_leaves_a_dangling_name() -> None:
    answer = filtered(catalog({"a": CHAIN}), ">=1.3.0")
    assert entries(answer) == CHAIN[3:]
    assert [note.repair for note in answer.notes] == [RepairKind.DANGLING]


def test_removed_head_gives_its_place_to_the_next() -> None:
    answer = filtered(catalog({"a": CHAIN}), "<1.3.0")
    assert entries(answer) == CHAIN[:3]
    assert [(note.repair, note.after) for note in answer.notes] == [(RepairKind.HEAD_CHANGED, "p.v1.2.0")]


def test_entry_skipped_by_a_removed_one_is_skipped_by_the_next_above() -> None:
    graph = [entry("1.0.0"), entry("1.1.0"), entry("1.2.0", "1.0.0", ["1.1.0"]), entry("1.3.0", "1.2.0")]
    answer = filtered(catalog({"a": graph}), "!1.2.0")
    assert entries(answer)[-1] == entry("1.3.0", "1.0.0", ["1.1.0", "1.2.0"])


def test_former_skipped_entry_becomes_head_when_its_skipper_is_removed() -> None:
    graph = [entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.0.0", ["1.1.0"])]
    assert entries(filtered(catalog({"a": graph}), "<1.2.0")) == graph[:2]


def test_skips_of_removed_names_and_ranges_stay() -> None:
    graph = [entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", skips=["1.1.0", "1.0.0"], skip_range="<1.2.0")]
    assert entries(filtered(catalog({"a": graph}), ">=1.2.0")) == graph[2:]


def test_way_up_by_a_removed_range_becomes_a_skip_of_the_head() -> None:
    graph = [entry("1.0.0", skips=["1.1.0"]), entry("1.1.0", skips=["1.0.0"])]
    graph += [entry("1.5.0", skip_range="<1.5.0"), entry("1.6.0", "1.5.0")]
    answer = filtered(catalog({"a": graph}), "!1.5.0")
    assert entries(answer)[-1] == entry("1.6.0", "1.5.0", ["1.0.0", "1.1.0"])


@pytest.mark.parametrize(
    ("skipped", "head"),
    [
        pytest.param([entry("1.0.0", "1.1.0"), entry("1.1.0", "1.0.0")], "1.1.0", id="no head is left"),
        pytest.param(
            [entry("1.0.0", "1.1.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.1.0")], "1.2.0", id="below the head"
        ),
    ],
)
def test_cycle_that_comes_to_light_without_the_former_head_is_cut(skipped: list[Entry], head: str) -> None:
    former = entry("2.0.0", skips=[one.name.removeprefix("p.v") for one in skipped])
    answer = filtered(catalog({"a": [*skipped, former]}), "<2.0.0")
    graph = packages(answer.catalog)["p"].graphs["a"]
    assert (graph.head, graph.chain.cycle, graph.stranded) == (name_of(head), (), ())
    assert RepairKind.EDGE_REMOVED in {note.repair for note in answer.notes}


def test_default_channel_that_was_removed_is_replaced_by_the_one_with_the_highest_head() -> None:
    whole = catalog(
        {"a": CHAIN, "b": CHAIN[:2], "c": CHAIN[:3]}, deprecated={"a": "old", "1.4.0": "leak", "1.0.0": "x"}
    )
    answer = filtered(whole, channels=("b", "c"))
    assert answer.catalog.packages[0].default_channel == "c"
    assert kinds(answer) == [
        NoteKind.DEFAULT_CHANNEL_CHANGED,
        NoteKind.DEPRECATION_REMOVED,
        NoteKind.DEPRECATION_REMOVED,
    ]
    assert [one.name for one in answer.catalog.deprecations[0].entries] == ["p.v1.0.0"]
    assert [one.version for one in answer.catalog.bundles] == ["1.0.0", "1.1.0", "1.2.0"]


def test_channel_without_entries_is_removed() -> None:
    answer = filtered(catalog({"a": CHAIN[:2], "b": CHAIN}), ">=1.3.0")
    assert [one.name for one in answer.catalog.channels] == ["b"]
    assert NoteKind.CHANNEL_REMOVED in kinds(answer)
    assert answer.catalog.packages[0].default_channel == "b"


def test_unknown_packages_channels_and_versions_are_refused() -> None:
    whole = catalog({"a": CHAIN})
    assert refused(whole, "q", EVERYTHING) is Cause.UNKNOWN_PACKAGE
    assert refused(whole, "p", WantedPackage(channels=("z",))) is Cause.UNKNOWN_CHANNEL
    assert refused(whole, "p", WantedPackage(version_range="^1")) is Cause.INVALID_RANGE
    assert refused(whole, "p", WantedPackage(version_range=">2.0.0")) is Cause.NO_VERSION_IN_RANGE


def test_other_packages_and_their_custom_blobs_are_left_out() -> None:
    custom = Catalog(
        custom=(CustomBlob(schema="x"), CustomBlob(schema="x", package="q"), CustomBlob(schema="x", package="p"))
    )
    other = catalog({"a": [entry("1.0.0", package="q")]}, package="q")
    answer = filtered(catalog({"a": CHAIN}) + other + custom)
    assert [one.package for one in answer.catalog.custom] == ["", "p"]
    assert [one.name for one in answer.catalog.packages] == ["p"]


def needing(*properties: Property) -> Catalog:
    """The package p requires of q what the properties say, q requires r; s is not needed."""
    chain = Property(type=REQUIRED_GVK, value={"group": "example.com", "version": "v1", "kind": "R"})
    return (
        catalog({"a": [entry("1.0.0")]}, properties={"1.0.0": properties})
        + catalog({"a": [entry("1.0.0", package="q")]}, package="q", properties={"1.0.0": [chain, provides("Q")]})
        + catalog({"a": [entry("1.0.0", package="r")]}, package="r", properties={"1.0.0": [provides("R")]})
        + catalog({"a": [entry("1.0.0", package="s")]}, package="s", properties={"1.0.0": [provides("R")]})
    )


def test_required_packages_are_kept_with_what_they_require() -> None:
    whole = needing(Property(type=REQUIRED_PACKAGE, value={"packageName": "q", "versionRange": ">=1.0.0"}))
    answer = filter_catalog(whole, {"p": EVERYTHING}, with_dependencies=True)
    assert isinstance(answer, FilteredCatalog)
    assert [one.name for one in answer.catalog.packages] == ["p", "q", "r"]
    assert [(note.kind, note.package, note.names) for note in answer.notes] == [
        (NoteKind.PACKAGE_ADDED, "q", ("p.v1.0.0",)),
        (NoteKind.PACKAGE_ADDED, "r", ("q.v1.0.0",)),
    ]


def test_kept_provider_is_enough_and_a_lost_one_is_told() -> None:
    whole = needing()
    kept = filter_catalog(whole, {"q": EVERYTHING, "s": EVERYTHING}, with_dependencies=True)
    assert isinstance(kept, FilteredCatalog)
    assert kept.notes == ()
    lost = filter_catalog(whole, {"q": EVERYTHING})
    assert isinstance(lost, FilteredCatalog)
    assert [(note.kind, note.package, note.name) for note in lost.notes] == [(NoteKind.DEPENDENCY_MISSING, "q", "r")]


def problems(of: Catalog) -> list[str]:
    """The messages with which a catalog is refused."""
    return [problem.message for _, problem in problems_of_catalog(WholeCatalog(catalog=of), CATALOG_FAMILIES)]


def valid_channel(random: Random, *, ascending: bool) -> list[Entry]:
    """A chain whose entries skip others below them, some of which have edges of their own, and ranges."""
    versions = [f"{number // 4}.{number % 4}.0" for number in range(random.randrange(2, 14))]
    order = versions if ascending else random.sample(versions, len(versions))
    chain = sorted({*random.sample(range(len(order)), random.randrange(1, len(order))), len(order) - 1})
    found: dict[int, Entry] = {}
    skips: dict[int, list[str]] = {number: [] for number in range(len(order))}
    for number in range(len(order) - 1):
        if number not in chain:
            above = [one for one in chain if one > number] + random.sample(range(number + 1, len(order)), 1)
            skips[random.choice(above)].append(order[number])
    for number, version in enumerate(order):
        below = [one for one in chain if one < number]
        if number in chain:
            replaces = order[below[-1]] if below else random.choice(["", "0.0.0-old"])
        else:
            replaces = random.choice(["", *order[:number]])
        skip_range = f"<{version}" if random.random() < 0.2 else ""
        found[number] = entry(version, replaces, skips[number], skip_range)
    return list(found.values())


def reaching(index: PackageIndex, channel: str, *, downgrades: bool) -> set[str]:
    graph = UpgradeGraph.of(index, [channel], allow_downgrade=downgrades)
    return set(graph.candidates) - set(UpgradePaths(graph).stranded)


@pytest.mark.parametrize("ascending", [True, False])
def test_any_part_of_a_valid_channel_is_valid_and_keeps_every_way_up(ascending: bool) -> None:  # noqa: FBT001 - a table
    tried = 0
    for number in range(2_000):
        random = Random(number)  # noqa: S311 - a graph that can be made again
        whole = catalog({"a": valid_channel(random, ascending=ascending)})
        if problems(whole):
            continue
        before = packages(whole)["p"]
        tried += 1
        removed = random.sample([one.version for one in whole.bundles], random.randrange(len(whole.bundles)))
        answer = filtered(whole, " ".join([">=0.0.0", *(f"!{version}" for version in removed)]))
        after = packages(answer.catalog)["p"]
        assert problems(answer.catalog) == [], number
        kept = {one.name for one in answer.catalog.bundles}
        assert kept == {one.name for one in whole.bundles if one.version not in removed}
        lost = reaching(before, "a", downgrades=not ascending) & kept - reaching(after, "a", downgrades=not ascending)
        assert lost == set(), number
    assert tried > 1_000


class PatchesAndEnds:
    """The skipped entries of a long chain, and of the chain only its ends."""

    text = "x.x.1"

    @staticmethod
    def contains(version: Version) -> bool:
        return version.patch == 1 or version.minor in {0, MANY - 1}


def test_long_chain_of_removed_entries_is_bridged_in_seconds() -> None:
    chain = [entry(f"1.{one}.0", f"1.{one - 1}.0" if one else "", [f"1.{one - 1}.1"]) for one in range(MANY)]
    skipped = [entry(f"1.{one}.1", f"1.{one}.0") for one in range(MANY - 1)]
    wanted = WantedPackage(version_range=PatchesAndEnds())
    started = process_time()
    answer = filter_catalog(catalog({"a": [*chain, *skipped]}), {"p": wanted})
    assert isinstance(answer, FilteredCatalog)
    assert process_time() - started < 20  # a quadratic loop needs minutes
    graph = packages(answer.catalog)["p"].graphs["a"]
    assert graph.head == name_of(f"1.{MANY - 1}.0")
    assert graph.stranded == ()
    assert len(graph.entries) == MANY + 1
