"""Go types with JSON code of their own that hold no struct: what they accept, and what they write.

Each reads a value that is not null and gives its JSON form, or raises ValueError; OverflowError where
an integer does not fit 32 bits.
"""

import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rukpak_py.core import versions
from rukpak_py.formats.go_types import quantity
from rukpak_py.formats.type_defects import Wanted

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Leaf:
    read: Callable[[Any], Any]
    wanted: Wanted = Wanted.OBJECT
    zero: Any = None
    verbatim: bool = False  # every value is its own JSON form
    nilable: bool = False  # a slice to Go: the zero value is empty


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a string")  # noqa: TRY004 what `read` raises
    return value


def _int_or_string(value: Any) -> int | str:
    if isinstance(value, str):
        return value
    if type(value) is not int:
        raise ValueError("neither an integer nor a string")
    if not -(1 << 31) <= value < 1 << 31:
        raise OverflowError("does not fit an integer of 32 bits")
    return value


def _same(value: Any) -> Any:
    return value


LEAVES: dict[str, Leaf] = {
    "FieldsV1": Leaf(read=_same, verbatim=True),
    "IntOrString": Leaf(read=_int_or_string, wanted=Wanted.INTEGER_OR_STRING, zero=0),
    "JSON": Leaf(read=_same, verbatim=True),
    "OperatorRelease": Leaf(
        read=lambda value: versions.release(_string(value)),
        wanted=Wanted.RELEASE,
        zero="",
    ),
    "OperatorVersion": Leaf(
        read=lambda value: str(versions.tolerant(_string(value))),  # `v1.2` as `1.2.0`
        wanted=Wanted.VERSION,
        zero="0.0.0",
    ),
    "Quantity": Leaf(read=quantity.canonical, wanted=Wanted.QUANTITY, zero="0"),
    "RawExtension": Leaf(read=_same, verbatim=True),
    "RawMessage": Leaf(read=_same, verbatim=True, nilable=True),
    "Time": Leaf(read=lambda value: canonical_time(_string(value)), wanted=Wanted.TIME),
}


def canonical_base64(text: str) -> str:
    """Bytes as Go reads and writes them: line ends are skipped, padding is required, spare bits are dropped."""
    joined = text.translate({13: None, 10: None})
    if not _BASE64.fullmatch(joined):
        raise ValueError("invalid base64")
    return base64_of(binascii.a2b_base64(joined))


def base64_of(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


_TIME = re.compile(
    "([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_LAST_OFFSET_HOUR = 24
_LAST_OFFSET_MINUTE = 60
_CYCLE = 400
_MIDDLE = 2000
_ZERO = "0001-01-01T00:00:00Z"


def canonical_time(text: str) -> str | None:
    """A time of RFC 3339, as Go's time.Parse reads it, written again in UTC to the second.

    Go is milder than the standard (an hour of one digit, a comma before a fraction, offsets up to 24:60) and knows the
    years 0 to 9999; an offset may lead one year further, so the calendar is computed in a cycle of 400 years that
    `datetime` holds. None for the zero time, which Go writes as null; ValueError for what is none.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("not a time as in RFC 3339")
    *numbers, fraction, sign, hours, minutes = match.groups()
    offset = timedelta()
    if sign is not None:
        if int(hours) > _LAST_OFFSET_HOUR or int(minutes) > _LAST_OFFSET_MINUTE:
            raise ValueError("the offset is out of range")
        offset = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    year, month, day, hour, minute, second = map(int, numbers)
    middle = _MIDDLE + year % _CYCLE
    moment = datetime(middle, month, day, hour, minute, second, tzinfo=UTC) - offset  # ValueError: out of range
    year += moment.year - middle
    written = f"{'-' if year < 0 else ''}{abs(year):04}-{moment:%m-%dT%H:%M:%SZ}"
    return None if written == _ZERO and not (fraction or "").strip("0") else written
