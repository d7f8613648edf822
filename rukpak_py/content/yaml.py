"""Kubernetes YAML: files and streams as sigs.k8s.io/yaml and apimachinery's stream decoder read them.

A stream is cut into documents by its lines (`---` at column 0), before any YAML parser sees it; within such a chunk
only the first YAML document counts. A stream whose first character is `{` is read as JSON values first, and as YAML
from the first one that is not JSON, when that is the first or the second. Values are what an unstructured object
holds: None, bool, int (signed 64 bit), float, str, list, dict with text keys.

Every failure is a ContentError that says where. Chunks know their first line, so positions are those of the file.
"""

import json
from collections.abc import Iterator
from typing import Any

from rukpak_py.content import json_stream
from rukpak_py.content.yaml_documents import load_document
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits

# unicode.IsSpace of Go; str.isspace would add the separators U+001C to U+001F.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_GUESS_BYTES = 4096
# The decoder that gives up on JSON looks at the rest in steps of this many bytes, and gives up altogether on less.
_LOOK_AHEAD = 4
_AMBIGUOUS_VALUES = 1


def load(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Any:
    """The first document of a file that is not a stream (annotations, dependencies, chart metadata)."""
    _check_size(data, limits)
    value, _ = load_document(data, limits=limits)
    return value


def load_all(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> list[Any]:
    """Every document of a stream; an empty one (comments only) is None."""
    _check_size(data, limits)
    values: list[Any] = []
    start: int | None = 0
    if _looks_like_json(data):
        json_stream.check_bounds(data, limits)
        start = _load_json(data, values)
    if start is None:
        return values
    first_line = data.count(b"\n", 0, start)
    nodes = 0
    for chunk, line in _chunks(data[start:], first_line):
        try:
            value, nodes = load_document(chunk, limits=limits, line=line, nodes=nodes)
        except ContentError as error:
            raise ContentError(f"error converting YAML to JSON: {error}") from error
        values.append(value)
    return values


def _check_size(data: bytes, limits: Limits) -> None:
    if len(data) > limits.yaml_bytes:
        raise limits.exceeded("yaml_bytes", f"a YAML file of {len(data)} bytes")


def _looks_like_json(data: bytes) -> bool:
    return data[:_GUESS_BYTES].decode("utf-8", "replace").lstrip(_SPACE).startswith("{")


def _load_json(data: bytes, values: list[Any]) -> int | None:
    """Append the JSON values; the offset from which the rest is to be read as YAML, or None when there is no rest."""
    text = json_stream.as_text(data)
    position = 0
    while True:
        start = json_stream.skip_space(text, position)
        if start == len(text):
            return None
        try:
            value, position = json_stream.read_value(text, start)
        except json.JSONDecodeError as error:
            offset = _yaml_offset(data, text, position)
            if len(values) > _AMBIGUOUS_VALUES or offset is None:
                problem = f"json: line {error.lineno}, column {error.colno}: {error.msg}"
                raise ContentError(problem) from error
            return offset
        values.append(value)


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


def _chunks(data: bytes, first_line: int) -> Iterator[tuple[bytes, int]]:
    """The documents' texts and their first lines; a separator that follows nothing belongs to the next text."""
    data = data.replace(b"\r\n", b"\n")
    if data and not data.endswith(b"\n"):
        data += b"\n"
    start = 0
    for separator in _separators(data):
        end = data.index(b"\n", separator) + 1
        rest = data[separator + 3 : end].decode("utf-8", "replace").strip(_SPACE)
        if rest and not rest.startswith("#"):
            line = first_line + data.count(b"\n", start, separator)
            raise ContentError(f"yaml: line {line + 1}: invalid Yaml document separator: {rest[:100]}")
        if separator > start:
            yield data[start:separator], first_line
            first_line += data.count(b"\n", start, end)
            start = end
    if start < len(data):
        yield data[start:], first_line


def _separators(data: bytes) -> Iterator[int]:
    if data.startswith(b"---"):
        yield 0
    position = data.find(b"\n---")
    while position >= 0:
        yield position + 1
        position = data.find(b"\n---", position + 1)
