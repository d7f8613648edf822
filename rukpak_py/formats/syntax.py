"""What is wrong with the syntax of a file: for people with a place and advice, and in the words of the Go libraries."""

import re
from dataclasses import dataclass

from rukpak_py.content.yaml_errors import YamlError
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.syntax_advice import Surroundings

_PREFIX = re.compile(r"(error converting YAML to JSON: )?((?P<language>yaml|json): )?(line \d+(, column \d+)?: )?")
_UNCLOSED = "unexpected end of stream"  # told where the file ends, which helps nobody
_SEPARATOR = "invalid Yaml document separator"

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


@dataclass(frozen=True, kw_only=True, slots=True)
class SyntaxDefect:
    message: str
    hint: str
    at: tuple[int, int]  # line and column of the file, 0 where they are not known
    upstream: str  # what the Go library says


def syntax_defect(error: ContentError, data: bytes) -> SyntaxDefect:
    text = str(error)
    if not isinstance(error, YamlError):  # a limit
        return SyntaxDefect(message=text, hint=_LIMIT_HINT, at=(0, 0), upstream=text)
    prefix = _PREFIX.match(text)
    problem = text[prefix.end() :] if prefix else text
    language = "JSON" if prefix and prefix["language"] == "json" else "YAML"
    around = Surroundings(error, data)
    opening = around.opening()
    return SyntaxDefect(
        message=f"cannot be parsed as {language}: {problem}",
        hint=around.hint() or _hint(problem),
        at=(opening if opening and _UNCLOSED in problem else (error.line, error.column)),
        upstream=error.go_text or text,
    )


def _hint(problem: str) -> str:
    for words, hint in _HINTS.items():
        if words in problem:
            return hint
    return _ENCODING_HINT if _ENCODING.search(problem) else _GENERAL_HINT
