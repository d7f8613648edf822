"""Rules of OperatorHub.io for a bundle; asked for by the profile `operatorhub` only."""

import re
from collections.abc import Iterator
from typing import Final

from rukpak_py.core import versions
from rukpak_py.core.findings import Severity
from rukpak_py.core.text import excerpt
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import annotation, at, csvs, entries, mapping, text
from rukpak_py.formats.registry_v1.rules.removed_apis import removed_apis_are_not_used
from rukpak_py.formats.registry_v1.rules.urls import is_request_uri
from rukpak_py.formats.rules import Family, Problem

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

_SHOWN: Final = 320  # characters of what is no address; the longest that there are have so many
# Every repeat is possessive: what may follow it is never one of its own characters, so giving back cannot help.
_ATOM: Final = r'[^\s\x00-\x1f\x7f()<>\[\]:;@\\,."]++'
_DOT_ATOM: Final = rf"{_ATOM}(?:\.{_ATOM})*+"
_QUOTED: Final = r'"(?:[^"\\]++|\\.)*+"'
_ADDRESS: Final = rf"(?:{_DOT_ATOM}|{_QUOTED})@(?:{_DOT_ATOM}|\[[^\[\]\\]*+\])"
_PHRASE: Final = rf"(?:(?:{_ATOM}|{_QUOTED})(?:[ \t.]*+(?:{_ATOM}|{_QUOTED}))*+[ \t.]*+)?+"
_EMAIL: Final = re.compile(rf"[ \t]*+(?:{_ADDRESS}|{_PHRASE}<{_ADDRESS}>)[ \t]*+(?:\([^()]*+\))?+[ \t]*+")


@FAMILY.rule(
    "RV1-601",
    title="The provider has a name",
    hint="Name the person or company behind the operator in `spec.provider.name`.",
)
def the_provider_is_named(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if not text(csv.manifest, "spec", "provider", "name").strip():
            yield Problem(message="spec.provider.name is not set", place=csv.place("spec", "provider", on_key=True))


@FAMILY.rule(
    "RV1-602",
    title="A maintainer has a name and an e-mail address",
    hint="Write `name` and `email` for each maintainer, the address as `name@example.com`.",
)
def maintainers_can_be_reached(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for path, maintainer in entries(csv.manifest, "spec", "maintainers"):
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
        for path, link in entries(csv.manifest, "spec", "links"):
            name, url = text(link, "name"), text(link, "url")
            if not name or not url:
                message = "a link must have both name and url"
                yield Problem(message=message, place=csv.place(*path))
            if url and not is_request_uri(url):
                message = f"'{url}' is not a valid URL"
                yield Problem(message=message, place=csv.place(*path, "url"))


@FAMILY.rule(
    "RV1-604",
    title="The capability level is known",
    hint=f"Write one of: {', '.join(_CAPABILITIES)}.",
)
def capabilities_are_known(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        level = at(csv.manifest, "metadata", "annotations", "capabilities")
        if isinstance(level, str) and level not in _CAPABILITIES:
            message = f"the annotation capabilities is '{level}', which is not a capability level"
            yield Problem(message=message, place=csv.place("metadata", "annotations", "capabilities"))


@FAMILY.rule(
    "RV1-605",
    title="The categories are those of OperatorHub.io",
    hint=f"Write some of these, separated by commas: {', '.join(sorted(_CATEGORIES))}.",
)
def categories_are_known(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if "categories" not in mapping(csv.manifest, "metadata", "annotations"):
            continue
        for category in map(str.strip, annotation(csv, "categories").split(",")):
            if category not in _CATEGORIES:
                message = f"'{category}' is not a category of OperatorHub.io"
                yield Problem(message=message, place=csv.place("metadata", "annotations", "categories"))


@FAMILY.rule(
    "RV1-606",
    title="The operator has a version",
    hint="Write the version of the operator in `spec.version`, as `1.2.3`.",
)
def the_version_is_set(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if _is_zero_version(text(csv.manifest, "spec", "version")):
            yield Problem(message="spec.version is not set", place=csv.place("spec", "version", on_key=True))


def _is_zero_version(version: str) -> bool:
    try:
        return not version or versions.tolerant(version) == versions.tolerant("0.0.0")
    except ValueError:  # told when the bundle is read
        return False


@FAMILY.rule(
    "RV1-607",
    title="There is one icon, with data and a known media type",
    hint="Write one entry in `spec.icon`: `base64data`, and a `mediatype` which is one of "
    f"{', '.join(sorted(_MEDIA_TYPES))}.",
)
def the_icon_is_valid(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        icons = list(entries(csv.manifest, "spec", "icon"))
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


@FAMILY.rule(
    "RV1-608",
    severity=Severity.WARNING,
    title="There is an icon",
    hint="Add an icon in `spec.icon`: `base64data` and `mediatype`.",
)
def there_is_an_icon(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if at(csv.manifest, "spec", "icon") is None:
            yield Problem(message="spec.icon is not set", place=csv.place("spec", "icon", on_key=True))


FAMILY.rule(
    "RV1-610",
    severity=Severity.WARNING,
    title="A bundle uses no API that Kubernetes has removed",
    hint="Rewrite the object for the version of the API that replaced this one, or remove the permission. It is an "
    "error if spec.minKubeVersion allows only versions of Kubernetes without the API.",
    may_be_error=True,
)(removed_apis_are_not_used)
