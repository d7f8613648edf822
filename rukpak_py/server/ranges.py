"""The `Range` header of a request: which part of an archive is sent.

One range only. What we do not understand is ignored, as RFC 9110 allows, and the whole is sent.
"""

import re
from typing import NamedTuple

_ONE_RANGE = re.compile(r"bytes\s*+=\s*+(\d{0,18})\s*+-\s*+(\d{0,18})", re.IGNORECASE)


class Part(NamedTuple):
    start: int
    length: int


class UnsatisfiableError(ValueError):
    """The range begins behind the end."""


def wanted_part(header: str | None, size: int) -> Part | None:
    """None: the whole."""
    match = _ONE_RANGE.fullmatch((header or "").strip())
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        length = min(int(last), size)
        if not length:
            raise UnsatisfiableError
        return Part(start=size - length, length=length)
    start, end = int(first), int(last) if last else size - 1
    if last and end < start:
        return None
    if start >= size:
        raise UnsatisfiableError
    return Part(start=start, length=min(end, size - 1) - start + 1)
