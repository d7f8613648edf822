"""How the ClusterServiceVersion and the definitions of a bundle fit together, for catalogs."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1.bundle import Document
from rukpak_py.formats.registry_v1.kinds import DEFINITION, OLD_DEFINITIONS
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import (
    annotation,
    at,
    csvs,
    entries,
    name_of,
    of_kind,
    text,
)
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[Reading] = Family(title="ClusterServiceVersion and definitions", origin="operator-framework/api")

_SUBSTITUTES: Final = "olm.substitutesFor"
_DEFINITION_VERSIONS: Final = frozenset({"apiextensions.k8s.io/v1", OLD_DEFINITIONS})


class Api(NamedTuple):
    definition: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.definition}/{self.version}"


@FAMILY.rule(
    "RV1-401",
    title="An owned definition is in the bundle, with the version and kind that the CSV names",
    hint="Name a version and the kind that the CRD of this name has. If the CRD is not the first document of its file, "
    "give it a file of its own: catalog tools read only the first document of each file.",
)
def owned_definitions_are_shipped(reading: Reading) -> Iterator[Problem]:
    shipped = _shipped(reading)
    for csv in csvs(reading):
        for path, api, _ in _owned(csv):
            if api not in shipped:
                message = f'owned CRD {api} not found in bundle "{name_of(csv)}"'
                yield Problem(message=message, place=csv.place(*path, "name"))


@FAMILY.rule(
    "RV1-402",
    severity=Severity.WARNING,
    title="An entry of an owned definition gives no group",
    hint="Remove `group`: the group is part of the name, and `opm` finds no CRD for an entry that has the field.",
)
def owned_entries_have_no_group(reading: Reading) -> Iterator[Problem]:
    shipped = _shipped(reading)
    for csv in csvs(reading):
        for path, api, group in _owned(csv):
            if group and api in shipped:
                message = f'owned CRD {api} not found in bundle "{name_of(csv)}": its entry gives a group'
                yield Problem(message=message, place=csv.place(*path, "group"))


@FAMILY.rule(
    "RV1-403",
    severity=Severity.WARNING,
    title="A definition of the bundle is owned by the CSV",
    hint="List each version of the CRD in spec.customresourcedefinitions.owned with name, version and kind, "
    "or remove the CRD.",
)
def shipped_definitions_are_owned(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        owned = {api for _, api, _ in _owned(csv)}
        for api, place in _shipped(reading).items():
            if api not in owned:
                message = f'CRD {api} is present in bundle "{name_of(csv)}" but not defined in CSV'
                yield Problem(message=message, place=place)


@FAMILY.rule(
    "RV1-404",
    title="A bundle is a release of a version, or substitutes another bundle, not both",
    hint="Remove `spec.release`, or the annotation `olm.substitutesFor`.",
)
def a_release_substitutes_nothing(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        release, substituted = text(csv.manifest, "spec", "release"), annotation(csv, _SUBSTITUTES)
        if release and substituted:
            message = (
                f'bundle "{name_of(csv)}" cannot have both a release version ("{release}") '
                f'and olm.substitutesFor annotation ("{substituted}")'
            )
            yield Problem(message=message, place=csv.place("metadata", "annotations", _SUBSTITUTES))


@FAMILY.rule(
    "RV1-405",
    title="An owned definition is listed once for each version and kind",
    hint="Remove the repetition: `opm` takes the second entry for another definition, and finds none.",
)
def owned_definitions_are_listed_once(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        listed: set[Api] = set()
        for path, api, _ in _owned(csv):
            if api in listed:
                message = f'owned CRD {api} not found in bundle "{name_of(csv)}": it is listed twice'
                yield Problem(message=message, place=csv.place(*path, "name"))
            listed.add(api)


def _owned(csv: Document) -> Iterator[tuple[tuple[str | int, ...], Api, str]]:
    for path, owned in entries(csv.manifest, "spec", "customresourcedefinitions", "owned"):
        yield path, Api(text(owned, "name"), text(owned, "version"), text(owned, "kind")), text(owned, "group")


def _shipped(reading: Reading) -> dict[Api, Place]:
    found: dict[Api, Place] = {}
    for document in of_kind(reading, DEFINITION):
        if document.api_version not in _DEFINITION_VERSIONS:
            continue
        kind = text(document.manifest, "spec", "names", "kind")
        for path, version in entries(document.manifest, "spec", "versions"):
            found.setdefault(Api(name_of(document), text(version, "name"), kind), document.place(*path))
        old = text(document.manifest, "spec", "version") if document.api_version == OLD_DEFINITIONS else ""
        if old and not at(document.manifest, "spec", "versions"):
            found.setdefault(Api(name_of(document), old, kind), document.place("spec", "version"))
    return found
