"""The header Retry-After: how long a server that refuses for now wants to be left alone."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST_SECONDS = 600.0  # whatever it says; a date may be far away


def retry_after(header: str | None, now: datetime) -> float | None:
    """The pause in seconds. None: the header names none, or none that can be read."""
    if not header:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), _LONGEST_SECONDS)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(max((at - now).total_seconds(), 0.0), _LONGEST_SECONDS)
