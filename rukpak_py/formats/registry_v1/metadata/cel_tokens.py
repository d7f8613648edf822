"""The words of the Common Expression Language."""

import re
from collections.abc import Iterator
from typing import NamedTuple

END = "<EOF>"

_ESCAPE = r"""\\(?:[abfnrtv\\?"'`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""


def _text(prefix: str, character: str, quote: str) -> str:
    """A long text (three quotes, any number of lines) or a short one."""
    long = quote * 3
    return rf"{prefix}(?:{long}(?:(?!{long}){character})*+{long}|{quote}(?:(?![{quote}\r\n]){character})*+{quote})"


_EXPONENT = "[eE][+-]?[0-9]+"
_RAW, _PLAIN = "(?:[rR][bB]?|[bB][rR])", "[bB]?"
_TEXTS = "|".join(
    [_text(_RAW, "(?s:.)", quote) for quote in "'\""]
    + [_text(_PLAIN, rf"(?:{_ESCAPE}|[^\\])", quote) for quote in "'\""]
)
_TOKEN = re.compile(
    rf"(?P<space>[ \t\r\n\f]+|//[^\n]*)|(?P<literal>{_TEXTS}"
    rf"|0[xX][0-9a-fA-F]+[uU]?|[0-9]*\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT}|[0-9]+[uU]?"
    r"|(?:true|false|null)(?![A-Za-z0-9_]))"
    r"|(?P<mark>[=!<>]=|&&|\|\||[-+*/%!?:.,<>()\[\]{}]|in(?![A-Za-z0-9_]))|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
)


class Token(NamedTuple):
    kind: str  # literal, mark, name, end
    text: str
    column: int  # from 1

    @property
    def is_boolean(self) -> bool:
        return self.kind == "literal" and self.text in {"true", "false"}


def tokens(rule: str) -> Iterator[Token]:
    """All words and an end, or ValueError."""
    position = 0
    while position < len(rule):
        match = _TOKEN.match(rule, position)
        if match is None:
            raise ValueError(f"Syntax error: nothing known begins at column {position + 1}")
        if match.lastgroup != "space":
            yield Token(match.lastgroup or "", match[0], position + 1)
        position = match.end()
    yield Token("end", END, len(rule) + 1)
