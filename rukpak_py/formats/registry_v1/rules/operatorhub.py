"""Rules of OperatorHub.io for a bundle; asked for by the profile `operatorhub` only."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from rukpak_py.core import versions
from rukpak_py.core.findings import Severity
from rukpak_py.core.text import excerpt
from rukpak_py.formats.crds.written import DEFINITION
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import at, mapping, text
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import (
    EachOfCsv,
    add_rows,
    annotation,
    csvs,
    each,
)
from rukpak_py.formats.registry_v1.rules.removed_apis import removed_apis
from rukpak_py.formats.rules import Family, Problem
from rukpak_py.formats.urls import is_request_uri

FAMILY: Family[Reading] = Family(title="OperatorHub.io", origin="operator-framework/api, validator operatorhub")

_CAPABILITIES: Final = ("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot")
_CATEGORIES: Final = frozenset(
    {
        "AI/Machine Learning",
        "Application Runtime",
        "Big Data",
        "Cloud Provider",
        "Database",
        "Developer Tools",
        "Integration & Delivery",
        "Logging & Tracing",
        "Modernization & Migration",
        "Monitoring",
        "Networking",
        "Observability",
        "OpenShift Optional",
        "Security",
        "Storage",
        "Streaming & Messaging",
    }
)
_MEDIA_TYPES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/svg+xml"})
_MOST_OF_HINT: Final = 1_000  # characters of the categories that a hint lists
_SHOWN: Final = 320  # characters of what is no address; the longest that there are have so many
# Every repeat is possessive: what may follow it is never one of its own characters, so giving back cannot help.
_ATOM: Final = r'[^\s\x00-\x1f\x7f()<>\[\]:;@\\,."]++'
_DOT_ATOM: Final = rf"{_ATOM}(?:\.{_ATOM})*+"
_QUOTED: Final = r'"(?:[^"\\]++|\\.)*+"'
_ADDRESS: Final = rf"(?:{_DOT_ATOM}|{_QUOTED})@(?:{_DOT_ATOM}|\[[^\[\]\\]*+\])"
_PHRASE: Final = rf"(?:(?:{_ATOM}|{_QUOTED})(?:[ \t.]*+(?:{_ATOM}|{_QUOTED}))*+[ \t.]*+)?+"
_EMAIL: Final = re.compile(rf"[ \t]*+(?:{_ADDRESS}|{_PHRASE}<{_ADDRESS}>)[ \t]*+(?:\([^()]*+\))?+[ \t]*+")


@FAMILY.rule(
    "RV1-602",
    title="A maintainer has a name and an e-mail address",
    hint="Write `name` and `email` for each maintainer, the address as `name@example.com`.",
)
def maintainers_can_be_reached(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for path, maintainer in each(csv, "spec.maintainers[]"):
            name, email = text(maintainer, "name"), text(maintainer, "email")
            if not name or not email:
                message = "a maintainer must have both name and email"
                yield Problem(message=message, place=csv.place(*path))
            if email and not _EMAIL.fullmatch(email):
                message = f"'{excerpt(email, _SHOWN)}' is not an e-mail address"
                yield Problem(message=message, place=csv.place(*path, "email"))


@FAMILY.rule(
    "RV1-603",
    title="A link has a name and a URL",
    hint="Write `name` and `url` for each link, the URL with its scheme: `https://example.com`.",
)
def links_lead_somewhere(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for path, link in each(csv, "spec.links[]"):
            name, url = text(link, "name"), text(link, "url")
            if not name or not url:
                message = "a link must have both name and url"
                yield Problem(message=message, place=csv.place(*path))
            if url and not is_request_uri(url):
                message = f"'{url}' is not a valid URL"
                yield Problem(message=message, place=csv.place(*path, "url"))


def _category_hint(categories: Collection[str]) -> str:
    return f"Write some of these, separated by commas: {excerpt(', '.join(sorted(categories)), _MOST_OF_HINT)}."


@FAMILY.rule(
    "RV1-605",
    title="The categories are those of OperatorHub.io, or of the file that `--categories` names",
    hint=_category_hint(_CATEGORIES),
)
def categories_are_known(reading: Reading) -> Iterator[Problem]:
    own = reading.categories
    for csv in csvs(reading):
        if "categories" not in mapping(csv.manifest, "metadata", "annotations"):
            continue
        for category in map(str.strip, annotation(csv, "categories").split(",")):
            if category not in (own or _CATEGORIES):
                message = f"'{category}' is not a category of {'the catalog' if own else 'OperatorHub.io'}"
                place = csv.place("metadata", "annotations", "categories")
                yield Problem(message=message, place=place, hint=_category_hint(own) if own else None)


@FAMILY.rule(
    "RV1-607",
    title="There is one icon, with data and a known media type",
    hint="Write one entry in `spec.icon`: `base64data`, and a `mediatype` which is one of "
    f"{', '.join(sorted(_MEDIA_TYPES))}.",
)
def the_icon_is_valid(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        icons = each(csv, "spec.icon[]")
        if len(icons) > 1:
            yield Problem(message="there must be only one icon", place=csv.place("spec", "icon", on_key=True))
        for path, icon in icons:
            media_type = text(icon, "mediatype")
            if not media_type or not text(icon, "base64data"):
                message = "an icon must have both base64data and mediatype"
                yield Problem(message=message, place=csv.place(*path))
            if media_type and media_type not in _MEDIA_TYPES:
                message = f"'{media_type}' is not a media type of an icon"
                yield Problem(message=message, place=csv.place(*path, "mediatype"))


def _is_zero_version(version: str) -> bool:
    try:
        return not version or versions.tolerant(version) == versions.tolerant("0.0.0")
    except ValueError:  # told when the bundle is read
        return False


add_rows(
    FAMILY,
    EachOfCsv(
        id="RV1-601",
        title="The provider has a name",
        hint="Name the person or company behind the operator in `spec.provider.name`.",
        field=("spec", "provider"),
        on_key=True,
        defect=lambda csv: "" if text(csv, "spec", "provider", "name").strip() else "spec.provider.name is not set",
    ),
    EachOfCsv(
        id="RV1-604",
        title="The capability level is known",
        hint=f"Write one of: {', '.join(_CAPABILITIES)}.",
        field=("metadata", "annotations", "capabilities"),
        defect=lambda csv: (
            f"the annotation capabilities is '{level}', which is not a capability level"
            if isinstance(level := at(csv, "metadata", "annotations", "capabilities"), str)
            and level not in _CAPABILITIES
            else ""
        ),
    ),
    EachOfCsv(
        id="RV1-606",
        title="The operator has a version",
        hint="Write the version of the operator in `spec.version`, as `1.2.3`.",
        field=("spec", "version"),
        on_key=True,
        defect=lambda csv: "spec.version is not set" if _is_zero_version(text(csv, "spec", "version")) else "",
    ),
    EachOfCsv(
        id="RV1-608",
        title="There is an icon",
        hint="Add an icon in `spec.icon`: `base64data` and `mediatype`.",
        field=("spec", "icon"),
        on_key=True,
        defect=lambda csv: "spec.icon is not set" if at(csv, "spec", "icon") is None else "",
        severity=Severity.WARNING,
    ),
)


@FAMILY.rule(
    "RV1-610",
    severity=Severity.WARNING,
    title="A bundle uses no API that Kubernetes has removed",
    hint="Rewrite the object for the version of the API that replaced this one, or remove the permission. It is an "
    "error if spec.minKubeVersion allows only versions of Kubernetes without the API.",
    may_be_error=True,
)
def removed_apis_are_not_used(reading: Reading) -> Iterator[Problem]:
    """CRDs of v1beta1 are told by default."""
    lowest = min(map(_lowest_minor, csvs(reading)), default=0)
    for used in removed_apis(reading):
        if used.kind != DEFINITION:
            message = f"Kubernetes 1.{used.minor} removed what the bundle uses: {used.text}"
            severity = Severity.ERROR if lowest >= used.minor else None
            yield Problem(message=message, place=used.place, severity=severity)


def _lowest_minor(csv: Document) -> int:
    """The minor version of Kubernetes 1 that the CSV needs at least; 0 when it does not say."""
    try:
        lowest = versions.tolerant(text(csv.manifest, "spec", "minKubeVersion"))
    except ValueError:
        return 0
    return lowest.minor if lowest.major == 1 else 0
