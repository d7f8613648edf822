"""The files of manifests/ as single manifests: every file in the order of names, every document, lists one level deep.

What is no manifest is a defect, and reading goes on behind it. A document whose metadata cannot be decoded is given
on with what is sound of it, so that it can be judged further.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.content.yaml_positions import Path
from rukpak_py.content.yaml_streams import JsonValue, Piece, pieces
from rukpak_py.core import gojson
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.manifests import (
    MANIFESTS,
    advice_on_foreign,
    excerpt,
    go_kind,
    has_kind,
    items_of,
    not_an_object,
    where_manifests_are,
)
from rukpak_py.formats.registry_v1.bundle import Document
from rukpak_py.formats.registry_v1.defects import LAYOUT, NO_OBJECT, UNPARSABLE, Defects
from rukpak_py.formats.registry_v1.reading import ManifestFile
from rukpak_py.formats.registry_v1.typed.object_meta import object_meta_defects
from rukpak_py.formats.registry_v1.wrong_types import add_wrong_type
from rukpak_py.formats.rules import Place
from rukpak_py.formats.syntax import syntax_defect

_NESTED_LIST = "*unstructured.Unstructured is not a list: no Items field in this object"
_NO_TYPE = 'unable to get type info from the object "*unstructured.Unstructured": '
_NO_ITEM_KIND = f"{_NO_TYPE}Object 'Kind' is missing in 'object has no kind field '"
_NO_ITEM_VERSION = f"{_NO_TYPE}Object 'apiVersion' is missing in 'object has no apiVersion field'"


def manifest_paths(tree: Tree, defects: Defects) -> Iterator[str]:
    if MANIFESTS not in tree.directories:
        found = "is a file" if MANIFESTS in tree else "is missing"
        defects.add(
            LAYOUT,
            f"the directory manifests/ {found}",
            upstream=f"stat {MANIFESTS}: no such file or directory",
            place=Place(file=MANIFESTS),
            hint=where_manifests_are(tree),
        )
        return
    for name in tree.names_in(MANIFESTS):
        path = f"{MANIFESTS}/{name}"
        if path not in tree.directories:
            yield path
            continue
        text = (
            f'subdirectories are not allowed within the "{MANIFESTS}" directory of the bundle image filesystem: '
            f'found "{path}"'
        )
        hint = f"Move the files of {path}/ up into {MANIFESTS}/, or out of the bundle."
        defects.add(LAYOUT, text, upstream=text, place=Place(file=path), hint=hint)


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
            found = syntax_defect(error, self.data)
            self.defects.add(
                UNPARSABLE,
                found.message,
                upstream=self._upstream(f"error parsing {self.path}: {found.upstream}"),
                place=Place(file=self.path, document=len(documents)),
                at=found.at,
                hint=advice or found.hint,
            )

    def _document(self, index: int, document: Any) -> Iterator[Document]:
        if not isinstance(document, dict):
            message = f"a document of manifests/ must be an object, but this is {_indefinite(document)}"
            hint = f"Move {self.path} out of {MANIFESTS}/ if it is no manifest."
            self._refuse(index, message, self._undecodable(not_an_object(document)), hint=hint)
            return
        if not has_kind(document):
            shown = self._as_json(index, document) if self.parity else excerpt(document)
            upstream = self._undecodable(f"Object 'Kind' is missing in '{shown}'")
            message, advice = _why_without_kind(document)
            self._refuse(index, message, upstream, hint=advice)
            return
        try:
            items = items_of(document)
        except ContentError as error:
            is_list = isinstance(document["items"], list)
            message = str(error) if is_list else f"`items` must be a list, but is {_indefinite(document['items'])}"
            self._refuse(index, message, self._undecodable(str(error)), path=("items",))
            return
        if items is None:
            yield self._checked(Document(file=self.path, index=index, manifest=document))
        else:
            self._checked(Document(file=self.path, index=index, manifest=document))
            yield from self._items(index, items)

    def _items(self, index: int, items: list[Any]) -> Iterator[Document]:
        """Upstream decodes all items before it looks for lists among them, and both before it uses the first."""
        is_whole = True
        for number, item in enumerate(items):
            if not isinstance(item, dict):
                problem = f"json: cannot unmarshal {go_kind(item)} into Go value of type map[string]interface {{}}"
                message = f"an item of a list must be an object, but this is {_indefinite(item)}"
                self._refuse(index, message, self._undecodable(problem), path=("items", number))
                is_whole = False
        for number, item in enumerate(items):
            if isinstance(item, dict) and isinstance(item.get("items"), list):
                hint = "Move the items of the inner list to the outer one."
                self._refuse(index, "a list stands inside a list", _NESTED_LIST, path=("items", number), hint=hint)
                is_whole = False
        for number, item in enumerate(items):
            if not isinstance(item, dict) or isinstance(item.get("items"), list):
                continue
            path = ("items", number)
            if not has_kind(item):
                message, advice = _why_without_kind(item)
                self._refuse(index, message, _NO_ITEM_KIND, path=path, hint=advice)
            elif not _version(item):
                self._refuse(index, "an item of a list has no apiVersion", _NO_ITEM_VERSION, path=path)
            elif is_whole or not self.parity:
                document = Document(file=self.path, index=index, manifest=item, inside=path)
                yield self._unchecked(document) if self.parity else self._checked(document)

    def _checked(self, document: Document) -> Document:
        """With metadata that can be relied on."""
        found = object_meta_defects(document.manifest)
        if not found:
            return document
        for defect in found:
            add_wrong_type(self.defects, document, defect, upstream=self._upstream(self._undecodable(defect.text)))
        return replace(document, manifest=_sound(document.manifest))

    def _unchecked(self, document: Document) -> Document:
        """Upstream does not look at the metadata of items; what is no object has no effect there."""
        if isinstance(document.manifest.get("metadata"), dict | None):
            return document
        return replace(document, manifest={**document.manifest, "metadata": {}})

    def _refuse(self, index: int, message: str, problem: str, *, path: Path = (), hint: str | None = None) -> None:
        place = Place(file=self.path, document=index, path=path)
        self.defects.add(NO_OBJECT, message, upstream=self._upstream(problem), place=place, hint=hint)

    def _upstream(self, problem: str) -> str:
        return f'error parsing objects in "{self.path}": {problem}'

    def _undecodable(self, problem: str) -> str:
        return f'unable to decode "{self.path}": {problem}'

    def _as_json(self, index: int, document: dict[str, Any]) -> str:
        """The document as upstream has it before it decodes it: JSON stays as it was written."""
        piece = self._pieces[index]
        if isinstance(piece, JsonValue):
            return piece.text[piece.start : piece.end]
        try:
            return gojson.encode(document).decode()
        except RecursionError:  # hundreds of levels
            return excerpt(document)

    @cached_property
    def _pieces(self) -> list[Piece]:
        """As many as there are documents; what stops them is told elsewhere."""
        found: list[Piece] = []
        with suppress(ContentError):
            found.extend(pieces(self.data, self.limits))
        return found


def _version(item: dict[str, Any]) -> bool:
    version = item.get("apiVersion")
    return isinstance(version, str) and version.rpartition("/")[2] != ""


def _why_without_kind(manifest: dict[str, Any]) -> tuple[str, str]:
    """What is wrong, and what to do."""
    kind = manifest.get("kind")
    if isinstance(kind, str) and kind:
        problem = f"apiVersion {manifest.get('apiVersion')!r} is neither `version` nor `group/version`"
        return problem, "Write it as the documentation of the kind has it, such as `apiVersion: apps/v1`."
    if kind is not None and not isinstance(kind, str):
        return (
            f"`kind` must be a string, got {_indefinite(kind)}",
            "Write the name of the kind, such as `kind: Service`.",
        )
    return "the object has no `kind`", f"Add `kind`; or move what is no manifest out of {MANIFESTS}/."


_ARTICLES = {"object": "an object", "array": "a list", "string": "a string", "bool": "a boolean", "number": "a number"}


def _indefinite(value: object) -> str:
    return _ARTICLES.get(go_kind(value), "nothing")


def _sound(manifest: dict[str, Any]) -> dict[str, Any]:
    """With what of its metadata has the types that everything else relies on."""
    sound = {**manifest, "metadata": _sound_metadata(manifest.get("metadata"))}
    if not isinstance(manifest.get("apiVersion", ""), str):
        del sound["apiVersion"]
    return sound


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
