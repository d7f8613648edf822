"""A stream of JSON values, read as Go reads it for unstructured objects.

Differences from Python's own reading: no NaN or Infinity, numbers as `yaml_scalars.as_value`, halves of surrogate pairs
and bytes that are not UTF-8 become U+FFFD, nesting is measured before the (recursive) parser sees the text.
"""

import json
import math
import re
from typing import Any, NoReturn

from rukpak_py.content.yaml_scalars import INT64_MAX, INT64_MIN, integral, without_surrogates
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits

_SPACE = re.compile(r"[ \t\n\r]*")
_LONGEST_INT64 = 20
_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    r"|\\.",
    re.DOTALL,
)
# A string without an end takes the rest: a search that failed there would begin again at each of its quotes.
_STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_STRUCTURE = re.compile(rf"{_STRING}|[\[\]{{}},:]", re.DOTALL)
_ATOM = re.compile(rf'{_STRING}|[^\s\[\]{{}},:"]++', re.DOTALL)
_SEPARATORS = (b"[", b"{", b",", b":")


class NumberError(Exception):
    """A number that no float can hold; its text is the number's."""


def check_bounds(data: bytes, limits: Limits) -> None:
    """Refuse what nests too deeply or holds too many values; counts are only taken where they could matter."""
    if sum(map(data.count, _SEPARATORS)) <= min(limits.yaml_depth, limits.yaml_nodes - 1):
        return
    depth = nodes = 0
    for match in _STRUCTURE.finditer(data.decode("utf-8", "replace")):
        mark = match[0]
        if mark in "[{":
            depth += 1
            if depth > limits.yaml_depth:
                raise limits.exceeded("yaml_depth", "nesting of JSON")
        elif mark in "]}":
            depth = max(depth - 1, 0)
        nodes += mark in "[{,:"
        if nodes >= limits.yaml_nodes:
            raise limits.exceeded("yaml_nodes", "the number of values in JSON")


def as_text(data: bytes) -> str:
    """The text whose characters stand where the original's do, without halves of surrogate pairs."""
    text = data.decode("utf-8", "surrogateescape")
    if _SURROGATE.search(text):
        text = without_surrogates(text)
        text = _ESCAPE.sub(_whole_escape, text)
    return text


def byte_offset(data: bytes, text: str, position: int) -> int:
    """Where in the data the text's character at `position` begins."""
    if len(data) == len(text):
        return position
    original = data.decode("utf-8", "surrogateescape")
    return len(original[:position].encode("utf-8", "surrogateescape"))


def skip_space(text: str, position: int) -> int:
    return _SPACE.match(text, position).end()  # type: ignore[union-attr]  # it matches nothing at least


def read_value(text: str, start: int) -> tuple[Any, int]:
    """The value at `start` and where it ends; raises ValueError where the text is not JSON, and NumberError."""
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError as error:
        raise ContentError("json: nested too deeply") from error


def find_number(text: str, start: int, number: str) -> int:
    """Where the number stands at or after `start`, other than inside a string."""
    return next((match.start() for match in _ATOM.finditer(text, start) if match[0] == number), start)


def _integer(text: str) -> int | float:
    if len(text) <= _LONGEST_INT64 and INT64_MIN <= (number := int(text)) <= INT64_MAX:
        return number
    return _finite(text)


def _float(text: str) -> int | float:
    return integral(_finite(text))


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NumberError(text)
    return number


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"invalid constant {text}")


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=_no_constant)


def _whole_escape(match: re.Match[str]) -> str:
    return r"\ufffd" if match["half"] else match[0]
