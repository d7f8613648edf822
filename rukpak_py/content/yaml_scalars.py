"""Scalars of the Kubernetes YAML dialect: what go-yaml v2 makes of a text, and what JSON makes of that.

A *raw* scalar is what go-yaml resolves: None, bool, int (up to unsigned 64 bit), float (infinities included) or str.
Its place decides the rest: `as_value` follows the round trip through JSON into an unstructured object (integral floats
become integers, integers outside signed 64 bit become floats), `as_key` the text that a mapping's key becomes.
A raw scalar that has no JSON form stays as it is; `representable` tells, and only a document that still holds such
a scalar at its end is refused (a later duplicate key may have replaced it).
"""

import base64
import calendar
import math
import re
import struct
from decimal import Decimal
from typing import TypeAlias

Raw: TypeAlias = bool | int | float | str | None

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1
UINT64_MAX = (1 << 64) - 1
# From here on Go writes a float with an exponent, so its JSON text is no integer any more.
_EXPONENT_FROM = 1e21
# Beyond this many characters even a binary number is out of range; it also keeps int() away from its own digit limit.
_LONGEST_INTEGER = 80

TAG_PREFIX = "tag:yaml.org,2002:"
MERGE_TAG = TAG_PREFIX + "merge"

CONSTANTS: dict[str, bool | float | None] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf),
}
# A plain scalar that starts with none of these is a text.
WORD_STARTS = frozenset("yYnNtTfFoO~") | {""}
NUMBER_STARTS = frozenset("+-.0123456789")

_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|0([0-7]*)|([1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# Behind a point go-yaml leaves the underscores to Go's own parser, which wants a digit on both sides of each.
_POINT_FLOAT = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_SIGN_AFTER_PREFIX = re.compile(r"0b([-+][01]+)")
_BASES = (16, 2, 8, 8, 10)
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?))?",
    re.ASCII,
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def resolve(text: str) -> Raw:
    """The raw scalar of a plain text."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text[0] not in NUMBER_STARTS:
        return text
    if text[0] == ".":
        return _finite(text) if _POINT_FLOAT.fullmatch(text) else text
    return _number(text)


def tagged(tag: str, text: str) -> Raw:
    """The raw scalar of a text with an explicit tag (one that go-yaml does not know means text), or ValueError."""
    name = tag.removeprefix(TAG_PREFIX) if tag.startswith(TAG_PREFIX) else ""
    if name == "binary":
        return _binary(text)
    if name == "timestamp":
        return _timestamp(text)
    if name not in _TAG_ACCEPTS:
        return text
    raw = resolve(text)
    if name == "float" and type(raw) is int and raw <= INT64_MAX:
        return float(raw)
    if type(raw) is not _TAG_ACCEPTS[name]:
        raise ValueError(f"cannot decode a scalar as a !!{name}")
    return raw


_TAG_ACCEPTS: dict[str, type] = {"bool": bool, "int": int, "float": float, "null": type(None)}


def as_value(raw: Raw) -> Raw:
    if isinstance(raw, float):
        return integral(raw)
    if type(raw) is int and not INT64_MIN <= raw <= INT64_MAX:
        return float(raw)
    return raw


def integral(number: float) -> int | float:
    """The number after its round trip through JSON text: an integer where that text has neither point nor exponent."""
    if not number.is_integer() or abs(number) >= _EXPONENT_FROM:
        return number
    whole = int(Decimal(repr(number)))  # the shortest digits, as Go prints them: 2.0**62 is 4611686018427388000
    return whole if INT64_MIN <= whole <= INT64_MAX else number


def as_key(raw: Raw) -> Raw:
    """The text of a key. What has none (null, integers beyond signed 64 bit) comes back as it is."""
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, float):
        return _float_key(raw)
    if isinstance(raw, int) and raw <= INT64_MAX:
        return str(raw)
    return raw


def representable(raw: object) -> bool:
    return not (isinstance(raw, float) and not math.isfinite(raw))


def without_surrogates(text: str) -> str:
    """Go replaces each byte that is not UTF-8, and each half of a surrogate pair, with U+FFFD."""
    return _SURROGATES.sub("\ufffd", text)


def _number(text: str) -> Raw:
    digits = text.replace("_", "")
    match = _INTEGER.fullmatch(digits)
    if match is not None:
        number = _integer(match)
        if number is not None:
            return number
    if _FLOAT.fullmatch(digits):
        return _finite(text)
    # go-yaml's own parser for 0b allows a sign behind the prefix.
    match = _SIGN_AFTER_PREFIX.fullmatch(digits)
    if match is not None and len(match[1]) <= _LONGEST_INTEGER:
        number = int(match[1], 2)
        if INT64_MIN <= number <= INT64_MAX:
            return number
    return text


def _integer(match: re.Match[str]) -> int | None:
    sign, *forms = match.groups()
    digits, base = next((form, base) for form, base in zip(forms, _BASES, strict=True) if form is not None)
    digits = digits.lstrip("0")
    if len(digits) > _LONGEST_INTEGER:
        return None
    number = int(digits or "0", base)
    if sign:  # Go reads unsigned numbers without a sign only
        number = -number if sign == "-" else number
        return number if INT64_MIN <= number <= INT64_MAX else None
    return number if number <= UINT64_MAX else None


def _finite(text: str) -> float | str:
    number = float(text.replace("_", ""))
    return text if math.isinf(number) else number


def _float_key(number: float) -> str:
    if math.isnan(number):
        return ".nan"
    single = _single(number)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    return _shortest(single)


def _shortest(single: float) -> str:
    """The shortest digits that read back as the same 32-bit float; an exponent below 1e-4 and from 1e6 on."""
    for precision in range(9):
        mantissa, _, power = f"{single:.{precision}e}".partition("e")
        if _single(float(f"{mantissa}e{power}")) == single:
            break
    exponent = int(power)
    if -4 <= exponent < 6:
        return f"{Decimal(f'{mantissa}e{power}'):f}"
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _single(number: float) -> float:
    """The nearest 32-bit float."""
    try:
        (single,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return math.copysign(math.inf, number)
    return float(single)


def _binary(text: str) -> str:
    digits = text.replace("\n", "").replace("\r", "")
    invalid = "!!binary value contains invalid base64 data"
    if len(digits) % 4:  # Python's decoder lets some excess padding pass
        raise ValueError(invalid)
    try:
        data = base64.b64decode(digits, validate=True)
    except ValueError as error:
        raise ValueError(invalid) from error
    return without_surrogates(data.decode("utf-8", "surrogateescape"))


def _timestamp(text: str) -> str:
    match = _TIMESTAMP.fullmatch(text)
    if match is not None:
        year, month, day, *clock = (int(part) for part in match.groups() if part is not None)
        hour, minute, second = clock or (0, 0, 0)
        day_exists = 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]
        if day_exists and hour < 24 and minute < 60 and second < 60:
            return text
    raise ValueError("cannot decode a scalar as a !!timestamp")
