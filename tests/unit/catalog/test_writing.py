"""Catalogs as text: the order of blobs and of fields, what is left out, and what is lost."""

from itertools import permutations
from typing import Any

import msgspec
import pytest

from rukpak_py.catalog.model import (
    BUNDLE,
    CHANNEL,
    PACKAGE,
    Bundle,
    Catalog,
    Channel,
    CustomBlob,
    Deprecation,
    Deprecations,
    Entry,
    Icon,
    Origin,
    Package,
    Property,
    RelatedImage,
)
from rukpak_py.catalog.read_file import read_file
from rukpak_py.catalog.writing import Encoded, blobs_of, encoded, in_order, lost_blobs, written
from rukpak_py.content import yaml


def custom(schema: str, package: str = "", **fields: Any) -> CustomBlob:
    value = {**fields, "schema": schema, **({"package": package} if package else {})}
    return CustomBlob(schema=schema, package=package, value=value)


WHOLE = Catalog(
    packages=(
        Package(name="p", default_channel="a", icon=Icon(data="eA\n==", media_type="image/png"), description="d"),
        Package(name="o"),
    ),
    channels=(
        Channel(
            package="p",
            name="b",
            entries=(
                Entry(name="p.v2", replaces="p.v1", skips=("p.v0", ""), skip_range="<2"),
                Entry(name="p.v1"),
            ),
            properties=(Property(type="t", value=None),),
        ),
        Channel(package="p", name="a"),
    ),
    bundles=(
        Bundle(package="p", name="p.v2", image="i", related_images=(RelatedImage(image="x"),)),
        Bundle(package="p", name="", properties=(Property(type="t", value={"b": 1, "a": "<"}), Property(type="u"))),
    ),
    deprecations=(
        Deprecations(
            package="p",
            entries=(Deprecation(schema=PACKAGE, message="m"), Deprecation(schema=BUNDLE, name="p.v1", message="n")),
        ),
    ),
    custom=(custom("z"), custom("y", "p", b=1, a=2), custom("x", "p"), custom("a")),
)
TEXT = """{
    "schema": "olm.package",
    "name": "o",
    "defaultChannel": ""
}
{
    "schema": "olm.package",
    "name": "p",
    "defaultChannel": "a",
    "icon": {
        "base64data": "eA==",
        "mediatype": "image/png"
    },
    "description": "d"
}
{
    "schema": "olm.channel",
    "name": "a",
    "package": "p",
    "entries": []
}
{
    "schema": "olm.channel",
    "name": "b",
    "package": "p",
    "entries": [
        {
            "name": "p.v2",
            "replaces": "p.v1",
            "skips": [
                "p.v0",
                ""
            ],
            "skipRange": "<2"
        },
        {
            "name": "p.v1"
        }
    ],
    "properties": [
        {
            "type": "t",
            "value": null
        }
    ]
}
{
    "schema": "olm.bundle",
    "package": "p",
    "image": "",
    "properties": [
        {
            "type": "t",
            "value": {
                "a": "<",
                "b": 1
            }
        },
        {
            "type": "u",
            "value": null
        }
    ]
}
{
    "schema": "olm.bundle",
    "name": "p.v2",
    "package": "p",
    "image": "i",
    "relatedImages": [
        {
            "name": "",
            "image": "x"
        }
    ]
}
{
    "package": "p",
    "schema": "x"
}
{
    "a": 2,
    "b": 1,
    "package": "p",
    "schema": "y"
}
{
    "schema": "olm.deprecations",
    "package": "p",
    "entries": [
        {
            "reference": {
                "schema": "olm.package"
            },
            "message": "m"
        },
        {
            "reference": {
                "schema": "olm.bundle",
                "name": "p.v1"
            },
            "message": "n"
        }
    ]
}
{
    "schema": "z"
}
{
    "schema": "a"
}
"""


def text(catalog: Catalog, *, as_yaml: bool = False) -> str:
    return b"".join(written(catalog, as_yaml=as_yaml)).decode()


def test_whole_catalog_as_json() -> None:
    assert text(WHOLE) == TEXT


def test_yaml_has_the_same_values_with_sorted_keys() -> None:
    as_yaml = text(WHOLE, as_yaml=True)
    assert yaml.load_all(as_yaml.encode()) == yaml.load_all(TEXT.encode())
    assert as_yaml.startswith('---\ndefaultChannel: ""\nname: o\nschema: olm.package\n---\n')


def test_order_does_not_depend_on_who_encodes_what() -> None:
    """Without custom blobs outside packages, whose order is that of reading."""
    blobs = [one for blob in blobs_of(WHOLE) if not isinstance(blob, CustomBlob) and (one := encoded(blob))]
    texts = {b"".join(in_order(order)) for order in list(permutations(blobs))[::500]}
    assert len(texts) == 1


def test_blobs_with_equal_keys_stay_in_their_order() -> None:
    key = (False, b"p", 0, b"")
    assert list(in_order([Encoded(key, b"2"), Encoded(key, b"1")])) == [b"2", b"1"]


def test_written_catalog_reads_back() -> None:
    assert text(read_file("x", TEXT.encode()).catalog) == TEXT


@pytest.mark.parametrize(
    ("value", "exact", "json"),
    [
        ({"b": 1, "a": 2.0}, "", '{"a":2,"b":1}'),
        ({"b": 1, "a": 2.0}, '{"b":1,"a":2.0}', '{"b":1,"a":2.0}'),
        ("<", '"\\u003c"', '"\\u003c"'),
    ],
)
def test_text_of_a_property_is_written_as_it_is(value: Any, exact: str, json: str) -> None:
    """Beside a property that has none, whose numbers are Go's."""
    blob = Bundle(
        package="p", name="b", properties=(Property(type="t", value=value, text=exact), Property(type="u", value=1e21))
    )
    data = msgspec.json.format(text(Catalog(bundles=(blob,))), indent=-1)
    assert f'[{{"type":"t","value":{json}}},{{"type":"u","value":1e+21}}]' in data


def test_yaml_sorts_the_text_of_a_property() -> None:
    blob = Bundle(package="p", name="b", properties=(Property(type="t", value={"b": 1, "a": 2}, text='{"b":1,"a":2}'),))
    assert "    a: 2\n    b: 1\n" in text(Catalog(bundles=(blob,)), as_yaml=True)


def test_blobs_outside_of_packages_are_lost_and_told() -> None:
    place = Origin(file="f", document=3)
    lost = Catalog(
        packages=(Package(name="", origin=place),),
        channels=(Channel(package="", name="c"),),
        bundles=(Bundle(package="", name="b"),),
        deprecations=(Deprecations(package=""),),
        custom=(custom("kept"),),
    )
    problems = list(lost_blobs(lost))
    assert text(lost) == '{\n    "schema": "kept"\n}\n'
    assert [problem.message for problem in problems] == [
        "the olm.package has no name, so it is not written",
        f"the {CHANNEL} 'c' has no package, so it is not written",
        f"the {BUNDLE} 'b' has no package, so it is not written",
        "the olm.deprecations has no package, so it is not written",
    ]
    assert problems[0].place is not None
    assert (problems[0].place.file, problems[0].place.document) == ("f", 3)
    assert list(lost_blobs(WHOLE)) == []


def test_icon_without_data() -> None:
    assert '"base64data": null' in text(Catalog(packages=(Package(name="p", icon=Icon()),)))
