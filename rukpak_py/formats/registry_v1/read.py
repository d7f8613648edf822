"""A Tree to a bundle: annotations, the files of manifests/, the ClusterServiceVersion, then properties.

One broken part hides no other: what is broken is given on as far as it is sound. With `parity` everything is as the
reference renderer has it: the last of several ClusterServiceVersions counts, unknown fields are lost, integers wrap,
old definitions are forced into the new type.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.crds import written
from rukpak_py.formats.crds.written import DEFINITION
from rukpak_py.formats.documents import Document
from rukpak_py.formats.go_types.restore import TypeDefect, restore
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.registry_v1 import kinds
from rukpak_py.formats.registry_v1.bundle import Csv, Definition, RegistryBundle, csv_of
from rukpak_py.formats.registry_v1.kinds import CSV, OLD_DEFINITIONS, near_kind
from rukpak_py.formats.registry_v1.manifest_files import FileReader, manifest_paths
from rukpak_py.formats.registry_v1.metadata.files import read_metadata, with_properties
from rukpak_py.formats.registry_v1.reading import (
    LAYOUT,
    NO_CSV,
    NO_OBJECT,
    SEVERAL_CSVS,
    UNPARSABLE,
    Defects,
    ManifestFile,
    Reading,
)
from rukpak_py.formats.registry_v1.wrong_types import add_wrong_type
from rukpak_py.formats.rules import Place, Problem
from rukpak_py.formats.unknown_fields import UnknownField

_TOO_DEEP = "Flatten the object: what nests as deeply as this is no manifest that a cluster accepts."


def read(tree: Tree, *, parity: bool = False, limits: Limits = DEFAULT_LIMITS) -> Reading:
    defects = Defects(tree, limits)
    metadata = read_metadata(tree, defects, limits)
    parts = _Parts(tree=tree, parity=parity, limits=limits, defects=defects)
    parts.read()
    csv = _csv(parts)
    if csv is not None:
        csv = with_properties(csv, tree, defects, limits)
    return Reading(
        tree=tree,
        parity=parity,
        files=parts.files,
        bundle=RegistryBundle(
            parity=parts.parity, metadata=metadata, csv=csv, definitions=parts.definitions, others=parts.others
        )
        if csv is not None
        else None,
        defects=defects.found,
        unknown=parts.unknown,
        limits=limits,
    )


@dataclass(kw_only=True)
class _Parts:
    """Manifests sorted by their kind alone; grows while they are read."""

    tree: Tree
    parity: bool
    limits: Limits
    defects: Defects
    files: list[ManifestFile] = field(default_factory=list)
    csvs: list[Csv] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    others: list[Document] = field(default_factory=list)
    unknown: list[UnknownField] = field(default_factory=list)

    is_whole: bool = True  # every file of manifests/ was read

    def read(self) -> None:
        before = len(self.defects.found)
        for document in self._documents():
            match document.kind:
                case kinds.CSV:
                    self.csvs.append(csv_of(document, self._typed(document, CSV)))
                case written.DEFINITION:
                    self.definitions.append(self._definition(document))
                case _:
                    self.others.append(document)
        self.is_whole = not self.defects.has(UNPARSABLE, NO_OBJECT, LAYOUT, since=before)

    def _documents(self) -> Iterator[Document]:
        aliases = AliasBudget(self.limits)
        for path in manifest_paths(self.tree, self.defects):
            reader = FileReader(
                path=path,
                data=self.tree[path],
                limits=self.limits,
                parity=self.parity,
                defects=self.defects,
                aliases=aliases,
            )
            file, documents = reader.read()
            self.files.append(file)
            yield from documents

    def _definition(self, document: Document) -> Definition:
        if document.api_version == OLD_DEFINITIONS and not self.parity:
            return Definition(document=document, name=document.name, manifest=document.manifest)
        typed = self._typed(document, DEFINITION)
        name = (typed.get("metadata") or {}).get("name") or ""
        return Definition(document=document, name=name, manifest=typed)

    def _typed(self, document: Document, type_name: str) -> Json:
        found: list[TypeDefect] = []
        unknown: list[tuple[str | int, ...]] = []
        typed: Any = {}
        try:
            typed = restore(
                document.manifest,
                type_name,
                keep_unknown=not self.parity,
                wraps=self.parity,
                defects=found,
                unknown=unknown,
            )
        except ContentError as error:
            self.defects.add(NO_OBJECT, Problem(message=str(error), place=document.place(), hint=_TOO_DEEP))
        for defect in found:
            add_wrong_type(self.defects, document, defect)
        self.unknown.extend(UnknownField(document, path, type_name) for path in unknown)
        return typed  # type: ignore[no-any-return]  # both types are structs


def _csv(parts: _Parts) -> Csv | None:
    """The one that counts: the last, and it should be the only one."""
    if not parts.csvs:
        if parts.is_whole:  # else it may well be in what could not be read
            near = next((document for document in parts.others if near_kind(document.kind) == CSV), None)
            problem = Problem(
                message=f'no ClusterServiceVersion found in "{MANIFESTS}"',
                place=near.place("kind") if near is not None else Place(file=MANIFESTS),
                hint=f"Did you mean `kind: {CSV}` instead of `{near.kind}`?" if near is not None else None,
            )
            parts.defects.add(NO_CSV, problem)
        return None
    if len(parts.csvs) > 1 and not parts.parity:
        names = " and ".join(f"{csv.name} in {csv.document.file}" for csv in parts.csvs)
        message = f"the bundle has {len(parts.csvs)} ClusterServiceVersions: {names}"
        parts.defects.add(SEVERAL_CSVS, Problem(message=message, place=parts.csvs[-1].document.place()))
    return parts.csvs[-1]
