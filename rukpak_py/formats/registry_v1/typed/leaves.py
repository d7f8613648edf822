"""Go types with JSON code of their own that hold no struct: what they accept, and what they write.

Each reads a value that is not null and gives its JSON form, or raises ValueError with Go's text.
"""

import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rukpak_py.formats.registry_v1.typed import go_time, operator_version, quantity
from rukpak_py.formats.registry_v1.typed.shapes import Scalar
from rukpak_py.formats.registry_v1.typed.traces import json_word

_INT32 = Scalar("int32", "int32")
_STRING = Scalar("string", "string")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BASE64_CHARACTER = re.compile(r"[A-Za-z0-9+/]")
_LINE_ENDS = "\r\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaf:
    read: Callable[[Any], Any]
    zero: Any = None
    verbatim: bool = False  # every value is its own JSON form
    nilable: bool = False  # a slice to Go: the zero value is empty


def _not_json(value: Any, scalar: Scalar) -> ValueError:
    return ValueError(f"json: cannot unmarshal {json_word(value, scalar)} into Go value of type {scalar.go}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _not_json(value, _STRING)
    return value


def _int_or_string(value: Any) -> int | str:
    if isinstance(value, str):
        return value
    if type(value) is not int or not -(1 << 31) <= value < 1 << 31:
        raise _not_json(value, _INT32)
    return value


def _same(value: Any) -> Any:
    return value


LEAVES: dict[str, Leaf] = {
    "FieldsV1": Leaf(read=_same, verbatim=True),
    "IntOrString": Leaf(read=_int_or_string, zero=0),
    "JSON": Leaf(read=_same, verbatim=True),
    "OperatorRelease": Leaf(read=lambda value: operator_version.canonical_release(_text(value)), zero=""),
    "OperatorVersion": Leaf(read=lambda value: operator_version.canonical(_text(value)), zero="0.0.0"),
    "Quantity": Leaf(read=quantity.canonical, zero="0"),
    "RawExtension": Leaf(read=_same, verbatim=True),
    "RawMessage": Leaf(read=_same, verbatim=True, nilable=True),
    "Time": Leaf(read=lambda value: go_time.canonical(_text(value))),
}


def canonical_base64(text: str) -> str:
    """Bytes as Go reads and writes them: line ends are skipped, padding is required, spare bits are dropped."""
    joined = text.translate({13: None, 10: None})
    if not _BASE64.fullmatch(joined):
        raise ValueError(f"illegal base64 data at input byte {_first_bad_byte(text)}")
    return base64_of(binascii.a2b_base64(joined))


def base64_of(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _first_bad_byte(text: str) -> int:
    in_group = 0
    for index, character in enumerate(text):
        if character in _LINE_ENDS:
            continue
        if not _BASE64_CHARACTER.match(character):
            return _bad_padding(text, index, in_group) if character == "=" else index
        in_group = (in_group + 1) % 4
    return len(text) - in_group


def _bad_padding(text: str, index: int, in_group: int) -> int:
    if in_group < 2:
        return index
    following = _after_line_ends(text, index + 1)
    if in_group == 2:
        if following == len(text):
            return following
        if text[following] != "=":
            return following - 1
        following = _after_line_ends(text, following + 1)
    return following  # what stands behind the padding


def _after_line_ends(text: str, index: int) -> int:
    while index < len(text) and text[index] in _LINE_ENDS:
        index += 1
    return index
