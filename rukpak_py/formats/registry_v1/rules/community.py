"""Rules of the catalogs of OpenShift's community; asked for by the profile `community` only.

OpenShift 4.9 has Kubernetes 1.22, and each minor version of one goes with the next of the other. A bundle that uses an
API which Kubernetes has removed must say so twice: the range of versions decides which catalogs get it, the highest
version keeps a cluster with the operator from an upgrade.
"""

import re
from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Severity
from rukpak_py.core.text import excerpt
from rukpak_py.formats.registry_v1.metadata.annotations import OPENSHIFT_VERSIONS
from rukpak_py.formats.registry_v1.metadata.properties import ANNOTATION, of_annotation
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import annotation, csvs
from rukpak_py.formats.registry_v1.rules.layout import bundle_annotations
from rukpak_py.formats.registry_v1.rules.metadata_files import MAX_OPENSHIFT
from rukpak_py.formats.registry_v1.rules.removed_apis import removed_apis
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[Reading] = Family(
    title="Catalogs of OpenShift's community", origin="operator-framework/api, validator community"
)

_KUBERNETES_BEFORE: Final = 13  # OpenShift 4.9 has Kubernetes 1.22
_JUDGED_BY_THEM: Final = 22  # the only version of Kubernetes whose removals that validator knows
_SHOWN: Final = 100  # characters of what is no version
_VERSION: Final = re.compile(r'"v?4\.([0-9]{1,3})(?:\.[0-9]{1,5})?"')
_RANGE: Final = re.compile(r"(?:v?4\.[0-9]{1,3}-|=)v?4\.(?P<last>[0-9]{1,3})")


@FAMILY.rule(
    "RV1-620",
    title="A bundle with removed APIs has an olm.maxOpenShiftVersion that serves them",
    hint="Rewrite the objects for the versions of the APIs that replaced these. If the bundle is for old clusters, "
    'write the last version of OpenShift that it works on: olm.properties: \'[{"type": "olm.maxOpenShiftVersion", '
    '"value": "4.8"}]\'.',
)
def the_highest_version_serves_the_apis(reading: Reading) -> Iterator[Problem]:
    """APIs that later versions removed are a warning: the community's validator does not know them."""
    if (first := _first_without(reading)) is None:
        return
    for csv in csvs(reading):
        value = _highest_version(annotation(csv, ANNOTATION))
        found = _VERSION.fullmatch(value)
        if found is None or int(found[1]) >= first.openshift:
            said = f"is {excerpt(value, _SHOWN)}" if value else "is not set"
            message = f"{MAX_OPENSHIFT} {said}, but {first}"
            yield first.problem(message, csv.place("metadata", "annotations", ANNOTATION))


@FAMILY.rule(
    "RV1-621",
    title="A bundle with removed APIs is only for versions of OpenShift that serve them",
    hint="Rewrite the objects for the versions of the APIs that replaced these. If the bundle is for old clusters, "
    f"write the range of their versions in metadata/annotations.yaml: `{OPENSHIFT_VERSIONS}: v4.6-v4.8`.",
)
def the_range_serves_the_apis(reading: Reading) -> Iterator[Problem]:
    first, annotations = _first_without(reading), bundle_annotations(reading)
    if first is None or annotations is None:
        return
    written = annotations.values.get(OPENSHIFT_VERSIONS, "").strip()
    found = _RANGE.fullmatch(written)
    if found is None or int(found["last"]) >= first.openshift:
        said = f"is {excerpt(written, _SHOWN)!r}" if written else "is not set"
        yield first.problem(f"{OPENSHIFT_VERSIONS} {said}, but {first}", annotations.place(OPENSHIFT_VERSIONS))


class _Without:
    """The first version of OpenShift that does not serve an API which the bundle uses."""

    def __init__(self, minor: int, used: list[str]) -> None:
        self._minor = minor
        self._used = used
        self.openshift = minor - _KUBERNETES_BEFORE

    def problem(self, message: str, place: Place) -> Problem:
        return Problem(
            message=message, place=place, severity=None if self._minor == _JUDGED_BY_THEM else Severity.WARNING
        )

    def __str__(self) -> str:
        more = f" and {len(self._used) - 1} more" if len(self._used) > 1 else ""
        return f"OpenShift 4.{self.openshift} does not serve {self._used[0]}{more}"


def _first_without(reading: Reading) -> _Without | None:
    used = [one for one in removed_apis(reading) if one.kind]
    if not used:
        return None
    minor = min(one.minor for one in used)
    return _Without(minor, [one.text for one in used if one.minor == minor])


def _highest_version(annotation: str) -> str:
    """The value of the property as JSON; empty where there is none, or the annotation is not read."""
    properties, _ = of_annotation(annotation)
    return next((one.value for one in properties or () if one.type == MAX_OPENSHIFT), "")
