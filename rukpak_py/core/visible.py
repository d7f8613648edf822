"""Text of others, made visible: nothing in it may move a cursor, set colours or turn the direction of writing around.

Everything that is no visible character is written as its escape.
"""

import re

# C0 and C1 controls, DEL, line separators, marks of direction, the byte order mark, halves of surrogate pairs, and the
# two characters that no XML may hold.
_UNSAFE = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff"
_UNSAFE_IN_LINE = re.compile(f"[{_UNSAFE}]")
_UNSAFE_IN_TEXT = re.compile(f"[{_UNSAFE}]".replace(r"\x00-\x1f", r"\x00-\x08\x0b-\x1f"))


def clean(text: str) -> str:
    """One line; line ends become blanks."""
    return _UNSAFE_IN_LINE.sub(_escape, " ".join(text.splitlines()) if "\n" in text else text)


def clean_text(text: str) -> str:
    """The same for several lines, and for JSON, where such characters stand in strings only."""
    return _UNSAFE_IN_TEXT.sub(_escape, text)


def _escape(found: "re.Match[str]") -> str:
    return " " if found[0] == "\t" else f"\\u{ord(found[0]):04x}"
