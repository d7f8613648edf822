"""Rules for a package, a channel or a custom blob alone, and all rules of a blob that need no other blob."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import cache
from typing import Any, Final

from rukpak_py.catalog.blobs import SCHEMAS, Blob
from rukpak_py.catalog.checks import advice, bundle_checks
from rukpak_py.catalog.checks.places import place_in
from rukpak_py.catalog.fields import as_written
from rukpak_py.catalog.model import Bundle, Channel, CustomBlob, Package
from rukpak_py.core.findings import Severity
from rukpak_py.core.go_text import quoted
from rukpak_py.core.ranges import Range
from rukpak_py.formats import dns
from rukpak_py.formats.rules import Family, Problem, Rule

OF_READING: Final = "FBC-L"  # how the ids of rules begin without which nothing can be done with a blob
_RESERVED: Final = "olm."
_ORIGIN: Final = "operator-framework/operator-registry"
PACKAGE_FAMILY: Family[Package] = Family(title="Packages of a catalog", origin=_ORIGIN)
CHANNEL_FAMILY: Family[Channel] = Family(title="Channels of a catalog", origin=_ORIGIN)
CUSTOM_FAMILY: Family[CustomBlob] = Family(title="Other blobs of a catalog", origin="rukpak-py")
BUNDLE_FAMILY: Final = bundle_checks.FAMILY
_FAMILIES: Final[Mapping[type, tuple[Family[Any], ...]]] = {
    Package: (PACKAGE_FAMILY,),
    Channel: (CHANNEL_FAMILY,),
    Bundle: (BUNDLE_FAMILY,),
    CustomBlob: (CUSTOM_FAMILY,),
}


class Checks(IntEnum):
    """The rules that are checked, each with those before."""

    READING = 0  # without which a blob cannot be used at all
    VALIDITY = 1
    LINT = 2


def problems_of_blob(blob: Blob, value: Any, checks: Checks = Checks.VALIDITY) -> Iterator[tuple[Rule[Any], Problem]]:
    """List the defects of a blob alone.

    `value`: the document that it was read from, for the spelling of its keys.
    """
    for rule in _rules_for(type(blob), checks):
        for problem in rule.check(blob):
            place = problem.place and replace(problem.place, path=as_written(value, problem.place.path))
            yield rule, replace(problem, place=place)


@cache
def _rules_for(kind: type[Blob], checks: Checks) -> Sequence[Rule[Any]]:
    families = _FAMILIES.get(kind, ())
    if checks is Checks.LINT:
        from rukpak_py.catalog.lint.rules import BLOB_FAMILIES  # noqa: PLC0415 - what only checks does not pay for it

        families = (*families, *BLOB_FAMILIES.get(kind, ()))
    rules = [rule for family in families for rule in (*family.rules, *family.further)]
    return [rule for rule in rules if rule.id.startswith(OF_READING)] if checks is Checks.READING else rules


@PACKAGE_FAMILY.rule(
    "FBC-C01",
    title="A package has a name",
    hint="Name the package in `name`; its channels and bundles refer to it by this name.",
)
def package_is_named(package: Package) -> Iterator[Problem]:
    if not package.name:
        yield Problem(message="config contains package with no name", place=place_in(package.origin))


@PACKAGE_FAMILY.rule(
    "FBC-C03",
    title="The name of a package is a DNS label",
    hint="Use at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends and without dots.",
)
def package_name_is_a_label(package: Package) -> Iterator[Problem]:
    reasons = dns.label(package.name) if package.name else []
    if reasons:
        message = f"invalid package name {quoted(package.name)}: [{' '.join(reasons)}]"
        yield Problem(message=message, place=place_in(package.origin, "name"))


@CHANNEL_FAMILY.rule(
    "FBC-C05",
    title="A channel has a name",
    hint="Name the channel in `name`, for example `stable`.",
)
def channel_is_named(channel: Channel) -> Iterator[Problem]:
    if not channel.name:
        message = f"package {quoted(channel.package)} contains channel with no name"
        yield Problem(message=message, place=place_in(channel.origin))


@CHANNEL_FAMILY.rule(
    "FBC-C07",
    title="A channel has each entry once",
    hint="Keep one of the entries, with the `replaces` and `skips` of both.",
)
def entries_are_given_once(channel: Channel) -> Iterator[Problem]:
    known: set[str] = set()
    told: set[str] = set()
    for index, entry in enumerate(channel.entries):
        if entry.name in known and entry.name not in told:
            told.add(entry.name)
            whose = f"package {quoted(channel.package)}, channel {quoted(channel.name)}"
            message = f"invalid {whose}: duplicate entry {quoted(entry.name)}"
            yield Problem(message=message, place=place_in(channel.origin, "entries", index))
        known.add(entry.name)


@CHANNEL_FAMILY.rule(
    "FBC-M17",
    title="Skipped bundles have names",
    hint="Remove the empty element of `skips`, or write the name of a bundle there.",
)
def skipped_bundles_are_named(channel: Channel) -> Iterator[Problem]:
    for index, entry in enumerate(channel.entries):
        for number, name in enumerate(entry.skips):
            if not name:
                message = f"skip[{number}] is empty {_of(channel, entry.name)}"
                yield Problem(message=message, place=place_in(channel.origin, "entries", index, "skips", number))


@CHANNEL_FAMILY.rule(
    "FBC-M18",
    title="A skipRange is a range of versions",
    hint="Write conditions with full versions between blanks: `>=1.0.0 <1.2.0`.",
)
def skip_ranges_are_ranges(channel: Channel) -> Iterator[Problem]:
    for index, entry in enumerate(channel.entries):
        if not entry.skip_range:
            continue
        try:
            Range.parse(entry.skip_range)
        except ValueError as error:
            message = f"invalid skipRange {quoted(entry.skip_range)}: {error} {_of(channel, entry.name)}"
            place = place_in(channel.origin, "entries", index, "skipRange")
            yield Problem(message=message, place=place, hint=advice.on_range(entry.skip_range))


@CUSTOM_FAMILY.rule(
    "FBC-W26",
    severity=Severity.WARNING,
    title="Schemas that begin with `olm.` are OLM's",
    hint="Correct the name (`olm.package`, `olm.channel`, `olm.bundle`, `olm.deprecations`), or begin it otherwise.",
)
def schema_is_known(blob: CustomBlob) -> Iterator[Problem]:
    if blob.schema.startswith(_RESERVED):
        message = f"schema {quoted(blob.schema)} is not one of OLM's: the blob is ignored"
        hint = advice.on_schema(blob.schema, tuple(SCHEMAS))
        yield Problem(message=message, place=place_in(blob.origin, "schema"), hint=hint)


def _of(channel: Channel, entry: str) -> str:
    return f"(entry {quoted(entry)} of channel {quoted(channel.name)})"
