"""One file of a catalog: its bytes in, the blobs and what is wrong with them out.

Files are independent of each other, so they can be read in any process, and what was read can be kept by the digest of
the bytes. All findings have their lines and columns already: the file need not be read again. Only the first document
of a piece between two `---` counts, and of JSON objects behind a `---` only the first, as for every reader of catalogs;
what is lost so is told.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import structs
from yaml.events import (
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from rukpak_py.catalog.blobs import NO_SCHEMA, NOT_AN_OBJECT, Blob, Told, read_blob
from rukpak_py.catalog.blobs import RULES as BLOB_RULES
from rukpak_py.catalog.checks.blob_checks import Checks, problems_of_blob
from rukpak_py.catalog.model import (
    BUNDLE_OBJECT,
    CSV_METADATA,
    Bundle,
    Catalog,
    Channel,
    CustomBlob,
    Deprecations,
    Icon,
    Origin,
    Package,
    Property,
)
from rukpak_py.content import yaml
from rukpak_py.content.yaml_events import end_of_first_document, events_of
from rukpak_py.content.yaml_streams import Chunk, JsonValue, YamlError, pieces
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.rules import Locator, Place, Problem, RuleOfReading
from rukpak_py.formats.syntax import syntax_problem

YAML_SYNTAX: Final = RuleOfReading(id="FBC-L03", title="YAML files are valid", hint="Correct the syntax at this place.")
JSON_SYNTAX: Final = RuleOfReading(id="FBC-L04", title="JSON files are valid", hint="Correct the syntax at this place.")
UNREAD: Final = RuleOfReading(
    id="FBC-W02",
    title="Nothing follows the first document of a piece between two `---`",
    hint="Put `---` on a line of its own before it: readers of catalogs skip it.",
    severity=Severity.WARNING,
)
JOINED: Final = RuleOfReading(
    id="FBC-W04",
    title="A document is one blob",
    hint="Put `---` on a line of its own before the second blob: of two fields with one name only the last is read.",
    severity=Severity.WARNING,
)
RULES: Final = (YAML_SYNTAX, JSON_SYNTAX, UNREAD, JOINED, *BLOB_RULES)
NAMES_OF_CONTENT: Final = (".yaml", ".yml", ".json")
_OTHER_FILE: Final = (NO_SCHEMA, NOT_AN_OBJECT, YAML_SYNTAX)
_OTHER_FILE_HINT: Final = (
    "Readers of catalogs read every file: move it away, or name it in a `.indexignore` file, one line `{}`."
)
_END_OF_DOCUMENT: Final = b"\n..."
_MAY_GO_ON: Final = (_END_OF_DOCUMENT, b"\n{", b"\xef\xbb\xbf{")
# A flow collection that holds something, where one can begin.
_MAY_BE_FLOW: Final = re.compile(rb"(?:^|[:-]) *+[\[{](?! *+[\]}])", re.MULTILINE)
_QUESTION_MARK: Final = "cannot be parsed as YAML by OLM: a plain value between brackets or braces has a `?`"
_QUOTE_IT: Final = "Put the value in quotes."
_NOTHING: Final = re.compile(rb"(?:\s|\.\.\.|#[^\n]*+)*+")
_SCHEMA_LINE: Final = re.compile(rb"^schema[ \t]*+:", re.MULTILINE)
_BULK: Final = frozenset({BUNDLE_OBJECT, CSV_METADATA})


class FileContent(msgspec.Struct, frozen=True, kw_only=True):
    """`is_broken`: a blob of the file is lost."""

    catalog: Catalog = Catalog()
    findings: tuple[Finding, ...] = ()
    is_broken: bool = False


def read_file(
    file: str,
    data: bytes,
    *,
    is_slim: bool = False,
    checks: Checks = Checks.VALIDITY,
    limits: Limits = DEFAULT_LIMITS,
) -> FileContent:
    """Read a file. `is_slim`: without the values that only a rendering needs (objects, metadata of CSVs, icons)."""
    told: list[Told] = []
    blobs: list[Blob] = []
    starts: list[int] = []
    is_broken = False
    try:
        for document, value in enumerate(yaml.documents(data, limits=limits, are_decoded=True)):
            blob = read_blob(value, Origin(file=file, document=document), told)
            if value is None:
                starts = starts or _starts_of_pieces(data, limits)
                told[-1] = Told(rule=told[-1].rule, problem=replace(told[-1].problem, at=(starts[document], 1)))
            if blob is None:
                is_broken = True
            else:
                told += [Told(rule=rule, problem=problem) for rule, problem in problems_of_blob(blob, value, checks)]
                blobs.append(_slim(blob) if is_slim else blob)
        for at in _question_marks(data, limits):
            is_broken = True
            problem = Problem(message=_QUESTION_MARK, place=Place(file=file), hint=_QUOTE_IT, at=at)
            told.append(Told(rule=YAML_SYNTAX, problem=problem))
        if checks is not Checks.READING:
            told += _lost_content(file, data, limits)
    except ContentError as error:
        is_broken = True
        rule = JSON_SYNTAX if isinstance(error, YamlError) and error.language == "json" else YAML_SYNTAX
        told.append(Told(rule=rule, problem=syntax_problem(error, data, Place(file=file))))
    if not blobs and not file.endswith(NAMES_OF_CONTENT):
        hint = _OTHER_FILE_HINT.format(file.rpartition("/")[2])
        told = [
            Told(rule=one.rule, problem=replace(one.problem, hint=hint)) if one.rule in _OTHER_FILE else one
            for one in told
        ]
    locator = Locator({file: data}, limits)
    return FileContent(
        catalog=catalog_of(blobs),
        findings=tuple(locator.finding(one.rule, one.problem) for one in told),
        is_broken=is_broken,
    )


def catalog_of(blobs: Iterable[Blob]) -> Catalog:
    """Sort the blobs by what they are; within a schema they keep their order."""
    found: dict[type, list[Any]] = {kind: [] for kind in (Package, Channel, Bundle, Deprecations, CustomBlob)}
    for blob in blobs:
        found[type(blob)].append(blob)
    return Catalog(
        packages=tuple(found[Package]),
        channels=tuple(found[Channel]),
        bundles=tuple(found[Bundle]),
        deprecations=tuple(found[Deprecations]),
        custom=tuple(found[CustomBlob]),
    )


def _lost_content(file: str, data: bytes, limits: Limits) -> Iterator[Told]:
    """Warnings of content that no reader of catalogs sees."""
    for rule, message, found in (
        (UNREAD, "content is not read", unread(data, limits)),
        (JOINED, "the document has a second schema", _joined(data, limits)),
    ):
        for at in found:
            yield Told(rule=rule, problem=Problem(message=message, place=Place(file=file), at=at))


def _starts_of_pieces(data: bytes, limits: Limits) -> list[int]:
    """Lines of the pieces of a file: an empty document has no value whose position could be looked up."""
    starts = []
    with suppress(ContentError):  # reading the file reports it
        for piece in pieces(data, limits, are_decoded=True):
            starts.append(piece.line + 1 if isinstance(piece, Chunk) else 1)  # noqa: PERF401 - those before an error
    return starts


def _slim(blob: Blob) -> Blob:
    match blob:
        case Bundle() if any(one.type in _BULK for one in blob.properties):
            kept = (Property(type=one.type) if one.type in _BULK else one for one in blob.properties)
            return structs.replace(blob, properties=tuple(kept))
        case Package(icon=Icon()):
            return structs.replace(blob, icon=None)
        case CustomBlob():
            return structs.replace(blob, value={})
        case _:
            return blob


def _question_marks(data: bytes, limits: Limits) -> Iterator[tuple[int, int]]:
    """Line and column of each plain scalar with a `?` between brackets or braces: the parser of OLM refuses these."""
    if b"?" not in data or not _MAY_BE_FLOW.search(data):
        return
    for piece in pieces(data, limits, are_decoded=True):
        if not isinstance(piece, Chunk) or b"?" not in piece.data or not _MAY_BE_FLOW.search(piece.data):
            continue
        next_event = events_of(piece.data)
        depth = 0  # of flow collections: there are no block collections inside
        while type(event := next_event()) not in {DocumentEndEvent, StreamEndEvent}:
            kind = type(event)
            if kind in {MappingStartEvent, SequenceStartEvent}:
                depth += bool(depth or event.flow_style)
            elif kind in {MappingEndEvent, SequenceEndEvent}:
                depth -= bool(depth)
            elif kind is ScalarEvent and depth and not event.style and "?" in event.value:
                line, column = event.start_mark.line, event.start_mark.column
                yield piece.line + line + 1, column + 1 + (0 if line else piece.column)


def unread(data: bytes, limits: Limits) -> Iterator[tuple[int, int]]:
    """Line and column of each content that stands behind the first document of its piece."""
    if not any(mark in data for mark in _MAY_GO_ON):
        return
    for piece in pieces(data, limits, are_decoded=True):
        if isinstance(piece, JsonValue) and _END_OF_DOCUMENT not in data:
            return  # a stream of JSON, which is read to its end
        if isinstance(piece, Chunk):
            end = end_of_first_document(piece.data)
            rest = piece.data[end:]
            if _NOTHING.fullmatch(rest):
                continue
            start = end + len(rest) - len(rest.lstrip(b" \t\r\n."))
            before = piece.data[:start]
            line = before.count(b"\n")
            yield piece.line + line + 1, start - before.rfind(b"\n") + (0 if line else piece.column)


def _joined(data: bytes, limits: Limits) -> Iterator[tuple[int, int]]:
    """Line and column of each schema behind the first one of a YAML document."""
    if data.count(b"\nschema") <= data.count(b"\n---"):  # quick, and true of most files
        return
    for piece in pieces(data, limits):
        if isinstance(piece, Chunk) and len(_SCHEMA_LINE.findall(piece.data)) > 1:
            document = piece.data[: end_of_first_document(piece.data)]
            for found in islice(_SCHEMA_LINE.finditer(document), 1, None):
                yield piece.line + piece.data.count(b"\n", 0, found.start()) + 1, 1
