"""Times of objects: RFC 3339 as Go's time.Parse reads it, written again in UTC to the second.

Go is milder than the standard (an hour of one digit, a comma before a fraction, offsets up to 24:60) and knows the
years 0 to 9999; an offset may lead one year further, so the calendar is computed in a cycle of 400 years that
`datetime` holds.
"""

import re
from datetime import UTC, datetime, timedelta

_TIME = re.compile(
    "([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_LAST_OFFSET_HOUR = 24
_LAST_OFFSET_MINUTE = 60
_CYCLE = 400
_MIDDLE = 2000
_ZERO = "0001-01-01T00:00:00Z"


def canonical(text: str) -> str | None:
    """The time in UTC, None for the zero time, which Go writes as null; ValueError for what is none."""
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
