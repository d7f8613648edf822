"""Differences of two catalogs: one line for one thing that an author did."""

from random import Random
from typing import TypeVar

import pytest
from msgspec import structs

from rukpak_py.catalog.differences import Change, ChangeKind, Subject, diff, flattened
from rukpak_py.catalog.model import (
    Catalog,
    CustomBlob,
    Icon,
    Origin,
    Property,
    RelatedImage,
)
from tests.unit.catalog.catalogs import catalog, entry, provides
from tests.unit.catalog.random_packages import random_package

CHAIN = [entry("1.0.0"), entry("1.1.0", "1.0.0")]
BASE = catalog({"a": CHAIN})
ADDED, REMOVED, CHANGED = ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.CHANGED


def lines(before: Catalog, after: Catalog) -> list[tuple[ChangeKind, Subject, str, str, str]]:
    return [(one.kind, one.subject, one.channel or one.name, one.before, one.after) for one in diff(before, after)]


def with_bundle(**fields: object) -> Catalog:
    first, *others = BASE.bundles
    return structs.replace(BASE, bundles=(structs.replace(first, **fields), *others))


def with_package(**fields: object) -> Catalog:
    return structs.replace(BASE, packages=(structs.replace(BASE.packages[0], **fields),))


def test_moved_head_is_one_change_with_what_came_with_it() -> None:
    (change,) = diff(BASE, catalog({"a": [*CHAIN, entry("1.2.0", "1.1.0")]}))
    assert (change.subject, change.before, change.after) == (Subject.HEAD, "p.v1.1.0", "p.v1.2.0")
    assert [(one.kind, one.subject, one.name) for one in change.parts] == [
        (ADDED, Subject.ENTRY, "p.v1.2.0"),
        (ADDED, Subject.BUNDLE, "p.v1.2.0"),
    ]
    assert len(list(flattened([change]))) == 3


def test_bundle_of_two_moved_heads_is_told_once() -> None:
    before = catalog({"a": CHAIN, "b": CHAIN})
    after = catalog({"a": [*CHAIN, entry("1.2.0", "1.1.0")], "b": [*CHAIN, entry("1.2.0", "1.1.0")]})
    bundles = [one for one in flattened(diff(before, after)) if one.subject is Subject.BUNDLE]
    assert len(bundles) == 1
    assert [one.channel for one in diff(before, after)] == ["a", "b"]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (catalog({"a": CHAIN, "b": CHAIN[:1]}), (ADDED, Subject.CHANNEL, "b", "", "p.v1.0.0")),
        (
            catalog({"a": [CHAIN[0], entry("1.1.0", "1.0.0", ["0.9.0"])]}),
            (ADDED, Subject.SKIPS, "a", "", "p.v0.9.0"),
        ),
        (
            catalog({"a": [CHAIN[0], entry("1.1.0", "1.0.0", skip_range="<1.1.0")]}),
            (ADDED, Subject.SKIP_RANGE, "a", "", "<1.1.0"),
        ),
        (
            catalog({"a": [entry("1.0.0", "0.9.0"), CHAIN[1]]}),
            (ADDED, Subject.REPLACES, "a", "", "p.v0.9.0"),
        ),
        (with_package(default_channel="b"), (CHANGED, Subject.DEFAULT_CHANNEL, "", "a", "b")),
        (with_package(description="text"), (ADDED, Subject.DESCRIPTION, "", "", "text")),
        (with_package(icon=Icon(media_type="image/png")), (ADDED, Subject.ICON, "", "", "image/png")),
        (with_bundle(image="b"), (CHANGED, Subject.IMAGE, "p.v1.0.0", "example.com/p:v1.0.0", "b")),
        (
            with_bundle(related_images=(RelatedImage(name="n", image="i"),)),
            (ADDED, Subject.RELATED_IMAGE, "p.v1.0.0", "", "i"),
        ),
        (
            with_bundle(properties=(*BASE.bundles[0].properties, Property(type="t", value={"b": 1, "a": 2}))),
            (ADDED, Subject.PROPERTY, "p.v1.0.0", "", '{"a":2,"b":1}'),
        ),
        (
            with_bundle(properties=(Property(type="olm.package", value={"packageName": "p", "version": "1.0.1"}),)),
            (CHANGED, Subject.VERSION, "p.v1.0.0", "1.0.0", "1.0.1"),
        ),
        (catalog({"a": CHAIN}, deprecated={"p": "old"}), (ADDED, Subject.DEPRECATION, "", "", "old")),
        (catalog({"a": CHAIN}, deprecated={"a": "old"}), (ADDED, Subject.DEPRECATION, "a", "", "old")),
        (catalog({"a": CHAIN}, deprecated={"1.0.0": "old"}), (ADDED, Subject.DEPRECATION, "p.v1.0.0", "", "old")),
        (
            BASE + Catalog(custom=(CustomBlob(schema="x", name="n", value={"schema": "x"}),)),
            (ADDED, Subject.CUSTOM_BLOB, "x n", "", '{"schema":"x"}'),
        ),
        (BASE + catalog({"c": []}, package="q"), (ADDED, Subject.PACKAGE, "", "", "c")),
    ],
)
def test_one_difference_is_one_line_and_its_reverse_is_the_opposite(
    after: Catalog, expected: tuple[ChangeKind, Subject, str, str, str]
) -> None:
    kind, subject, name, old, new = expected
    assert lines(BASE, after) == [expected]
    opposite = {ADDED: REMOVED, REMOVED: ADDED, CHANGED: CHANGED}[kind]
    assert lines(after, BASE) == [(opposite, subject, name, new, old)]


def test_changed_property_is_one_change_and_several_are_added_and_removed() -> None:
    def having(*kinds: str) -> Catalog:
        return with_bundle(properties=(*BASE.bundles[0].properties, *map(provides, kinds)))

    assert [one[:2] for one in lines(having("A"), having("B"))] == [(CHANGED, Subject.PROPERTY)]
    found: tuple[Change, ...] = diff(having("A", "B"), having("B", "C", "D"))
    assert [(one.kind, one.detail) for one in found] == [(REMOVED, "olm.gvk"), (ADDED, "olm.gvk"), (ADDED, "olm.gvk")]


T = TypeVar("T")


def mixed(items: tuple[T, ...], random: Random) -> tuple[T, ...]:
    return tuple(random.sample(items, len(items)))


def shuffled(of: Catalog, random: Random) -> Catalog:
    """The same catalog in other files, in another order at every level."""
    origin = Origin(file=f"{random.random()}.yaml", document=random.randrange(9))
    entries = {
        one.name: [structs.replace(item, skips=mixed(item.skips, random)) for item in one.entries]
        for one in of.channels
    }
    return Catalog(
        packages=tuple(structs.replace(one, origin=origin) for one in of.packages),
        channels=tuple(
            structs.replace(one, origin=origin, entries=mixed(tuple(entries[one.name]), random))
            for one in mixed(of.channels, random)
        ),
        bundles=tuple(
            structs.replace(one, properties=mixed(one.properties, random)) for one in mixed(of.bundles, random)
        ),
        deprecations=tuple(structs.replace(one, entries=mixed(one.entries, random)) for one in of.deprecations),
    )


def test_order_and_files_make_no_difference() -> None:
    for number in range(200):
        random = Random(number)  # noqa: S311 - a graph that can be made again
        one = random_package(random)
        assert diff(one, shuffled(one, random)) == ()
