"""Syntax errors of a file, with place and advice."""

import re

from rukpak_py.content.yaml_streams import YamlError
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.rules import Place, Problem
from rukpak_py.formats.syntax_advice import SurroundingLines

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


def syntax_problem(error: ContentError, data: bytes, place: Place) -> Problem:
    if not isinstance(error, YamlError):  # a limit
        return Problem(message=str(error), hint=_LIMIT_HINT, place=place, at=(0, 0))
    around = SurroundingLines(error, data)
    opening = around.opening()
    return Problem(
        message=f"cannot be parsed as {error.language.upper()}: {error.problem}",
        hint=around.hint() or _hint(error.problem),
        place=place,
        at=opening if opening and _UNCLOSED in error.problem else (error.line, error.column),
    )


def _hint(problem: str) -> str:
    for words, hint in _HINTS.items():
        if words in problem:
            return hint
    return _ENCODING_HINT if _ENCODING.search(problem) else _GENERAL_HINT
