"""The server's answer to a body that it refuses, without the values that it quotes: field and cause are what helps.

`Job.batch "migrate" is invalid: spec.template: Invalid value: {…2 kB…}: field is immutable` becomes
`spec.template: field is immutable`. The parts come from the causes of the Status, never from the long text.

The server quotes what an author wrote, at any length. `error_of` has cut the texts; what reads them here takes time in
proportion to their length all the same.
"""

import re

from rukpak_py.kube.errors import ApiError, Cause

SHOWN_CAUSES = 5
CAUSE_CHARACTERS = 500
NO_FIELD = "<nil>"
VALUE_CHARACTERS = 64  # a short scalar helps to find the mistake; a dump of a structure hides the cause

_INVALID = "Invalid value: "
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"')
# A string without an end takes the rest: a search that failed there would begin again at each of its quotes.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_WORD = re.compile(r"(?:\[\d*\]|map\[[^\]]*\]|[-+&*\w./])*")  # a number, a name, or the type before a Go literal
_IMMUTABLE = re.compile(r"immutable|(?:may not|cannot|can not|must not) (?:be )?chang")
_UPDATE = re.compile(r"updates? (?:to|may) ")  # of fields other than those is forbidden


def concise_message(error: ApiError) -> str:
    """One line. An answer without causes stays as it is, save for its line breaks."""
    causes = [cause for cause in error.causes if cause.message] if error.reason == "Invalid" else []
    if not causes:
        return _one_line(error.message)
    texts = list(dict.fromkeys(map(_concise, causes)))
    rest = len(texts) - SHOWN_CAUSES
    return "; ".join(texts[:SHOWN_CAUSES]) + (f"; and {rest} more" if rest > 0 else "")


def is_immutable_change(error: ApiError) -> bool:
    """Whether only an object made anew could be as the body says."""
    return error.reason == "Invalid" and any(_says_immutable(cause.message) for cause in error.causes)


def immutable_fields(error: ApiError) -> list[str]:
    """The fields that the server does not let change."""
    named = (cause.field for cause in error.causes if cause.field and _says_immutable(cause.message))
    return list(dict.fromkeys(field for field in named if field != NO_FIELD))


def _says_immutable(text: str) -> bool:
    if _IMMUTABLE.search(text):
        return True
    for line in text.split("\n"):
        update = _UPDATE.search(line)
        if update is not None and line.find("forbidden", update.end()) >= 0:
            return True
    return False


def _concise(cause: Cause) -> str:
    text, *diff = cause.message.splitlines() or [""]
    if text.startswith(_INVALID):
        text = _without_value(text if not diff else _one_line(cause.message))
    named = _one_line(f"{cause.field}: {text}" if cause.field and cause.field != NO_FIELD else text)
    return named if len(named) <= CAUSE_CHARACTERS else f"{named[: CAUSE_CHARACTERS - 1]}…"


def _without_value(text: str) -> str:
    value = _value(text[len(_INVALID) :])
    detail = text[len(_INVALID) + len(value) :].removeprefix(": ")
    is_scalar = value.startswith('"') or not set(value) & {"{", "["}
    is_short = is_scalar and len(value) <= VALUE_CHARACTERS
    if not detail:
        return text
    return text if is_short and not _says_immutable(detail) else detail


def _value(text: str) -> str:
    """The value at the start: a quoted string, a word, or a structure up to the bracket that ends it."""
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return quoted[0]
    start = match.end() if (match := _WORD.match(text)) is not None else 0
    if not text[start:].startswith(("{", "[")):
        return text[:start] if text[start:].startswith(": ") else text.rpartition(": ")[0]
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth == 0:
            return text[: token.end()]
    return text.rpartition(": ")[0]


def _one_line(text: str) -> str:
    return " ".join(text.split())
