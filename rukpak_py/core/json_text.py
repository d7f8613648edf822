"""JSON as text: where it is broken, and the spans of its values.

`check` walks the text once without recursion. Callers that need values in their own spelling (numbers, order of keys)
take them apart with `members` and `elements`, level by level, and write them again with `compact`; those trust that
the text was checked.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, TypeAlias

Span: TypeAlias = tuple[int, int]  # start and end in the text

_DEPTH = 10_000
_SPACE = re.compile(r"[ \t\r\n]*")
_OPEN_STRING = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+'
_STRING_START = re.compile(_OPEN_STRING)
_TOKEN = re.compile(
    rf'[\[\]{{}},:]|{_OPEN_STRING}"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null'
)
_CLOSES = {"[": "]", "{": "}"}

# A string without an end takes the rest: a search that failed there would begin again at each of its quotes.
_STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_MARK_OR_STRING = re.compile(rf"{_STRING}|[\[\]{{}},:]", re.DOTALL)
_BLANK_OR_STRING = re.compile(rf"[ \t\r\n]+|({_STRING})", re.DOTALL)
_HTML = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


class _Wanted(Enum):
    VALUE = "a value"
    KEY = "a key in double quotes"
    COLON = "`:`"
    COMMA = "`,` or "  # and what closes the container


class JsonSyntaxError(ValueError):
    """`position` is the index of the character that is wrong."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(problem)
        self.position = position


def check(text: str) -> None:
    """Raise JsonSyntaxError unless the text is one JSON value."""
    end = _skip(text, end_of_value(text, 0))
    if end < len(text):
        raise _unexpected(text, end, "the end")


def end_of_value(text: str, position: int) -> int:
    """Where the value that begins at or behind the position ends, or JsonSyntaxError."""
    closing: list[str] = []  # what closes the open containers
    wanted = _Wanted.VALUE
    mark = ""
    while True:
        position = _skip(text, position)
        match = _TOKEN.match(text, position)
        is_first, mark = mark in _CLOSES, match[0] if match is not None else ""
        following = _after(mark, wanted, closing, is_first=is_first)
        if following is None:
            around = f"`{closing[-1]}`" if wanted is _Wanted.COMMA else ""
            raise _broken_string(text, position, wanted) or _unexpected(text, position, f"{wanted.value}{around}")
        if len(closing) > _DEPTH:
            raise JsonSyntaxError("nested too deeply", position)
        wanted = following
        position += len(mark)
        if not closing and wanted is _Wanted.COMMA:
            return position


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


def _after(mark: str, wanted: _Wanted, closing: list[str], *, is_first: bool) -> _Wanted | None:
    """The next thing wanted after the mark or scalar; None when it does not fit. `is_first`: its container begins."""
    if closing and mark == closing[-1] and (is_first or wanted is _Wanted.COMMA):
        closing.pop()
        return _Wanted.COMMA
    match wanted, mark[:1]:
        case _Wanted.VALUE, "{" | "[":
            closing.append(_CLOSES[mark])
            return _Wanted.KEY if mark == "{" else _Wanted.VALUE
        case _Wanted.VALUE, first if first and first not in "]},:":
            return _Wanted.COMMA
        case _Wanted.KEY, '"':
            return _Wanted.COLON
        case _Wanted.COLON, ":":
            return _Wanted.VALUE
        case _Wanted.COMMA, ",":
            return _Wanted.KEY if closing[-1] == "}" else _Wanted.VALUE
        case _:
            return None


def _broken_string(text: str, position: int, wanted: _Wanted) -> JsonSyntaxError | None:
    started = _STRING_START.match(text, position) if wanted in {_Wanted.VALUE, _Wanted.KEY} else None
    if started is None:
        return None
    end = started.end()
    if end == len(text):
        return JsonSyntaxError("the string has no closing quote", end)
    what = "escape" if text[end] == "\\" else "character"
    return JsonSyntaxError(f"invalid {what} in a string", end)


def _unexpected(text: str, position: int, expected: str) -> JsonSyntaxError:
    found = repr(text[position]) if position < len(text) else "the end"
    return JsonSyntaxError(f"expected {expected}, got {found}", position)


def _skip(text: str, position: int) -> int:
    return _SPACE.match(text, position).end()  # type: ignore[union-attr]  # it matches nothing at least


def _pieces(text: str, span: Span) -> Iterator[Span]:
    """Spans between the commas of the container."""
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


def least_json_bytes(value: Any, *, stop_at: int) -> int:
    """The size of a value as JSON, before any of it is written.

    Values that share parts (copies of YAML aliases, parts of generated objects) take little memory and may still become
    hundreds of megabytes. The answer is at most as many bytes as the JSON has: escapes and letters beyond ASCII take
    more. Stops once over `stop_at`.
    """
    size = 0
    todo = [value]
    while todo and size <= stop_at:
        item = todo.pop()
        kind = type(item)
        if kind is str:
            size += len(item) + 2
        elif kind is dict:
            # Braces, and for each member quotes, colon and comma.
            size += max(4 * len(item), 1) + 1 + sum(len(key) for key in item if type(key) is str)
            todo += item.values()
        elif kind is list:
            size += max(len(item), 1) + 1
            todo += item
        else:
            size += 1
    return size
