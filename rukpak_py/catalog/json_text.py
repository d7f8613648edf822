"""JSON as bytes where each byte counts: as Go writes it, indented for people or compact for what is kept and compared.

msgspec does the work. It differs from Go in some floats, in two line separators, and in what the compact form escapes
for HTML. Keys of dictionaries are sorted by their bytes, fields of structs keep their order.
"""

import re
from typing import Any, Final

import msgspec

from rukpak_py.core import gojson

_INDENT: Final = 4
_SEPARATORS: Final = (("\u2028".encode(), b"\\u2028"), ("\u2029".encode(), b"\\u2029"))
_HTML: Final = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))
# At the end of an indented line: no string ends one, as it ends with a quote.
_FLOAT: Final = re.compile(rb"(?m)(?<= )-?[0-9]+(?:(?:\.[0-9]+)?e-?[0-9]+|\.0)(?=,?$)")
# Found faster than the float itself: most blobs have no number, most others no float.
_DIGIT_AT_END: Final = re.compile(rb"\n(?:(?<=[0-9]\n)|(?<=[0-9],\n))")
_EXPONENT_AT_END: Final = re.compile(rb"e-?[0-9]{1,3}+,?\n")
_MAY_BE_FLOAT: Final = re.compile(rb"[0-9]e-?[0-9]|[0-9]\.0(?![0-9])")


def indented(value: Any, *, keeps_numbers: bool = False, is_sorted: bool = True) -> bytes:
    """With four spaces a level and a line end, and without escapes for HTML.

    `keeps_numbers`: of JSON that is part of the value already, which Go copies as it is. `is_sorted`: keys are.
    """
    data = msgspec.json.format(msgspec.json.encode(value, order="deterministic" if is_sorted else None), indent=_INDENT)
    return _escaped(data if keeps_numbers else _with_go_floats(data), _SEPARATORS) + b"\n"


def compact(value: Any) -> bytes:
    """Without blanks, and without escapes for HTML."""
    data = msgspec.json.encode(value, order="deterministic")
    if _MAY_BE_FLOAT.search(data):
        lines = _with_go_floats(msgspec.json.format(b"[%b]" % data, indent=_INDENT))
        data = msgspec.json.format(lines, indent=-1)[1:-1]
    return _escaped(data, _SEPARATORS)


def compact_for_html(value: Any) -> bytes:
    """As Go writes JSON by default."""
    return escaped_for_html(compact(value))


def escaped_for_html(data: bytes) -> bytes:
    return _escaped(data, _HTML)


def _with_go_floats(lines: bytes) -> bytes:
    if not _DIGIT_AT_END.search(lines):
        return lines
    if not (b".0\n" in lines or b".0,\n" in lines or _EXPONENT_AT_END.search(lines)):
        return lines
    return _FLOAT.sub(lambda match: gojson.encode(float(match[0])), lines)


def _escaped(data: bytes, escapes: tuple[tuple[bytes, bytes], ...]) -> bytes:
    for character, escape in escapes:
        data = data.replace(character, escape)
    return data
