"""The files of a plain bundle as single manifests, and every reason why something is none, in upstream's words.

One pass in upstream's order: entries by name, documents as they stand, lists flattened breadth first. Who wants the
first defect only stops at it; who wants all of them goes on.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.manifests import (
    MANIFESTS,
    advice_on_foreign,
    excerpt,
    has_kind,
    items_of,
    not_an_object,
    where_manifests_are,
)
from rukpak_py.formats.rules import Place
from rukpak_py.formats.syntax import syntax_defect


class FlawKind(Enum):
    NO_DIRECTORY = auto()
    SUBDIRECTORY = auto()
    NO_SYNTAX = auto()
    NO_MANIFEST = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """A document with a kind, and where it stands; `inside` is its path when it is an item of a list."""

    file: str
    index: int
    inside: Path
    value: dict[str, Any]

    def place(self, *path: str | int, on_key: bool = False) -> Place:
        return Place(file=self.file, document=self.index, path=(*self.inside, *path), on_key=on_key)


def two_places(first: Manifest, second: Manifest) -> str:
    """Where two manifests stand: their files, or where those do not tell them apart, their documents."""
    if first.file != second.file:
        return f"in {first.file} and in {second.file}"
    if first.index != second.index:
        return f"in documents {first.index + 1} and {second.index + 1} of {first.file}"
    return f"in two items of document {first.index + 1} of {first.file}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Flaw:
    kind: FlawKind
    message: str
    place: Place
    error: ContentError | None = None
    at: tuple[int, int] | None = None
    hint: str | None = None  # where it is known what to do


@dataclass(frozen=True, kw_only=True, slots=True)
class PlainReading:
    manifests: list[Manifest]
    flaws: list[Flaw]
    limits: Limits = DEFAULT_LIMITS

    @classmethod
    def of(cls, tree: Tree, limits: Limits) -> "PlainReading":
        found = list(read(tree, limits))
        return cls(
            manifests=[one for one in found if isinstance(one, Manifest)],
            flaws=[one for one in found if isinstance(one, Flaw)],
            limits=limits,
        )


def read(tree: Tree, limits: Limits) -> Iterator[Manifest | Flaw]:
    if MANIFESTS not in tree.directories:
        problem = "not a directory" if MANIFESTS in tree else "file does not exist"
        message = f"readdir {MANIFESTS}: {problem}"
        hint = where_manifests_are(tree)
        yield Flaw(kind=FlawKind.NO_DIRECTORY, message=message, place=Place(file=MANIFESTS), hint=hint)
        return
    aliases = AliasBudget(limits)
    for name in tree.names_in(MANIFESTS):
        file = f"{MANIFESTS}/{name}"
        if file in tree.directories:
            message = (
                f'subdirectories are not allowed within the "{MANIFESTS}" directory of the bundle image filesystem: '
                f'found "{file}"'
            )
            yield Flaw(kind=FlawKind.SUBDIRECTORY, message=message, place=Place(file=file))
        else:
            yield from _file(file, tree[file], limits, aliases)


def _file(file: str, data: bytes, limits: Limits, aliases: AliasBudget) -> Iterator[Manifest | Flaw]:
    try:
        documents = yaml.load_all(data, limits=limits, aliases=aliases)
    except ContentError as error:
        message = f"error parsing {file}: {error}"
        found = syntax_defect(error, data)
        hint = advice_on_foreign(file, data) or found.hint
        yield Flaw(
            kind=FlawKind.NO_SYNTAX, message=message, place=Place(file=file), error=error, at=found.at, hint=hint
        )
        return
    for index, document in enumerate(documents):
        if document is not None:
            yield from _flattened(file, index, document)


def _flattened(file: str, index: int, document: Any) -> Iterator[Manifest | Flaw]:
    pending: deque[tuple[Any, Path]] = deque([(document, ())])
    while pending:
        value, inside = pending.popleft()
        try:
            items = _items(value)
        except ContentError as error:
            place = Place(file=file, document=index, path=inside)
            message = f'unable to decode "{file}": {error}'
            yield Flaw(kind=FlawKind.NO_MANIFEST, message=message, place=place, error=error)
            continue
        if items is None:
            yield Manifest(file=file, index=index, inside=inside, value=value)
        else:
            pending.extend((item, (*inside, "items", number)) for number, item in enumerate(items))


def _items(value: Any) -> list[Any] | None:
    if not isinstance(value, dict):
        raise ContentError(not_an_object(value))
    if not has_kind(value):
        raise ContentError(f"Object 'Kind' is missing in '{excerpt(value)}'")
    return items_of(value)
