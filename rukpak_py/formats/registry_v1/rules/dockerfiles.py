"""The labels that a Dockerfile gives an image. An instruction may hold several, and go on behind a backslash."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_INSTRUCTION: Final = re.compile(
    r"^[ \t]*LABEL[ \t]+(?P<labels>(?:\\[ \t]*\r?\n|[^\n])*+)", re.MULTILINE | re.IGNORECASE
)
_PAIR: Final = re.compile(
    r"""(?<!\S)"?(?P<key>[^\s="]++)"?=(?:"(?P<double>(?:[^"\\]|\\.)*+)"|'(?P<single>[^']*+)'|(?P<bare>\S*+))""",
    re.DOTALL,
)
# The old form, without `=`: one label, whose value is the rest of the line.
_OLD: Final = re.compile(r"(?P<key>[^\s=]++)[ \t]++(?P<value>[^\n]*)")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class Label(NamedTuple):
    key: str
    value: str
    line: int  # from 1
    column: int


def dockerfile_labels(text: str) -> Iterator[Label]:
    line, counted = 1, 0
    for instruction in _INSTRUCTION.finditer(text):
        for start, key, value in _labels(text, *instruction.span("labels")):
            line, counted = line + text.count("\n", counted, start), start
            yield Label(key=key, value=value, line=line, column=start - text.rfind("\n", 0, start))


def _labels(text: str, start: int, end: int) -> Iterator[tuple[int, str, str]]:
    if old := _OLD.match(text, start, end):
        yield start, old["key"], old["value"].strip(" \t\r").strip('"')
        return
    for pair in _PAIR.finditer(text, start, end):
        value = pair["single"]
        if value is None:
            value = _ESCAPED.sub(r"\1", pair["double"] if pair["double"] is not None else pair["bare"])
        yield pair.start(), pair["key"], value
