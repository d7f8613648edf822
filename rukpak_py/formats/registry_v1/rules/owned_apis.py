"""Rules about the ClusterServiceVersion and the CRDs of a bundle together, for catalogs."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Self

from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats.crds.written import DEFINITION
from rukpak_py.formats.json_fields import Json, at, entries, text
from rukpak_py.formats.registry_v1.kinds import OLD_DEFINITIONS
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import EachOfCsv, add_rows, csvs, each, name_of, of_kind
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[Reading] = Family(title="ClusterServiceVersion and CRDs", origin="operator-framework/api")

_OWNED: Final = "spec.customresourcedefinitions.owned[]"
_SUBSTITUTES: Final = "olm.substitutesFor"
_DEFINITION_VERSIONS: Final = frozenset({"apiextensions.k8s.io/v1", OLD_DEFINITIONS})


class Api(NamedTuple):
    definition: str
    version: str
    kind: str

    @classmethod
    def of(cls, owned: Json) -> Self:
        return cls(text(owned, "name"), text(owned, "version"), text(owned, "kind"))

    def __str__(self) -> str:
        return f"CRD {self.definition}, version {self.version}, kind {self.kind}"


class _Version(NamedTuple):
    place: Place
    is_served: bool


@FAMILY.further_check(
    "RV1-004",
    hint="Correct name, version and kind of the entry. If the CRD is not the first document of its file, give it a "
    "file of its own: `opm` reads only the first document of each file.",
    error_only_in=Profile.OPM,
)
def owned_versions_are_shipped(reading: Reading) -> Iterator[Problem]:
    """An API whose name no CRD of the bundle has is left to the rule for the bundle, where there is one."""
    shipped = _shipped(reading)
    bundle = reading.bundle
    known = None if bundle is None else {definition.name for definition in bundle.definitions}
    for csv in csvs(reading):
        for path, owned in each(csv, _OWNED):
            api = Api.of(owned)
            if api not in shipped and (known is None or api.definition in known):
                message = f"the owned {api} is not in the bundle: {_what_is_shipped(api, shipped)}"
                yield Problem(message=message, place=csv.place(*path, "name"))


def _what_is_shipped(api: Api, shipped: Iterable[Api]) -> str:
    found = [other for other in shipped if other.definition == api.definition]
    if not found:
        return "no file begins with this CRD"
    kinds = sorted({other.kind for other in found})
    if api.kind not in kinds:
        return f"the CRD is of kind {' and '.join(kinds)}"
    return f"the CRD has {', '.join(other.version for other in found)}"


@FAMILY.rule(
    "RV1-403",
    severity=Severity.WARNING,
    title="The CSV owns each version of a CRD that the bundle serves",
    hint="List the version in spec.customresourcedefinitions.owned with name, version and kind, or set `served: false` "
    "if nobody should use it.",
)
def served_versions_are_owned(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        owned = {Api.of(entry) for _, entry in each(csv, _OWNED)}
        for api, version in _shipped(reading).items():
            if api not in owned and version.is_served:
                yield Problem(message=f"the CSV does not own {api}", place=version.place)


@FAMILY.rule(
    "RV1-405",
    title="An owned CRD is listed once for each version and kind",
    hint="Remove the repetition: `opm` looks for another CRD, and finds none.",
    error_only_in=Profile.OPM,
)
def owned_definitions_are_listed_once(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        listed: set[Api] = set()
        for path, owned in each(csv, _OWNED):
            api = Api.of(owned)
            if api in listed:
                yield Problem(message=f"the owned {api} is listed twice", place=csv.place(*path, "name"))
            listed.add(api)


@FAMILY.rule(
    "RV1-406",
    severity=Severity.WARNING,
    title="Owned versions of CRDs are served",
    hint="Set `served: true` for the version in the CRD, or remove the entry from the CSV: OLM waits for the API.",
    origin="rukpak-py",
)
def owned_versions_are_served(reading: Reading) -> Iterator[Problem]:
    shipped = _shipped(reading)
    for csv in csvs(reading):
        for path, owned in each(csv, _OWNED):
            version = shipped.get(Api.of(owned))
            if version is not None and not version.is_served:
                message = f"the owned {Api.of(owned)} is not served"
                yield Problem(message=message, place=csv.place(*path, "version"))


def _both_release_and_substitute(csv: Json) -> str:
    release, substituted = text(csv, "spec", "release"), text(csv, "metadata", "annotations", _SUBSTITUTES)
    if not release or not substituted:
        return ""
    return (
        f"the CSV has both the release {release} and the annotation {_SUBSTITUTES} ({substituted}), "
        "which exclude each other"
    )


add_rows(
    FAMILY,
    EachOfCsv(
        id="RV1-402",
        title="An entry of an owned CRD gives no group",
        hint="Remove `group`: the name of the CRD ends in it.",
        of=[_OWNED],
        field=("group",),
        on_key=True,
        defect=lambda owned: (
            f"the entry of the owned {Api.of(owned)} has the field `group`, for which `opm` refuses the bundle"
            if text(owned, "group")
            else ""
        ),
        error_only_in=Profile.OPM,
    ),
    EachOfCsv(
        id="RV1-404",
        title="A bundle is a release of a version, or substitutes another bundle, not both",
        hint="Remove `spec.release`, or the annotation `olm.substitutesFor`.",
        field=("metadata", "annotations", _SUBSTITUTES),
        defect=_both_release_and_substitute,
        error_only_in=Profile.OPM,
    ),
)


def _shipped(reading: Reading) -> dict[Api, _Version]:
    found: dict[Api, _Version] = {}
    for document in of_kind(reading, DEFINITION):
        if document.api_version not in _DEFINITION_VERSIONS:
            continue
        kind = text(document.manifest, "spec", "names", "kind")
        for path, version in entries(document.manifest, "spec", "versions"):
            is_served = version.get("served") is not False
            api = Api(name_of(document), text(version, "name"), kind)
            found.setdefault(api, _Version(document.place(*path), is_served))
        old = text(document.manifest, "spec", "version") if document.api_version == OLD_DEFINITIONS else ""
        if old and not at(document.manifest, "spec", "versions"):
            place = document.place("spec", "version")
            found.setdefault(Api(name_of(document), old, kind), _Version(place, is_served=True))
    return found
