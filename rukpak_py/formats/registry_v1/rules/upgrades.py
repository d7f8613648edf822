"""Rules for what a CSV says about other versions: those it upgrades from, and those of Kubernetes.

No cluster refuses these; a catalog has no way to the bundle, or OLM never installs it.
"""

from collections.abc import Iterator
from typing import Final

from rukpak_py.core import versions
from rukpak_py.core.findings import Severity
from rukpak_py.core.ranges import Range
from rukpak_py.formats.json_fields import at, text
from rukpak_py.formats.registry_v1.metadata.dependencies import RANGE_HINT
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import annotation, csvs, is_semantic, name_of
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Reading] = Family(title="Upgrades and versions of Kubernetes", origin="rukpak-py")

_SKIP_RANGE: Final = "olm.skipRange"
_HIGHEST_MINOR: Final = 50  # with three releases a year, 1.50 comes in 2030


@FAMILY.rule(
    "RV1-972",
    title="A CSV neither replaces nor skips itself",
    hint="Name earlier versions only, or remove the entry: a catalog finds no way to a bundle that replaces itself.",
    severity=Severity.WARNING,
)
def a_csv_upgrades_others(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        name = name_of(csv)
        if not name:
            continue
        if text(csv.manifest, "spec", "replaces") == name:
            yield Problem(message=f"the CSV '{name}' replaces itself", place=csv.place("spec", "replaces"))
        skipped = at(csv.manifest, "spec", "skips")
        for index, one in enumerate(skipped if isinstance(skipped, list) else []):
            if one == name:
                yield Problem(message=f"the CSV '{name}' skips itself", place=csv.place("spec", "skips", index))


@FAMILY.rule(
    "RV1-973",
    title=f"The annotation {_SKIP_RANGE} is a range of versions",
    hint=RANGE_HINT,
    severity=Severity.WARNING,
)
def skip_ranges_are_ranges(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        written = annotation(csv, _SKIP_RANGE)
        try:
            if written:
                Range.parse(written)
        except ValueError as error:
            yield Problem(
                message=f"{_SKIP_RANGE} '{written[:200]}' is not a range of versions: no version is skipped",
                place=csv.place("metadata", "annotations", _SKIP_RANGE),
                hint=f"{error}. {RANGE_HINT}",
            )


@FAMILY.rule(
    "RV1-974",
    title="There is a Kubernetes of the version in spec.minKubeVersion",
    hint="Write the lowest version of Kubernetes that the operator works with, as `1.25.0`: not that of a "
    "distribution, nor that of the operator.",
    severity=Severity.WARNING,
)
def kubernetes_has_the_version(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        written = text(csv.manifest, "spec", "minKubeVersion")
        if not is_semantic(written):
            continue  # RV1-209 or RV1-210 tells
        version = versions.strict(written)
        if version.major > 1 or (version.major == 1 and version.minor > _HIGHEST_MINOR):
            message = f"spec.minKubeVersion is {written}, and no Kubernetes has such a version: OLM never installs it"
            yield Problem(message=message, place=csv.place("spec", "minKubeVersion"))
