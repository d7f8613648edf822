"""The documents that `opm` looks at: the first of each file of manifests/.

Nothing here went through typed decoding. A value of the wrong type counts as absent: reading the bundle tells that, and
every other rule still runs, also when there is no bundle because some other file is broken.

`EachOfCsv` is a rule of the form "each X of the CSV has Y": these rules are rows of tables.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core import versions
from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats import json_fields
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import Json, text
from rukpak_py.formats.registry_v1.kinds import CSV
from rukpak_py.formats.registry_v1.reading import ManifestFile, Reading
from rukpak_py.formats.rules import Family, Problem

# Where the rules of the CSV's permissions stand, for `each`.
RULES: Final = ("spec.install.spec.permissions[].rules[]", "spec.install.spec.clusterPermissions[].rules[]")


def manifest_files(reading: Reading) -> list[ManifestFile]:
    """Files that lie directly in manifests/."""
    return [file for file in reading.files if file.path.count("/") == 1]


def first_documents(reading: Reading) -> list[Document]:
    """An empty first document is an object without any field, as it is for `opm`."""
    return [
        Document(file=file.path, index=0, manifest=file.documents[0] or {})
        for file in manifest_files(reading)
        if file.documents and isinstance(file.documents[0], dict | None)
    ]


def is_blank(reading: Reading, path: str) -> bool:
    """Whether the file holds no document that is more than comments."""
    return all(document is None for file in reading.files if file.path == path for document in file.documents or ())


def of_kind(reading: Reading, kind: str) -> list[Document]:
    return [document for document in first_documents(reading) if text(document.manifest, "kind") == kind]


def csvs(reading: Reading) -> list[Document]:
    return of_kind(reading, CSV)


def each(csv: Document, where: str) -> list[tuple[tuple[str | int, ...], Json]]:
    return json_fields.each(csv.manifest, where)


@dataclass(frozen=True, kw_only=True, slots=True)
class EachOfCsv:
    """A rule. `defect` is the message about one of `of`, empty where nothing is wrong; it stands at `field` there."""

    id: str
    title: str
    hint: str
    of: Sequence[str] = ("",)  # as for `each`
    field: Path = ()
    on_key: bool = False
    defect: Callable[[Json], str]
    severity: Severity = Severity.ERROR
    error_only_in: Profile | None = None

    def check(self, reading: Reading) -> Iterator[Problem]:
        for csv in csvs(reading):
            for path, judged in (found for where in self.of for found in each(csv, where)):
                if message := self.defect(judged):
                    yield Problem(message=message, place=csv.place(*path, *self.field, on_key=self.on_key))


def add_rows(family: Family[Reading], *rows: EachOfCsv) -> None:
    """Add rules to the family, whose rules run by their ids then, wherever its file holds the table."""
    for row in rows:
        rule = family.rule(
            row.id, title=row.title, hint=row.hint, severity=row.severity, error_only_in=row.error_only_in
        )
        rule(row.check)
    family.rules.sort(key=lambda rule: rule.id)


def annotation(document: Document, key: str) -> str:
    return text(document.manifest, "metadata", "annotations", key)


def name_of(document: Document) -> str:
    return text(document.manifest, "metadata", "name")


def is_semantic(version: str) -> bool:
    try:
        versions.strict(version)
    except ValueError:
        return False
    return True
