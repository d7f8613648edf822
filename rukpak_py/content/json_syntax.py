"""Where a text stops being JSON, and why, in the words of Go's decoder. For text that is refused only: it is slow.

What is wrong is a byte, shown as the character of that number. A stack of closing brackets stands for the nesting.
"""

import re
from typing import NamedTuple

from rukpak_py.core.go_text import quoted

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_HEX = re.compile(rb"[0-9a-fA-F]*")
_DIGITS = re.compile(rb"[0-9]*+")
_INTEGER = re.compile(rb"0|[1-9][0-9]*+")
_LITERALS = {ord(word[:1]): word for word in (b"true", b"false", b"null")}
_NUMBER_STARTS = b"-0123456789"
_CLOSING = {ord("{"): ord("}"), ord("["): ord("]")}
_AFTER = {ord("}"): "after object key:value pair", ord("]"): "after array element"}

UNEXPECTED_END = "unexpected EOF"


class JsonDefect(NamedTuple):
    offset: int  # of the byte that is wrong
    problem: str


class _FoundError(Exception):
    def __init__(self, offset: int, context: str) -> None:
        super().__init__(context)
        self.offset = offset


def json_defect(data: bytes, start: int) -> JsonDefect | None:
    """The first defect of the value that begins at `start`, or None for a sound one."""
    try:
        _walk(data, start)
    except _FoundError as found:
        if found.offset >= len(data):
            return JsonDefect(len(data), UNEXPECTED_END)
        return JsonDefect(found.offset, f"invalid character {_shown(data[found.offset])} {found}")
    return None


def _walk(data: bytes, position: int) -> None:
    closing: list[int] = []
    while True:
        position = _skip(data, position)
        first = data[position] if position < len(data) else None
        if first in _CLOSING:
            closing.append(_CLOSING[first])
            position = _skip(data, position + 1)
            if data[position : position + 1] != bytes(closing[-1:]):
                position = _key(data, position) if closing[-1] == ord("}") else position
                continue
        else:
            position = _scalar(data, position, first)
        position = _next_value(data, position, closing)
        if not closing:
            return


def _next_value(data: bytes, position: int, closing: list[int]) -> int:
    """Out of the containers that end here, to where the next member's value is due."""
    while closing:
        position = _skip(data, position)
        mark = data[position : position + 1]
        position += 1
        if mark == b"," and closing[-1] == ord("}"):
            return _key(data, _skip(data, position))
        if mark == b",":
            return position
        if mark != bytes(closing[-1:]):
            raise _FoundError(position - 1, _AFTER[closing[-1]])
        closing.pop()
    return position


def _skip(data: bytes, position: int) -> int:
    match = _SPACE.match(data, position)
    return match.end() if match else position


def _key(data: bytes, position: int) -> int:
    if data[position : position + 1] != b'"':
        raise _FoundError(position, "looking for beginning of object key string")
    position = _skip(data, _string(data, position))
    if data[position : position + 1] != b":":
        raise _FoundError(position, "after object key")
    return position + 1


def _scalar(data: bytes, position: int, first: int | None) -> int:
    """Where the scalar ends."""
    if first == ord('"'):
        return _string(data, position)
    if first is not None and first in _NUMBER_STARTS:
        return _number(data, position)
    if first in _LITERALS:
        word = _LITERALS[first]
        for number, letter in enumerate(word):
            if data[position + number : position + number + 1] != bytes([letter]):
                raise _FoundError(position + number, f"in literal {word.decode()} (expecting '{chr(letter)}')")
        return position + len(word)
    raise _FoundError(position, "looking for beginning of value")


def _string(data: bytes, position: int) -> int:
    position = _end(_STRING, data, position + 1)
    if data[position : position + 1] == b'"':
        return position + 1
    if data[position : position + 2] == b"\\u":
        raise _FoundError(_end(_HEX, data, position + 2), r"in \u hexadecimal character escape")
    if data[position : position + 1] == b"\\":
        raise _FoundError(position + 1, "in string escape code")
    raise _FoundError(position, "in string literal")


def _number(data: bytes, position: int) -> int:
    position += data[position : position + 1] == b"-"
    position = _some(_INTEGER, data, position, "in numeric literal")
    if data[position : position + 1] == b".":
        position = _some(_DIGITS, data, position + 1, "after decimal point in numeric literal")
    if data[position : position + 1] in (b"e", b"E"):
        position += 1
        position += data[position : position + 1] in (b"+", b"-")
        position = _some(_DIGITS, data, position, "in exponent of numeric literal")
    return position


def _some(pattern: re.Pattern[bytes], data: bytes, position: int, context: str) -> int:
    end = _end(pattern, data, position)
    if end == position:
        raise _FoundError(position, context)
    return end


def _end(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    match = pattern.match(data, position)
    return match.end() if match else position


def _shown(byte: int) -> str:
    character = chr(byte)
    return {"'": r"'\''", '"': "'\"'"}.get(character, f"'{quoted(character)[1:-1]}'")
