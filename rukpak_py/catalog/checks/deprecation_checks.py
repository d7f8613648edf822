"""Rules for deprecations: of a known package, one blob each; entries name what exists, once, and say why."""

from collections.abc import Iterator

from rukpak_py.catalog.checks.places import place_in
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.model import BUNDLE, CHANNEL, PACKAGE, Deprecation, Deprecations
from rukpak_py.catalog.similar_names import SimilarNames
from rukpak_py.core.go_text import quoted
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[WholeCatalog] = Family(title="Deprecations", origin="operator-framework/operator-registry")

_SCHEMAS = (PACKAGE, CHANNEL, BUNDLE)


def _entries(whole: WholeCatalog, schema: str | None = None) -> Iterator[tuple[Deprecations, int, Deprecation]]:
    """Entries of packages that the catalog has, with the number of each."""
    for blob in whole.catalog.deprecations:
        if blob.package in whole.known and blob.package:
            for number, entry in enumerate(blob.entries):
                if schema is None or entry.schema == schema:
                    yield blob, number, entry


def _at_reference(blob: Deprecations, number: int, *path: str) -> Place:
    return place_in(blob.origin, "entries", number, "reference", *path)


@FAMILY.rule(
    "FBC-D01",
    title="Deprecations name their package",
    hint="Write the name of the package in `package`.",
)
def package_is_named(whole: WholeCatalog) -> Iterator[Problem]:
    for number, blob in enumerate(whole.catalog.deprecations):
        if not blob.package:
            message = f"package name must be set for deprecation item {number}"
            yield Problem(message=message, place=place_in(blob.origin))


@FAMILY.rule(
    "FBC-D02",
    title="Deprecations are of a package of the catalog",
    hint="Correct the name, or remove the blob.",
)
def package_is_known(whole: WholeCatalog) -> Iterator[Problem]:
    similar = SimilarNames()
    told = {channel.package for channel in whole.catalog.channels} | {one.package for one in whole.catalog.bundles}
    for blob in whole.catalog.deprecations:
        package = blob.package
        if package and package not in whole.known and package not in told and whole.is_complete(package):
            told.add(package)
            message = f"cannot apply deprecations to an unknown package {quoted(package)}"
            hint = similar.meant(package, whole.known)
            yield Problem(message=message, place=place_in(blob.origin, "package"), hint=hint)


@FAMILY.rule(
    "FBC-D03",
    title="A package has one blob of deprecations",
    hint="Join the entries of all of them in one blob.",
)
def package_has_one_blob(whole: WholeCatalog) -> Iterator[Problem]:
    known: set[str] = set()
    for blob in whole.catalog.deprecations:
        if blob.package in known:
            message = f"expected a maximum of one deprecation per package: {quoted(blob.package)}"
            yield Problem(message=message, place=place_in(blob.origin, "package"))
        elif blob.package in whole.known:
            known.add(blob.package)


@FAMILY.rule(
    "FBC-D04",
    title="A deprecation says what it is of",
    hint="Write `olm.package`, `olm.channel` or `olm.bundle` in `reference.schema`.",
)
def schema_is_set(whole: WholeCatalog) -> Iterator[Problem]:
    for blob, number, entry in _entries(whole):
        if not entry.schema:
            message = f"schema must be set for deprecation entry [{number}] for package {quoted(blob.package)}"
            yield Problem(message=message, place=_at_reference(blob, number))


@FAMILY.rule(
    "FBC-D05",
    title="Each thing is deprecated once",
    hint="Keep one of the entries.",
)
def references_are_given_once(whole: WholeCatalog) -> Iterator[Problem]:
    for blob in whole.catalog.deprecations:
        known: set[tuple[str, str]] = set()
        told: set[tuple[str, str]] = set()
        for number, entry in enumerate(blob.entries if blob.package in whole.known else ()):
            key = (entry.schema, entry.name)
            if key in known and key not in told and entry.schema:
                told.add(key)
                message = f"duplicate deprecation entry {_as_go(entry)} for package {quoted(blob.package)}"
                yield Problem(message=message, place=_at_reference(blob, number))
            known.add(key)


@FAMILY.rule(
    "FBC-D06",
    title="A deprecated bundle exists",
    hint="Correct the name, or remove the entry: a bundle that the catalog does not have need not be deprecated.",
)
def bundle_exists(whole: WholeCatalog) -> Iterator[Problem]:
    similar = SimilarNames()
    for blob, number, entry in _entries(whole, BUNDLE):
        if not _exists(whole, blob, entry) and whole.is_complete(blob.package):
            message = (
                f"cannot deprecate bundle {quoted(entry.name)} for package {quoted(blob.package)}: bundle not found"
            )
            hint = similar.meant(entry.name, whole.packages[blob.package].bundles)
            yield Problem(message=message, place=_at_reference(blob, number, "name"), hint=hint)


@FAMILY.rule(
    "FBC-D07",
    title="A deprecated channel exists",
    hint="Correct the name, or remove the entry.",
)
def channel_exists(whole: WholeCatalog) -> Iterator[Problem]:
    similar = SimilarNames()
    for blob, number, entry in _entries(whole, CHANNEL):
        if not _exists(whole, blob, entry) and whole.is_complete(blob.package):
            package = quoted(blob.package)
            message = f"cannot deprecate channel {quoted(entry.name)} for package {package}: channel not found"
            hint = similar.meant(entry.name, whole.packages[blob.package].channels)
            yield Problem(message=message, place=_at_reference(blob, number, "name"), hint=hint)


@FAMILY.rule(
    "FBC-D08",
    title="The deprecation of a package has no name",
    hint="Remove `name` from the reference: the package is that of the blob.",
)
def package_is_not_named_again(whole: WholeCatalog) -> Iterator[Problem]:
    for blob, number, entry in _entries(whole, PACKAGE):
        if entry.name:
            whose = f"deprecated package {quoted(blob.package)} (specified {quoted(entry.name)})"
            message = f"package name must be empty for {whose}"
            yield Problem(message=message, place=_at_reference(blob, number, "name"))


@FAMILY.rule(
    "FBC-D09",
    title="Packages, channels and bundles can be deprecated",
    hint="Write `olm.package`, `olm.channel` or `olm.bundle` in `reference.schema`.",
)
def schema_is_known(whole: WholeCatalog) -> Iterator[Problem]:
    for blob, number, entry in _entries(whole):
        if entry.schema and entry.schema not in _SCHEMAS:
            what = f"object {_as_go(entry)} referenced by entry {number} for package {quoted(blob.package)}"
            message = f"cannot deprecate {what}: object schema unknown"
            yield Problem(message=message, place=_at_reference(blob, number, "schema"))


@FAMILY.rule(
    "FBC-M05",
    title="The deprecation of a package has a message",
    hint="Say in `message` why the package is deprecated, and what to use instead.",
)
def package_has_a_message(whole: WholeCatalog) -> Iterator[Problem]:
    yield from _without_message(whole, PACKAGE)


@FAMILY.rule(
    "FBC-M14",
    title="The deprecation of a channel has a message",
    hint="Say in `message` why the channel is deprecated, and which one to use instead.",
)
def channel_has_a_message(whole: WholeCatalog) -> Iterator[Problem]:
    yield from _without_message(whole, CHANNEL)


@FAMILY.rule(
    "FBC-M19",
    title="The deprecation of a bundle has a message",
    hint="Say in `message` why the bundle is deprecated, and which version to use instead.",
)
def bundle_has_a_message(whole: WholeCatalog) -> Iterator[Problem]:
    yield from _without_message(whole, BUNDLE)


def _without_message(whole: WholeCatalog, schema: str) -> Iterator[Problem]:
    for blob, number, entry in _entries(whole, schema):
        if not entry.message and _exists(whole, blob, entry):
            named = f" {quoted(entry.name)} of" if entry.name else ""
            whose = f"({schema.removeprefix('olm.')}{named} {quoted(blob.package)})"
            message = f"invalid deprecation: message must be set {whose}"
            yield Problem(message=message, place=place_in(blob.origin, "entries", number))


def _exists(whole: WholeCatalog, blob: Deprecations, entry: Deprecation) -> bool:
    index = whole.packages[blob.package]
    match entry.schema:
        case "olm.bundle":
            return entry.name in index.bundles
        case "olm.channel":
            return entry.name in index.channels or _is_default(whole, blob.package, entry.name)
        case _:
            return True


def _is_default(whole: WholeCatalog, package: str, channel: str) -> bool:
    """A default channel that does not exist has been reported, and for `opm` it exists."""
    blob = whole.packages[package].package
    return blob is not None and bool(channel) and blob.default_channel == channel


def _as_go(entry: Deprecation) -> str:
    return f"declcfg.PackageScopedReference{{Schema:{quoted(entry.schema)}, Name:{quoted(entry.name)}}}"
