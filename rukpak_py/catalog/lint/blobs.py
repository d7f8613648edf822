"""Warnings about a package, a channel or a custom blob alone."""

import binascii
import re
from collections.abc import Iterator
from typing import Final

from rukpak_py.catalog.blobs import is_base64
from rukpak_py.catalog.checks.places import place_in
from rukpak_py.catalog.lint.range_traps import traps
from rukpak_py.catalog.making.package_blob import media_type
from rukpak_py.catalog.model import Channel, CustomBlob, Package
from rukpak_py.core.findings import Severity
from rukpak_py.core.go_text import quoted
from rukpak_py.formats.rules import Family, Problem

PACKAGES: Family[Package] = Family(title="Advice for packages", origin="rukpak-py")
CHANNELS: Family[Channel] = Family(title="Advice for channels", origin="rukpak-py")
CUSTOM: Family[CustomBlob] = Family(title="Advice for other blobs", origin="rukpak-py")

RANGE_TRAP: Final = "FBC-W14"
_CHANNEL_NAME: Final = re.compile(r"[A-Za-z0-9]++(?:[._-]++[A-Za-z0-9]++)*+")
_LONGEST_NAME: Final = 63
_SERVED: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*+")
_MEDIA_TYPES: Final = {"image/x-icon": "image/vnd.microsoft.icon", "image/jpg": "image/jpeg"}  # other names


@PACKAGES.rule(
    "FBC-W10",
    severity=Severity.WARNING,
    title="A package has a description",
    hint="Say in `description` what the operator is for: catalogs show it to users before they install anything.",
)
def package_is_described(package: Package) -> Iterator[Problem]:
    if not package.description.strip():
        yield Problem(message=f"package {quoted(package.name)} has no description", place=place_in(package.origin))


@PACKAGES.rule(
    "FBC-W11",
    severity=Severity.WARNING,
    title="A package has an icon",
    hint="Add `icon` with `base64data` and `mediatype`: `rukpakctl catalog init --icon FILE` prints it.",
)
def package_has_an_icon(package: Package) -> Iterator[Problem]:
    if package.icon is None or not package.icon.data:
        yield Problem(message=f"package {quoted(package.name)} has no icon", place=place_in(package.origin))


@PACKAGES.rule(
    "FBC-W12",
    severity=Severity.WARNING,
    title="An icon is an image of its media type",
    hint="Write the type of the data in `mediatype`, for example `image/svg+xml` or `image/png`.",
)
def icon_is_an_image(package: Package) -> Iterator[Problem]:
    icon = package.icon
    if icon is None or not icon.data or not is_base64(icon.data):
        return
    found = media_type(binascii.a2b_base64(icon.data))
    if not found:
        message = f"the icon of package {quoted(package.name)} is not an image"
        yield Problem(message=message, place=place_in(package.origin, "icon", "base64data"))
    elif found != _MEDIA_TYPES.get(icon.media_type, icon.media_type):
        message = f"the icon of package {quoted(package.name)} is {found}, not {quoted(icon.media_type)}"
        place = place_in(package.origin, "icon", "mediatype")
        yield Problem(message=message, place=place, hint=f"Write `mediatype: {found}`.")


@CHANNELS.rule(
    "FBC-W13",
    severity=Severity.WARNING,
    title="The name of a channel is made of letters, digits, `-`, `_` and `.`",
    hint="Use at most 63 of these characters, with a letter or a digit at both ends, as in `stable-v1.2`.",
)
def channel_name_is_plain(channel: Channel) -> Iterator[Problem]:
    name = channel.name
    if name and (len(name) > _LONGEST_NAME or not _CHANNEL_NAME.fullmatch(name)):
        message = f"{quoted(name)} is an unusual name of a channel"
        yield Problem(message=message, place=place_in(channel.origin, "name"))


@CHANNELS.rule(
    RANGE_TRAP,
    severity=Severity.WARNING,
    title="Ranges of versions mean what they seem to",
    hint="Write conditions with full versions between blanks: `>=1.0.0 <1.2.0`, alternatives with ` || `.",
)
def skip_ranges_have_no_traps(channel: Channel) -> Iterator[Problem]:
    for index, entry in enumerate(channel.entries):
        for trap in traps(entry.skip_range) if entry.skip_range else ():
            yield Problem(message=f"skipRange {trap}", place=place_in(channel.origin, "entries", index, "skipRange"))


@CHANNELS.rule(
    "FBC-W15",
    severity=Severity.WARNING,
    title="No entry replaces and skips the same bundle",
    hint="Remove it from `skips`: a skipped bundle contributes no edges, so what it replaces is stranded.",
)
def nothing_is_replaced_and_skipped(channel: Channel) -> Iterator[Problem]:
    for index, entry in enumerate(channel.entries):
        if entry.replaces and entry.replaces in entry.skips:
            message = f"{quoted(entry.name)} replaces and skips {quoted(entry.replaces)}"
            number = entry.skips.index(entry.replaces)
            yield Problem(message=message, place=place_in(channel.origin, "entries", index, "skips", number))


@CUSTOM.rule(
    "FBC-W27",
    severity=Severity.WARNING,
    title="`opm serve` accepts the names of custom blobs",
    hint="Use letters, digits, `.`, `_` and `-`, and begin with a letter or a digit: `opm serve` ends with an error.",
)
def blob_can_be_served(blob: CustomBlob) -> Iterator[Problem]:
    for field, value in (("schema", blob.schema), ("package", blob.package)):
        if value and not _SERVED.fullmatch(value):
            message = f"`opm serve` does not accept {field} {quoted(value)}"
            yield Problem(message=message, place=place_in(blob.origin, field))
