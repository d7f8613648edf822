"""Warnings about a bundle alone: its name, its images, and its properties."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import msgspec

from rukpak_py.catalog.checks import advice
from rukpak_py.catalog.checks.image_names import problem_of_image
from rukpak_py.catalog.checks.places import place_in
from rukpak_py.catalog.checks.properties import TYPES, package_property
from rukpak_py.catalog.fields import member, unknown_fields
from rukpak_py.catalog.images import is_pinned
from rukpak_py.catalog.lint.blobs import RANGE_TRAP
from rukpak_py.catalog.lint.range_traps import traps
from rukpak_py.catalog.model import (
    BUNDLE_OBJECT,
    CONSTRAINT,
    CSV_METADATA,
    GVK,
    PACKAGE_PROPERTY,
    REQUIRED_GVK,
    REQUIRED_PACKAGE,
    Bundle,
)
from rukpak_py.core.findings import Severity
from rukpak_py.core.go_text import quoted
from rukpak_py.core.ranges import Range
from rukpak_py.core.text import counted
from rukpak_py.formats.rules import Family, Problem

BUNDLES: Family[Bundle] = Family(title="Advice for bundles", origin="rukpak-py")

_OTHER_TYPES: Final = frozenset(
    {
        CONSTRAINT,
        BUNDLE_OBJECT,
        "olm.bundle.mediatype",
        "olm.deprecated",
        "olm.label",
        "olm.maxOpenShiftVersion",
        "olm.substitutesFor",
    }
)
_MOST_OF_A_CONSTRAINT: Final = 131_072
_MOST_OF_A_BUNDLE: Final = 20
_BULK: Final = frozenset({BUNDLE_OBJECT, CSV_METADATA})


def _values(bundle: Bundle, *types: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Number, type and value of the properties of these types that have an object as value."""
    for index, one in enumerate(bundle.properties):
        if one.type in types and isinstance(one.value, dict):
            yield index, one.type, one.value


@BUNDLES.rule(
    "FBC-W16",
    severity=Severity.WARNING,
    title="The name of a bundle is `<package>.v<version>`",
    hint="Rename the bundle, here, in its channels and in its ClusterServiceVersion.",
)
def name_holds_the_version(bundle: Bundle) -> Iterator[Problem]:
    found = package_property(bundle)
    if found is None or found.release or not found.has_valid_version or not bundle.name:
        return
    if bundle.package != found.package:  # one of the two is wrong, which another rule tells
        return
    expected = f"{bundle.package}.v{found.version}"
    if bundle.name != expected:
        message = f"name {quoted(bundle.name)} is not {quoted(expected)}"
        yield Problem(message=message, place=place_in(bundle.origin, "name"))


@BUNDLES.rule(
    "FBC-W17",
    severity=Severity.WARNING,
    title="The range of a required package can be read",
    hint="Write conditions with full versions between blanks: `>=1.0.0 <2.0.0`. No resolver can install the bundle.",
)
def required_ranges_can_be_read(bundle: Bundle) -> Iterator[Problem]:
    for index, _, value in _values(bundle, REQUIRED_PACKAGE):
        key, text = member(value, "versionRange")
        try:
            Range.parse(text if isinstance(text, str) else "")
        except ValueError as error:
            required = quoted(str(member(value, "packageName")[1] or ""))
            message = f"versionRange {quoted(str(text or ''))} of required package {required}: {error}"
            near = advice.on_range(text) if isinstance(text, str) else None
            hint = f"{near} No resolver can install the bundle." if near else None
            yield Problem(message=message, place=place_in(bundle.origin, "properties", index, "value", key), hint=hint)


@BUNDLES.further_check(
    RANGE_TRAP,
    severity=Severity.WARNING,
    hint="Write conditions with full versions between blanks: `>=1.0.0 <2.0.0`, alternatives with ` || `.",
)
def required_ranges_have_no_traps(bundle: Bundle) -> Iterator[Problem]:
    for index, _, value in _values(bundle, REQUIRED_PACKAGE):
        key, text = member(value, "versionRange")
        for trap in traps(text) if isinstance(text, str) else ():
            place = place_in(bundle.origin, "properties", index, "value", key)
            yield Problem(message=f"versionRange {trap}", place=place)


@BUNDLES.rule(
    "FBC-W18",
    severity=Severity.WARNING,
    title="Properties are given once",
    hint="Remove the repeated property.",
)
def properties_are_given_once(bundle: Bundle) -> Iterator[Problem]:
    first: dict[tuple[str, bytes], int] = {}
    for index, one in enumerate(bundle.properties):
        if one.type in _BULK or one.type == PACKAGE_PROPERTY or one.value is msgspec.UNSET:
            continue
        key = (one.type, msgspec.json.encode(one.value, order="sorted"))
        if key in first:
            message = f"property {index} of type {quoted(one.type)} repeats property {first[key]}"
            yield Problem(message=message, place=place_in(bundle.origin, "properties", index))
        first.setdefault(key, index)


@BUNDLES.rule(
    "FBC-W19",
    severity=Severity.WARNING,
    title="A bundle has the metadata of its CSV once",
    hint="Keep one property `olm.csv.metadata`: with more, `opm serve` ends with an error.",
)
def metadata_is_given_once(bundle: Bundle) -> Iterator[Problem]:
    found = [index for index, one in enumerate(bundle.properties) if one.type == CSV_METADATA]
    if len(found) > 1:
        message = f"bundle {quoted(bundle.name)} has {len(found)} properties {CSV_METADATA}"
        yield Problem(message=message, place=place_in(bundle.origin, "properties", found[1]))


@BUNDLES.rule(
    "FBC-W20",
    severity=Severity.WARNING,
    title="Types that begin with `olm.` are OLM's",
    hint="Correct the type of the property, or begin it otherwise.",
)
def types_are_known(bundle: Bundle) -> Iterator[Problem]:
    for index, one in enumerate(bundle.properties):
        if one.type.startswith("olm.") and one.type not in TYPES and one.type not in _OTHER_TYPES:
            message = f"property type {quoted(one.type)} is not one of OLM's: the property is ignored"
            yield Problem(message=message, place=place_in(bundle.origin, "properties", index, "type"))
        elif not one.type:
            message = f"property {index} of bundle {quoted(bundle.name)} has no type"
            yield Problem(message=message, place=place_in(bundle.origin, "properties", index))


@BUNDLES.rule(
    "FBC-W21",
    severity=Severity.WARNING,
    title="Images are pinned by their digests",
    hint="Write `…@sha256:<digest>`: what a tag names can change under a catalog, and mirrors need digests.",
)
def images_are_pinned(bundle: Bundle) -> Iterator[Problem]:
    related = [one.image for one in bundle.related_images if _is_by_tag(one.image) and one.image != bundle.image]
    others = f"{counted(len(related), 'related image')}" if related else ""
    if _is_by_tag(bundle.image):
        more = f", and {others}" if others else ""
        message = f"image {quoted(bundle.image)} has no digest{more}"
        yield Problem(message=message, place=place_in(bundle.origin, "image"))
    elif related:
        message = f"{others} of bundle {quoted(bundle.name)} without a digest: {quoted(related[0])}"
        index = next(index for index, one in enumerate(bundle.related_images) if one.image == related[0])
        yield Problem(message=message, place=place_in(bundle.origin, "relatedImages", index, "image"))


@BUNDLES.rule(
    "FBC-W22",
    severity=Severity.WARNING,
    title="A kind has a group, a version and a kind",
    hint="Write all three, as the CustomResourceDefinition has them.",
)
def kinds_are_complete(bundle: Bundle) -> Iterator[Problem]:
    for index, kind, value in _values(bundle, GVK, REQUIRED_GVK):
        missing = [name for name in ("group", "version", "kind") if not member(value, name)[1]]
        if missing:
            message = f"property {quoted(kind)} has no {', '.join(missing)}"
            yield Problem(message=message, place=place_in(bundle.origin, "properties", index, "value"))


@BUNDLES.rule(
    "FBC-W23",
    severity=Severity.WARNING,
    title="The metadata of a CSV has a display name and a description",
    hint="Write both in the ClusterServiceVersion, and render the bundle again: catalogs show them to users.",
)
def metadata_is_complete(bundle: Bundle) -> Iterator[Problem]:
    for index, _, value in _values(bundle, CSV_METADATA):
        missing = [name for name in ("displayName", "description") if not member(value, name)[1]]
        if missing:
            message = f"{CSV_METADATA} of bundle {quoted(bundle.name)} has no {' and no '.join(missing)}"
            yield Problem(message=message, place=place_in(bundle.origin, "properties", index, "value"))


@BUNDLES.rule(
    "FBC-W24",
    severity=Severity.WARNING,
    title="Values of properties have only the fields of their type",
    hint="Remove the field or correct its name: no reader of the property knows it.",
)
def fields_are_known(bundle: Bundle) -> Iterator[Problem]:
    unknown = (
        (index, kind, path)
        for index, kind, value in _values(bundle, *TYPES)
        for path in unknown_fields(TYPES[kind], value, ("value",))
    )
    for index, kind, path in islice(unknown, _MOST_OF_A_BUNDLE):
        message = f"property {kind} has no field {quoted(str(path[-1])[:100])}"
        place = replace(place_in(bundle.origin, "properties", index, *path), on_key=True)
        yield Problem(message=message, place=place)


@BUNDLES.rule(
    "FBC-W25",
    severity=Severity.WARNING,
    title="A constraint has at most 131072 bytes",
    hint="Write less in it, or several constraints: resolvers refuse longer ones.",
)
def constraints_are_short(bundle: Bundle) -> Iterator[Problem]:
    for index, kind, value in _values(bundle, CONSTRAINT):
        size = len(msgspec.json.encode(value))
        if size > _MOST_OF_A_CONSTRAINT:
            message = f"property {kind} of bundle {quoted(bundle.name)} has {size} bytes"
            yield Problem(message=message, place=place_in(bundle.origin, "properties", index, "value"))


@BUNDLES.rule(
    "FBC-W28",
    severity=Severity.WARNING,
    title="A bundle has an image beside its objects",
    hint="`rukpakctl catalog render --image-template TEMPLATE` writes the image of a bundle directory into its blob: "
    "without one OLM v1 and rukpak-py cannot install the bundle, and it is never migrated.",
)
def bundle_with_objects_has_an_image(bundle: Bundle) -> Iterator[Problem]:
    if not bundle.image and bundle.has_objects:
        message = f"bundle {quoted(bundle.name)} has objects only, and no image"
        yield Problem(message=message, place=place_in(bundle.origin, "image"))


def _is_by_tag(image: str) -> bool:
    return bool(image) and not is_pinned(image) and problem_of_image(image) is None
