"""Times of objects: RFC 3339 as Go's time.Parse reads it, written again in UTC to the second.

The layout is read element by element, because the message names the first one that does not fit. Go is milder than
the standard (an hour of one digit, a comma before a fraction, offsets up to 24:60) and knows the years 0 to 9999; an
offset may lead one year further, so the calendar is computed in a cycle of 400 years that `datetime` holds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_LAYOUT = "2006-01-02T15:04:05Z07:00"
# (what a message calls it, what fits, limits, what is out of range)
_ELEMENTS = (
    ("2006", re.compile("[0-9]{4}"), None, ""),
    ("-", re.compile("-"), None, ""),
    ("01", re.compile("[0-9]{2}"), (1, 12), "month"),
    ("-", re.compile("-"), None, ""),
    ("02", re.compile("[0-9]{2}"), None, ""),
    ("T", re.compile("T"), None, ""),
    ("15", re.compile("[0-9]{1,2}"), (0, 23), "hour"),
    (":", re.compile(":"), None, ""),
    ("04", re.compile("[0-9]{2}"), (0, 59), "minute"),
    (":", re.compile(":"), None, ""),
    ("05", re.compile("[0-9]{2}"), (0, 59), "second"),
)
_FRACTION = re.compile(r"[.,]([0-9]+)")
_OFFSET = re.compile("([\0-\x7f])([0-9]{2}):(..)", re.DOTALL)
_TWO_DIGITS = re.compile("[0-9]{2}")
_LAST_OFFSET_HOUR = 24
_LAST_OFFSET_MINUTE = 60
_CYCLE = 400
_MIDDLE = 2000
_ZERO = "0001-01-01T00:00:00Z"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fields:
    numbers: tuple[int, ...]  # year, month, day, hour, minute, second
    rest: str


def canonical(text: str) -> str | None:
    """The time in UTC, None for the zero time, which Go writes as null; ValueError in Go's words."""
    fields = _fields(text)
    fraction = _FRACTION.match(fields.rest)
    rest = fields.rest[fraction.end() :] if fraction else fields.rest
    offset, extra = _offset(text, rest)
    if extra:
        raise ValueError(f"parsing time {_quoted(text)}: extra text: {_quoted(extra)}")
    written = _in_utc(text, fields.numbers, offset)
    has_fraction = fraction is not None and fraction[1].strip("0")
    return None if written == _ZERO and not has_fraction else written


def _fields(text: str) -> _Fields:
    numbers, rest = [], text
    for name, pattern, limits, meaning in _ELEMENTS:
        match = pattern.match(rest)
        if match is None:
            raise _misfit(text, rest, name)
        if match[0].isdigit():
            numbers.append(int(match[0]))
        if limits and not limits[0] <= numbers[-1] <= limits[1]:
            raise _out_of_range(text, meaning)
        rest = rest[match.end() :]
    return _Fields(numbers=tuple(numbers), rest=rest)


def _offset(text: str, rest: str) -> tuple[timedelta, str]:
    if rest.startswith("Z"):
        return timedelta(), rest[1:]
    match = _OFFSET.match(rest)
    if match is None:
        raise _misfit(text, rest, "Z07:00")
    has_minutes = _TWO_DIGITS.fullmatch(match[3]) is not None
    if has_minutes and int(match[3]) > _LAST_OFFSET_MINUTE:
        raise _out_of_range(text, "time zone offset minute")
    if int(match[2]) > _LAST_OFFSET_HOUR:
        raise _out_of_range(text, "time zone offset hour")
    if not has_minutes or match[1] not in "+-":
        raise _misfit(text, rest, "Z07:00")
    offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return -offset if match[1] == "-" else offset, rest[match.end() :]


def _in_utc(text: str, numbers: tuple[int, ...], offset: timedelta) -> str:
    year, month, day, hour, minute, second = numbers
    middle = _MIDDLE + year % _CYCLE
    try:
        moment = datetime(middle, month, day, hour, minute, second, tzinfo=UTC) - offset
    except ValueError as error:
        raise _out_of_range(text, "day") from error
    year += moment.year - middle
    return f"{'-' if year < 0 else ''}{abs(year):04}-{moment:%m-%dT%H:%M:%SZ}"


def _misfit(text: str, rest: str, name: str) -> ValueError:
    return ValueError(f'parsing time {_quoted(text)} as "{_LAYOUT}": cannot parse {_quoted(rest)} as "{name}"')


def _out_of_range(text: str, what: str) -> ValueError:
    return ValueError(f"parsing time {_quoted(text)}: {what} out of range")


def _quoted(text: str) -> str:
    return f'"{"".join(_escaped(text))}"'


def _escaped(text: str) -> Iterator[str]:
    """Byte by byte: the package `time` has a way of its own to quote."""
    for byte in text.encode(errors="replace"):
        if byte < 0x20 or byte >= 0x80:
            yield f"\\x{byte:02x}"
        else:
            yield "\\" * (chr(byte) in '"\\') + chr(byte)
