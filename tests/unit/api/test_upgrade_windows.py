"""When windows are open, with time zones, changes of the clocks, and windows that cannot be read."""

from datetime import UTC, datetime, timedelta

import pytest

from rukpak_py.api.upgrade_windows import duration_of, windows_at
from rukpak_py.api.upgrades import UpgradeWindow

SUNDAYS = UpgradeWindow(start="0 2 * * 0", duration="4h", timezone="Europe/Paris")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_upgrades_may_always_begin_without_windows() -> None:
    assert windows_at((), at("2026-11-29T00:00:00")) == (True, None, ())


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        ("2026-11-29T00:59:59", "2026-11-29T01:00:00"),
        ("2026-11-29T01:00:00", None),
        ("2026-11-29T04:59:59", None),
        ("2026-11-29T05:00:00", "2026-12-06T01:00:00"),
        ("2026-03-29T00:30:00", "2026-03-29T01:00:00"),  # 02:00 is left out that night: it opens right after
        ("2026-10-25T00:00:00", None),  # 02:00 comes twice
    ],
)
def test_window_in_a_time_zone(now: str, opens: str | None) -> None:
    """None: it is open."""
    found = windows_at([SUNDAYS], at(now))
    assert (found.is_open, found.opens, found.wrong) == (opens is None, at(opens) if opens else None, ())


def test_any_window_that_is_open_counts_and_the_next_one_is_told() -> None:
    other = UpgradeWindow(start="30 12 * * *", duration="30m")
    assert windows_at([SUNDAYS, other], at("2026-11-26T12:45:00")).is_open
    assert windows_at([SUNDAYS, other], at("2026-11-28T13:00:00")).opens == at("2026-11-29T01:00:00")


@pytest.mark.parametrize(
    ("window", "why"),
    [
        (UpgradeWindow(start="0 2 * * x", duration="4h"), "'0 2 * * x' is not a cron expression: Bad day-of-week"),
        (UpgradeWindow(start="* 0 2 * * 0", duration="4h"), "'* 0 2 * * 0' does not have the five fields"),
        (UpgradeWindow(start="0 0 30 2 *", duration="4h"), "'0 0 30 2 *' is not a cron expression"),
        (UpgradeWindow(start="0 2 * * 0", duration="0h"), "'0h' is not a duration like 4h or 1h30m"),
        (UpgradeWindow(start="0 2 * * 0", duration="h"), "'h' is not a duration"),
        (UpgradeWindow(start="0 2 * * 0", duration="1h", timezone="Mars/Olympus"), "'Mars/Olympus' is not a time zone"),
        (UpgradeWindow(start="0 2 * * 0", duration="1h", timezone="../etc/passwd"), "is not a time zone"),
        (UpgradeWindow(start="0 2 * * 0", duration="1h", timezone=""), "'' is not a time zone"),
    ],
)
def test_window_that_cannot_be_read_is_never_open(window: UpgradeWindow, why: str) -> None:
    found = windows_at([window], at("2026-11-29T02:00:00"))
    assert (found.is_open, found.opens) == (False, None)
    assert found.wrong[0].startswith("spec.upgrades.windows[0]: ")
    assert why in found.wrong[0]


def test_durations() -> None:
    assert duration_of("1h30m") == timedelta(minutes=90)
    assert duration_of("90s") == timedelta(seconds=90)
    with pytest.raises(ValueError, match="not a duration"):
        duration_of("30m1h")
