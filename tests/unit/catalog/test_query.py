"""Answers about kinds, paths, newest bundles, dependencies and stranded bundles."""

from typing import Any

import pytest

from rukpak_py.catalog.model import CONSTRAINT, REQUIRED_GVK, REQUIRED_PACKAGE, Property
from rukpak_py.catalog.upgrades.dependencies import MOST_NESTED, Satisfaction, dependencies_of
from rukpak_py.catalog.upgrades.providers import GroupVersionKind, Providers
from rukpak_py.catalog.upgrades.query import (
    interface_of,
    newest,
    paths_to_head,
    providers_of,
    similar_kinds,
    unreachable_heads,
)
from rukpak_py.catalog.upgrades.refusal import Cause, Refusal
from tests.unit.catalog.catalogs import bundle, catalog, entry, packages, provides

CHAIN = [entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", "1.1.0")]
OTHER = catalog(
    {"a": [entry("2.0.0", package="q"), entry("2.1.0", "2.0.0", package="q")], "b": [entry("2.0.0", package="q")]},
    package="q",
    properties={"2.0.0": [provides("Thing")], "2.1.0": [provides("Thing"), provides("Thing", version="v2")]},
)
PACKAGE_Q = {"package": {"packageName": "q", "versionRange": ">=2.1.0"}}
PACKAGE_Z = {"package": {"packageName": "z", "versionRange": ">=2.1.0"}}
THING = {"gvk": {"group": "example.com", "version": "v2", "kind": "Thing"}}


def satisfaction(value: Any, kind: str = CONSTRAINT) -> Satisfaction:
    needing = bundle("1.0.0", properties=[Property(type=kind, value=value)])
    (found,) = dependencies_of(needing, Providers(packages(OTHER)))
    return found.satisfaction


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = PACKAGE_Q
    for _ in range(depth):
        value = {"all": {"constraints": [value]}}
    return value


def test_providers_of_a_kind_have_their_heads_and_bundles() -> None:
    found = providers_of(packages(OTHER), "Thing")
    assert [(one.kind.version, one.heads, one.bundles) for one in found] == [
        ("v1", (("a", "q.v2.1.0"), ("b", "q.v2.0.0")), ("q.v2.1.0", "q.v2.0.0")),
        ("v2", (("a", "q.v2.1.0"),), ("q.v2.1.0",)),
    ]
    assert len(providers_of(packages(OTHER), "Thing", group="example.com", version="v2")) == 1
    assert providers_of(packages(OTHER), "Thing", group="example.org") == ()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("rabbitmqcluster", ("RabbitmqCluster",)),
        ("RabbitmqClusters", ("RabbitmqCluster",)),
        ("policies", ("Policy",)),
        ("RabitmqCluster", ("RabbitmqCluster",)),
        ("Policy", ()),
        ("Nothing", ()),
    ],
)
def test_kinds_in_another_spelling_are_similar(typed: str, meant: tuple[str, ...]) -> None:
    kinds = [provides("RabbitmqCluster"), provides("Policy")]
    found = packages(catalog({"a": [entry("1.0.0")]}, properties={"1.0.0": kinds}))
    assert similar_kinds(found, typed) == meant


def test_shortest_path_can_be_shorter_than_the_greedy_one() -> None:
    entries = [
        entry("1.0.0"),
        entry("1.1.0", "1.0.0"),
        entry("1.2.0", "1.1.0", ["1.0.0"]),
        entry("1.3.0", "1.2.0"),
        entry("1.4.0", "1.3.0", ["1.1.0"]),
    ]
    answer = paths_to_head(packages(catalog({"a": entries})), "p", "1.0.0")
    assert not isinstance(answer, Refusal)
    assert answer.shortest is not None
    assert [step.target for step in answer.shortest.steps] == ["p.v1.1.0", "p.v1.4.0"]
    assert [step.target for step in answer.greedy.steps] == ["p.v1.2.0", "p.v1.3.0", "p.v1.4.0"]


def test_shortest_path_goes_by_the_preferred_of_several() -> None:
    entries = [entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", skips=["1.0.0"])]
    head = entry("1.3.0", skips=["1.1.0", "1.2.0"])
    answer = paths_to_head(packages(catalog({"a": [*entries, head]})), "p", "1.0.0")
    assert not isinstance(answer, Refusal)
    assert answer.shortest is not None
    assert [step.target for step in answer.shortest.steps] == ["p.v1.2.0", "p.v1.3.0"]


def test_path_of_an_unknown_version_begins_with_a_range() -> None:
    entries = [entry("1.0.0", skip_range="<1.0.0"), entry("1.1.0", "1.0.0")]
    answer = paths_to_head(packages(catalog({"a": entries})), "p", "0.1.0")
    assert not isinstance(answer, Refusal)
    assert answer.shortest is not None
    assert [step.source for step in answer.shortest.steps] == ["0.1.0", "p.v1.0.0"]
    assert answer.greedy == answer.shortest


def test_path_that_does_not_begin_names_the_channel_that_upgrades() -> None:
    found = packages(catalog({"a": [entry("1.0.0")], "b": [entry("2.0.0", skip_range="<2.0.0")]}))
    answer = paths_to_head(found, "p", "0.1.0")
    assert not isinstance(answer, Refusal)
    assert answer.shortest is None
    assert answer.refusal is not None
    assert "channel b upgrades it to p.v2.0.0" in answer.refusal.remedy


def test_path_from_no_bundle_is_refused() -> None:
    answer = paths_to_head(packages(catalog({"a": [entry("1.0.0")]})), "p", "v1.0.0")
    assert isinstance(answer, Refusal)
    assert (answer.cause, answer.alternatives[0]) == (Cause.UNKNOWN_BUNDLE, "1.0.0")


def test_stranded_bundles_are_named_per_channel() -> None:
    stranding = [entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.2.0", skips=["1.1.0"])]
    found = packages(catalog({"a": CHAIN, "b": [*stranding[:1], entry("1.2.0", "0.9.0")]}))
    answer = unreachable_heads(found, "p")
    assert not isinstance(answer, Refusal)
    assert [(one.channel, one.bundles) for one in answer] == []  # two heads: each is one
    across = unreachable_heads(packages(catalog({"a": [entry("2.0.0"), entry("1.0.0", "2.0.0")]})), "p")
    assert not isinstance(across, Refusal)
    assert [(one.channel, one.heads, one.bundles) for one in across] == [("a", ("p.v1.0.0",), ("p.v2.0.0",))]
    assert unreachable_heads(packages(catalog({"a": stranding})), "p") == ()  # its range of steps is longer, no more


def test_newest_bundle_of_a_channel_need_not_be_its_head() -> None:
    found = packages(catalog({"a": CHAIN, "b": [entry("2.0.0"), entry("1.0.0", "2.0.0")]}))
    answer = newest(found, "p")
    assert not isinstance(answer, Refusal)
    assert [(one.channel, one.version, one.is_head, one.is_default) for one in answer] == [
        ("a", "1.2.0", True, True),
        ("b", "2.0.0", False, False),
    ]


def test_newest_bundle_tells_the_deprecation_of_its_channel() -> None:
    found = packages(catalog({"a": CHAIN, "b": [entry("1.0.0")]}, deprecated={"b": "old", "1.2.0": "broken"}))
    answer = newest(found, "p")
    assert not isinstance(answer, Refusal)
    assert {one.channel: one.deprecation for one in answer} == {"a": None, "b": "old"}


def test_interface_has_what_a_bundle_provides_and_requires() -> None:
    answer = interface_of(packages(OTHER), "q", "2.1.0")
    assert not isinstance(answer, Refusal)
    assert answer.provides == tuple(
        GroupVersionKind(group="example.com", version=version, kind="Thing") for version in ("v1", "v2")
    )
    unknown = interface_of(packages(OTHER), "q", "q.v2.1")
    assert isinstance(unknown, Refusal)
    assert unknown.cause is Cause.UNKNOWN_BUNDLE
    assert "q.v2.1.0" in unknown.alternatives


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (PACKAGE_Q, Satisfaction.SATISFIED),
        (PACKAGE_Z, Satisfaction.MISSING),
        (THING, Satisfaction.SATISFIED),
        ({"cel": {"rule": "true"}}, Satisfaction.NOT_EVALUATED),
        ({"all": {"constraints": [PACKAGE_Q, THING]}}, Satisfaction.SATISFIED),
        ({"all": {"constraints": [PACKAGE_Q, PACKAGE_Z]}}, Satisfaction.MISSING),
        ({"any": {"constraints": [PACKAGE_Z, THING]}}, Satisfaction.SATISFIED),
        ({"not": {"constraints": [PACKAGE_Z]}}, Satisfaction.SATISFIED),
        ({"not": {"constraints": [PACKAGE_Z, THING]}}, Satisfaction.CONDITIONAL),
        ({"not": {"constraints": [{"cel": {"rule": "true"}}]}}, Satisfaction.NOT_EVALUATED),
        ({"not": {"constraints": [{"not": {"constraints": [PACKAGE_Z]}}]}}, Satisfaction.CONDITIONAL),
        ({"all": {"constraints": []}}, Satisfaction.INVALID),
        ({"package": {"packageName": "q", "versionRange": "^2.0"}}, Satisfaction.INVALID),
        ({**PACKAGE_Q, **THING}, Satisfaction.INVALID),
        ({}, Satisfaction.INVALID),
        (None, Satisfaction.INVALID),
        (nested(MOST_NESTED), Satisfaction.SATISFIED),
        (nested(MOST_NESTED + 1), Satisfaction.INVALID),
        (nested(100_000), Satisfaction.INVALID),
    ],
    ids=lambda value: value.name if isinstance(value, Satisfaction) else "",
)
def test_constraint_is_as_good_as_its_parts(value: Any, expected: Satisfaction) -> None:
    assert satisfaction(value) is expected


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (REQUIRED_PACKAGE, {"packageName": "q", "versionRange": "2.0.0"}, Satisfaction.SATISFIED),
        (REQUIRED_PACKAGE, {"packageName": "q", "versionRange": "<2.0.0 || >2.1.0"}, Satisfaction.MISSING),
        (REQUIRED_PACKAGE, {"packageName": 1}, Satisfaction.INVALID),
        (REQUIRED_GVK, {"group": "example.com", "version": "v3", "kind": "Thing"}, Satisfaction.MISSING),
        (REQUIRED_GVK, {"group": "example.com"}, Satisfaction.INVALID),
    ],
)
def test_required_packages_and_kinds_are_looked_up(kind: str, value: Any, expected: Satisfaction) -> None:
    assert satisfaction(value, kind) is expected


def test_provider_of_a_package_is_the_highest_of_the_default_channel() -> None:
    versions = ["1.0.0", "1.1.0"]
    found = catalog(
        {"a": [entry("1.0.0", package="q")], "b": [entry(one, package="q") for one in versions]}, package="q"
    )
    needing = bundle(
        "1.0.0",
        properties=[Property(type=CONSTRAINT, value={"package": {"packageName": "q", "versionRange": ">=1.0.0"}})],
    )
    (dependency,) = dependencies_of(needing, Providers(packages(found)))
    assert dependency.provider is not None
    assert dependency.provider.version == "1.0.0"
