"""JSON as text: what is wrong with it, in Go's words, and the spans of its values.

`check` walks the text once without recursion. Whoever needs values that keep their spelling (numbers, order of keys)
takes them apart with `members` and `elements`, level by level, and writes them again with `compact`; those trust that
the text was checked.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

from rukpak_py.core.go_text import quoted

Span: TypeAlias = tuple[int, int]  # start and end in the text

_DEPTH = 10_000
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+(?P<end>")?(?P<escape>\\(?P<u>u[0-9a-fA-F]{0,3})?)?'
)
_NUMBER = re.compile(r"-?(?P<whole>0|[1-9][0-9]*)?(?P<point>\.[0-9]*)?(?P<exponent>[eE][+-]?[0-9]*)?")
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_BEGINNING = "looking for beginning of value"
_KEY = "looking for beginning of object key string"
_AFTER = {"": "after top-level value", "[": "after array element", "{": "after object key:value pair"}
_CLOSES = {"[": "]", "{": "}"}

_MARK_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]', re.DOTALL)
_BLANK_OR_STRING = re.compile(r'[ \t\r\n]+|("(?:[^"\\]|\\.)*+")', re.DOTALL)
_HTML = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


class JsonSyntaxError(ValueError):
    """Go's words; `offset` counts bytes up to and including the one that is wrong."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem)
        self.offset = offset


def check(text: str) -> None:
    """Raise JsonSyntaxError unless the text is one JSON value."""
    position = _skip(text, 0)
    open_marks: list[str] = []
    while True:
        position = _begin(text, position, open_marks)
        while not _goes_on(text, position, open_marks):
            if not open_marks:
                return
            open_marks.pop()
            position = _skip(text, position + 1)
        position = _next(text, _skip(text, position + 1), open_marks[-1])


def elements(text: str, span: Span) -> Iterator[Span]:
    """The spans of an array's elements."""
    yield from _pieces(text, span)


def members(text: str, span: Span) -> Iterator[tuple[Span, Span]]:
    """The spans of an object's keys and values, in the order of the text."""
    for start, end in _pieces(text, span):
        key_end = _MARK_OR_STRING.match(text, start).end()  # type: ignore[union-attr]  # the text was checked
        yield (start, key_end), (_skip(text, _skip(text, key_end) + 1), end)


def whole(text: str) -> Span:
    return _trimmed(text, 0, len(text))


def compact(text: str, span: Span) -> str:
    """The value without blanks, with `<`, `>` and `&` escaped; everything else is spelled as it was."""
    return _BLANK_OR_STRING.sub(lambda match: match[1] or "", text[slice(*span)]).translate(_HTML)


def _begin(text: str, position: int, open_marks: list[str]) -> int:
    """Read the value at `position`, descending to the first scalar or empty container; the position behind it."""
    while text[position : position + 1] in _CLOSES:
        mark = text[position]
        open_marks.append(mark)
        if len(open_marks) > _DEPTH:
            raise _unexpected(text, position, "exceeded max depth")
        position = _skip(text, position + 1)
        if text[position : position + 1] == _CLOSES[mark]:
            open_marks.pop()
            return _skip(text, position + 1)
        if mark == "{":
            position = _key(text, position)
    return _skip(text, _scalar(text, position))


def _goes_on(text: str, position: int, open_marks: list[str]) -> bool:
    """Whether a comma follows the value; else its container ends, or the text."""
    around = open_marks[-1] if open_marks else ""
    found = text[position : position + 1]
    if found == "," and around:
        return True
    if found != _CLOSES.get(around, ""):
        raise _unexpected(text, position, _AFTER[around])
    return False


def _next(text: str, position: int, around: str) -> int:
    return _key(text, position) if around == "{" else position


def _key(text: str, position: int) -> int:
    """Where the value of the member that begins here does."""
    if text[position : position + 1] != '"':
        raise _unexpected(text, position, _KEY)
    position = _skip(text, _string(text, position))
    if text[position : position + 1] != ":":
        raise _unexpected(text, position, "after object key")
    return _skip(text, position + 1)


def _scalar(text: str, position: int) -> int:
    first = text[position : position + 1]
    if first == '"':
        return _string(text, position)
    if first and first in "-0123456789":
        return _number(text, position)
    if first not in _LITERALS:
        raise _unexpected(text, position, _BEGINNING)
    word = _LITERALS[first]
    for offset, character in enumerate(word):
        if text[position + offset : position + offset + 1] != character:
            context = f"in literal {word} (expecting '{character}')"
            raise _unexpected(text, position + offset, context, is_inside=True)
    return position + len(word)


def _string(text: str, position: int) -> int:
    match = _STRING.match(text, position)
    if match is None or match["end"] is None:
        end = match.end() if match is not None else position
        if match is None or match["escape"] is None:
            raise _unexpected(text, end, "in string literal")
        context = "in string escape code" if match["u"] is None else r"in \u hexadecimal character escape"
        raise _unexpected(text, end, context, is_inside=True)
    return match.end("end")


def _number(text: str, position: int) -> int:
    match = _NUMBER.match(text, position)
    if match is None or match["whole"] is None:
        raise _unexpected(text, position + 1, "in numeric literal", is_inside=True)
    if match["point"] == ".":
        raise _unexpected(text, match.end("point"), "after decimal point in numeric literal", is_inside=True)
    if match["exponent"] and not match["exponent"][-1].isdigit():
        raise _unexpected(text, match.end("exponent"), "in exponent of numeric literal", is_inside=True)
    return match.end()


def _unexpected(text: str, position: int, context: str, *, is_inside: bool = False) -> JsonSyntaxError:
    """Go looks at bytes, and at a blank behind the end to see whether the text may end there."""
    offset = len(text[:position].encode(errors="replace"))
    if position < len(text):
        byte = text[position].encode(errors="replace")[0]
        return JsonSyntaxError(f"invalid character {_shown(chr(byte))} {context}", offset + 1)
    if is_inside:
        return JsonSyntaxError(f"invalid character ' ' {context}", offset)
    return JsonSyntaxError("unexpected end of JSON input", offset)


def _shown(character: str) -> str:
    if character in "'\"":
        return {"'": r"'\''", '"': "'\"'"}[character]
    return f"'{quoted(character)[1:-1]}'"


def _skip(text: str, position: int) -> int:
    return _SPACE.match(text, position).end()  # type: ignore[union-attr]  # it matches nothing at least


def _pieces(text: str, span: Span) -> Iterator[Span]:
    """What stands between the commas of the container."""
    start = span[0] + 1
    depth = 0
    for match in _MARK_OR_STRING.finditer(text, *span):
        mark = match[0]
        if mark in _CLOSES:
            depth += 1
        elif mark in "]}":
            depth -= 1
        if (mark == "," and depth == 1) or depth == 0:
            piece = _trimmed(text, start, match.start())
            if piece[0] < piece[1]:
                yield piece
            start = match.end()


def _trimmed(text: str, start: int, end: int) -> Span:
    start = min(_skip(text, start), end)
    return start, start + len(text[start:end].rstrip(" \t\r\n"))
