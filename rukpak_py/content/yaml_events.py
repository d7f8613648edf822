r"""libyaml's events, bent to go-yaml v2 where the two parsers differ. Chunks without the rare bytes pay nothing.

Differences: go-yaml refuses the escape `\/` and any version but 1.1, and takes a byte order mark inside a document for
a letter like any other, while libyaml skips it at the start of a line. Left as they are, being rare and costly to tell:
libyaml refuses `{a:}` and a tag with `[`, `]` or `,`, where go-yaml sees text; it sees text in `[a?b]`, which go-yaml
refuses.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from yaml._yaml import CParser
from yaml.error import Mark
from yaml.events import DocumentEndEvent, ScalarEvent, StreamEndEvent
from yaml.parser import ParserError
from yaml.scanner import ScannerError

NextEvent: TypeAlias = Callable[[], Any]

_BOM = "\ufeff"
_BOM_BYTES = _BOM.encode()
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_VERSION = re.compile(
    rb"(?:[ \t]*(?:#[^\n]*)?\r?\n|%TAG[^\n]*\n)*+%YAML +([0-9]{1,9})\.([0-9]{1,9})[ \t]*(?:#[^\n]*)?(?:[\r\n]|$)"
)
_PRIVATE = range(0xE000, 0xF900)
_ESCAPED_SLASH = re.compile(r"(?:[^\\]|\\[^/])*+\\/", re.DOTALL)


def events_of(chunk: bytes) -> NextEvent:
    marks = len(chunk) - len(chunk.removeprefix(_BOM_BYTES).removeprefix(_BOM_BYTES))
    if b"%YAML" in chunk and (version := _VERSION.match(chunk, marks)) and (int(version[1]), int(version[2])) != (1, 1):
        return _refusing_version(chunk.count(b"\n", 0, version.start(1)))
    letter = ""
    if _BOM_BYTES in chunk[marks:] and not chunk.startswith(_UTF16_MARKS):
        letter = _unused_letter(chunk)
        chunk = chunk[:marks] + chunk[marks:].replace(_BOM_BYTES, letter.encode())
    next_event: NextEvent = CParser(chunk).get_event
    if letter:
        next_event = _with_bom_for(next_event, letter)
    if b"\\/" in chunk:
        next_event = _without_escaped_slash(next_event, chunk.decode("utf-8-sig", "replace"))
    return next_event


def end_of_first_document(chunk: bytes) -> int:
    """Where the first document of a chunk without defects ends, in bytes; readers look no further."""
    next_event = events_of(chunk)
    while type(event := next_event()) is not StreamEndEvent:
        if type(event) is DocumentEndEvent:
            text = chunk.decode("utf-8", "replace")
            return len(text[: _any(event).end_mark.index].encode())
    return len(chunk)


def _unused_letter(chunk: bytes) -> str:
    used = set(chunk.decode("utf-8", "replace"))  # once: thousands of searches would read the chunk thousands of times
    return next((letter for code in _PRIVATE if (letter := chr(code)) not in used), _BOM)


def _with_bom_for(next_event: NextEvent, letter: str) -> NextEvent:
    def bom_restored() -> Any:
        event = next_event()
        if type(event) is ScalarEvent:
            scalar: Any = event
            scalar.value = scalar.value.replace(letter, _BOM)
        return event

    return bom_restored


def _without_escaped_slash(next_event: NextEvent, text: str) -> NextEvent:
    def checked() -> Any:
        event = next_event()
        if type(event) is ScalarEvent and (scalar := _any(event)).style == '"':
            start = text.find('"', scalar.start_mark.index, scalar.end_mark.index)
            if match := _ESCAPED_SLASH.match(text, start + 1, scalar.end_mark.index):
                index = match.end() - 2
                line = scalar.start_mark.line + text.count("\n", scalar.start_mark.index, index)
                column = index - text.rfind("\n", 0, index) - 1
                raise ScannerError(
                    context="while parsing a quoted scalar",
                    context_mark=scalar.start_mark,
                    problem="found unknown escape character",
                    problem_mark=Mark(scalar.start_mark.name, index, line, column, None, 0),
                )
        return event

    return checked


def _refusing_version(line: int) -> NextEvent:
    def refused() -> Any:
        mark = Mark("", 0, line, 0, None, 0)
        raise ParserError(problem="found incompatible YAML document", problem_mark=mark)

    return refused


def _any(event: object) -> Any:
    return event
