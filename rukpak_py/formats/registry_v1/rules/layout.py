"""The form of a bundle, as `opm` checks it before it looks at any object.

It finds the annotations in any file of metadata/, and tells a bundle's media type from its manifests alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

from rukpak_py.content.yaml_positions import Positions
from rukpak_py.core.findings import Fix, Profile, Severity
from rukpak_py.formats.json_fields import text
from rukpak_py.formats.manifests import MANIFESTS
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
from rukpak_py.formats.registry_v1.reading import METADATA, NO_CSV, Reading
from rukpak_py.formats.registry_v1.rules.dockerfiles import dockerfile_labels
from rukpak_py.formats.registry_v1.rules.first_documents import csvs, first_documents, manifest_files
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[Reading] = Family(title="The form of a bundle", origin="opm alpha bundle validate")

_ANNOTATIONS: Final = "annotations"
_DIRECTORIES: Final = {f"{PREFIX}manifests.v1": "manifests/", f"{PREFIX}metadata.v1": "metadata/"}
_MANDATORY: Final = (MEDIA_TYPE, *_DIRECTORIES, PACKAGE, CHANNELS)
_NO_CSV_IN_FRONT: Final = (
    "Let the CSV be the first document of a file in manifests/, without a comment above `---`: `opm` reads nothing "
    "else of a file, and takes a bundle without a CSV for a plain one."
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
    """The annotations of the first file of metadata/ that has some; one with a value that is no scalar is skipped."""
    documents = reading.metadata_documents
    if (found := catalog_annotations_file(documents.items())) is None:
        return None
    file, values = found
    key = max((key for key in documents[file] if key.lower() == "annotations"), key="annotations".__eq__)
    return Annotations(file=file, key=key, values=values)


@FAMILY.further_check(
    METADATA.id,
    hint="Write a mapping `annotations` of strings; `rukpakctl bundle generate` writes one.",
)
def annotations_are_strings(reading: Reading) -> Iterator[Problem]:
    """Judge a file that is there and can be parsed; reading tells the rest."""
    document = reading.metadata_documents.get(ANNOTATIONS_FILE)
    told = [defect.finding for defect in reading.defects]
    is_told = any((one.rule, one.file) == (METADATA.id, ANNOTATIONS_FILE) for one in told)
    if ANNOTATIONS_FILE in reading.tree and not is_told and bundle_annotations(reading) is None:
        why = _why_not_found(reading, document if isinstance(document, dict) else {})
        yield replace(why, error_only_in=None if _has_no_package(reading) else Profile.OPM)


def _why_not_found(reading: Reading, document: Mapping[str, Any]) -> Problem:
    for key, _ in fields(dict(document), [_ANNOTATIONS]):
        for name, value in document[key].items() if isinstance(document[key], dict) else ():
            if value is not None and text_of(value) is None:
                message = f"the annotation {name} must be a string"
                return Problem(message=message, place=Place(file=ANNOTATIONS_FILE, path=(key, name)))
    keys = [key for key in document if isinstance(key, str) and not isinstance(document[key], str)]
    (near,) = get_close_matches(_ANNOTATIONS, keys, n=1) or [""]
    if near.lower() == _ANNOTATIONS:
        near = ""
    return Problem(
        message=f"{ANNOTATIONS_FILE} has no mapping `{_ANNOTATIONS}`",
        place=Place(file=ANNOTATIONS_FILE),
        at=Positions(reading.tree[ANNOTATIONS_FILE]).of(0, (near,), on_key=True) if near else None,
        hint=f"Did you mean `{_ANNOTATIONS}` instead of `{near}`?" if near else None,
    )


@FAMILY.rule(
    "RV1-103",
    title="The mandatory annotations are given",
    hint="Add the annotation; `rukpakctl bundle generate` writes all of them.",
    error_only_in=Profile.OPM,
)
def mandatory_annotations_are_given(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    if annotations is None:
        return
    hint = None
    if annotations.file != ANNOTATIONS_FILE and ANNOTATIONS_FILE in reading.tree:
        hint = (
            f"Remove {annotations.file}, or take `annotations` out of it: `opm` takes it for the annotations, because "
            "it is the first file of metadata/ that has some."
        )
    for key in _MANDATORY:
        if key not in annotations.values and not (key == PACKAGE and _has_no_package(reading)):
            message = f"{annotations.file} has no annotation {key}"
            yield Problem(message=message, place=annotations.place(key, on_key=True), hint=hint)


def _has_no_package(reading: Reading) -> bool:
    """RV1-005 tells."""
    return reading.bundle is not None and not reading.bundle.metadata.package


@FAMILY.rule(
    "RV1-104",
    title="The annotated media type is that of the files in manifests/",
    hint=f"Write `{MEDIA_TYPE}: registry+v1`. `opm` takes a bundle for a plain one when no file begins with the CSV: "
    "it reads only the first document of each file, and a comment above `---` is a document too.",
    error_only_in=Profile.OPM,
)
def the_media_type_is_right(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    detected = media_type(reading)
    if annotations is None or detected is None or MEDIA_TYPE not in annotations.values:
        return
    found = annotations.values[MEDIA_TYPE]
    if found != detected and not (found == "registry+v1" and _is_told_of_the_csv(reading)):
        message = f'the annotation {MEDIA_TYPE} is "{found}", but `opm` takes the files of manifests/ for "{detected}"'
        hint = None if found != "registry+v1" else _NO_CSV_IN_FRONT
        fix = Fix(text=detected) if hint is None else None
        yield Problem(message=message, place=annotations.place(MEDIA_TYPE), hint=hint, fix=fix)


def _is_told_of_the_csv(reading: Reading) -> bool:
    """Whether another finding says why `opm` sees no CSV: there is none, or its file does not begin with one."""
    if any(defect.finding.rule == NO_CSV.id for defect in reading.defects):
        return True
    if reading.bundle is None:
        return False
    file = reading.bundle.csv.document.file
    in_front = [document for document in first_documents(reading) if document.file == file]
    return any(text(document.manifest, "kind") not in SUPPORTED for document in in_front)


def media_type(reading: Reading) -> str | None:
    """The media type, as `opm` tells it; None when it cannot be told because files cannot be parsed."""
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
    hint="Name the channels, separated by commas without blanks. The default channel may be left out.",
    error_only_in=Profile.OPM,
)
def channels_are_named(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    for key in (CHANNELS, DEFAULT_CHANNEL):
        if annotations is not None and annotations.values.get(key) == "":
            yield Problem(message=f"the annotation {key} is empty", place=annotations.place(key, on_key=True))


@FAMILY.rule(
    "RV1-106",
    severity=Severity.WARNING,
    title="The annotations of the directories are `manifests/` and `metadata/`",
    hint="Write `manifests/` and `metadata/`: every tool reads these directories, whatever the annotations say.",
    origin="opm alpha bundle validate, where it never fires",
)
def directories_have_their_names(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    for key, expected in _DIRECTORIES.items():
        if annotations is not None and annotations.values.get(key, expected) != expected:
            message = f'the annotation {key} is "{annotations.values[key]}" instead of "{expected}"'
            yield Problem(message=message, place=annotations.place(key), fix=Fix(text=expected))


@FAMILY.rule(
    "RV1-107",
    severity=Severity.WARNING,
    title="Image labels in a Dockerfile agree with the annotations",
    hint="Write the same in both. Clusters and `opm` read the annotations; only tools that do not open the image read "
    "labels.",
    origin="rukpak-py",
)
def labels_agree(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    if annotations is None:
        return
    for file in (name for name in reading.tree.names_in("") if "Dockerfile" in name and name in reading.tree):
        for label in dockerfile_labels(reading.tree[file].decode(errors="replace")):
            annotated = annotations.values.get(label.key)
            if label.key.startswith(PREFIX) and label.value != annotated:
                other = "there is no such annotation" if annotated is None else f'the annotation is "{annotated}"'
                message = f'the label {label.key} is "{label.value}", but {other}'
                yield Problem(message=message, place=Place(file=file), at=(label.line, label.column))


@FAMILY.rule(
    "RV1-108",
    title="No file of manifests/ is empty",
    hint="Remove the file: `opm` refuses it.",
    error_only_in=Profile.OPM,
)
def no_file_is_empty(reading: Reading) -> Iterator[Problem]:
    for file in manifest_files(reading):
        if file.documents is not None and not file.documents:
            yield Problem(message="the file is empty", place=Place(file=file.path))


@FAMILY.rule(
    "RV1-109",
    severity=Severity.WARNING,
    title="A file of manifests/ holds one document",
    hint="Give each object a file of its own: `opm` and the catalogs that it makes know only the first one.",
    origin="rukpak-py",
)
def files_hold_one_document(reading: Reading) -> Iterator[Problem]:
    for file in manifest_files(reading):
        documents = file.documents or []
        further = [index for index, document in enumerate(documents) if document is not None and index]
        if further and (documents[0] is not None or len(further) > 1):  # else it is a comment in front, RV1-501 tells
            message = f"`opm` reads only the first of the {len(documents)} documents of the file"
            yield Problem(message=message, place=Place(file=file.path, document=further[0]))


@FAMILY.rule(
    "RV1-110",
    title="Dependencies are of a known type, and complete",
    hint="A dependency is `type` and `value`: olm.package {packageName, version}, olm.gvk {group, version, kind}, "
    "olm.label {label}, olm.constraint {cel, package, gvk, all, any or not}.",
    error_only_in=Profile.OPM,
)
def dependencies_are_complete(reading: Reading) -> Iterator[Problem]:
    annotations = bundle_annotations(reading)
    documents = dict(reading.metadata_documents)
    if annotations is not None:
        del documents[annotations.file]
    for dependency in read_dependencies(documents.items()):
        yield from dependency_problems(dependency)
