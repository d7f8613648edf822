"""The form of a bundle, as catalog tools check it before they look at any object.

They find the annotations in any file of metadata/, and tell a bundle's media type from its manifests alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from rukpak_py.content.yaml_positions import Positions
from rukpak_py.core.findings import Severity
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.registry_v1.defects import NO_CSV
from rukpak_py.formats.registry_v1.kinds import SUPPORTED
from rukpak_py.formats.registry_v1.metadata.annotations import (
    ANNOTATIONS_FILE,
    CHANNELS,
    DEFAULT_CHANNEL,
    MEDIA_TYPE,
    PACKAGE,
    PREFIX,
    catalog_annotations_file,
)
from rukpak_py.formats.registry_v1.metadata.dependencies import dependency_problems, read_dependencies
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, text_of
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.dockerfiles import dockerfile_labels
from rukpak_py.formats.registry_v1.rules.first_documents import (
    csvs,
    first_documents,
    manifest_files,
    text,
)
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[Reading] = Family(title="The form of a bundle", origin="opm alpha bundle validate")

_METADATA: Final = "metadata"
_ANNOTATIONS: Final = "annotations"
_DIRECTORIES: Final = {f"{PREFIX}manifests.v1": "manifests/", f"{PREFIX}metadata.v1": "metadata/"}
_MANDATORY: Final = (MEDIA_TYPE, *_DIRECTORIES, PACKAGE, CHANNELS)


_NO_CSV_IN_FRONT: Final = (
    "Let the CSV be the first document of a file in manifests/, without a comment above `---`: catalog tools see "
    "nothing else of a file, and believe that a bundle without a CSV is plain."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotations:
    file: str
    key: str  # `annotations`, in the case in which it is written
    values: Mapping[str, str]

    def place(self, key: str = "", *, on_key: bool = False) -> Place:
        path = (self.key, key) if key else (self.key,)
        return Place(file=self.file, path=path, on_key=on_key or not key)


def bundle_annotations(reading: Reading) -> Annotations | None:
    """Of the first file of metadata/ that has some; one with a value that is no scalar does not count."""
    documents = reading.metadata_documents
    if (found := catalog_annotations_file(documents.items())) is None:
        return None
    file, values = found
    key = max((key for key in documents[file] if key.lower() == "annotations"), key="annotations".__eq__)
    return Annotations(file=file, key=key, values=values)


@FAMILY.rule(
    "RV1-101",
    title="A bundle has a directory manifests/ with files",
    hint="Put the CSV, the CRDs and the other objects into the directory manifests/ beside metadata/.",
)
def there_are_manifests(reading: Reading) -> Iterator[Problem]:
    if MANIFESTS not in reading.tree.directories:
        yield Problem(message="Unable to locate manifests directory", place=Place(file=MANIFESTS))
    elif not manifest_files(reading):
        yield Problem(message=f"The directory {MANIFESTS} contains no yaml files", place=Place(file=MANIFESTS))


@FAMILY.rule(
    "RV1-102",
    title="A bundle has a directory metadata/ with annotations",
    hint="Add metadata/annotations.yaml with a mapping `annotations`; "
    "`rukpakctl bundle generate` writes it. All values are strings.",
)
def there_are_annotations(reading: Reading) -> Iterator[Problem]:
    if _METADATA not in reading.tree.directories:
        yield Problem(message="Unable to locate metadata directory", place=Place(file=ANNOTATIONS_FILE))
    elif bundle_annotations(reading) is None:
        yield _why_not_found(reading)


def _why_not_found(reading: Reading) -> Problem:
    """The file may be there, and yet hold no annotations that count."""
    problem = "Could not find annotations file"
    document = reading.metadata_documents.get(ANNOTATIONS_FILE)
    if not isinstance(document, dict):
        return Problem(message=problem, place=Place(file=ANNOTATIONS_FILE))
    for key, _ in fields(document, [_ANNOTATIONS]):
        for name, value in document[key].items() if isinstance(document[key], dict) else ():
            if value is not None and text_of(value) is None:
                message = f"{problem}: the value of {name} in it is not a string"
                return Problem(message=message, place=Place(file=ANNOTATIONS_FILE, path=(key, name)))
    keys = [key for key in document if isinstance(key, str) and not isinstance(document[key], str)]
    (near,) = get_close_matches(_ANNOTATIONS, keys, n=1) or [""]
    if near.lower() == _ANNOTATIONS:
        near = ""
    return Problem(
        message=f"{problem}: {ANNOTATIONS_FILE} has no mapping `{_ANNOTATIONS}`",
        place=Place(file=ANNOTATIONS_FILE),
        at=Positions(reading.tree[ANNOTATIONS_FILE]).of(0, (near,), on_key=True) if near else None,
        hint=f"Did you mean `{_ANNOTATIONS}` instead of `{near}`?" if near else None,
    )


@FAMILY.rule(
    "RV1-103",
    title="The mandatory annotations are given",
    hint="Add the annotation to metadata/annotations.yaml; `rukpakctl bundle generate` writes all of them.",
)
def mandatory_annotations_are_given(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    if annotations is None:
        return
    hint = None
    if annotations.file != ANNOTATIONS_FILE and ANNOTATIONS_FILE in reading.tree:
        hint = (
            f"Remove {annotations.file}, or take `annotations` out of it: catalog tools take it for the annotations, "
            "because it is the first file of metadata/ that has some."
        )
    for key in _MANDATORY:
        if key not in annotations.values:
            yield Problem(message=f'Missing annotation "{key}"', place=annotations.place(key, on_key=True), hint=hint)


@FAMILY.rule(
    "RV1-104",
    title="The annotated media type is what manifests/ holds",
    hint=f"Write `{MEDIA_TYPE}: registry+v1`. Catalog tools believe that a bundle is plain when no file begins with "
    "the CSV: they read only the first document of each file, and a comment above `---` is a document too.",
)
def the_media_type_is_right(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    detected = media_type(reading)
    if annotations is None or detected is None or MEDIA_TYPE not in annotations.values:
        return
    found = annotations.values[MEDIA_TYPE]
    if found != detected and not (found == "registry+v1" and _is_told_of_the_csv(reading)):
        message = f'Expecting annotation "{MEDIA_TYPE}" to have value "{detected}" instead of "{found}"'
        hint = None if found != "registry+v1" else _NO_CSV_IN_FRONT
        yield Problem(message=message, place=annotations.place(MEDIA_TYPE), hint=hint)


def _is_told_of_the_csv(reading: Reading) -> bool:
    """Whether another finding says why catalog tools see no CSV: there is none, or its file does not begin with one."""
    if any(defect.finding.rule == NO_CSV.id for defect in reading.defects):
        return True
    if reading.bundle is None:
        return False
    file = reading.bundle.csv.document.file
    in_front = [document for document in first_documents(reading) if document.file == file]
    return any(text(document.manifest, "kind") not in SUPPORTED for document in in_front)


def media_type(reading: Reading) -> str | None:
    """As catalog tools tell it; None when nothing can be said because files cannot be parsed."""
    charts = [d for d in first_documents(reading) if d.file == f"{MANIFESTS}/Chart.yaml"]
    if any(text(chart.manifest, "name") for chart in charts):
        return "helm"
    if csvs(reading):
        return "registry+v1"
    files = manifest_files(reading)
    return "plain" if files and all(file.documents is not None for file in files) else None


@FAMILY.rule(
    "RV1-105",
    title="Channels and the default channel are not empty",
    hint="Name the channels, separated by commas without blanks, and one of them as default, or remove the default.",
)
def channels_are_named(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    for key in (CHANNELS, DEFAULT_CHANNEL):
        if annotations is not None and annotations.values.get(key) == "":
            message = f'Expecting annotation "{key}" to have non-empty value'
            yield Problem(message=message, place=annotations.place(key, on_key=True))


@FAMILY.rule(
    "RV1-106",
    severity=Severity.WARNING,
    title="The annotations of directories name the directories",
    hint="Write `manifests/` and `metadata/`: every reader uses these names, whatever the annotations say.",
    origin="opm alpha bundle validate, where it never fires",
)
def directories_have_their_names(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    for key, expected in _DIRECTORIES.items():
        if annotations is not None and annotations.values.get(key, expected) != expected:
            found = annotations.values[key]
            message = f'Expecting annotation "{key}" to have value "{expected}" instead of "{found}"'
            yield Problem(message=message, place=annotations.place(key))


@FAMILY.rule(
    "RV1-107",
    severity=Severity.WARNING,
    title="Image labels in a Dockerfile agree with the annotations",
    hint="Give the label the value of the annotation: on mismatch metadata/annotations.yaml counts.",
    origin="rukpak-py",
)
def labels_agree(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    names = [name for name in reading.tree.names_in("") if "Dockerfile" in name and name in reading.tree]
    for file in names if annotations is not None else ():
        for label in dockerfile_labels(reading.tree[file].decode(errors="replace")):
            found = annotations.values.get(label.key, "") if annotations is not None else ""
            if label.key.startswith(PREFIX) and label.value != found:
                message = f'label "{label.key}" has value "{label.value}", but the annotation has "{found}"'
                yield Problem(message=message, place=Place(file=file), at=(label.line, label.column))


@FAMILY.rule(
    "RV1-108",
    title="No file of manifests/ is empty",
    hint="Remove the file.",
)
def no_file_is_empty(reading: Reading) -> Iterator[Problem]:
    for file in manifest_files(reading):
        if file.documents is not None and not file.documents:
            yield Problem(message="EOF: the file is empty", place=Place(file=file.path))


@FAMILY.rule(
    "RV1-109",
    severity=Severity.WARNING,
    title="A file of manifests/ holds one document",
    hint="Give each object a file of its own: catalog tools read only the first document of each file.",
    origin="rukpak-py",
)
def files_hold_one_document(reading: Reading) -> Iterator[Problem]:
    for file in manifest_files(reading):
        documents = file.documents or []
        further = [index for index, document in enumerate(documents) if document is not None and index]
        if further and (documents[0] is not None or len(further) > 1):  # else it is a comment in front, RV1-501 tells
            message = f"only the first of {len(documents)} documents is seen by catalog tools"
            yield Problem(message=message, place=Place(file=file.path, document=further[0]))


@FAMILY.rule(
    "RV1-110",
    title="Dependencies are of a known type, and complete",
    hint="A dependency is `type` and `value`: olm.package {packageName, version}, olm.gvk {group, version, kind}, "
    "olm.label {label}, olm.constraint {cel, package, gvk, all, any or not}.",
)
def dependencies_are_complete(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    documents = dict(reading.metadata_documents)
    if annotations is not None:
        del documents[annotations.file]
    for dependency in read_dependencies(documents.items()):
        yield from dependency_problems(dependency)
