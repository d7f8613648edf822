"""Rules for one bundle of a catalog: what makes `opm` refuse it, whatever else the catalog has."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from rukpak_py.catalog.checks import advice
from rukpak_py.catalog.checks.image_names import problem_of_image
from rukpak_py.catalog.checks.places import place_in
from rukpak_py.catalog.checks.properties import PackageProperty, defect_of_object, defects_of, package_property
from rukpak_py.catalog.model import BUNDLE_OBJECT, PACKAGE_PROPERTY, Bundle
from rukpak_py.core import versions
from rukpak_py.core.go_text import quoted
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[Bundle] = Family(title="Bundles of a catalog", origin="operator-framework/operator-registry")

_LONGEST_RELEASE: Final = 20


@FAMILY.rule(
    "FBC-C08",
    title="A bundle names its package",
    hint="Write the name of the package in `package`.",
)
def package_is_named(bundle: Bundle) -> Iterator[Problem]:
    if not bundle.package:
        message = f"package name must be set for bundle {quoted(bundle.name)}"
        found = package_property(bundle)
        hint = f"Add `package: {found.package}`, as its property says." if found and found.package else None
        yield Problem(message=message, place=place_in(bundle.origin), hint=hint)


@FAMILY.rule(
    "FBC-M16",
    title="A bundle has a name",
    hint="Name the bundle `<package>.v<version>`, as its ClusterServiceVersion is named.",
)
def bundle_is_named(bundle: Bundle) -> Iterator[Problem]:
    if not bundle.name:
        message = f"name must be set (bundle of package {quoted(bundle.package)})"
        yield Problem(message=message, place=place_in(bundle.origin))


@FAMILY.rule(
    "FBC-L09",
    title="An object of a bundle is a manifest in base64",
    hint="Write the manifest, as JSON, in padded base64: `base64 -w0 manifest.json`.",
)
def objects_are_manifests(bundle: Bundle) -> Iterator[Problem]:
    for index, one in enumerate(bundle.properties):
        defect = defect_of_object(one, index) if one.type == BUNDLE_OBJECT else None
        if defect is not None:
            whose = f"package {quoted(bundle.package)}, bundle {quoted(bundle.name)}"
            message = f"read bundle objects: {whose}: {defect.text}"
            yield Problem(message=message, place=place_in(bundle.origin, "properties", index, *defect.path))


@FAMILY.rule(
    "FBC-C11",
    title="Properties have values of their type",
    hint="Write the value as the type of the property has it; strings that look like numbers stand in quotes.",
)
def properties_have_their_type(bundle: Bundle) -> Iterator[Problem]:
    for index, one in enumerate(bundle.properties):
        for defect in defects_of(one):
            parse = f"parse property[{index}] of type {quoted(one.type)}"
            message = f"parse properties for bundle {quoted(bundle.name)}: {parse}: {defect.text}"
            hint = defect.hint if defect.path else "Add the `value` of the property; null is one, too."
            place = place_in(bundle.origin, "properties", index, *defect.path)
            yield Problem(message=message, place=place, hint=hint)


@FAMILY.rule(
    "FBC-C12",
    title="A bundle has one package property",
    hint="Keep one property `olm.package` with the `packageName` and the `version` of the bundle.",
)
def there_is_one_package_property(bundle: Bundle) -> Iterator[Problem]:
    found = [index for index, one in enumerate(bundle.properties) if one.type == PACKAGE_PROPERTY]
    if len(found) == 1:
        return
    whose = f"package {quoted(bundle.package)} bundle {quoted(bundle.name)}"
    message = f'{whose} must have exactly 1 "{PACKAGE_PROPERTY}" property, found {len(found)}'
    hint = None if found else _hint_for_no_property(bundle)
    place = place_in(bundle.origin, "properties", found[1]) if found else place_in(bundle.origin, "properties")
    yield Problem(message=message, place=place, hint=hint)


@FAMILY.rule(
    "FBC-C13",
    title="The package property is of the bundle's package",
    hint="Write the same name in `package` and in `packageName` of the property `olm.package`.",
)
def packages_are_the_same(bundle: Bundle) -> Iterator[Problem]:
    found = package_property(bundle)
    if found is not None and bundle.package and found.package != bundle.package:
        message = (
            f'package {quoted(bundle.package)} does not match "{PACKAGE_PROPERTY}" property {quoted(found.package)}'
            f" (bundle {quoted(bundle.name)})"
        )
        yield Problem(message=message, place=_in_property(bundle, found, "packageName"))


@FAMILY.rule(
    "FBC-C14",
    title="Images are references of container images",
    hint="Write `registry.example.com/team/image:tag` or `…@sha256:<64 hexadecimal digits>`, in lower case and without "
    "a scheme such as `docker://`.",
)
def images_are_references(bundle: Bundle) -> Iterator[Problem]:
    whose = f"package {quoted(bundle.package)} bundle {quoted(bundle.name)}"
    reason = problem_of_image(bundle.image)
    if reason is not None:
        place = place_in(bundle.origin, "image")
        yield Problem(message=f"{whose} image: {reason}", place=place, hint=advice.on_image(bundle.image))
    for index, related in enumerate(bundle.related_images):
        reason = problem_of_image(related.image)
        if reason is not None:
            message = f"{whose} relatedImages[{index}].image: {reason}"
            place = place_in(bundle.origin, "relatedImages", index, "image")
            yield Problem(message=message, place=place, hint=advice.on_image(related.image))


@FAMILY.rule(
    "FBC-M21",
    title="A bundle has an image",
    hint="Write where the image of the bundle is in `image`. Only a bundle with properties `olm.bundle.object` does "
    "without one.",
)
def bundle_has_an_image(bundle: Bundle) -> Iterator[Problem]:
    if not bundle.image and not bundle.has_objects:
        yield Problem(
            message=f"bundle image must be set for bundle {quoted(bundle.name)}", place=place_in(bundle.origin)
        )


@FAMILY.rule(
    "FBC-C15",
    title="The version of a bundle is a semantic version",
    hint="Write a full version, `1.2.3` or `1.2.3-rc.1`, in quotes.",
)
def version_is_semantic(bundle: Bundle) -> Iterator[Problem]:
    found = package_property(bundle)
    if found is None or found.is_null:
        return
    try:
        versions.strict(found.version)
    except ValueError as error:
        message = f"error parsing bundle {quoted(bundle.name)} version {quoted(found.version)}: {error}"
        near = _tolerated(found.version)
        hint = f'Write it as `version: "{near}"`.' if near is not None else None
        yield Problem(message=message, place=_in_property(bundle, found, "version"), hint=hint)


@FAMILY.rule(
    "FBC-C16",
    title="A release is made of identifiers",
    hint="Write at most 20 characters: letters, digits and `-` between dots, numbers without leading zeros; `1` or "
    "`alpha.2`.",
)
def release_is_valid(bundle: Bundle) -> Iterator[Problem]:
    found = package_property(bundle)
    reason = _reason_of_release(found.release) if found is not None and found.release else None
    if found is not None and reason is not None:
        release = quoted(found.release)
        message = f"error parsing bundle {quoted(bundle.name)} release version {release}: invalid release {release}: "
        yield Problem(message=message + reason, place=_in_property(bundle, found, "release"))


@FAMILY.rule(
    "FBC-M20",
    title="With a release, a bundle's name is `<package>-v<version>-<release>`",
    hint="Rename the bundle, here and in the channels, or remove the release.",
)
def name_holds_the_release(bundle: Bundle) -> Iterator[Problem]:
    found = package_property(bundle)
    if found is None or not found.release or not bundle.name or not found.has_valid_version:
        return
    if _reason_of_release(found.release) is not None:
        return
    expected = f"{bundle.package}-v{found.version}-{found.release}"
    if bundle.name != expected:
        message = f"name {quoted(bundle.name)} does not match normalized name {quoted(expected)}"
        yield Problem(message=message, place=place_in(bundle.origin, "name"))


@FAMILY.rule(
    "FBC-M23",
    title="A version with a release has no build metadata",
    hint="Remove `+` and what follows it from the version: the release takes its place.",
)
def release_is_the_only_build(bundle: Bundle) -> Iterator[Problem]:
    found = package_property(bundle)
    if found is not None and found.release and found.has_valid_version and "+" in found.version:
        message = f"cannot use build metadata in version with a release version (bundle {quoted(bundle.name)})"
        yield Problem(message=message, place=_in_property(bundle, found, "version"))


def _hint_for_no_property(bundle: Bundle) -> str:
    near = get_close_matches(PACKAGE_PROPERTY, {one.type for one in bundle.properties[:100]}, n=1)
    if near:
        return f"The bundle has a property {quoted(near[0])}: did you mean `{PACKAGE_PROPERTY}`?"
    return (
        f"Add the property, with the version of the bundle: `- type: {PACKAGE_PROPERTY}` and "
        f"`value: {{packageName: {bundle.package or 'PACKAGE'}, version: VERSION}}`."
    )


def _in_property(bundle: Bundle, found: PackageProperty, name: str) -> Place:
    return place_in(bundle.origin, *found.path(name, bundle.properties[found.index].value))


def _tolerated(version: str) -> str | None:
    try:
        return str(versions.tolerant(version)) if version else None
    except ValueError:
        return None


def _reason_of_release(release: str) -> str | None:
    if len(release.encode(errors="surrogatepass")) > _LONGEST_RELEASE:
        return f"exceeds maximum length of {_LONGEST_RELEASE} characters"
    reasons = []
    for number, segment in enumerate(release.split(".")):
        try:
            versions.release(segment)
        except ValueError as error:
            reasons.append(f"segment {number}: {error}")
    return "\n".join(reasons) or None
