"""Names of the package and its channels: catalogs and what is made of them ask more of them than any renderer."""

import re
from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1 import dns
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.metadata.annotations import ANNOTATIONS_FILE, CHANNELS, DEFAULT_CHANNEL, PACKAGE
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[RegistryBundle] = Family(title="Names in metadata/annotations.yaml", origin="rukpak-py")

_NO_PART_OF_A_NAME: Final = re.compile(r"""[\s\[\]{}"'`]+""")


@FAMILY.rule(
    "RV1-930",
    title="Channels are names, separated by commas without blanks",
    hint="Write `stable,beta`: blanks, brackets and quotes become part of a name.",
    severity=Severity.WARNING,
)
def channels_are_names(bundle: RegistryBundle) -> Iterator[Problem]:
    for key, written in ((CHANNELS, bundle.metadata.channels), (DEFAULT_CHANNEL, bundle.metadata.default_channel)):
        channels = written.split(",") if key == CHANNELS else [written]
        odd = [channel for channel in channels if not channel or _NO_PART_OF_A_NAME.search(channel)]
        if written and odd:
            yield Problem(
                message=f"{odd[0]!r} is not a valid channel name",
                place=_annotation(key),
                hint=f"Write {key}: {','.join(_names(channels))}",
            )


@FAMILY.rule(
    "RV1-931",
    title="The package's name is a DNS-1123 subdomain",
    hint="Use lower case letters, digits and `-` only: catalogs, namespaces and labels are named after the package.",
    severity=Severity.WARNING,
)
def the_package_name_is_valid(bundle: RegistryBundle) -> Iterator[Problem]:
    package = bundle.metadata.package
    if package and (reasons := dns.subdomain(package)):
        yield Problem(message=f"package name {package!r} is invalid: {', '.join(reasons)}", place=_annotation(PACKAGE))


def _names(channels: list[str]) -> list[str]:
    """The names that were meant."""
    found = (_NO_PART_OF_A_NAME.sub("-", channel).strip("-") for channel in channels)
    return [name for name in found if name]


def _annotation(key: str) -> Place:
    return Place(file=ANNOTATIONS_FILE, path=("annotations", key))
