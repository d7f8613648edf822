"""The place of a character of a text in the file that holds the text.

Known exactly where the lines of the text are found in the file as they are: block scalars, and texts on one line. Else
the place is told within the text.
"""

import re

from rukpak_py.content.yaml_positions import Positions
from rukpak_py.formats.rules import Place

_BLOCK = re.compile(r"(?:[&!]\S+\s+)*\|")
_EXCERPT = 20  # characters on each side


def text_position(source: bytes, place: Place, text: str, index: int) -> tuple[int, int] | None:
    """Line and column in the file; None where they cannot be told."""
    found = Positions(source).of(place.document, place.path)
    lines = source.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
    if found is None or found.line > len(lines):
        return None
    above, column = _line_and_column(text, index)
    wanted = text.split("\n")[above]
    first = lines[found.line - 1]
    if _BLOCK.match(first, found.column - 1):
        line = found.line + 1 + above
        written = lines[line - 1] if line <= len(lines) else ""
        indent = len(written) - len(wanted)
        return (line, indent + column + 1) if written.endswith(wanted) and not written[:indent].strip() else None
    start = first.find(text, found.column - 1)
    return (found.line, start + index + 1) if start >= 0 and "\n" not in text else None


def inside(text: str, index: int) -> str:
    line, column = _line_and_column(text, index)
    excerpt = " ".join(text[max(0, index - _EXCERPT) : index + _EXCERPT].split())
    return f"at line {line + 1}, column {column + 1} of the text, near `{excerpt}`"


def _line_and_column(text: str, index: int) -> tuple[int, int]:
    """The line and the column, from 0."""
    return text.count("\n", 0, index), index - text.rfind("\n", 0, index) - 1
