"""Rules of plain bundles: to be stored (the first four, in upstream's words), and to be applied."""

from collections.abc import Iterator
from typing import Final

from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Severity
from rukpak_py.core.objects import Head, Object, ObjectKey
from rukpak_py.formats.builtin_types import checked
from rukpak_py.formats.documents import Document, two_places
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.plain_reading import NO_DIRECTORY, SUBDIRECTORY, UNREADABLE, PlainReading
from rukpak_py.formats.rendered_size import RenderedSize
from rukpak_py.formats.rules import Family, Place, Problem, path_text
from rukpak_py.formats.type_defects import RANGES

FAMILY: Family[PlainReading] = Family(title="Plain bundles", origin="rukpak, when it unpacks a plain bundle")
FIELDS: Family[PlainReading] = Family(title="Fields of plain manifests", origin="rukpak-py")

NO_OBJECTS: Final = "invalid bundle: found zero objects: plain+v0 bundles are required to contain at least one object"
EMPTY: Final = "PLAIN-004"
NO_VERSION: Final = "PLAIN-005"
NO_NAME: Final = "PLAIN-006"
DIFFERENT: Final = "PLAIN-007"
NOT_JSON: Final = "PLAIN-008"
TOO_LARGE: Final = "PLAIN-009"
OVERFLOW: Final = "PLAIN-011"
_OWN: Final = "rukpak-py, when it renders a plain bundle"


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
        for path in checked(manifest.manifest).undeclared:
            yield Problem(message=f"unknown field {path_text(path)}", place=manifest.place(*path, on_key=True))


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
