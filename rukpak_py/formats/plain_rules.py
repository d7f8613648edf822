"""Rules of plain bundles: to be stored (the first four, in upstream's words), and to be applied.

The files are read in upstream's order: entries by name, documents as they stand, lists flattened breadth first. A
caller that wants only the first flaw stops at it.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Head, Object, ObjectKey
from rukpak_py.formats.builtin_types import checked
from rukpak_py.formats.documents import Document, two_places
from rukpak_py.formats.manifests import (
    MANIFESTS,
    advice_on_foreign,
    checked_items_of,
    subdirectory,
    where_manifests_are,
)
from rukpak_py.formats.rendered_size import RenderedSize
from rukpak_py.formats.rules import Family, Place, Problem
from rukpak_py.formats.syntax import syntax_problem
from rukpak_py.formats.type_defects import RANGES
from rukpak_py.formats.unknown_fields import UnknownField

NO_DIRECTORY: Final = "PLAIN-001"
SUBDIRECTORY: Final = "PLAIN-002"
UNREADABLE: Final = "PLAIN-003"
NO_OBJECTS: Final = "invalid bundle: found zero objects: plain+v0 bundles are required to contain at least one object"
EMPTY: Final = "PLAIN-004"
NO_VERSION: Final = "PLAIN-005"
NO_NAME: Final = "PLAIN-006"
DIFFERENT: Final = "PLAIN-007"
NOT_JSON: Final = "PLAIN-008"
TOO_LARGE: Final = "PLAIN-009"
OVERFLOW: Final = "PLAIN-011"
_OWN: Final = "rukpak-py, when it renders a plain bundle"


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


FAMILY: Family[PlainReading] = Family(title="Plain bundles", origin="rukpak, when it unpacks a plain bundle")
FIELDS: Family[PlainReading] = Family(title="Fields of plain manifests", origin="rukpak-py")


@FAMILY.rule(
    NO_DIRECTORY,
    title="There is a directory manifests/",
    hint="Put the manifests into a directory manifests/ at the root of the bundle, and give that root.",
)
def has_manifests(reading: PlainReading) -> Iterator[Problem]:
    return _of(reading, NO_DIRECTORY)


@FAMILY.rule(
    SUBDIRECTORY,
    title="manifests/ has no sub-directories",
    hint="Move its files up into manifests/, or out of the bundle.",
)
def is_flat(reading: PlainReading) -> Iterator[Problem]:
    return _of(reading, SUBDIRECTORY)


@FAMILY.rule(
    UNREADABLE,
    title="Every file of manifests/ holds Kubernetes objects",
    hint="Correct the file, or move it out of manifests/: every file there counts, whatever its name.",
)
def is_readable(reading: PlainReading) -> Iterator[Problem]:
    return _of(reading, UNREADABLE)


@FAMILY.rule(EMPTY, title="There is at least one object", hint="Add a manifest to manifests/.")
def has_objects(reading: PlainReading) -> Iterator[Problem]:
    if not reading.manifests and not reading.flaws:
        yield Problem(message=NO_OBJECTS, place=Place(file=MANIFESTS))


@FAMILY.rule(NO_VERSION, title="Every object has an apiVersion", hint="Add apiVersion.", origin=_OWN)
def has_versions(reading: PlainReading) -> Iterator[Problem]:
    for manifest, rendered in _rendered(reading):
        if problem := no_version(rendered.head):
            yield Problem(message=problem, place=manifest.place())


@FAMILY.rule(
    NO_NAME,
    title="Every object has a name",
    hint="Add metadata.name: what is applied again and again cannot get a new name each time.",
    origin=_OWN,
)
def has_names(reading: PlainReading) -> Iterator[Problem]:
    for manifest, rendered in _rendered(reading):
        if problem := no_name(rendered.head):
            yield Problem(message=problem, place=manifest.place("metadata", "name", on_key=True))


@FAMILY.rule(
    DIFFERENT,
    title="Objects of one name are equal",
    hint="Remove one of them, or give it another name.",
    origin=_OWN,
)
def objects_of_one_name_are_equal(reading: PlainReading) -> Iterator[Problem]:
    seen: dict[ObjectKey, tuple[Document, bytes]] = {}
    for manifest, rendered in _rendered(reading):
        if not rendered.head.name:
            continue
        first, content = seen.setdefault(rendered.head.key, (manifest, rendered.json))
        if content != rendered.json:
            yield Problem(
                message=f"{rendered.head.key} is defined differently {two_places(first, manifest)}",
                place=manifest.place("metadata", "name"),
            )


@FAMILY.rule(
    NOT_JSON,
    title="Every object can be written as JSON",
    hint="Use numbers of at most 64 bits, and less nesting.",
    origin=_OWN,
)
def is_json(reading: PlainReading) -> Iterator[Problem]:
    for manifest in reading.manifests:
        try:
            Object.from_manifest(manifest.manifest)
        except ContentError as error:
            yield Problem(message=f"{manifest.manifest['kind']}: {error}", place=manifest.place())


@FAMILY.rule(
    TOO_LARGE,
    title="No object, and not all of them together, is larger than a cluster takes",
    hint="Make it smaller, or split it: aliases are written out wherever they are used.",
    origin="rukpak-py, when it unpacks a plain bundle",
)
def is_small_enough(reading: PlainReading) -> Iterator[Problem]:
    size = RenderedSize(reading.limits)
    for manifest in reading.manifests:
        try:
            size.check(manifest.manifest)
        except ContentError as error:
            yield Problem(message=str(error), place=manifest.place())
            return


@FAMILY.rule(
    OVERFLOW,
    title="Integers fit their types",
    hint="Write a number that fits: the API server takes it for another one.",
    origin=_OWN,
)
def integers_fit(reading: PlainReading) -> Iterator[Problem]:
    for manifest in reading.manifests:
        for overflow in checked(manifest.manifest).overflows:
            hint = RANGES[overflow.wanted]
            yield Problem(message=overflow.message, place=manifest.place(*overflow.path), hint=hint)


@FIELDS.rule(
    "PLAIN-010",
    title="Fields of the API server's own kinds are known",
    hint="Correct the spelling (case counts), move it to where it belongs, or remove it: it is left out.",
    severity=Severity.WARNING,
)
def fields_are_known(reading: PlainReading) -> Iterator[Problem]:
    for manifest in reading.manifests:
        type_name = f"{manifest.api_version}/{manifest.kind}"
        for path in checked(manifest.manifest).undeclared:
            yield UnknownField(manifest, path, type_name).problem()


HINTS: Final = {rule.id: rule.hint for rule in FAMILY.rules}


def no_version(head: Head) -> str:
    return "" if head.gvk.version else f"{head.gvk.kind} {head.name} has no apiVersion"


def no_name(head: Head) -> str:
    if head.name:
        return ""
    return f"an object of kind {head.gvk.kind} has no metadata.name; generateName is not supported; set metadata.name"


def _of(reading: PlainReading, rule: str) -> Iterator[Problem]:
    return (flaw.problem for flaw in reading.flaws if flaw.rule == rule)


def _rendered(reading: PlainReading) -> Iterator[tuple[Document, Object]]:
    for manifest in reading.manifests:
        try:
            yield manifest, Object.from_manifest(manifest.manifest)
        except ContentError:
            continue  # PLAIN-008 tells
