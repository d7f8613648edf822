"""Advice of findings: what an author has to write, where the file shows what was meant."""

import pytest

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.catalog.read_file import read_file
from rukpak_py.catalog.validation import joined, validate
from rukpak_py.core.findings import Finding
from tests.unit.catalog.samples import (
    Json,
    bundle,
    channel,
    errors,
    findings,
    findings_of,
    one_bundle,
    package,
    package_property,
    stream,
    without,
)


def hints(blobs: list[Json], rule: str) -> list[str]:
    return [finding.hint for finding in findings(blobs) if finding.rule == rule]


@pytest.mark.parametrize(
    ("image", "hint"),
    [
        ("docker://example.com/a:v1", "Remove `docker://`: the name begins with the registry."),
        ("https://example.com/a:v1", "Remove `https://`: the name begins with the registry."),
        ("example.com:5000/Team/a:V1", "`example.com:5000/team/a:V1`"),
        ("example.com/A@sha256:" + "0" * 32, "`example.com/a@sha256:" + "0" * 32),
        ("example.com/${NAME}:v1", "`example.com/${name}:v1`"),
        ("example.com/${name}:v1", "nothing replaces variables"),
        ("example.com//a", "Write `registry.example.com/team/image:tag`"),
    ],
)
def test_advice_on_an_image_shows_the_corrected_name(image: str, hint: str) -> None:
    (found,) = hints(one_bundle(image=image), "FBC-C14")
    assert hint in found


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (">=1.0.0, <1.1.0", "not by commas: `>=1.0.0 <1.1.0`."),
        (">=1.0, <1.1.0", "not by commas: `>=1.0.0 <1.2.0`."),
        ("^1.0.0", "`^` and `~` are not known here"),
        ("1.0.0||2.0.0", "Write a blank on both sides of `||`."),
    ],
)
def test_advice_on_a_range_shows_the_corrected_range(text: str, hint: str) -> None:
    blobs = [package(), channel("a", {"name": "p.v1.0.0", "skipRange": text}), bundle("v1")]
    (found,) = hints(blobs, "FBC-M18")
    assert found.endswith(hint) or hint in found


@pytest.mark.parametrize(
    ("fields", "rule", "hint"),
    [
        ({"entries": ["p.v1.0.0"]}, "FBC-L07", "Write an object: `- name: p.v1.0.0`."),
        ({"entries": [{"name": "p.v1.0.0", "skips": "x"}]}, "FBC-L07", "Write a list: `skips: [x]`."),
        ({"entries": {"name": "p.v1.0.0"}}, "FBC-L07", "put `- ` before the first field"),
        ({"entries": [{"name": 1}]}, "FBC-L07", 'Put the value in quotes: `name: "1"`.'),
        ({"entries": [{"name": True}]}, "FBC-L07", 'Put the value in quotes: `name: "true"`.'),
        ({"entries": [{"name": "p.v1.0.0", "replace": "x"}]}, "FBC-W01", 'Did you mean "replaces"?'),
        ({"entries": [{"name": "p.v1.0.0"}], "entrys": []}, "FBC-W01", 'Did you mean "entries"?'),
        ({"entries": [{"name": "p.v1.0.0"}], "color": 1}, "FBC-W01", "Remove the field or correct its name"),
    ],
)
def test_advice_on_a_field_shows_what_to_write(fields: Json, rule: str, hint: str) -> None:
    blobs = [package(), channel("a") | fields, bundle("v1")]
    assert any(hint in found for found in hints(blobs, rule))


def test_element_of_a_list_is_named_by_its_number() -> None:
    (finding,) = [one for one in errors([package(), channel("a", entries=["x"])]) if one.rule == "FBC-L07"]
    assert finding.message == "element 0 of field 'entries' must be of type object, got string 'x'"


def test_number_for_a_version_is_advised_to_have_three_parts() -> None:
    (found,) = hints(one_bundle(properties=[package_property() | {"value": {"version": 1.1}}]), "FBC-C11")
    assert "all three numbers" in found


def test_missing_package_property_is_shown() -> None:
    (found,) = hints([package(), channel("a", "v1"), without(bundle("v1"), "properties")], "FBC-C12")
    assert "`value: {packageName: p, version: VERSION}`" in found


def test_blob_of_a_misspelled_schema_is_found() -> None:
    blobs = [package(), channel("a", "v1"), bundle("v1") | {"schema": "olm.bundles"}]
    assert 'blob "p.v1.0.0" of schema "olm.bundles"' in hints(blobs, "FBC-C18")[0]
    assert hints(blobs, "FBC-W26") == ['Did you mean "olm.bundle"?']
    blobs = [package(), channel("a", "v1") | {"schema": "olm.channels"}, bundle("v1")]
    assert hints(blobs, "FBC-M06")[0].endswith("write `olm.channel`.")
    blobs = [package() | {"schema": "olm.packages"}, channel("a", "v1"), bundle("v1")]
    assert hints(blobs, "FBC-C04")[0].endswith("write `olm.package`.")


def test_misspelled_schema_is_told_of_a_catalog_that_is_valid() -> None:
    found = findings([*one_bundle(), {"schema": "olm.deprecation", "package": "p", "entries": []}])
    assert [(one.rule, one.is_error, one.line, one.hint) for one in found] == [
        ("FBC-W26", False, 4, 'Did you mean "olm.deprecations"?')
    ]


def test_one_package_under_two_names_is_recognised() -> None:
    blobs = [package(name="ferry"), channel("a", "v1", package="boats"), bundle("v1", package="boats")]
    assert hints(blobs, "FBC-C04") == ['The package "ferry" has no channels and no bundles: use one name for both.']
    assert hints(blobs, "FBC-M06") == ['The channels are of a package "boats": use one name for both.']


def test_bundle_whose_name_has_another_version_is_the_wrong_one() -> None:
    blobs = [package(), channel("a", "v1", "v2 replaces v1"), bundle("v2", version="1.0.0"), bundle("v1")]
    (finding,) = errors(blobs)
    assert (finding.rule, finding.line) == ("FBC-M15", 3)
    assert finding.hint == 'By its name, "p.v2.0.0" has the version 2.0.0: correct it.'


def test_new_bundle_without_an_entry_is_advised_to_replace_the_head() -> None:
    blobs = [package(), channel("a", "v1", "v2 replaces v1"), bundle("v1"), bundle("v2"), bundle("v3")]
    (found,) = hints(blobs, "FBC-C17")
    assert found.startswith('Add an entry to a channel, such as `- name: p.v3.0.0` with `replaces: p.v2.0.0` to "a"')
    (found,) = hints([*blobs[:-1], bundle("v1.5")], "FBC-C17")
    assert found.startswith("Add an entry with its name")


TWO_BLOBS = b"---\nschema: olm.package\nname: p\nschema: olm.channel\npackage: p\n"


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (TWO_BLOBS, [4]),
        (b"a: b\n" + TWO_BLOBS.replace(b"p\nschema", b"p\nschema "), [5]),
        (TWO_BLOBS.replace(b"p\nschema", b"p\n---\nschema"), []),
        (b"schema: x\ndescription: |\n  schema: y\n", []),
        (b'{"schema": "x"}\n{"schema": "y"}\n', []),
    ],
)
def test_two_blobs_in_one_document_are_warned_of(data: bytes, lines: list[int]) -> None:
    found = [finding for finding in findings_of({"c.yaml": data}) if finding.rule == "FBC-W04"]
    assert [(finding.line, finding.column) for finding in found] == [(line, 1) for line in lines]


def checked(blobs: list[Json]) -> list[Finding]:
    data = stream(blobs)
    content = read_file("catalog.json", data, checks=Checks.LINT)
    return validate(joined([content]), {"catalog.json": data})


def test_default_channel_under_a_wrong_name_is_recognised() -> None:
    blobs = [package(None, default_channel="a"), channel("a", "v1"), bundle("v1")]
    (found,) = [one for one in checked(blobs) if one.rule == "FBC-M01"]
    assert found.hint == "Write `defaultChannel` for `default_channel`."
    (found,) = [one for one in checked([package(None, colour="a"), *blobs[1:]]) if one.rule == "FBC-M01"]
    assert found.hint == "Channels of the package: a."


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(bundle("v1", package="pp"), id="the package alone"),
        pytest.param(bundle("v1", package="pp", properties=[package_property(packageName="pp")]), id="both"),
        pytest.param(bundle("v1", properties=[package_property(packageName="pp")]), id="the property alone"),
    ],
)
def test_wrong_package_is_no_reason_to_rename_the_bundle(wrong: Json) -> None:
    rules = {one.rule for one in checked([package(), channel("a", "v1"), wrong])}
    assert rules & {"FBC-C09", "FBC-C13"}
    assert "FBC-W16" not in rules
    assert "FBC-W16" in {one.rule for one in checked(one_bundle(name="p-1"))}


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("a.yaml", b"- schema: olm.package\n  name: p\n- schema: olm.channel\n"),
        ("a.json", b'[{"schema": "olm.package"}, {"schema": "olm.channel"}]'),
    ],
)
def test_list_of_blobs_is_to_be_documents(file: str, data: bytes) -> None:
    (found,) = read_file(file, data).findings
    assert (found.rule, found.hint[:45]) == ("FBC-L02", "Write each blob as a document of its own: in ")


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"schema": "x"},\n{"schema": "y"}', (1, 16)),
        (b'{\n"schema": "x"\n}\n,\n{"schema": "y"}', (4, 1)),
        (b'{"schema": "x"}\n{"schema": "x"} , {"schema": "y"}', (2, 17)),
    ],
)
def test_comma_between_blobs_is_to_be_removed(data: bytes, place: tuple[int, int]) -> None:
    (found,) = read_file("a.json", data).findings
    assert (found.line, found.column, found.hint[:17]) == (*place, "Remove the comma:")


def test_repeated_blob_is_told_with_the_line_of_the_first() -> None:
    blobs = one_bundle()
    found = {one.rule: one.message for one in errors([*blobs, *blobs])}
    for line, rule in enumerate(("FBC-C02", "FBC-C06", "FBC-C10"), start=1):
        assert found[rule].endswith(f": the first is document {line} of catalog.json (line {line})")
