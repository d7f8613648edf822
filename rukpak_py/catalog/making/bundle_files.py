"""The files of a bundle's directory as catalogs read them: manifests, and files of metadata/ whatever their names.

Only the first document of a file counts, and the first ClusterServiceVersion. A file that holds no Kubernetes object is
passed over in silence, as `opm` does; but when the bundle then lacks its CSV, the file that looks like it is told.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rukpak_py.catalog.model import GVK, PACKAGE_PROPERTY
from rukpak_py.content import yaml
from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.crds.written import DEFINITION
from rukpak_py.formats.go_types.codecs import codec
from rukpak_py.formats.go_types.shapes import shape
from rukpak_py.formats.go_types.traces import Trace
from rukpak_py.formats.manifests import MANIFESTS, has_kind
from rukpak_py.formats.registry_v1.bundle import Dependency
from rukpak_py.formats.registry_v1.kinds import CSV, OLD_DEFINITIONS
from rukpak_py.formats.registry_v1.manifest_files import object_meta_defects
from rukpak_py.formats.registry_v1.metadata import properties
from rukpak_py.formats.registry_v1.metadata.annotations import decode_metadata
from rukpak_py.formats.registry_v1.metadata.dependencies import read_dependencies
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, renamed
from rukpak_py.formats.registry_v1.metadata.properties import Property
from rukpak_py.formats.type_defects import TypeDefect

Json = dict[str, Any]

_DEFINITIONS: Final = ("apiextensions.k8s.io/v1", OLD_DEFINITIONS)
_DEFINITION_VERSIONS: Final = tuple(one.rpartition("/")[2] for one in _DEFINITIONS)
# Of the spec of an old definition; they moved into its versions.
_OLD_FIELDS: Final = {"validation": "CustomResourceValidation", "subresources": "CustomResourceSubresources"}
_METADATA: Final = "metadata"
_CSV_KIND: Final = re.compile(rb"""(?m)^[ \t]*+["']?kind["']?[ \t]*+:[ \t]*+["']?ClusterServiceVersion\b""")


@dataclass(frozen=True, kw_only=True)
class BundleFiles:
    package: str
    csv: Json
    objects: Sequence[Json]  # the CSV among them, in the order of their files
    dependencies: Sequence[Dependency] = ()
    properties: Sequence[Property] = ()

    @property
    def name(self) -> str:
        name = (self.csv.get("metadata") or {}).get("name")
        return name or ""

    @property
    def definitions(self) -> Iterator[Json]:
        return (one for one in self.objects if one["kind"] == DEFINITION and one.get("apiVersion") in _DEFINITIONS)


def read_files(files: Mapping[str, bytes], limits: Limits = DEFAULT_LIMITS) -> BundleFiles:
    """Read a bundle's directory; ContentError where it is none, or no catalog can have it."""
    csv, objects = _manifests(files, limits)
    found = _Metadata(files, limits)
    package = found.package()
    return BundleFiles(
        package=package, csv=csv, objects=objects, dependencies=found.dependencies(), properties=found.properties()
    )


def _manifests(files: Mapping[str, bytes], limits: Limits) -> tuple[Json, list[Json]]:
    objects: list[Json] = []
    csv: Json | None = None
    broken: list[str] = []  # why a file that looks like a CSV is none
    aliases = AliasBudget(limits)
    for path in _files_in(MANIFESTS, files):
        try:
            manifest = next(yaml.documents(files[path], limits=limits, aliases=aliases), None)
        except ContentError as error:
            if _CSV_KIND.search(files[path]):
                broken.append(f"{path}: {error}")
            continue
        if not isinstance(manifest, dict) or not has_kind(manifest):
            if _CSV_KIND.search(files[path]):
                broken.append(f"{path}: the {CSV} is not in the first document of the file")
            continue
        if manifest["kind"] == CSV:
            if csv is not None:
                continue
            csv = manifest
            _refuse(path, object_meta_defects(manifest))
        elif manifest["kind"] == DEFINITION:
            _check_definition(path, manifest)
        objects.append(manifest)
    if csv is None:
        missing = f"the bundle has no {CSV}" if objects else "the bundle has no Kubernetes objects in manifests/"
        raise ContentError("; ".join([missing, *broken]))
    return csv, objects


def _files_in(directory: str, files: Mapping[str, bytes]) -> list[str]:
    """Files directly in the directory, hidden ones left out of manifests."""
    prefix = f"{directory}/"
    names = [path.removeprefix(prefix) for path in files if path.startswith(prefix)]
    shown = [name for name in names if "/" not in name and not (directory == MANIFESTS and name.startswith("."))]
    return [prefix + name for name in sorted(shown, key=str.encode)]


def _check_definition(path: str, manifest: Json) -> None:
    """Refuse a definition that is not decoded; of the old version only what it shares with the new one is known."""
    version = manifest.get("apiVersion")
    if version not in _DEFINITIONS:
        if str(version).rpartition("/")[2] in _DEFINITION_VERSIONS:
            raise ContentError(f"{path}: no {DEFINITION} has the apiVersion {version!r}")
        return
    _refuse(path, _type_defects(path, manifest, DEFINITION))
    spec = manifest.get("spec") or {}
    for key, type_name in _OLD_FIELDS.items() if version == OLD_DEFINITIONS else ():
        _refuse(f"{path}: spec.{key}", _type_defects(path, spec.get(key), type_name))


def _type_defects(path: str, value: Any, type_name: str) -> Sequence[TypeDefect]:
    if value is None:
        return ()
    trace = Trace(keep_unknown=False, wraps=False)
    try:
        codec(shape(type_name), in_document=True).decode(value, (), trace)
    except RecursionError as error:
        raise ContentError(f"{path}: the object is nested too deeply") from error
    return trace.defects()


def _refuse(path: str, defects: Sequence[TypeDefect]) -> None:
    for defect in defects:
        raise ContentError(f"{path}: {defect.message}")


class _Metadata:
    """The files of metadata/: for each purpose the first that serves it counts, by name."""

    def __init__(self, files: Mapping[str, bytes], limits: Limits) -> None:
        aliases = AliasBudget(limits)
        self._documents: dict[str, Any] = {}
        for path in _files_in(_METADATA, files):
            try:
                documents = yaml.documents(files[path], limits=limits, aliases=aliases, unsigned=True)
                self._documents[path] = next(documents, None)
            except ContentError:
                continue

    def package(self) -> str:
        for path, document in self._documents.items():
            metadata, defects = decode_metadata(document)
            if defects or not (metadata.package or metadata.channels or metadata.default_channel):
                continue
            if not metadata.package:
                raise ContentError(f"{path} does not name the package of the bundle")
            return metadata.package
        raise ContentError(f"{_METADATA}/ has no file with the annotations of a bundle")

    def dependencies(self) -> Sequence[Dependency]:
        return read_dependencies(self._documents.items())

    def properties(self) -> Sequence[Property]:
        for path, document in self._documents.items():
            found, defects = properties.of_file(document)
            if found and not defects:
                _check_values(path, document)
                return found
        return ()


def _check_values(path: str, document: Any) -> None:
    """Refuse properties of the types that are decoded and have no value, which is not null."""
    for key, _ in fields(document, ("properties",)):
        for item in document[key] or ():
            found = renamed({} if item is None else {**item}, ("type",))
            if found.get("type") in {PACKAGE_PROPERTY, GVK} and not any(fields(found, ("value",))):
                raise ContentError(f"{path}: a property of type {found['type']} has no value")
