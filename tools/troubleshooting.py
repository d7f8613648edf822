"""docs/troubleshooting.md, read: the entry of every reason.

A heading of one word, like `### InstallFailed`, is the entry of that reason. Its anchor, on the site and on a forge, is
the reason in lower case. Three paragraphs begin with **Where:**, **Meaning:** and **To do:**, once each, in this order;
a paragraph without such a mark continues the part before it. **Message:** begins a part about texts: each in backticks,
with `…` for any text; the paragraphs behind it are the way out. The first sentence of a way out can stand alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs/troubleshooting.md"
WHERE, MEANING, TO_DO, MESSAGE = "Where", "Meaning", "To do", "Message"

_HEADING = re.compile(r"^#{2,4} (.+)$", re.MULTILINE)
_MARK = re.compile(r"\*\*(Where|Meaning|To do|Message):\*\* ")
_NAME = re.compile(r"[A-Z][A-Za-z]+")
_QUOTED = re.compile(r"`([^`]+)`")
# A sentence ends where the next begins; an abbreviation or the number of a version has no capital behind it.
_FIRST_SENTENCE = re.compile(r".+?[.:](?=\s+(?:[A-Z\[`*(]|$)|$)", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """Texts that mean the same, and the way out of them."""

    texts: tuple[str, ...]
    to_do: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    reason: str
    parts: tuple[str, ...]  # the marks, in order
    where: str
    meaning: str
    to_do: str
    messages: tuple[Message, ...]

    @property
    def anchor(self) -> str:
        return self.reason.lower()


def entries(page: str) -> tuple[Entry, ...]:
    """The entries of a page, in its order. A heading of one word without **Where:** is no entry."""
    return tuple(_entry(reason, marked) for reason, marked in _sections(page) if marked)


def first_sentence(text: str) -> str:
    found = _FIRST_SENTENCE.match(text)
    return found[0] if found else text


def _sections(page: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    pieces = _HEADING.split(page)
    for heading, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if _NAME.fullmatch(heading):
            marks = _MARK.split(body)
            yield heading, [(mark, text.strip()) for mark, text in zip(marks[1::2], marks[2::2], strict=True)]


def _entry(reason: str, marked: list[tuple[str, str]]) -> Entry:
    parts = dict(reversed(marked))  # of a mark that is there twice, the first
    return Entry(
        reason=reason,
        parts=tuple(mark for mark, _ in marked),
        where=parts.get(WHERE, ""),
        meaning=parts.get(MEANING, ""),
        to_do=parts.get(TO_DO, ""),
        messages=tuple(_message(text) for mark, text in marked if mark == MESSAGE),
    )


def _message(text: str) -> Message:
    texts, _, to_do = text.partition("\n")
    return Message(texts=tuple(_QUOTED.findall(texts)), to_do=to_do.strip())
