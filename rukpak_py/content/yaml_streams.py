"""A file cut into documents, before anything is parsed: as apimachinery's stream decoder does.

YAML is cut by its lines: one that starts with `---` separates. A file whose first character is `{` is read as JSON
values first, and as YAML from the first one that is not JSON, when that is the first or the second. Every document
knows where it begins, so that positions are those of the file.
"""

import json
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple, TypeAlias

from rukpak_py.content import json_stream
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits

# unicode.IsSpace of Go; str.isspace would add the separators U+001C to U+001F.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
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


def pieces(data: bytes, limits: Limits) -> Iterator[Piece]:
    start: int | None = 0
    if _looks_like_json(data):
        json_stream.check_bounds(data, limits)
        start = yield from _json_values(data)
    if start is not None:
        before = data[:start]
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace"))
        yield from _chunks(data[start:], before.count(b"\n"), column)


def check_size(data: bytes, limits: Limits) -> None:
    if len(data) > limits.yaml_bytes:
        raise limits.exceeded("yaml_bytes", f"a YAML file of {len(data)} bytes")


def _looks_like_json(data: bytes) -> bool:
    return data[:_GUESS_BYTES].decode("utf-8", "replace").lstrip(_SPACE).startswith("{")


def _json_values(data: bytes) -> Generator[JsonValue, None, int | None]:
    """The JSON values; returns from where the rest is to be read as YAML, or None when there is no rest."""
    text = json_stream.as_text(data)
    position = read = 0
    while True:
        start = json_stream.skip_space(text, position)
        if start == len(text):
            return None
        try:
            value, end = json_stream.read_value(text, start)
        except json.JSONDecodeError as error:
            offset = _yaml_offset(data, text, position)
            if read > _AMBIGUOUS_VALUES or offset is None:
                problem = f"json: line {error.lineno}, column {error.colno}: {error.msg}"
                raise ContentError(problem) from error
            return offset
        yield JsonValue(value, text, start, end)
        position = end
        read += 1


def _yaml_offset(data: bytes, text: str, position: int) -> int | None:
    """Where YAML may begin at or after `position`: behind blanks, up to and including the first line's end."""
    offset = json_stream.byte_offset(data, text, position)
    for character in text[position:]:
        if len(data) - offset < _LOOK_AHEAD or character == "\ufffd":
            return None
        if character not in _SPACE:
            return offset
        offset += len(character.encode())
        if character == "\n":
            return offset
    return None


def _chunks(data: bytes, line: int, column: int) -> Iterator[Chunk]:
    """The documents' texts; a separator that follows nothing belongs to the next text."""
    data = data.replace(b"\r\n", b"\n")
    if data and not data.endswith(b"\n"):
        data += b"\n"
    start = 0
    for separator in _separators(data):
        end = data.index(b"\n", separator) + 1
        rest = data[separator + 3 : end].decode("utf-8", "replace").strip(_SPACE)
        if rest and not rest.startswith("#"):
            line += data.count(b"\n", start, separator)
            raise ContentError(f"yaml: line {line + 1}: invalid Yaml document separator: {rest[:100]}")
        if separator > start:
            yield Chunk(data[start:separator], line, column)
            line += data.count(b"\n", start, end)
            start, column = end, 0
    if start < len(data):
        yield Chunk(data[start:], line, column)


def _separators(data: bytes) -> Iterator[int]:
    if data.startswith(b"---"):
        yield 0
    position = data.find(b"\n---")
    while position >= 0:
        yield position + 1
        position = data.find(b"\n---", position + 1)
