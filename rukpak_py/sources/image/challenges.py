"""The challenges of a registry's `WWW-Authenticate`, by RFC 9110, read as leniently as registries need.

A header may have several challenges, and several headers are one with commas between them. So a comma stands between
challenges, between the parameters of one, and inside quotes. A word with `=` behind it is a parameter; another one is
the name of the next scheme at the beginning and after a comma, and else a token that belongs to a scheme.

The header is cut into parts by one pass, in a time that grows with its length only, and its length has a limit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import KIB, readable_size

LONGEST_HEADER: Final = 8 * KIB  # real ones have some hundred characters
# Text in quotes, `=`, a comma, blanks, or a word. Each begins with what none of the others begins with.
_PART: Final = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)|(?P<equals>=)|(?P<comma>,)|(?P<blank>\s+)|(?P<word>[^\s"=,]+)', re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class _Kind(Enum):
    QUOTED = auto()
    EQUALS = auto()
    COMMA = auto()
    BLANK = auto()
    WORD = auto()


_Part: TypeAlias = tuple[_Kind, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Challenge:
    scheme: str  # in lower case
    parameters: Mapping[str, str]  # names in lower case


def parse_challenges(header: str) -> Sequence[Challenge]:
    """UnavailableError when it is too long to be one."""
    if len(header) > LONGEST_HEADER:
        raise UnavailableError(
            f"its WWW-Authenticate header has {len(header)} characters, more than {readable_size(LONGEST_HEADER)}"
        )
    parts = list(_parts(header))
    found: list[Challenge] = []
    parameters: dict[str, str] = {}
    position, is_start = 0, True
    while position < len(parts):
        kind, text = parts[position]
        position += 1
        if kind is _Kind.COMMA:
            is_start = True
        elif kind is _Kind.WORD:
            value, position = _value(parts, position)
            if value is not None:
                parameters.setdefault(text.lower(), value)
            elif is_start:
                parameters = {}
                found.append(Challenge(scheme=text.lower(), parameters=parameters))
            is_start = False
    return found


def _parts(header: str) -> Iterator[_Part]:
    position = 0
    while (match := _PART.match(header, position)) is not None:
        kind = _Kind[(match.lastgroup or "").upper()]
        text = match[match.lastgroup or 0]
        position = match.end()
        if kind is _Kind.QUOTED:
            position += 1  # the closing quote; or what stands at the end of a header without one
            text = _ESCAPED.sub(r"\1", text)
        yield kind, text


def _value(parts: Sequence[_Part], position: int) -> tuple[str | None, int]:
    """The value of the parameter whose name ends at `position`, and where it ends; None: there is no `=`.

    One without quotes may have more of these signs in it, as a URL has.
    """
    start = _behind_blanks(parts, position)
    if _kind(parts, start) is not _Kind.EQUALS:
        return None, position
    start = _behind_blanks(parts, start + 1)
    if _kind(parts, start) is _Kind.QUOTED:
        return parts[start][1], start + 1
    end = start
    while _kind(parts, end) in {_Kind.WORD, _Kind.EQUALS}:
        end += 1
    return "".join(text for _, text in parts[start:end]), end


def _behind_blanks(parts: Sequence[_Part], position: int) -> int:
    return position + 1 if _kind(parts, position) is _Kind.BLANK else position


def _kind(parts: Sequence[_Part], position: int) -> _Kind | None:
    return parts[position][0] if position < len(parts) else None
