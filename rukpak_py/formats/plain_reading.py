"""The files of a plain bundle as single manifests, and every reason why something is none, in upstream's words.

One pass in upstream's order: entries by name, documents as they stand, lists flattened breadth first. Who wants the
first defect only stops at it; who wants all of them goes on.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.documents import Document
from rukpak_py.formats.manifests import (
    MANIFESTS,
    advice_on_foreign,
    checked_items_of,
    subdirectory,
    where_manifests_are,
)
from rukpak_py.formats.rules import Place, Problem
from rukpak_py.formats.syntax import syntax_problem

NO_DIRECTORY: Final = "PLAIN-001"
SUBDIRECTORY: Final = "PLAIN-002"
UNREADABLE: Final = "PLAIN-003"


class Flaw(NamedTuple):
    rule: str
    problem: Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class PlainReading:
    manifests: list[Document]
    flaws: list[Flaw]
    limits: Limits = DEFAULT_LIMITS

    @classmethod
    def of(cls, tree: Tree, limits: Limits) -> "PlainReading":
        found = list(read(tree, limits))
        return cls(
            manifests=[one for one in found if isinstance(one, Document)],
            flaws=[one for one in found if isinstance(one, Flaw)],
            limits=limits,
        )


def read(tree: Tree, limits: Limits) -> Iterator[Document | Flaw]:
    if MANIFESTS not in tree.directories:
        found = "not a directory" if MANIFESTS in tree else "file does not exist"
        message, place = f"readdir {MANIFESTS}: {found}", Place(file=MANIFESTS)
        yield Flaw(NO_DIRECTORY, Problem(message=message, place=place, hint=where_manifests_are(tree)))
        return
    aliases = AliasBudget(limits)
    for name in tree.names_in(MANIFESTS):
        file = f"{MANIFESTS}/{name}"
        if file in tree.directories:
            yield Flaw(SUBDIRECTORY, Problem(message=subdirectory(file), place=Place(file=file)))
        else:
            yield from _file(file, tree[file], limits, aliases)


def _file(file: str, data: bytes, limits: Limits, aliases: AliasBudget) -> Iterator[Document | Flaw]:
    try:
        documents = yaml.load_all(data, limits=limits, aliases=aliases)
    except ContentError as error:
        problem = syntax_problem(error, data, Place(file=file))
        hint = advice_on_foreign(file, data) or problem.hint
        yield Flaw(UNREADABLE, replace(problem, message=f"error parsing {file}: {error}", hint=hint))
        return
    for index, document in enumerate(documents):
        if document is not None:
            yield from _flattened(file, index, document)


def _flattened(file: str, index: int, document: Any) -> Iterator[Document | Flaw]:
    pending: deque[tuple[Any, tuple[str | int, ...]]] = deque([(document, ())])
    while pending:
        value, inside = pending.popleft()
        try:
            items = checked_items_of(value)
        except ContentError as error:
            place = Place(file=file, document=index, path=inside)
            yield Flaw(UNREADABLE, Problem(message=f'unable to decode "{file}": {error}', place=place))
            continue
        if items is None:
            yield Document(file=file, index=index, inside=inside, manifest=value)
        else:
            pending.extend((item, (*inside, "items", number)) for number, item in enumerate(items))
