"""A file cut into documents, before anything is parsed: as apimachinery's stream decoder does.

YAML is cut by its lines: one that starts with `---` separates. A file whose first character is `{` is read as JSON
values first, and as YAML from the first one that is not JSON, when that is the first or the second. Every document
knows where it begins, so that positions are those of the file.
"""

from collections.abc import Generator, Iterator
from typing import Any, NamedTuple, TypeAlias

from rukpak_py.content import json_stream
from rukpak_py.core.errors import ContentError
from rukpak_py.core.go_text import SPACE
from rukpak_py.core.json_text import JsonSyntaxError, end_of_value
from rukpak_py.core.limits import Limits

_SHOWN = 200  # characters of a problem, which may quote the file


class YamlError(ContentError):
    """`line` and `column` are those of the file, from 1; 0 is unknown. `language` is `yaml` or `json`."""

    def __init__(self, problem: str, *, line: int = 0, column: int = 0, language: str = "yaml") -> None:
        super().__init__(problem[:_SHOWN])
        self.line = line
        self.column = column
        self.language = language

    @property
    def problem(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}: " if self.line else ""
        return f"{self.language}: {where}{self.problem}"


_GUESS_BYTES = 4096
# The decoder that gives up on JSON looks at the rest in steps of this many bytes, and gives up altogether on less.
_LOOK_AHEAD = 4
_AMBIGUOUS_VALUES = 1


class Chunk(NamedTuple):
    """Text of a YAML document; line and column, from 0, are where it begins in its file."""

    data: bytes
    line: int = 0
    column: int = 0


class JsonValue(NamedTuple):
    """A value, and between which characters of the whole text it stands."""

    value: Any
    text: str
    start: int
    end: int


Piece: TypeAlias = Chunk | JsonValue


def pieces(data: bytes, limits: Limits, *, are_decoded: bool = False) -> Iterator[Piece]:
    """Cut a file. `are_decoded`: JSON is decoded at once, so that a number out of range is a syntax error."""
    if not _looks_like_json(data):
        yield from _chunks(data, Chunk(b""))
        return
    json_stream.check_bounds(data, limits)
    rest = yield from _json_values(data, are_decoded=are_decoded)
    if rest is not None:
        yield from _chunks(rest.data, rest)


def check_size(data: bytes, limits: Limits) -> None:
    if len(data) > limits.yaml_bytes:
        raise limits.exceeded("yaml_bytes", f"a YAML file of {len(data)} bytes")


def _looks_like_json(data: bytes) -> bool:
    return data[:_GUESS_BYTES].decode("utf-8", "replace").lstrip(SPACE).startswith("{")


def _json_values(data: bytes, *, are_decoded: bool) -> Generator[JsonValue, None, Chunk | None]:
    """The JSON values; returns the rest that is to be read as YAML, or None when there is no rest."""
    text = json_stream.as_text(data)
    position = read = 0
    while True:
        start = json_stream.skip_space(text, position)
        if start == len(text):
            return None
        try:
            value, end = _json_value(text, start)
        except YamlError:
            offset = _yaml_offset(data, text, position) if are_decoded and read <= _AMBIGUOUS_VALUES else None
            if offset is None:
                raise
            return Chunk(data[offset:], *_line_and_column(data, offset))
        except JsonSyntaxError as error:
            offset = _yaml_offset(data, text, position) if read <= _AMBIGUOUS_VALUES else None
            if offset is None:
                raise _located(str(error), text, error.position) from error
            return Chunk(data[offset:], *_line_and_column(data, offset))
        yield JsonValue(value, text, start, end)
        position = end
        read += 1


def _json_value(text: str, start: int) -> tuple[Any, int]:
    try:
        return json_stream.read_value(text, start)
    except ValueError as error:
        end_of_value(text, start)
        raise JsonSyntaxError("invalid value", start) from error
    except json_stream.NumberError as error:
        end_of_value(text, start)  # whether it is JSON at all comes first
        index = json_stream.find_number(text, start, str(error))
        raise _located(f"number {error} is out of range", text, index) from error


def _located(problem: str, text: str, index: int) -> YamlError:
    line, column = text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
    return YamlError(problem, line=line, column=column, language="json")


def _line_and_column(data: bytes, offset: int) -> tuple[int, int]:
    before = data[:offset]
    return before.count(b"\n"), len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace"))


def _yaml_offset(data: bytes, text: str, position: int) -> int | None:
    """Where YAML may begin at or after `position`: behind blanks, up to and including the first line's end."""
    offset = json_stream.byte_offset(data, text, position)
    for character in text[position:]:
        if len(data) - offset < _LOOK_AHEAD or character == "\ufffd":
            return None
        if character not in SPACE:
            return offset
        offset += len(character.encode())
        if character == "\n":
            return offset
    return None


def _chunks(data: bytes, first: Chunk) -> Iterator[Chunk]:
    """The documents' texts, from where `first` begins; a separator that follows nothing belongs to the next text."""
    data = data.replace(b"\r\n", b"\n")
    if data and not data.endswith(b"\n"):
        data += b"\n"
    start = 0
    chunk = first
    for separator in _separators(data):
        end = data.index(b"\n", separator) + 1
        rest = data[separator + 3 : end].decode("utf-8", "replace").strip(SPACE)
        if rest and not rest.startswith("#"):
            line = chunk.line + data.count(b"\n", start, separator)
            raise YamlError(f"invalid document separator: {rest}", line=line + 1, column=1)
        if separator > start:
            yield chunk._replace(data=data[start:separator])
            chunk = Chunk(b"", chunk.line + data.count(b"\n", start, end))
            start = end
    if start < len(data):
        yield chunk._replace(data=data[start:])


def _separators(data: bytes) -> Iterator[int]:
    if data.startswith(b"---"):
        yield 0
    position = data.find(b"\n---")
    while position >= 0:
        yield position + 1
        position = data.find(b"\n---", position + 1)
