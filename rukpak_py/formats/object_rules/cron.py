"""Schedules of CronJobs, as the API server parses them."""

import re
from typing import Final

_FIELDS: Final = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    ("day of week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_NAMED: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY: Final = re.compile(r"@every ([0-9.]{1,20}(ns|us|µs|ms|s|m|h)){1,6}")
_STEP: Final = re.compile(r"([^/]{1,20})(?:/([0-9]{1,9}))?")


def problem(schedule: str) -> str:
    """A sentence about what is wrong; empty where nothing is."""
    text = schedule.strip()
    if text.startswith(("TZ=", "CRON_TZ=")):
        return "a time zone belongs into timeZone"
    if text.startswith("@"):
        return "" if text in _NAMED or _EVERY.fullmatch(text) else "no such descriptor"
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields, and must have 5: minute, hour, day of month, month, day of week"
    for given, (name, least, most, names) in zip(fields, _FIELDS, strict=True):
        for one in given.split(","):
            if not _is_valid(one, least, most, names):
                return f'the field for the {name} is "{given[:40]}", and must be of {least} to {most}'
    return ""


def _is_valid(text: str, least: int, most: int, names: tuple[str, ...]) -> bool:
    match = _STEP.fullmatch(text)
    if match is None:
        return False
    span, step = match[1], match[2]
    if step is not None and int(step) == 0:
        return False
    if span in {"*", "?"}:
        return True
    first, dash, last = span.partition("-")
    begin = _number(first, least, names)
    end = _number(last, least, names) if dash else begin
    return begin is not None and end is not None and least <= begin <= end <= most


def _number(text: str, first: int, names: tuple[str, ...]) -> int | None:
    if text.lower() in names:
        return names.index(text.lower()) + first
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
