"""JSON exactly as Go's encoding/json writes it, and the hash that Kubernetes tools make of it.

A `dict` is a Go map: its keys are sorted by their UTF-8 bytes. A `Fields` is a Go struct: its keys keep their order.
Text is escaped as Go does it for HTML. Bytes that were no UTF-8 (surrogates here) become the escape of U+FFFD.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

_SPECIAL = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a Go struct in their order of declaration."""

    pairs: tuple[tuple[str, object], ...]

    @classmethod
    def of(cls, **fields: object) -> "Fields":
        return cls(tuple(fields.items()))

    @classmethod
    def non_empty(cls, **fields: object) -> "Fields":
        """Fields with Go's `omitempty`: no false, 0, null, empty text, list or map; structs always."""
        return cls(tuple((name, value) for name, value in fields.items() if value or isinstance(value, Fields)))

    def __add__(self, other: "Fields") -> "Fields":
        return Fields(self.pairs + other.pairs)


def encode(value: object) -> bytes:
    return _encode(value).encode()


def deep_hash(value: object) -> str:
    """SHA-224 of the JSON and a newline, as a number in base 36."""
    digest = hashlib.sha224(encode(value) + b"\n").digest()
    return base36(int.from_bytes(digest, "big"))


def base36(number: int) -> str:
    digits = []
    while number:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)) or "0"


def _encode(value: object) -> str:
    match value:
        case str():
            return _text(value)
        case Fields():
            return _object(value.pairs)
        case Mapping():
            return _object(sorted(value.items(), key=lambda pair: pair[0].encode(errors="surrogateescape")))
        case Sequence():
            return "[" + ",".join(map(_encode, value)) + "]"
        case _:
            return _scalar(value)


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case _:
            raise TypeError(f"no JSON for {type(value).__name__}")


def _object(pairs: Sequence[tuple[str, object]]) -> str:
    return "{" + ",".join(f"{_text(name)}:{_encode(value)}" for name, value in pairs) + "}"


def _text(text: str) -> str:
    return f'"{_SPECIAL.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if "\ud800" <= character <= "\udfff":
        return "\\ufffd"
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _float(number: float) -> str:
    """The shortest digits that read back as the same number; an exponent below 1e-6 and from 1e21 on."""
    if not math.isfinite(number):
        raise ValueError("JSON has no infinity and no NaN")
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    if 1e-6 <= abs(number) < 1e21:
        text = format(Decimal(repr(number)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, digits, _ = Decimal(repr(number)).as_tuple()
    exponent = Decimal(repr(number)).adjusted()
    mantissa = "".join(map(str, digits)).rstrip("0")
    fraction = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
    # Go writes two digits of the exponent except for small negative ones: 1e+21, 1e-10, 1e-7
    return f"{'-' if sign else ''}{mantissa[0]}{fraction}e{'+' if exponent > 0 else '-'}{abs(exponent)}"
