"""Warnings: each rule with what it is silent about, beside what it tells."""

import base64
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.catalog import read_file
from rukpak_py.catalog.checks.rules import VALIDITY_FAMILIES
from rukpak_py.catalog.lint import rules as lint_rules
from rukpak_py.catalog.lint.range_traps import holds_something, traps
from rukpak_py.catalog.lint.rules import LINT_FAMILIES
from rukpak_py.core.findings import Severity
from rukpak_py.core.ranges import Range
from rukpak_py.core.versions import strict
from tests.unit.catalog.samples import (
    Json,
    bundle,
    channel,
    deprecations,
    entry,
    one_bundle,
    package,
    package_property,
    sample,
    warnings,
)

EVERY_FAMILY = (*VALIDITY_FAMILIES, *lint_rules.ALL_FAMILIES)

DIGEST = "@sha256:" + "ab" * 32
PINNED = f"example.com/p-bundle{DIGEST}"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n1234").decode()


def icon(data: str = PNG, mediatype: str = "image/png") -> Json:
    return {"base64data": data, "mediatype": mediatype}


def quiet(blobs: list[Json]) -> list[Json]:
    """The catalog with all that a package should have, and images by digest."""
    rest = {"description": "d", "icon": icon()}
    return [
        {**rest, **blob}
        if blob["schema"] == "olm.package"
        else {**blob, "image": blob["image"].replace("example.com/p-bundle:v1", PINNED)}
        if blob["schema"] == "olm.bundle"
        else blob
        for blob in blobs
    ]


def told(blobs: list[Json]) -> list[tuple[str, str]]:
    return [(finding.rule.removeprefix("FBC-"), finding.path) for finding in warnings(quiet(blobs))]


def value(kind: str, content: object) -> Json:
    return {"type": kind, "value": content}


def required(text: str, name: str = "p") -> Json:
    return value("olm.package.required", {"packageName": name, "versionRange": text})


CSV = value("olm.csv.metadata", {"displayName": "P", "description": "d"})
OBJECT = value(
    "olm.bundle.object",
    {"data": base64.b64encode(b'{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}').decode()},
)
KIND = {"group": "g", "version": "v1", "kind": "K"}


@pytest.mark.parametrize(
    "blobs",
    [
        sample("v1", "v2 replaces v1 skips v0.5"),
        sample("v1 replaces v0 skips v0.5", "v2 replaces v1"),
        sample("v1", entry("v2 replaces v1", skipRange=">=1.0.0 <2.0.0")),
        one_bundle(CSV, value("olm.gvk", KIND), value("olm.gvk.required", KIND), required(">=0.1.0 <2.0.0")),
        one_bundle(OBJECT, CSV),
        one_bundle(value("example.com/x", 1), value("example.com/x", 2)),
        [*sample("v1"), {"schema": "my.thing_1", "package": "q"}],
        [*sample("v1"), channel("b", "v1"), deprecations(("olm.channel", "b", "m"))],
        [*sample("v1"), deprecations(("olm.package", "", "m"), ("olm.channel", "a", "m"))],
        one_bundle(name="p-v1.0.0-1", properties=[package_property(release="1")]),
    ],
)
def test_ordinary_catalog_has_no_warnings(blobs: list[Json]) -> None:
    assert told(blobs) == []


@pytest.mark.parametrize(
    ("blobs", "rule", "path"),
    [
        ([package(description=" "), *sample("v1")[1:]], "W10", ""),
        ([package(icon=None), *sample("v1")[1:]], "W11", ""),
        ([package(icon=icon("")), *sample("v1")[1:]], "W11", ""),
        ([package(icon=icon(base64.b64encode(b"text").decode())), *sample("v1")[1:]], "W12", "icon.base64data"),
        ([package(icon=icon(mediatype="image/svg+xml")), *sample("v1")[1:]], "W12", "icon.mediatype"),
        ([package("ä b"), channel("ä b", "v1"), bundle("v1")], "W13", "name"),
        (sample("v1", entry("v2 replaces v1", skipRange="1.0.0 - 1.2.0")), "W14", "entries[1].skipRange"),
        (one_bundle(required("1.x.x")), "W14", "properties[1].value.versionRange"),
        (sample("v1", "v2 replaces v1 skips v1"), "W15", "entries[1].skips[0]"),
        (one_bundle(name="p.1.0.0"), "W16", "name"),
        (one_bundle(required("^1.0.0")), "W17", "properties[1].value.versionRange"),
        (one_bundle(required("")), "W17", "properties[1].value.versionRange"),
        (one_bundle(value("x", {"a": 1, "b": 2}), value("x", {"b": 2, "a": 1})), "W18", "properties[2]"),
        (one_bundle(CSV, CSV), "W19", "properties[2]"),
        (one_bundle(value("olm.gkv", KIND)), "W20", "properties[1].type"),
        (one_bundle({"value": 1}), "W20", "properties[1]"),
        (one_bundle(image="example.com/p:1"), "W21", "image"),
        (one_bundle(relatedImages=[{"image": "a:1"}]), "W21", "relatedImages[0].image"),
        (one_bundle(value("olm.gvk", {"kind": "K"})), "W22", "properties[1].value"),
        (one_bundle(value("olm.csv.metadata", {"displayName": "P"})), "W23", "properties[1].value"),
        (one_bundle(value("olm.gvk", {**KIND, "plural": "ks"})), "W24", "properties[1].value.plural"),
        (one_bundle(value("olm.constraint", {"cel": {"rule": "x" * 131_072}})), "W25", "properties[1].value"),
        ([*sample("v1"), {"schema": "olm.bundles"}], "W26", "schema"),
        (one_bundle(OBJECT, image=""), "W28", "image"),
        ([*sample("v1"), {"schema": "example.com/x"}], "W27", "schema"),
        ([*sample("v1"), {"schema": "x", "package": "-x"}], "W27", "package"),
        (sample("v1", "v2 replaces v1 skips v1.5"), "W30", "entries[1].skips[0]"),
        (sample("v2 replaces v3", "v3"), "W31", "entries[0].replaces"),
        (sample("v2 skips v3", "v3"), "W31", "entries[0].skips"),
        (sample(entry("v1", skipRange="<=1.0.0")), "W32", "entries[0].skipRange"),
        (one_bundle(required(">=2.0.0")), "W33", "properties"),
        (one_bundle(required(">=1.0.0", "q")), "W33", "properties"),
        (one_bundle(value("olm.gvk.required", KIND)), "W33", "properties"),
        (one_bundle(value("olm.constraint", {"all": {"constraints": [{}]}})), "W34", "properties"),
        ([*sample("v1"), deprecations(("olm.channel", "a", "m"))], "W35", "defaultChannel"),
    ],
)
def test_warning_stands_at_its_field(blobs: list[Json], rule: str, path: str) -> None:
    assert set(told(blobs)) == {(rule, path)}


def test_catalog_without_packages_is_told() -> None:
    assert [finding.rule for finding in warnings([])] == ["FBC-W36"]
    assert [finding.rule for finding in warnings([{"schema": "my.thing"}])] == ["FBC-W36"]


def test_dangling_edge_above_the_tail_is_told() -> None:
    """The name is not of the tail, which replaces what the catalog has no longer."""
    blobs = sample("v1 replaces v0", "v4 replaces v1 skips v3", "v3 replaces v2")
    assert told(blobs) == [("W30", "entries[2].replaces")]


@pytest.mark.parametrize(
    ("text", "trap"),
    [
        ("<1.0.0 | >=2.0.0", "a single `|` is dropped"),
        ("1.0.0 - 2.0.0", "a dash is dropped"),
        ("1.0.0 - 2.0.0", "no version is in this range"),
        ("! 1.0.0", "`!` in front of a blank is dropped"),
        (">=1.0.0 a", '"a" is dropped'),
        ("^1.x", '"^" is ignored in front of a wildcard'),
        ("~1.2.x", '"~" is ignored in front of a wildcard'),
        ("v1.x", '"v" is ignored in front of a wildcard'),
        ("1.x.x", "ends at the next minor version"),
        (">=1.x.1", "is read as 0"),
        ("x.1.0", '"x." is ignored in front of a wildcard'),
        (">=1.0.0-next", "the letter x makes"),
        ("!=1.x", "is never true"),
        ("!1.0.x", "no version is in this range"),
        ("1.0.0-2.0.0", "is one version, a pre-release"),
        (">2.0.0 <1.0.0", "no version is in this range"),
    ],
)
def test_trap_of_a_range_is_told(text: str, trap: str) -> None:
    assert any(trap in one for one in traps(text))


@pytest.mark.parametrize(
    "text",
    ["1.0.0", ">=1.0.0 <2.0.0", "> 1.0.0", "<1.0.0 || >=2.0.0", "1.x", "1.2.x", ">1.x", "<=1.2.x", "1.0.0-rc.1", "^1"],
)
def test_plain_range_has_no_trap(text: str) -> None:
    assert list(traps(text)) == []


POINTS = [
    strict(f"{major}.{minor}.{patch}{tail}")
    for major, minor, patch, tail in product(range(2), range(2), range(3), ("-0", "-a", "-a.0", "-a.1", ""))
]
comparisons = st.builds(
    "{}{}".format, st.sampled_from(["", "<", "<=", ">", ">=", "!="]), st.sampled_from([str(one) for one in POINTS])
)


@given(st.lists(st.lists(comparisons, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=2).map(" || ".join))
def test_range_that_holds_a_version_is_not_called_empty(text: str) -> None:
    found = Range.parse(text)
    if any(map(found.contains, POINTS)):
        assert holds_something(found)


@pytest.mark.parametrize("text", [">1.0.0 <1.0.1-0", ">1.0.0-a <1.0.0-a.0", "<0.0.0-0", ">=1.0.0 <1.0.0"])
def test_range_between_neighbours_is_empty(text: str) -> None:
    assert not holds_something(Range.parse(text))


@given(st.text(alphabet="0123x.|<>=!- a~^", max_size=30))
def test_traps_of_any_text_are_found(text: str) -> None:
    list(traps(text))


def test_ids_of_rules_are_given_once() -> None:
    ids = [rule.id for family in EVERY_FAMILY for rule in family.rules] + [rule.id for rule in read_file.RULES]
    assert [one for one, number in Counter(ids).items() if number > 1] == []


def test_lint_only_warns_and_other_families_refuse() -> None:
    lint = {rule.id for family in EVERY_FAMILY for rule in family.rules if rule.id.startswith("FBC-W")}
    refusing = {rule.id for family in EVERY_FAMILY for rule in family.rules if rule.severity is Severity.ERROR}
    assert lint.isdisjoint(refusing)
    assert all(rule.id in lint for family in LINT_FAMILIES for rule in family.rules)
    assert len(lint) + len(refusing) == sum(len(family.rules) for family in EVERY_FAMILY)
