"""File name patterns of Go's `path.Match`, as regular expressions.

`*` and `?` match no slash; a class in brackets is negated by `^` alone; a backslash takes the next character as it is.
Every part between two `*` matches where it first can and is not tried elsewhere after that, as in Go: no pattern takes
time that grows with more than its length and that of the text.
"""

import re
from collections.abc import Iterator
from typing import Final

from rukpak_py.core.errors import ContentError

_NEVER: Final = "(?!)"
_SURROGATES: Final = range(0xD800, 0xE000)  # what bytes become that are not UTF-8


def expression(pattern: str) -> str:
    """For fullmatch. ContentError for a malformed pattern."""
    *parts, last = _parts(pattern)
    before = "".join(part if at == 0 else f"(?>[^/]*?{part})" for at, part in enumerate(parts))
    return f"{before}[^/]*?{last}" if parts else last


def _parts(pattern: str) -> Iterator[str]:
    part, position = "", 0
    while position < len(pattern):
        character = pattern[position]
        if character == "[":
            expression, position = _class(pattern, position + 1)
            part += expression
            continue
        if character == "*":
            yield part
            part = ""
        elif character == "?":
            part += "[^/]"
        else:
            character, position = _character(pattern, position)
            part += re.escape(character)
            continue
        position += 1
    yield part


def _class(pattern: str, position: int) -> tuple[str, int]:
    """Translate a class in brackets, and find its end. Unlike `*` and `?` it may match a slash."""
    is_negated = pattern.startswith("^", position)
    position += is_negated
    ranges: list[str] = []
    is_empty = True
    while is_empty or not pattern.startswith("]", position):
        is_empty = False
        low, position = _member(pattern, position)
        high = low
        if pattern.startswith("-", position):
            high, position = _member(pattern, position + 1)
        if low <= high:
            ranges.append(f"{re.escape(low)}-{re.escape(high)}")
    if not ranges:
        return ("." if is_negated else _NEVER), position + 1
    return f"[{'^' if is_negated else ''}{''.join(ranges)}]", position + 1


def _member(pattern: str, position: int) -> tuple[str, int]:
    if pattern.startswith(("-", "]"), position):
        raise _bad_pattern()
    character, position = _character(pattern, position)
    if ord(character) in _SURROGATES or position >= len(pattern):
        raise _bad_pattern()
    return character, position


def _character(pattern: str, position: int) -> tuple[str, int]:
    position += pattern.startswith("\\", position)
    if position >= len(pattern):
        raise _bad_pattern()
    return pattern[position], position + 1


def _bad_pattern() -> ContentError:
    return ContentError("syntax error in pattern")
