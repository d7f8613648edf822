"""Scalars of a YAML or JSON file replaced. Every other character stays: comments, order, indentation, line ends.

A scalar is found by its line and column. One that cannot be replaced without doubt stays as well: of several lines,
with a tag, with an anchor or inside of what has one, or in a file that libyaml does not read to its end.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from yaml.error import YAMLError
from yaml.events import (
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from rukpak_py.content.yaml_events import events_of
from rukpak_py.content.yaml_scalars import resolve

_SAFE = re.compile(r"[A-Za-z0-9/][A-Za-z0-9._/+-]{0,1000}", re.ASCII)
_LITERAL = re.compile(r"true|false|-?(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?", re.ASCII)
_STARTS = (MappingStartEvent, SequenceStartEvent)
_ENDS = (MappingEndEvent, SequenceEndEvent)
_BOM = b"\xef\xbb\xbf"
_RARE_LINE_ENDS = re.compile("\r(?!\n)|[\x85\u2028\u2029]")  # which libyaml counts, and other readers do not


class Edit(NamedTuple):
    line: int  # from 1, as of the column
    column: int
    text: str | None  # None: the text that is there
    is_string: bool = True  # with quotes where it would be read as something else


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """The file with the edits that can be made."""
    found = _replacements(data, edits)
    if not found:
        return data
    text, parts, done = data.decode("utf-8-sig"), [], 0
    for start, end, written in found:
        parts += [text[done : start.index], written]
        done = end
    result = "".join([*parts, text[done:]]).encode()
    return _BOM + result if data.startswith(_BOM) else result


def differences(before: bytes, after: bytes) -> int:
    """How many scalars of a file have another value, or other quotes, in what edits made of it."""
    return sum(one != other for one, other in zip(_scalars(before), _scalars(after), strict=True))


def possible(data: bytes, edits: Iterable[Edit]) -> set[tuple[int, int]]:
    """Lines and columns of the edits that would be made."""
    return {(start.line + 1, start.column + 1) for start, _, _ in _replacements(data, edits)}


def _replacements(data: bytes, edits: Iterable[Edit]) -> list[tuple[Any, int, str]]:
    """Where a scalar begins, the character's number behind it, and its new text; none of a file that is in doubt."""
    wanted = {(edit.line - 1, edit.column - 1): edit for edit in edits}
    try:
        is_plain = not _RARE_LINE_ENDS.search(data.decode("utf-8-sig"))
        return list(_found(data, wanted)) if is_plain else []
    except (YAMLError, UnicodeDecodeError):
        return []


def _found(data: bytes, wanted: dict[tuple[int, int], Edit]) -> Iterator[tuple[Any, int, str]]:
    for scalar in _scalar_events(data):
        start, end = scalar.start_mark, scalar.end_mark
        edit = wanted.get((start.line, start.column))
        if edit is not None and start.line == end.line and (written := _written(scalar, edit)) is not None:
            yield start, end.index, written


def _scalars(data: bytes) -> Iterator[tuple[str, bool]]:
    return ((scalar.value, bool(scalar.style)) for scalar in _scalar_events(data))


def _scalar_events(data: bytes) -> Iterator[Any]:
    """The scalars outside of what has an anchor: those inside may stand in several places with different needs."""
    next_event, shared = events_of(data), 0
    while type(event := next_event()) is not StreamEndEvent:
        if type(event) in _STARTS:
            shared += bool(shared or event.anchor is not None)
        elif type(event) in _ENDS:
            shared -= bool(shared)
        elif type(event) is ScalarEvent and not shared:
            yield event


def _written(scalar: Any, edit: Edit) -> str | None:
    """None where there is nothing to change."""
    if scalar.anchor is not None or scalar.tag is not None or scalar.style not in {None, "", "'", '"'}:
        return None
    text: str = scalar.value if edit.text is None else edit.text
    if not text.isprintable():
        return None
    is_quoted = bool(scalar.style)
    if not edit.is_string:
        return text if (is_quoted or text != scalar.value) and _LITERAL.fullmatch(text) else None
    if text == scalar.value and (is_quoted or isinstance(resolve(text), str)):
        return None
    if scalar.style == "'":
        return "'" + text.replace("'", "''") + "'"
    if is_quoted or not _SAFE.fullmatch(text) or not isinstance(resolve(text), str):
        return json.dumps(text, ensure_ascii=False)
    return text
