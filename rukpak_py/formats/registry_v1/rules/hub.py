"""What OperatorHub.io asks of a bundle; asked for by the profile `operatorhub` only."""

import re
from collections.abc import Iterator
from typing import Final

from rukpak_py.core import versions
from rukpak_py.core.findings import Severity
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

_ATOM: Final = r'[^\s\x00-\x1f\x7f()<>\[\]:;@\\,."]+'
_DOT_ATOM: Final = rf"{_ATOM}(?:\.{_ATOM})*"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_ADDRESS: Final = rf"(?:{_DOT_ATOM}|{_QUOTED})@(?:{_DOT_ATOM}|\[[^\[\]\\]*\])"
_PHRASE: Final = rf"(?:(?:{_ATOM}|{_QUOTED})(?:[ \t.]*(?:{_ATOM}|{_QUOTED}))*[ \t.]*)?"
_EMAIL: Final = re.compile(rf"[ \t]*(?:{_ADDRESS}|{_PHRASE}<{_ADDRESS}>)[ \t]*(?:\([^()]*\))?[ \t]*")


@FAMILY.rule(
    "RV1-601",
    title="The provider has a name",
    hint="Name the person or company behind the operator in `spec.provider.name`.",
)
def the_provider_is_named(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if not text(csv.manifest, "spec", "provider", "name").strip():
            yield Problem(
                message="csv.Spec.Provider.Name not specified", place=csv.place("spec", "provider", on_key=True)
            )


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
                message = "csv.Spec.Maintainers elements should contain both name and email"
                yield Problem(message=message, place=csv.place(*path))
            if email and not _EMAIL.fullmatch(email):
                reason = "it is no single address" if "@" in email else "missing '@' or angle-addr"
                message = f"csv.Spec.Maintainers email {email} is invalid: mail: {reason}"
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
                message = "csv.Spec.Links elements should contain both name and url"
                yield Problem(message=message, place=csv.place(*path))
            if url and not is_request_uri(url):
                message = f"csv.Spec.Links url {url} is invalid: invalid URI for request"
                yield Problem(message=message, place=csv.place(*path, "url"))


@FAMILY.rule(
    "RV1-604",
    title="The capability level is a known one",
    hint=f"Write one of: {', '.join(_CAPABILITIES)}.",
)
def capabilities_are_known(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        level = at(csv.manifest, "metadata", "annotations", "capabilities")
        if isinstance(level, str) and level not in _CAPABILITIES:
            message = f'csv.Metadata.Annotations.Capabilities "{level}" is not a valid capabilities level'
            yield Problem(message=message, place=csv.place("metadata", "annotations", "capabilities"))


@FAMILY.rule(
    "RV1-605",
    title="Categories are those of the hub",
    hint=f"Write some of these, separated by commas: {', '.join(sorted(_CATEGORIES))}.",
)
def categories_are_known(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if "categories" not in mapping(csv.manifest, "metadata", "annotations"):
            continue
        for category in map(str.strip, annotation(csv, "categories").split(",")):
            if category not in _CATEGORIES:
                value = f'csv.Metadata.Annotations["categories"] value "{category}"'
                message = f"{value} is not in the set of standard categories"
                yield Problem(message=message, place=csv.place("metadata", "annotations", "categories"))


@FAMILY.rule(
    "RV1-606",
    title="The operator has a version",
    hint="Write the version of the operator in `spec.version`, as `1.2.3`.",
)
def the_version_is_set(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if _is_zero_version(text(csv.manifest, "spec", "version")):
            yield Problem(message="csv.Spec.Version must be set", place=csv.place("spec", "version", on_key=True))


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
            yield Problem(
                message="csv.Spec.Icon should only have one element", place=csv.place("spec", "icon", on_key=True)
            )
        for path, icon in icons:
            media_type = text(icon, "mediatype")
            if not media_type or not text(icon, "base64data"):
                message = "csv.Spec.Icon elements should contain both data and mediatype"
                yield Problem(message=message, place=csv.place(*path))
            if media_type and media_type not in _MEDIA_TYPES:
                message = f"csv.Spec.Icon {media_type} does not have a valid mediatype"
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
            yield Problem(message="csv.Spec.Icon not specified", place=csv.place("spec", "icon", on_key=True))


FAMILY.rule(
    "RV1-610",
    severity=Severity.WARNING,
    title="A bundle uses no API that a supported Kubernetes has removed",
    hint="Write the object for the API version that replaced it, or drop the right. It is an error when "
    "spec.minKubeVersion says that only versions without the API are supported.",
)(removed_apis_are_not_used)
