"""Syntax errors of a file, with place and advice, from the text around the place where the parser gave up.

That place is often not where the mistake is: a quote that was never closed is noticed at the next one, or at the end
of the file. A guess is made only where the text leaves little doubt; else there is none.
"""

import re
from typing import Final

from yaml.error import MarkedYAMLError

from rukpak_py.content.yaml_streams import YamlError
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.rules import Place, Problem

_UNCLOSED = "unexpected end of stream"  # reported at the end of the file, which helps no reader
_SEPARATOR = "invalid document separator"

# The first whose words occur is the one.
_HINTS = {
    "tab character": "Indent with blanks: YAML allows no tabs there.",
    "mapping values are not allowed": (
        "Put the value in quotes if it contains `: `, or align this line with the fields around it."
    ),
    "cannot start any token": "Put the value in quotes: no plain value begins with this character, or with a tab.",
    _SEPARATOR: "Nothing but a comment may follow `---`: begin the document on the next line.",
    "unknown anchor": "Define the anchor (`&name`) before it is used, or put the value in quotes.",
    "expected comment or line break": (
        "Put the value in quotes: `>` or `|` at its beginning starts a text of several lines."
    ),
    "expected key": "Align this line with the fields around it.",
    "could not find expected ':'": "Write `key: value`, or indent the line if it belongs to the value above.",
    "node content": "Close the bracket or brace that was opened, or give the value that is missing.",
    _UNCLOSED: "Close the quotes that were opened.",
    "unsupported map key": "Give the key a name, or put it in quotes.",
    "unsupported value": "Put the value in quotes: it is no number that JSON knows.",
}
_LIMIT_HINT = "Make the file smaller, or raise the limit."
_ENCODING_HINT = "Save the file as UTF-8 without control characters."
_ENCODING = re.compile(r"UTF-|[Uu]nicode|control characters|special characters|byte|codec")
_GENERAL_HINT = "Correct the syntax at this place."
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_OPENED: Final = re.compile(r"""^\s*+(?:- ++)*+(?:[^\s'"#][^'"#]*: ++)?(?P<quote>['"])(?P<text>.*)$""")
_CLOSED: Final = {"'": re.compile(r"(?:[^']|'')*+'"), '"': re.compile(r'(?:[^"\\]|\\.)*+"')}
_FIRST_COLON: Final = re.compile(r"\s*+(?:- ++)*+[^\s:]++:")
_CONFLICT_MARKS: Final = ("<<<<<<< ", ">>>>>>> ")
_MOST_LINES: Final = 200  # above the place, of a text in quotes


def syntax_problem(error: ContentError, data: bytes, place: Place) -> Problem:
    if not isinstance(error, YamlError):  # a limit
        return Problem(message=str(error), hint=_LIMIT_HINT, place=place, at=(0, 0))
    around = SurroundingLines(error, data)
    opening = around.opening()
    known = (hint for words, hint in _HINTS.items() if words in error.problem)
    general = _ENCODING_HINT if _ENCODING.search(error.problem) else _GENERAL_HINT
    return Problem(
        message=f"cannot be parsed as {error.language.upper()}: {error.problem}",
        hint=around.hint() or next(known, general),
        place=place,
        at=opening if opening and _UNCLOSED in error.problem else (error.line, error.column),
    )


class SurroundingLines:
    """The lines of a file around a defect; the empty ones of a file in which lines cannot be told."""

    def __init__(self, error: YamlError, data: bytes) -> None:
        self.line, self.column = error.line, error.column
        text = "" if data.startswith(_UTF16_MARKS) else data.decode("utf-8-sig", "replace")
        self.lines = text.split("\n") if error.line else []
        self.problem = _cause(error)

    def opening(self) -> tuple[int, int] | None:
        """Where what was never closed begins, as far as the parser knows."""
        cause = self.problem
        if cause is None or cause.context_mark is None or cause.problem_mark is None:
            return None
        above = cause.problem_mark.line - cause.context_mark.line
        return (self.line - above, cause.context_mark.column + 1) if above < self.line else None

    def hint(self) -> str | None:
        here = self._at(self.line)
        context = self.problem.context if self.problem is not None else None
        problem = self.problem.problem if self.problem is not None else ""
        opening = self.opening()
        if any(self._at(line).startswith(_CONFLICT_MARKS) for line in (self.line - 1, self.line)):
            return "Resolve the merge conflict, and remove the lines `<<<<<<<`, `=======` and `>>>>>>>`."
        if "{{" in here:
            return "Write the value itself: templates are not rendered in a bundle."
        if here[self.column - 1 : self.column] == "," and self._before().endswith("}"):
            return "Remove the comma: objects follow each other without one."
        if opening and context == "while scanning a quoted scalar":
            return f"Close the quote that opens at line {opening[0]}."
        if opening and context in ("while parsing a flow sequence", "while parsing a flow mapping"):
            return f"Close the bracket or brace that opens at line {opening[0]}, or put the value in quotes."
        if problem == "did not find expected key":
            return self._behind_a_quote(here)
        if problem == "mapping values are not allowed in this context":
            first = _FIRST_COLON.match(here)
            is_key = first is not None and first.end() == self.column
            return "Align this line with the fields around it." if is_key else None
        return None

    def _before(self) -> str:
        """The text in front of the place, up to the line that ends it."""
        texts = (self._at(line) for line in range(self.line - 1, max(0, self.line - _MOST_LINES), -1))
        here = self._at(self.line)[: self.column - 1].rstrip()
        return here or next((text.rstrip() for text in texts if text.strip()), "")

    def _behind_a_quote(self, here: str) -> str | None:
        quote = here[: self.column - 1].rstrip()[-1:]
        if quote not in _CLOSED:
            return None
        for line in range(self.line, max(0, self.line - _MOST_LINES), -1):
            opened = _OPENED.match(self._at(line))
            if opened is None or opened["quote"] != quote:
                continue
            if _CLOSED[quote].match(opened["text"]) is None:
                return f"Close the quote that opens at line {line}."
        inner = "twice" if quote == "'" else "with a backslash in front"
        return (
            f"Nothing may follow a closing quote: put the whole value in quotes, and write those inside of it {inner}."
        )

    def _at(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""


def _cause(error: BaseException) -> MarkedYAMLError | None:
    """The parser's own error, below the errors that wrap it."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, MarkedYAMLError):
        found = found.__cause__
    return found
