"""The files of manifests/ as single manifests: every file in the order of names, every document, lists one level deep.

What is no manifest is a defect, and reading goes on behind it. A document whose metadata cannot be decoded is given
on with what is sound of it, so that it can be judged further.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.documents import Document
from rukpak_py.formats.go_types.codecs import codec
from rukpak_py.formats.go_types.shapes import shape
from rukpak_py.formats.go_types.traces import Trace
from rukpak_py.formats.manifests import (
    MANIFESTS,
    advice_on_foreign,
    has_kind,
    items_of,
    subdirectory,
    where_manifests_are,
)
from rukpak_py.formats.registry_v1.reading import LAYOUT, NO_OBJECT, UNPARSABLE, Defects, ManifestFile
from rukpak_py.formats.registry_v1.wrong_types import add_wrong_type
from rukpak_py.formats.rules import Place, Problem
from rukpak_py.formats.syntax import syntax_problem
from rukpak_py.formats.type_defects import TypeDefect, Wanted, kind_of, must_be


def manifest_paths(tree: Tree, defects: Defects) -> Iterator[str]:
    if MANIFESTS not in tree.directories:
        found = "is a file" if MANIFESTS in tree else "is missing"
        message, place = f"the directory manifests/ {found}", Place(file=MANIFESTS)
        defects.add(LAYOUT, Problem(message=message, place=place, hint=where_manifests_are(tree)))
        return
    for name in tree.names_in(MANIFESTS):
        path = f"{MANIFESTS}/{name}"
        if path not in tree.directories:
            yield path
            continue
        hint = f"Move the files of {path}/ up into {MANIFESTS}/, or out of the bundle."
        defects.add(LAYOUT, Problem(message=subdirectory(path), place=Place(file=path), hint=hint))


@dataclass(frozen=True, kw_only=True)
class FileReader:
    """Reads one file; `file` is what there is of it, and `manifests` tells its defects as it goes."""

    path: str
    data: bytes
    limits: Limits
    parity: bool
    defects: Defects
    aliases: AliasBudget  # of all files

    def read(self) -> tuple[ManifestFile, Iterator[Document]]:
        documents, error = self._load()
        file = ManifestFile(path=self.path, documents=None if error and not documents else documents)
        return file, self._manifests(documents, error)

    def _load(self) -> tuple[list[Any], ContentError | None]:
        """The documents, or those before the one that cannot be parsed, and why it cannot."""
        documents: list[Any] = []
        try:
            documents.extend(yaml.documents(self.data, limits=self.limits, aliases=self.aliases))
        except ContentError as error:
            return documents, error
        return documents, None

    def _manifests(self, documents: list[Any], error: ContentError | None) -> Iterator[Document]:
        before = len(self.defects.found)
        advice = advice_on_foreign(self.path, self.data)
        is_foreign = advice is not None and not any(isinstance(one, dict) and has_kind(one) for one in documents)
        for index, document in enumerate(documents):
            if document is not None:
                yield from self._document(index, document)
            if is_foreign and len(self.defects.found) > before:
                return  # more about a file that is no manifest at all says nothing more
        if error is not None:
            problem = syntax_problem(error, self.data, Place(file=self.path, document=len(documents)))
            self.defects.add(UNPARSABLE, replace(problem, hint=advice or problem.hint))

    def _document(self, index: int, document: Any) -> Iterator[Document]:
        if not isinstance(document, dict):
            message = f"a document of manifests/ must be an object, got {kind_of(document)}"
            hint = f"Move {self.path} out of {MANIFESTS}/ if it is no manifest."
            self._refuse(index, message, hint=hint)
            return
        if not has_kind(document):
            message, advice = _why_without_kind(document)
            self._refuse(index, message, hint=advice)
            return
        try:
            items = items_of(document)
        except ContentError as error:
            self._refuse(index, str(error), path=("items",))
            return
        if items is None:
            yield self._checked(Document(file=self.path, index=index, manifest=document))
        else:
            self._checked(Document(file=self.path, index=index, manifest=document))
            yield from self._items(index, items)

    def _items(self, index: int, items: list[Any]) -> Iterator[Document]:
        """The reference decodes all items before it looks for lists among them, and both before it uses the first."""
        is_whole = True
        for number, item in enumerate(items):
            if not isinstance(item, dict):
                self._refuse(index, f"an item of a list must be an object, got {kind_of(item)}", path=("items", number))
                is_whole = False
        for number, item in enumerate(items):
            if isinstance(item, dict) and isinstance(item.get("items"), list):
                hint = "Move the items of the inner list to the outer one."
                self._refuse(index, "a list stands inside a list", path=("items", number), hint=hint)
                is_whole = False
        for number, item in enumerate(items):
            if not isinstance(item, dict) or isinstance(item.get("items"), list):
                continue
            path = ("items", number)
            if not has_kind(item):
                message, advice = _why_without_kind(item)
                self._refuse(index, message, path=path, hint=advice)
            elif not _version(item):
                self._refuse(index, "an item of a list has no apiVersion", path=path)
            elif is_whole or not self.parity:
                document = Document(file=self.path, index=index, manifest=item, inside=path)
                yield self._unchecked(document) if self.parity else self._checked(document)

    def _checked(self, document: Document) -> Document:
        """With metadata that can be relied on."""
        found = object_meta_defects(document.manifest)
        if not found:
            return document
        for defect in found:
            add_wrong_type(self.defects, document, defect)
        sound = {**document.manifest, "metadata": _sound_metadata(document.manifest.get("metadata"))}
        if not isinstance(document.manifest.get("apiVersion", ""), str):
            del sound["apiVersion"]
        return replace(document, manifest=sound)

    def _unchecked(self, document: Document) -> Document:
        """The reference does not look at the metadata of items; what is no object has no effect there."""
        if isinstance(document.manifest.get("metadata"), dict | None):
            return document
        return replace(document, manifest={**document.manifest, "metadata": {}})

    def _refuse(self, index: int, message: str, *, path: Path = (), hint: str | None = None) -> None:
        place = Place(file=self.path, document=index, path=path)
        self.defects.add(NO_OBJECT, Problem(message=message, place=place, hint=hint))


def _version(item: dict[str, Any]) -> bool:
    version = item.get("apiVersion")
    return isinstance(version, str) and version.rpartition("/")[2] != ""


def _why_without_kind(manifest: dict[str, Any]) -> tuple[str, str]:
    """The defect of a manifest without a kind, and advice."""
    kind = manifest.get("kind")
    if isinstance(kind, str) and kind:
        problem = f"apiVersion {manifest.get('apiVersion')!r} is neither `version` nor `group/version`"
        return problem, "Write it as the documentation of the kind has it, such as `apiVersion: apps/v1`."
    if kind is not None and not isinstance(kind, str):
        return (
            f"`kind` {must_be(Wanted.STRING, kind)}",
            "Write the name of the kind, such as `kind: Service`.",
        )
    return "the object has no `kind`", f"Add `kind`; or move what is no manifest out of {MANIFESTS}/."


def _sound_metadata(metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, dict):
        return {}
    sound = {key: value for key, value in metadata.items() if key not in {"labels", "annotations"}}
    for key in ("name", "namespace", "generateName"):
        if not isinstance(sound.get(key, ""), str):
            del sound[key]
    for key in ("labels", "annotations"):
        if isinstance(texts := metadata.get(key), dict):
            sound[key] = {name: text for name, text in texts.items() if isinstance(text, str)}
    return sound


_TYPES: Final = {"apiVersion": "string", "kind": "string", "metadata": "ObjectMeta"}


def object_meta_defects(manifest: Mapping[str, Any]) -> list[TypeDefect]:
    """Where type and `metadata` do not fit Kubernetes' own types. Unknown names pass, null fits everywhere."""
    trace = Trace(keep_unknown=False, wraps=False)
    for field, type_name in _TYPES.items():
        if (value := manifest.get(field)) is not None:
            codec(shape(type_name), in_document=True).decode(value, ((), field, ""), trace)
    return trace.defects()
