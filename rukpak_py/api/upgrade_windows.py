"""When the windows of upgrades are open: cron expressions, with a duration and a time zone each.

A window that cannot be read is never open. Around a change of the clocks a window opens as cron jobs of Debian do: one
that starts in the hour that is left out opens right after it, and one in the hour that comes twice opens once.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from rukpak_py.api.upgrades import DURATION, UpgradeWindow

_FIELDS = 5
_UNITS = re.compile(r"([0-9]{1,6})([hms])")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


class Windows(NamedTuple):
    """`opens`: when the next one opens, where none is open; None: never. `wrong`: what cannot be read of them."""

    is_open: bool
    opens: datetime | None
    wrong: tuple[str, ...] = ()


def windows_at(windows: Sequence[UpgradeWindow], now: datetime) -> Windows:
    """Without any window upgrades may always begin."""
    if not windows:
        return Windows(is_open=True, opens=None)
    opens, wrong = list[datetime](), list[str]()
    is_open = False
    for number, window in enumerate(windows):
        try:
            zone = ZoneInfo(window.timezone)
            local = now.astimezone(zone)
            began = next(_starts(window.start, local, reverse=True), None)
            upcoming = next(_starts(window.start, local), None)
            duration = duration_of(window.duration)
        except (CronSimError, ValueError, LookupError, OSError) as error:
            wrong.append(f"spec.upgrades.windows[{number}]: {_why(window, error)}")
            continue
        is_open = is_open or (began is not None and now < began.astimezone(UTC) + duration)
        opens += [upcoming.astimezone(UTC)] if upcoming is not None else []
    return Windows(is_open=is_open, opens=None if is_open else min(opens, default=None), wrong=tuple(wrong))


def duration_of(text: str) -> timedelta:
    """ValueError: it is none, or it is nothing at all."""
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in _UNITS.findall(text))
    if not re.fullmatch(DURATION, text) or not seconds:
        raise ValueError(f"{text!r} is not a duration like 4h or 1h30m")
    return timedelta(seconds=seconds)


def _starts(expression: str, local: datetime, *, reverse: bool = False) -> Iterator[datetime]:
    if len(expression.split()) != _FIELDS:
        raise ValueError(f"{expression!r} does not have the five fields of a cron expression")
    # A window is open at the second in which it starts.
    return CronSim(expression, local + timedelta(seconds=1) if reverse else local, reverse=reverse)


def _why(window: UpgradeWindow, error: Exception) -> str:
    if isinstance(error, CronSimError):
        return f"{window.start!r} is not a cron expression: {error}"
    if isinstance(error, LookupError | OSError) or "time zone" in str(error) or "key" in str(error).lower():
        return f"{window.timezone!r} is not a time zone"
    return str(error)
