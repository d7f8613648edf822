"""Which catalogs are refused, and by which rule: one row for each statement about `opm validate`."""

import pytest

from tests.unit.catalog.samples import (
    Json,
    bundle,
    channel,
    deprecations,
    entry,
    errors,
    findings_of,
    one_bundle,
    package,
    package_property,
    refused_by,
    sample,
    stream,
    without,
)

GOOD = sample("v1")
HEX = "abcdef0123456789" * 8


def case(number: str, blobs: list[Json], *rules: str) -> object:
    return pytest.param(blobs, sorted(rules), id=f"vector {number}")


def gvk(**fields: object) -> Json:
    return {"type": "olm.gvk", "value": fields}


def value(kind: str, content: object) -> Json:
    return {"type": kind, "value": content}


def with_image(image: str) -> list[Json]:
    return one_bundle(image=image)


def with_version(version: str) -> list[Json]:
    return [package(), channel("a", "v1"), bundle("v1", version=version)]


def with_release(release: object, name: str, version: str = "0.1.0") -> list[Json]:
    return one_bundle(name=name, properties=[package_property(version, release=release)])


def with_package_name(name: str) -> list[Json]:
    return [package(), channel("a", "v1"), bundle("v1"), {"schema": "olm.package", "name": name, "defaultChannel": "a"}]


def deprecating(*entries: tuple[str, str, str]) -> list[Json]:
    return [*GOOD, deprecations(*entries)]


def mangled(blob: Json) -> Json:
    """The blob with all keys of it and its lists in upper case."""
    return {
        key.upper(): [mangled(one) if isinstance(one, dict) else one for one in member]
        if isinstance(member, list)
        else mangled(member)
        if isinstance(member, dict)
        else member
        for key, member in blob.items()
    }


GRAPHS = [
    case("1: one bundle", GOOD),
    case("2: nothing", []),
    case("3: a custom blob of an unknown package", [*GOOD, {"schema": "my.thing", "package": "q", "x": [1]}]),
    case("4: unknown fields", [{**blob, "unknown": {"a": 1}} for blob in GOOD]),
    case("5: an unknown schema of OLM", [*GOOD, {"schema": "olm.unknown", "package": "p"}]),
    case("6: two heads", sample("v1", "v2"), "M08"),
    case("7: a cycle of two", sample("v1 replaces v2", "v2 replaces v1"), "M07"),
    case("8: skips itself", sample("v1 skips v1"), "M07"),
    case("9: replaces itself, below a head", sample("v4 replaces v4", "v5 replaces v4"), "M09"),
    case(
        "10: a cycle below a head",
        sample("v1 replaces v3", "v2 replaces v1", "v3 replaces v2", "v4 replaces v3"),
        "M09",
    ),
    case("11: what a skipped entry replaces is stranded", sample("v1", "v2 replaces v1", "v3 skips v2"), "M10"),
    case("12: replaced and skipped", sample("v1", "v2 replaces v1", "v3 replaces v2 skips v2"), "M10"),
    case("13: a chain of skips", sample("v1", "v2 skips v1", "v3 skips v2", "v4 replaces v3")),
    case("14: a skipped branch", sample("v1", "v2 replaces v1", "v3 replaces v1 skips v2")),
    case("15: a range is no edge", sample("v1", entry("v2", skipRange="<2.0.0")), "M08"),
    case("16: a downgrade", sample("v2 replaces v3", "v3")),
    case("17: skips what is behind a dangling edge", sample("v3 replaces v2 skips v1", "v1")),
    case("18: a dangling edge in the middle", sample("v3 replaces v2", "v1"), "M08"),
    case("19: names of elsewhere", sample("v1 replaces v0 skips v0.1")),
    case("20: skipped twice", sample("v1", "v2 skips v1", "v3 skips v1"), "M08"),
    case("21: an empty skip and a bad range", sample(entry("v1", skips=[""], skipRange=">v0.0.1")), "M17", "M18"),
    case("22: a comma in a range", sample(entry("v1", skipRange=">=0.0.1, <0.1.0")), "M18"),
    case("23: an empty range", sample(entry("v1", skipRange=""))),
    case("24: an empty default channel", [package(""), *GOOD[1:]], "M01"),
    case("25: an unknown default channel", [package("zz"), *GOOD[1:]], "M06"),
    case("26: a package alone", [package("")], "M01", "M02"),
    case("27: a package alone with a default channel", [package()], "M06"),
    case("28: entries are null", [package(), channel("a", entries=None)], "M06"),
    case("28: entries are missing", [package(), without(channel("a"), "entries")], "M06"),
    case("28: entries are empty", [package(), channel("a")], "M06"),
    case(
        "29: two bundles of one version",
        [package(), channel("a", "x", "y replaces x"), bundle("x", version="1.0.0"), bundle("y", version="1.0.0")],
        "M15",
    ),
    case(
        "30: versions that differ in their builds",
        [package(), channel("a", "x", "y replaces x"), bundle("x", version="1.0.0+1"), bundle("y", version="1.0.0+2")],
    ),
    case("31: an entry without its bundle", sample("v1", "v2 replaces v1", absent="v2"), "C18"),
    case("32: in an earlier channel", [*sample("v1", "v2 replaces v1", absent="v2"), channel("b", "v1")], "C18"),
    case(
        "33: two such entries",
        [package(), channel("a", "v1", "v2 replaces v1", "v3 replaces v2"), channel("b", "v1"), bundle("v1")],
        "C18",
    ),
]

BUNDLES = [
    case("34: no image", one_bundle(image=""), "M21"),
    case("35: no image, but objects", one_bundle(value("olm.bundle.object", {"ref": "x"}), image="")),
    case("36: in no channel", [*GOOD, bundle("v2")], "C17"),
    case("37: a package twice", [*GOOD, package()], "C02"),
    case("37: a channel twice", [*GOOD, GOOD[1]], "C06"),
    case("37: an entry twice", [package(), channel("a", "v1", "v1"), bundle("v1")], "C07"),
    case("37: a bundle twice", [*GOOD, GOOD[2]], "C10"),
    *(case(f"38: package {name[:5]!r}", with_package_name(name), "C03", "M06") for name in ("a.b", "Foo", "a_b", "-a")),
    case("38: a long name", with_package_name("f" * 64), "C03", "M06"),
    case("38: no name", with_package_name(""), "C01", "M06"),
    case("39: a channel of an unknown package", [*GOOD, channel("b", "v1", package="q")], "C04"),
    case("39: a channel without package", [*GOOD, channel("b", "v1", package="")], "C04"),
    case("39: a channel without name", [*GOOD, channel("", "v1")], "C05"),
    case("40: a bundle without package", [*GOOD, bundle("v2", package="")], "C08"),
    case("40: a bundle of an unknown package", [*GOOD, bundle("v2", package="q")], "C09", "C13"),
    case("41: no package property", one_bundle(properties=[]), "C12"),
    case("41: two package properties", one_bundle(package_property()), "C12"),
    case("42: of another package", one_bundle(properties=[package_property(packageName="q")]), "C13"),
    case("42: null", one_bundle(properties=[value("olm.package", None)]), "C13"),
    *(case(f"43: version {version!r}", with_version(version), "C15") for version in ("v0.1.0", "0.1", "", "0.1.0.1")),
    case("44: no value", one_bundle({"type": "my.type"}), "C11"),
    case("45: no type", one_bundle({"value": 1})),
    case("45: an empty GVK", one_bundle(gvk())),
    case("45: a bad range", one_bundle(value("olm.package.required", {"packageName": "q", "versionRange": "?"}))),
    case("46: a number as group", one_bundle(gvk(group=1)), "C11"),
    case("46: text as package", one_bundle(properties=[value("olm.package", "p")]), "C11"),
    case("47: an object that is not base64", one_bundle(value("olm.bundle.object", {"data": "!!!"})), "L09"),
    *(
        case(f"48: image {image[:12]!r}", with_image(image), "C14")
        for image in (
            "a b",
            "example.com/A",
            "docker://a",
            f"a@sha256:{HEX[:40]}",
            f"a@ssha256:{HEX[:64]}",
            f"a@md5:{HEX[:32]}",
            HEX[:64],
            f"a@sha512:{HEX[:64]}",
        )
    ),
    *(
        case(f"49: image {image[:12]!r}", with_image(image))
        for image in (
            f"a:1@sha256:{HEX[:64]}",
            f"a@sha384:{HEX[:96]}",
            f"a@sha512:{HEX}",
            "a",
            "EXAMPLE.com/a",
        )
    ),
    case("50: related images", one_bundle(relatedImages=[{"image": ""}, {"image": "x y"}]), "C14"),
    case("51: an empty icon", [package(icon={}), *GOOD[1:]]),
    case("51: text as icon", [package(icon={"base64data": "YQ==", "mediatype": "text/plain"}), *GOOD[1:]]),
    case("51: lines of an icon", [package(icon={"base64data": "Y\nQ==", "mediatype": "x"}), *GOOD[1:]]),
    case("52: an icon that is not base64", [package(icon={"base64data": "!!"}), *GOOD[1:]], "L08"),
    case("52: an icon without padding", [package(icon={"base64data": "YQ"}), *GOOD[1:]], "L08"),
    case("53: a release", with_release("alpha.1", "p-v0.1.0-alpha.1")),
    case("54: a release that the name does not hold", with_release("1", "p.v0.1.0"), "M20"),
    case("55: a bad release", with_release("!!!.0.01", "p-v0.1.0-!!!.0.01"), "C16"),
    case("56: a long release", with_release("a" * 21, "p-v0.1.0-" + "a" * 21), "C16"),
    case("56: a number as release", with_release(1, "p-v0.1.0-1"), "C11"),
    case("57: build and release", with_release("1", "p-v0.1.0+b-1", version="0.1.0+b"), "M23"),
    case(
        "58: a release like a pre-release",
        [
            package(),
            channel("a", "x", entry("p-v0.1.0-1", replaces="x")),
            bundle("x", version="0.1.0-1"),
            bundle("p-v0.1.0-1", properties=[package_property("0.1.0", release="1")]),
        ],
        "M15",
    ),
    case("59: two broken packages", [package(""), package("", name="q")], "M01", "M01", "M02", "M02"),
    case("60: empty names", one_bundle(name=""), "M09", "M16"),
    case("65: keys in any case", [mangled(blob) for blob in GOOD]),
    case("67: a number as version", one_bundle(properties=[package_property(1.5)]), "C11"),  # type: ignore[arg-type]
]

DEPRECATIONS = [
    case("61: of everything", deprecating(("olm.package", "", "m"), ("olm.channel", "a", "m"))),
    case("61: of a bundle", deprecating(("olm.bundle", "p.v1.0.0", "m"))),
    case("62: no package", [*GOOD, deprecations(package="")], "D01"),
    case("62: an unknown package", [*GOOD, deprecations(package="q")], "D02"),
    case("62: two blobs", [*GOOD, deprecations(), deprecations()], "D03"),
    case("62: no entries", deprecating()),
    case("62: null entries", [*GOOD, deprecations(entries=None)]),
    case("63: no schema", deprecating(("", "", "m")), "D04"),
    case("63: a custom schema", deprecating(("my.thing", "n", "m")), "D09"),
    case("63: an unknown bundle", deprecating(("olm.bundle", "n", "m")), "D06"),
    case("63: an unknown channel", deprecating(("olm.channel", "n", "m")), "D07"),
    case("63: a named package", deprecating(("olm.package", "p", "m")), "D08"),
    case("63: repeated", deprecating(("olm.channel", "a", "m"), ("olm.channel", "a", "n")), "D05"),
    case("64: no message for a package", deprecating(("olm.package", "", "")), "M05"),
    case("64: no message for a channel", deprecating(("olm.channel", "a", "")), "M14"),
    case("64: no message for a bundle", deprecating(("olm.bundle", "p.v1.0.0", "")), "M19"),
]


@pytest.mark.parametrize(("blobs", "rules"), [*GRAPHS, *BUNDLES, *DEPRECATIONS])
def test_catalog_is_refused_by_these_rules(blobs: list[Json], rules: list[str]) -> None:
    assert refused_by(blobs) == rules


def test_version_that_yaml_reads_as_a_number_is_refused() -> None:
    """Vector 67, as people write it."""
    data = stream(GOOD[:2]) + b"---\nschema: olm.bundle\npackage: p\nname: p.v1.0.0\nimage: a\n"
    data = data.replace(b'{"schema"', b'---\n{"schema"')
    data += b"properties:\n- type: olm.package\n  value: {packageName: p, version: 1.0}\n"
    (finding,) = [one for one in findings_of({"c.yaml": data}) if one.is_error]
    assert (finding.rule, finding.path) == ("FBC-C11", "properties[0].value.version")
    assert finding.line == len(data.decode().splitlines())


def test_path_of_a_wrong_field_is_as_the_file_spells_it() -> None:
    blobs = one_bundle(gvk())
    blobs[2]["Properties"] = [package_property(), {"Type": "olm.gvk", "Value": {"Group": 1}}]
    del blobs[2]["properties"]
    (finding,) = errors(blobs)
    assert finding.path == "Properties[1].Value.Group"
    assert finding.line == 3


def test_unknown_package_is_told_once() -> None:
    blobs = [*GOOD, *(channel(name, "v1", package="P") for name in "bcd"), bundle("v2", package="P")]
    (finding,) = [one for one in errors(blobs) if one.rule != "FBC-C13"]
    assert finding.message == 'unknown package "P" for channel "b" (and 3 other blobs)'


def test_unknown_package_of_one_letter_more_is_advised() -> None:
    blobs = [package(name="gadgets"), channel("a", package="gadget")]
    finding = next(one for one in errors(blobs) if one.rule == "FBC-C04")
    assert 'Did you mean "gadgets"?' in finding.hint


def test_blobs_of_a_package_that_may_be_lost_are_not_missed() -> None:
    files = {"a.json": stream([channel("a", "v1"), bundle("v2"), deprecations(("olm.bundle", "v3", "m"))])}
    assert {finding.rule for finding in findings_of(files)} == {"FBC-C04"}
    assert findings_of(files, broken=None) == []
    assert findings_of(files, broken=frozenset({"p"})) == []
    assert findings_of(files, broken=frozenset({"q"})) != []


def test_findings_of_blobs_in_several_files_name_their_files() -> None:
    files = {"a.json": stream([package()]), "b/c.json": stream([channel("a", "v1"), package()])}
    found = {(finding.rule, finding.file, finding.line) for finding in findings_of(files)}
    assert found == {("FBC-C02", "b/c.json", 2), ("FBC-C18", "b/c.json", 1)}
