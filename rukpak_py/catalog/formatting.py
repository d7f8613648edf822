"""A file of blobs in its canonical form: blobs, fields and indentation in one order, values as they are.

Unlike a rendering it loses nothing: unknown fields stay, behind those of the schema, and blobs without a package stay
in the file. What readers drop is refused: content behind the first document of a piece. Comments cannot be kept, so
their lines are told; anchors and merge keys are written out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from yaml.events import AliasEvent, DocumentEndEvent, ScalarEvent, StreamEndEvent

from rukpak_py.catalog.blobs import SCHEMAS, Told, read_blob
from rukpak_py.catalog.fields import Map, Schema, Struct, member, repeated_fields
from rukpak_py.catalog.json_text import indented
from rukpak_py.catalog.model import BUNDLE, CHANNEL, DEPRECATIONS, PACKAGE, Origin
from rukpak_py.catalog.read_file import unread
from rukpak_py.content import yaml
from rukpak_py.content.yaml_dump import dump_all
from rukpak_py.content.yaml_events import events_of
from rukpak_py.content.yaml_streams import Chunk, JsonValue, pieces
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits

_RANKS: Final = {PACKAGE: 0, CHANNEL: 1, BUNDLE: 2, DEPRECATIONS: 4}
_CUSTOM: Final = 3
_COMMENT: Final = re.compile(r"(?:^|(?<=[\s,\[\]{}]))#[^\n]*", re.MULTILINE)
_MOST_LINES: Final = 5


@dataclass(frozen=True, kw_only=True)
class Formatted:
    text: bytes
    comments: tuple[int, ...] = ()  # lines of the file with a comment, the first few


def formatted(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Formatted:
    """The file in its own language, JSON or YAML; a ContentError for a file that readers of catalogs refuse."""
    told: list[Told] = []
    blobs = []
    for document, value in enumerate(yaml.documents(data, limits=limits, are_decoded=True)):
        if read_blob(value, Origin(document=document), told) is None:
            raise ContentError(f"document {document + 1}: {told[-1].problem.message}")
        _demand_each_field_once(value, document)
        blobs.append(value)
    for line, _ in unread(data, limits):
        raise ContentError(f"line {line}: content is not read by any reader: put `---` on a line of its own before it")
    is_json = bool(blobs) and all(isinstance(piece, JsonValue) for piece in pieces(data, limits, are_decoded=True))
    ordered = [_canonical(blob) for blob in sorted(blobs, key=_order)]
    if is_json:
        return Formatted(text=b"".join(indented(blob, is_sorted=False) for blob in ordered))
    text = "".join(dump_all(ordered))
    return Formatted(text=text.encode(), comments=tuple(_comments(data, limits)))


def _demand_each_field_once(blob: dict[str, Any], document: int) -> None:
    schema = SCHEMAS.get(str(member(blob, "schema")[1]))
    for path in repeated_fields(schema, blob) if schema else ():
        raise ContentError(
            f"document {document + 1}: two keys of one object differ from {str(path[-1])[:100]!r} in their case only"
        )


def _order(blob: dict[str, Any]) -> tuple[bool, str, int, str]:
    schema, package, name = (str(member(blob, key)[1] or "") for key in ("schema", "package", "name"))
    if schema == PACKAGE:
        package = name
    rank = _RANKS.get(schema, _CUSTOM)
    return rank == _CUSTOM and not package, package, rank, schema if rank == _CUSTOM else name


def _canonical(blob: dict[str, Any]) -> dict[str, Any]:
    schema = SCHEMAS.get(str(member(blob, "schema")[1]))
    found: dict[str, Any] = _in_order(schema, blob) if schema else _sorted(blob)
    return found


def _in_order(schema: Schema, value: Any) -> Any:
    match schema, value:
        case Struct(), dict():
            known = {name: member(value, name) for name in schema.fields}
            spelled = {key for key, _ in known.values()}
            ordered = {
                name: _in_order(schema.fields[name], item) for name, (key, item) in known.items() if key in value
            }
            return ordered | {key: _sorted(value[key]) for key in sorted(value) if key not in spelled}
        case list(), list():
            return [_in_order(schema[0], item) for item in value]
        case Map(), dict():
            return {key: _in_order(schema.values, value[key]) for key in sorted(value)}
        case _:
            return _sorted(value)


def _sorted(value: Any) -> Any:
    """Keys of values that no schema orders; the reader has bounded their depth."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _comments(data: bytes, limits: Limits) -> Iterator[int]:
    """Lines with a comment: a `#` between the scalars of the text."""
    if b"#" not in data:
        return
    found = 0
    for piece in pieces(data, limits, are_decoded=True):
        if not isinstance(piece, Chunk) or b"#" not in piece.data:
            continue
        text = piece.data.decode("utf-8-sig", "replace")
        for start, end in _between_scalars(piece.data, len(text)):
            for match in _COMMENT.finditer(text, start, end):
                yield piece.line + text.count("\n", 0, match.start()) + 1
                found += 1
                if found >= _MOST_LINES:
                    return


def _between_scalars(chunk: bytes, length: int) -> Iterator[tuple[int, int]]:
    next_event = events_of(chunk)
    position = 0
    while type(event := next_event()) not in {DocumentEndEvent, StreamEndEvent}:  # no reader looks further
        if type(event) in {ScalarEvent, AliasEvent}:
            yield position, event.start_mark.index
            position = event.end_mark.index
    yield position, length
