"""Rules for the blobs of a catalog together: what they name exists, once, and every package can be installed.

An unknown package is told once, with the number of blobs that name it; nothing else is told for its absence.
"""

from collections import Counter
from collections.abc import Iterator

from rukpak_py.catalog.checks.catalog_advice import Advice, version_in_name
from rukpak_py.catalog.checks.places import place_in
from rukpak_py.catalog.checks.properties import package_property
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.model import Bundle, Origin
from rukpak_py.core.go_text import quoted
from rukpak_py.core.text import counted
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[WholeCatalog] = Family(title="Catalogs", origin="operator-framework/operator-registry")


@FAMILY.rule(
    "FBC-C02",
    title="A package is there once",
    hint="Remove one of the two `olm.package` blobs. Where two directories have the same package, keep one of them.",
)
def packages_are_there_once(whole: WholeCatalog) -> Iterator[Problem]:
    first: dict[str, Origin] = {}
    for package in whole.catalog.packages:
        if package.name in first and package.name:
            message = f"duplicate package {quoted(package.name)}"
            yield _repeated(message, package.origin, first[package.name])
        first.setdefault(package.name, package.origin)


@FAMILY.rule(
    "FBC-C04",
    title="Channels are of a package of the catalog",
    hint="Add the blob of the package: `rukpakctl catalog init NAME` prints one.",
)
def channels_have_their_package(whole: WholeCatalog) -> Iterator[Problem]:
    counts = Counter(bundle.package for bundle in whole.catalog.bundles)
    counts.update(channel.package for channel in whole.catalog.channels)
    told: set[str] = set()
    advice = Advice(whole=whole)
    for channel in whole.catalog.channels:
        if _is_missing(whole, channel.package) and channel.package not in told:
            told.add(channel.package)
            others = _others(counts[channel.package] - 1)
            message = f"unknown package {quoted(channel.package)} for channel {quoted(channel.name)}{others}"
            place = place_in(channel.origin, "package")
            yield Problem(message=message, place=place, hint=advice.on_package(channel.package, channel.origin))


@FAMILY.rule(
    "FBC-C06",
    title="A package has each channel once",
    hint="Join the entries of both in one `olm.channel`, or rename one of the channels.",
)
def channels_are_there_once(whole: WholeCatalog) -> Iterator[Problem]:
    first: dict[tuple[str, str], Origin] = {}
    for channel in whole.catalog.channels:
        key = (channel.package, channel.name)
        if key in first and channel.name:
            message = f"package {quoted(channel.package)} has duplicate channel {quoted(channel.name)}"
            yield _repeated(message, channel.origin, first[key])
        first.setdefault(key, channel.origin)


@FAMILY.rule(
    "FBC-C09",
    title="Bundles are of a package of the catalog",
    hint="Add the blob of the package: `rukpakctl catalog init NAME` prints one.",
)
def bundles_have_their_package(whole: WholeCatalog) -> Iterator[Problem]:
    of_channels = {channel.package for channel in whole.catalog.channels}
    counts = Counter(bundle.package for bundle in whole.catalog.bundles)
    told: set[str] = set()
    advice = Advice(whole=whole)
    for bundle in whole.catalog.bundles:
        package = bundle.package
        if package and package not in of_channels and _is_missing(whole, package) and package not in told:
            told.add(package)
            message = (
                f"unknown package {quoted(package)} for bundle {quoted(bundle.name)}{_others(counts[package] - 1)}"
            )
            place = place_in(bundle.origin, "package")
            yield Problem(message=message, place=place, hint=advice.on_package(package, bundle.origin))


@FAMILY.rule(
    "FBC-C10",
    title="A package has each bundle once",
    hint="Remove one of the two `olm.bundle` blobs.",
)
def bundles_are_there_once(whole: WholeCatalog) -> Iterator[Problem]:
    first: dict[tuple[str, str], Origin] = {}
    for bundle in whole.catalog.bundles:
        key = (bundle.package, bundle.name)
        if key in first and bundle.package:
            message = f"package {quoted(bundle.package)} has duplicate bundle {quoted(bundle.name)}"
            yield _repeated(message, bundle.origin, first[key])
        first.setdefault(key, bundle.origin)


@FAMILY.rule(
    "FBC-C17",
    title="A bundle is an entry of a channel",
    hint="Add an entry with its name to a channel of the package, or remove the bundle.",
)
def bundles_are_in_a_channel(whole: WholeCatalog) -> Iterator[Problem]:
    advice = Advice(whole=whole)
    for bundle in whole.catalog.bundles:
        package = bundle.package
        entries = whole.in_channels.get(package, frozenset())
        is_checkable = package in whole.known and whole.is_complete(package) and package in whole.in_channels
        if is_checkable and bundle.name not in entries:
            whose = f"package {quoted(package)}, bundle {quoted(bundle.name)}"
            message = f"{whose} not found in any channel entries"
            hint = advice.on_bundle(bundle) or advice.on_new_bundle(bundle)
            yield Problem(message=message, place=place_in(bundle.origin, "name"), hint=hint)


@FAMILY.rule(
    "FBC-C18",
    title="An entry of a channel has its bundle",
    hint="Add an `olm.bundle` of that name, or remove the entry: names in `replaces` and `skips` need no bundle.",
)
def entries_have_their_bundle(whole: WholeCatalog) -> Iterator[Problem]:
    advice = Advice(whole=whole)
    for channel in whole.catalog.channels:
        if channel.package not in whole.known or not whole.is_complete(channel.package):
            continue
        bundles = whole.packages[channel.package].bundles
        missing = {
            entry.name: index for index, entry in reversed([*enumerate(channel.entries)]) if entry.name not in bundles
        }
        if missing:
            blobs = f"no olm.bundle blobs found in package {quoted(channel.package)}"
            message = f"{blobs} for olm.channel entries [{' '.join(sorted(missing))}] (channel {quoted(channel.name)})"
            place = place_in(channel.origin, "entries", min(missing.values()), "name")
            yield Problem(message=message, place=place, hint=advice.on_entry(channel, min(missing)))


@FAMILY.rule(
    "FBC-M01",
    title="A package has a default channel",
    hint="Name one of its channels in `defaultChannel`.",
)
def default_channel_is_set(whole: WholeCatalog) -> Iterator[Problem]:
    advice = Advice(whole=whole)
    for package in whole.catalog.packages:
        if not package.default_channel:
            message = f"default channel must be set for package {quoted(package.name)}"
            hint = advice.on_misspelled_field(package, "defaultChannel") or advice.on_default_channel(package.name)
            yield Problem(message=message, place=place_in(package.origin), hint=hint)


@FAMILY.rule(
    "FBC-M02",
    title="A package has a channel",
    hint="Add an `olm.channel` with the bundles of the package as its entries.",
)
def package_has_a_channel(whole: WholeCatalog) -> Iterator[Problem]:
    for package in whole.catalog.packages:
        index = whole.packages[package.name]
        if not package.default_channel and not index.channels and whole.is_complete(package.name):
            message = f"package must contain at least one channel, package {quoted(package.name)} has none"
            yield Problem(message=message, place=place_in(package.origin))


@FAMILY.rule(
    "FBC-M06",
    title="A channel has an entry, and the default channel exists",
    hint="Add an entry with the name of a bundle, or remove the channel.",
)
def channels_have_entries(whole: WholeCatalog) -> Iterator[Problem]:
    empty = "channel must contain at least one bundle"
    advice = Advice(whole=whole)
    for package in whole.catalog.packages:
        channels, default = whole.packages[package.name].channels, package.default_channel
        if default and default not in channels and whole.is_complete(package.name):
            missing = f"default channel {quoted(default)} of package {quoted(package.name)} does not exist"
            message = f"{missing} (opm: {empty})"  # which is true of the channel that opm makes of the name
            hint = advice.on_default_channel(package.name, default)
            yield Problem(message=message, place=place_in(package.origin, "defaultChannel"), hint=hint)
    for channel in whole.catalog.channels:
        if not channel.entries:
            message = f"{empty}: channel {quoted(channel.name)} of package {quoted(channel.package)} is empty"
            yield Problem(message=message, place=place_in(channel.origin))


@FAMILY.rule(
    "FBC-M15",
    title="The bundles of a package have different versions",
    hint="Give each bundle a version of its own; a rebuild of the same version has a `release`.",
)
def versions_are_given_once(whole: WholeCatalog) -> Iterator[Problem]:
    for index in whole.packages.values():
        named_so: dict[str, list[Bundle]] = {}
        for bundle in index.bundles.values():
            found = package_property(bundle)
            if found is not None and found.has_valid_version:
                key = f"{found.version}-{found.release}" if found.release else found.version
                named_so.setdefault(key, []).append(bundle)
        for version, bundles in sorted(named_so.items()):
            if len(bundles) > 1:
                names = ", ".join(sorted(bundle.name for bundle in bundles))
                whose = f"package {quoted(index.name)}"
                message = f"duplicate versions found in bundles: [{{{version}: [{names}]}}] ({whose})"
                wrong = next((one for one in bundles if _is_named_otherwise(one)), bundles[1])
                found = package_property(wrong)
                path = found.path("version", wrong.properties[found.index].value) if found else ()
                hint = None
                if _is_named_otherwise(wrong):
                    hint = f"By its name, {quoted(wrong.name)} has the version {version_in_name(wrong)}: correct it."
                yield Problem(message=message, place=place_in(wrong.origin, *path), hint=hint)


def _is_named_otherwise(bundle: Bundle) -> bool:
    """Whether the name of the bundle has another version than its property."""
    return version_in_name(bundle) not in {None, bundle.version}


def _is_missing(whole: WholeCatalog, package: str) -> bool:
    return package not in whole.known and whole.is_complete(package)


def _repeated(message: str, origin: Origin, first: Origin) -> Problem:
    where = f": the first is document {first.document + 1} of {first.file}" if first.file else ""
    return Problem(message=message + where, place=place_in(origin, "name"), other=place_in(first) if where else None)


def _others(number: int) -> str:
    return f" (and {counted(number, 'other blob')})" if number else ""
