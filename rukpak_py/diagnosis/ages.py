"""Ages of objects, as kubectl prints them."""

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_YEAR = 365 * _DAY


def age_of(time: str, now: datetime | None = None) -> str:
    """Empty: the time is none. `now`: the time of the call unless a test says otherwise."""
    try:
        then = datetime.fromisoformat(time)
    except ValueError:
        return ""
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return duration(max(0, int(((now or datetime.now(UTC)) - then).total_seconds())))


def duration(seconds: int) -> str:
    """Two units while the first one is a small number, else one."""
    match seconds:
        case _ if seconds < 2 * _MINUTE:
            return f"{seconds}s"
        case _ if seconds < 10 * _MINUTE:
            return _two(seconds, _MINUTE, "m", 1, "s")
        case _ if seconds < 3 * _HOUR:
            return f"{seconds // _MINUTE}m"
        case _ if seconds < 8 * _HOUR:
            return _two(seconds, _HOUR, "h", _MINUTE, "m")
        case _ if seconds < 2 * _DAY:
            return f"{seconds // _HOUR}h"
        case _ if seconds < 8 * _DAY:
            return _two(seconds, _DAY, "d", _HOUR, "h")
        case _ if seconds < 2 * _YEAR:
            return f"{seconds // _DAY}d"
        case _ if seconds < 8 * _YEAR:
            return _two(seconds, _YEAR, "y", _DAY, "d")
        case _:
            return f"{seconds // _YEAR}y"


def _two(seconds: int, large: int, unit: str, small: int, rest_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{unit}{rest}{rest_unit}" if rest else f"{seconds // large}{unit}"
