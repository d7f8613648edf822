"""Which bundle a resolver chooses, told case by case."""

import pytest
from msgspec import structs

from rukpak_py.catalog.model import (
    CONSTRAINT,
    PACKAGE_PROPERTY,
    REQUIRED_GVK,
    REQUIRED_PACKAGE,
    Bundle,
    Catalog,
    Entry,
    Property,
)
from rukpak_py.catalog.upgrades.installed import Installed
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal
from rukpak_py.catalog.upgrades.resolution import Reason, Resolution
from rukpak_py.catalog.upgrades.resolve import Resolver, resolve
from rukpak_py.catalog.upgrades.upgrade_graph import EdgeKind
from tests.unit.catalog.catalogs import catalog, entry, name_of, packages, provides

CHAIN = catalog({"stable": [entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.1.0")]})


def resolved(of: Catalog, **options: object) -> Resolution:
    answer = resolve(packages(of), "p", **options)  # type: ignore[arg-type]
    assert isinstance(answer, Resolution), answer
    return answer


def refused(of: Catalog, **options: object) -> Refusal:
    answer = resolve(packages(of), "p", **options)  # type: ignore[arg-type]
    assert isinstance(answer, Refusal), answer
    return answer


def reasons(answer: Resolution) -> dict[str, Reason]:
    return {one.version: one.reason for one in answer.passed_over}


def test_fresh_install_takes_the_head_of_the_default_channel() -> None:
    answer = resolved(CHAIN)
    assert answer.version == "1.2.0"
    assert answer.edge is None
    assert answer.is_head
    assert reasons(answer) == {"1.1.0": Reason.LOWER_VERSION, "1.0.0": Reason.LOWER_VERSION}


def test_versions_are_ordered_as_numbers_and_prereleases_come_before() -> None:
    entries = [entry("1.9.0"), entry("1.10.0-rc.2", "1.9.0"), entry("1.10.0-rc.10", "1.10.0-rc.2")]
    assert resolved(catalog({"a": entries})).version == "1.10.0-rc.10"
    assert resolved(catalog({"a": [*entries, entry("1.10.0", "1.10.0-rc.10")]})).version == "1.10.0"


def test_range_excludes_higher_versions_and_says_so() -> None:
    answer = resolved(CHAIN, version_range="<1.2.0")
    assert answer.version == "1.1.0"
    assert reasons(answer)["1.2.0"] is Reason.OUT_OF_RANGE
    assert [step.target for step in answer.path.steps] == ["p.v1.2.0"]


def test_deprecated_bundle_is_chosen_only_without_another() -> None:
    entries = [entry("1.0.0"), entry("1.1.0", "1.0.0")]
    one = resolved(catalog({"a": entries}, deprecated={"1.1.0": "has a leak"}))
    assert one.version == "1.0.0"
    assert [(found.reason, found.detail) for found in one.passed_over] == [(Reason.DEPRECATED, "has a leak")]
    both = resolved(catalog({"a": entries}, deprecated={"1.1.0": "leak", "1.0.0": "old", "a": "no more", "p": "gone"}))
    assert both.version == "1.1.0"
    assert [found.message for found in both.deprecations] == ["gone", "no more", "leak"]


def test_installed_bundle_goes_one_step_though_the_head_is_further() -> None:
    answer = resolved(CHAIN, installed="1.0.0")
    assert answer.version == "1.1.0"
    assert answer.edge is not None
    assert answer.edge.kind is EdgeKind.REPLACES
    assert [step.target for step in answer.path.steps] == ["p.v1.2.0"]
    assert answer.path.reaches_head
    assert reasons(answer) == {"1.2.0": Reason.NO_EDGE}


@pytest.mark.parametrize(
    ("head", "kind", "text"),
    [
        (entry("1.2.0", "1.1.0", ["1.0.0"]), EdgeKind.SKIPS, "p.v1.0.0"),
        (entry("1.2.0", "1.1.0", skip_range=">=1.0.0 <1.2.0"), EdgeKind.SKIP_RANGE, ">=1.0.0 <1.2.0"),
        (entry("1.2.0", "1.0.0", ["1.0.0", "1.1.0"], "<1.2.0"), EdgeKind.REPLACES, "p.v1.0.0"),
    ],
)
def test_edge_that_was_taken_is_told(head: object, kind: EdgeKind, text: str) -> None:
    answer = resolved(catalog({"a": [entry("1.0.0"), entry("1.1.0", "1.0.0"), head]}), installed="1.0.0")  # type: ignore[list-item]
    assert answer.edge is not None
    assert (answer.version, answer.edge.kind, answer.edge.text) == ("1.2.0", kind, text)
    assert answer.skipped == ("p.v1.1.0",)


def test_head_stays_and_is_at_its_end() -> None:
    answer = resolved(CHAIN, installed="1.2.0")
    assert answer.stays
    assert answer.is_head
    assert answer.passed_over[0].reason is Reason.NOT_HIGHER


def test_installed_bundle_stays_where_its_successors_are_out_of_range() -> None:
    answer = resolved(CHAIN, installed="1.0.0", version_range="<1.1.0")
    assert answer.stays
    assert not answer.is_head
    assert reasons(answer)["1.1.0"] is Reason.OUT_OF_RANGE


def test_nothing_fits_when_the_range_excludes_successors_and_the_installed_bundle() -> None:
    answer = refused(CHAIN, installed="1.0.0", version_range=">=1.2.0")
    assert answer.cause is Cause.NO_VERSION_IN_RANGE
    assert answer.alternatives == ("1.1.0",)


def test_deprecated_successor_is_better_than_none_and_worse_than_another() -> None:
    entries = [entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.1.0", ["1.0.0"])]
    found = catalog({"a": entries}, deprecated={"1.2.0": "bad"})
    assert resolved(found, installed="1.0.0").version == "1.1.0"
    assert resolved(found, installed="1.1.0").version == "1.2.0"


def test_unknown_version_is_led_from_by_ranges_alone() -> None:
    head = entry("1.2.0", "0.9.0", skip_range="<1.2.0")
    answer = resolved(catalog({"a": [entry("1.1.0", "0.9.0"), head]}), installed="0.9.0")
    assert answer.edge is not None
    assert (answer.version, answer.edge.kind) == ("1.2.0", EdgeKind.SKIP_RANGE)
    assert answer.installed is not None
    assert answer.installed.bundle is None
    assert refused(CHAIN, installed="0.9.0").cause is Cause.NO_SUCCESSOR


def test_unknown_name_is_led_from_by_a_dangling_edge() -> None:
    found = catalog({"a": [entry("1.1.0", "0.9.0")]})
    answer = resolved(found, installed="p.v0.9.0")
    assert answer.edge is not None
    assert answer.edge.kind is EdgeKind.REPLACES
    assert resolved(found, installed=Installed(name="p.v0.9.0", version="0.9.0")).edge == answer.edge


def test_refusal_shows_the_nearest_bundle_with_a_path() -> None:
    answer = refused(CHAIN, installed="1.0.5")
    assert answer.cause is Cause.NO_SUCCESSOR
    assert answer.alternatives == ("p.v1.1.0", "p.v1.0.0")
    assert answer.nearest is not None
    assert (answer.nearest.source, answer.nearest.target) == ("p.v1.1.0", "p.v1.2.0")
    assert "p.v1.1.0" in answer.remedy


def test_successor_is_not_lower_unless_downgrades_are_allowed() -> None:
    backwards = catalog({"a": [entry("2.0.0"), entry("1.0.0", "2.0.0")]})
    assert resolved(backwards, installed="2.0.0").stays
    down = resolved(backwards, installed="2.0.0", allow_downgrade=True)
    assert down.version == "1.0.0"
    assert down.is_head


def test_range_that_covers_its_own_entry_leads_nowhere_from_it() -> None:
    found = catalog({"a": [entry("1.0.0"), entry("1.1.0", "1.0.0", skip_range="<=1.1.0")]})
    for downgrade in (False, True):
        answer = resolved(found, installed="1.1.0", allow_downgrade=downgrade)
        assert answer.stays
        assert answer.is_head


def test_rebuild_of_a_version_is_a_successor_of_what_it_names() -> None:
    rebuilt = catalog({"a": [entry("1.0.0+1"), entry("1.0.0+2", "1.0.0+1")]})
    assert resolved(rebuilt, installed="1.0.0+1").version == "1.0.0+2"
    assert resolved(rebuilt, installed="1.0.0+2").stays
    ambiguous = refused(rebuilt, installed="1.0.0")
    assert (ambiguous.cause, ambiguous.alternatives) == (Cause.AMBIGUOUS_BUNDLE, ("p.v1.0.0+1", "p.v1.0.0+2"))


def test_several_channels_give_their_candidates_and_edges_together() -> None:
    found = catalog({"a": [entry("1.0.0")], "b": [entry("2.0.0", "1.0.0")]})
    assert resolved(found, installed="1.0.0").stays
    answer = resolved(found, installed="1.0.0", channel=["a", "b"])
    assert (answer.version, answer.channels) == ("2.0.0", ("b",))


def test_installed_bundle_of_another_channel_does_not_stay() -> None:
    found = catalog({"a": [entry("1.0.0")], "b": [entry("2.0.0")]})
    assert refused(found, installed="1.0.0", channel="b").cause is Cause.NO_SUCCESSOR


def test_installed_text_that_is_no_version_and_no_bundle_is_unknown() -> None:
    answer = refused(CHAIN, installed="v1.1.0")
    assert answer.cause is Cause.UNKNOWN_BUNDLE
    assert answer.alternatives[0] == "1.1.0"
    dangling = catalog({"a": [entry("1.0.0")], "b": [entry("1.0.0"), Entry(name="p.v2.0.0", skips=("old",))]})
    assert refused(dangling, installed="old").elsewhere == (("b", "p.v2.0.0"),)


def test_unknown_version_is_said_to_be_in_no_skip_range() -> None:
    answer = refused(CHAIN, installed="0.9.0")
    assert not answer.is_known
    assert answer.message == '"0.9.0" is not in channel stable of package "p", and in no skipRange of it'
    assert refused(catalog({"a": [entry("1.0.0")], "b": [entry("2.0.0")]}), installed="1.0.0", channel="b").is_known


def test_refusal_names_the_channel_that_leads_on() -> None:
    found = catalog(
        {"a": [entry("1.0.0"), entry("1.1.0", "1.0.0")], "b": [entry("2.0.0", skip_range=">=1.1.0 <2.0.0")]}
    )
    answer = refused(found, installed="1.0.0", channel="b")
    assert answer.elsewhere == (("a", "p.v1.1.0"),)
    assert answer.remedy.startswith("channel a upgrades it to p.v1.1.0")
    assert refused(found, installed="0.1.0", channel="b").elsewhere == ()


def test_entry_without_a_bundle_is_passed_over() -> None:
    answer = resolved(catalog({"a": [entry("1.0.0"), entry("1.1.0", "1.0.0")]}, without=["1.1.0"]))
    assert answer.version == "1.0.0"
    assert [(one.bundle, one.reason) for one in answer.passed_over] == [("p.v1.1.0", Reason.NO_BUNDLE)]


def test_unknown_package_channel_and_range_are_refused_with_advice() -> None:
    close = resolve(packages(catalog({"a": [entry("1.0.0", package="prometheus")]}, package="prometheus")), "promethus")
    assert isinstance(close, Refusal)
    assert (close.cause, close.alternatives) == (Cause.UNKNOWN_PACKAGE, ("prometheus",))
    assert refused(CHAIN, channel="beta").alternatives == ("stable",)
    assert refused(CHAIN, version_range="^1.0").cause is Cause.INVALID_RANGE
    assert refused(CHAIN, version_range=">9.0.0").alternatives == ("1.2.0", "1.1.0", "1.0.0")
    for answer in (close, refused(CHAIN, channel="beta"), refused(CHAIN, version_range=">9.0.0")):
        assert answer.message
        assert answer.remedy


def test_cycle_of_equal_versions_ends() -> None:
    found = catalog({"a": [entry("1.0.0+1", "1.0.0+2"), entry("1.0.0+2", "1.0.0+1")]})
    answer = resolved(found, installed="1.0.0+1")
    assert answer.version == "1.0.0+2"
    assert answer.path.is_cycle
    assert not answer.path.reaches_head


def test_dependencies_say_which_bundle_satisfies_them() -> None:
    needs = [
        Property(type=REQUIRED_PACKAGE, value={"packageName": "q", "versionRange": ">=2.0.0"}),
        Property(type=REQUIRED_GVK, value={"group": "example.com", "version": "v1", "kind": "Thing"}),
        Property(type=CONSTRAINT, value={"cel": {"rule": "true"}}),
    ]
    other = catalog({"a": [entry("2.1.0", package="q")]}, package="q", properties={"2.1.0": [provides("Thing")]})
    answer = resolve(packages(catalog({"a": [entry("1.0.0")]}, properties={"1.0.0": needs}), other), "p")
    assert isinstance(answer, Resolution)
    assert [one.provider.bundle if one.provider else one.problem for one in answer.dependencies] == [
        name_of("2.1.0", "q"),
        name_of("2.1.0", "q"),
        "expressions are not evaluated",
    ]


def released(*releases: str) -> Catalog:
    """Releases of version 1.0.0, each of which replaces the one before."""
    names = [f"p-v1.0.0-{release}" for release in releases]
    entries = [Entry(name=name, replaces=before) for name, before in zip(names, ["", *names], strict=False)]
    bundles = [
        Bundle(
            package="p",
            name=name,
            properties=(
                Property(type=PACKAGE_PROPERTY, value={"packageName": "p", "version": "1.0.0", "release": release}),
            ),
        )
        for name, release in zip(names, releases, strict=True)
    ]
    return structs.replace(catalog({"a": entries}), bundles=tuple(bundles))


def test_releases_of_a_version_are_ordered() -> None:
    found = released("2", "10", "alpha")
    assert resolved(found).bundle.name == "p-v1.0.0-alpha"
    assert resolved(found, installed="p-v1.0.0-2").bundle.name == "p-v1.0.0-10"
    assert refused(found, installed="1.0.0").cause is Cause.AMBIGUOUS_BUNDLE


def test_resolver_of_many_questions_answers_as_for_one() -> None:
    found = packages(catalog({"a": [entry("2.0.0"), entry("1.0.0", "2.0.0")], "b": [entry("1.0.0")]}))
    resolver = Resolver(found)
    for _ in range(2):
        for channel in (None, "b", ["a", "b"], "z"):
            for downgrade in (False, True):
                for installed in (None, "2.0.0", "1.0.0", "3.0.0"):
                    answer = resolver.resolve("p", channel=channel, installed=installed, allow_downgrade=downgrade)
                    alone = resolve(found, "p", channel=channel, installed=installed, allow_downgrade=downgrade)
                    assert answer == alone
