"""Repairs at full speed until somebody fights them, then one a minute until two minutes were quiet."""

from datetime import UTC, datetime, timedelta

from rukpak_py.apply.serving_certificates.pace import REPAIRS, REST, RepairPace
from tests.unit.apply.lives import key

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = key()


def fought() -> RepairPace:
    pace = RepairPace()
    for _ in range(REPAIRS):
        assert pace.rests_until(KEY, NOW) is None
        pace.repaired(KEY, NOW)
    return pace


def test_a_fight_is_answered_once_a_minute() -> None:
    pace = fought()
    assert pace.rests_until(KEY, NOW) == NOW + REST
    assert pace.rests_until(key("other"), NOW) is None
    assert pace.rests_until(KEY, NOW + REST) is None
    pace.repaired(KEY, NOW + REST)
    assert pace.rests_until(KEY, NOW + REST) == NOW + 2 * REST


def test_two_quiet_minutes_end_it() -> None:
    pace, later = fought(), NOW + 2 * REST
    assert pace.rests_until(KEY, later) is None
    pace.repaired(KEY, later)
    assert pace.rests_until(KEY, later + timedelta(seconds=1)) is None
