"""The files of metadata/: what they say, and the defects of those that cannot be decoded.

The renderer needs annotations.yaml, and appends properties.yaml to an annotation of the ClusterServiceVersion.
"""

from dataclasses import replace
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Profile
from rukpak_py.core.limits import Limits
from rukpak_py.formats.manifests import advice_on_chart, advice_on_plain
from rukpak_py.formats.registry_v1.bundle import BundleMetadata, Csv
from rukpak_py.formats.registry_v1.metadata import properties
from rukpak_py.formats.registry_v1.metadata.annotations import (
    ANNOTATIONS_FILE,
    OPENSHIFT_VERSIONS,
    catalog_annotations_file,
    decode_metadata,
)
from rukpak_py.formats.registry_v1.metadata.dependencies import read_dependencies
from rukpak_py.formats.registry_v1.metadata.properties import ANNOTATION, PROPERTIES_FILE
from rukpak_py.formats.registry_v1.reading import LAYOUT, METADATA, Defects
from rukpak_py.formats.registry_v1.wrong_types import wrong_type
from rukpak_py.formats.rules import Place, Problem
from rukpak_py.formats.syntax import syntax_problem
from rukpak_py.formats.type_defects import TypeDefect

_METADATA = "metadata"


class _UndecodableError(Exception):
    """The defect was told."""


def read_metadata(tree: Tree, defects: Defects, limits: Limits) -> BundleMetadata:
    annotations = _read_annotations(tree, defects, limits)
    # Catalogs look for dependencies in every file of metadata/ but the one that they take the annotations from.
    documents = _first_documents(tree, limits)
    path, told = catalog_annotations_file(documents.items()) or ("", {})
    documents.pop(path, None)
    return replace(
        annotations,
        openshift_versions=told.get(OPENSHIFT_VERSIONS, ""),
        dependencies=read_dependencies(documents.items()),
    )


def _read_annotations(tree: Tree, defects: Defects, limits: Limits) -> BundleMetadata:
    if ANNOTATIONS_FILE not in tree:
        _tell_missing(tree, defects, limits)
        return BundleMetadata(package="")
    try:
        document = _load(ANNOTATIONS_FILE, tree, defects, limits)
    except _UndecodableError:
        return BundleMetadata(package="")
    metadata, found = decode_metadata(document)
    for defect in found:
        _report_defect(ANNOTATIONS_FILE, defect, defects)
    return metadata


def with_properties(csv: Csv, tree: Tree, defects: Defects, limits: Limits) -> Csv:
    """The CSV with the properties of the file appended to those of its annotation; as it was where there is no file."""
    annotated = csv.annotations.get(ANNOTATION)
    of_annotation, problems = properties.of_annotation(annotated) if annotated is not None else (None, [])
    for problem in problems:
        message = f"the annotation {ANNOTATION} cannot be decoded: {problem}"
        place = csv.document.place("metadata", "annotations", ANNOTATION)
        hint = 'Write a JSON list: [{"type": "...", "value": ...}]'
        # `opm` does not read them.
        defects.add(METADATA, Problem(message=message, place=place, hint=hint, error_only_in=Profile.DEFAULT))
    if not tree.get(PROPERTIES_FILE):
        return csv
    try:
        document = _load(PROPERTIES_FILE, tree, defects, limits)
    except _UndecodableError:
        return csv
    of_file, found = properties.of_file(document)
    for defect in found:
        _report_defect(PROPERTIES_FILE, defect, defects)
    annotations = {**csv.annotations, ANNOTATION: properties.merged(of_annotation, of_file)}
    metadata = {**(csv.typed.get("metadata") or {}), "annotations": annotations}
    return replace(csv, annotations=annotations, typed={**csv.typed, "metadata": metadata})


def _first_documents(tree: Tree, limits: Limits) -> dict[str, Any]:
    paths = [path for name in tree.names_in(_METADATA) if (path := f"{_METADATA}/{name}") in tree]
    return {path: _first_document(tree[path], limits) for path in paths}


def _first_document(data: bytes, limits: Limits) -> Any:
    """None where there is none that can be parsed: other tools ignore such a file too."""
    try:
        return next(yaml.documents(data, limits=limits), None)
    except ContentError:
        return None


def _tell_missing(tree: Tree, defects: Defects, limits: Limits) -> None:
    others = [name for name in tree.names_in(_METADATA) if name.startswith("annotations")]
    other_class = advice_on_chart(tree) or advice_on_plain(tree)
    hint = other_class or "Add it with the package's name and channels; `rukpakctl bundle generate` writes it."
    if others:
        hint = f"Rename {_METADATA}/{others[0]} to {ANNOTATIONS_FILE}."
    # Catalogs take them from any file.
    only_in = Profile.DEFAULT if catalog_annotations_file(_first_documents(tree, limits).items()) else None
    place = Place(file=ANNOTATIONS_FILE)
    defects.add(LAYOUT, Problem(message="the file is missing", place=place, hint=hint, error_only_in=only_in))


def _load(file: str, tree: Tree, defects: Defects, limits: Limits) -> Any:
    try:
        return yaml.load(tree[file], limits=limits, unsigned=True)
    except ContentError as error:
        problem = syntax_problem(error, tree[file], Place(file=file))
        defects.add(METADATA, replace(problem, error_only_in=_unread_by_opm(file)))
        raise _UndecodableError from error


def _report_defect(file: str, defect: TypeDefect, defects: Defects) -> None:
    problem = wrong_type(defects, Place(file=file, path=defect.path), defect)
    defects.add(METADATA, replace(problem, error_only_in=_unread_by_opm(file)))


def _unread_by_opm(file: str) -> Profile | None:
    """It does not read properties."""
    return Profile.DEFAULT if file == PROPERTIES_FILE else None
