"""Repairs go at full speed until another client fights them, then one a minute until two minutes were quiet."""

from rukpak_py.core.repair_backoff import REPAIRS, REST_SECONDS, RepairBackoff
from tests.unit.apply.lives import key


def resting_after(backoff: RepairBackoff, now: float) -> float:
    """Repairs one object each second until it is left alone; the time of the next look."""
    for _ in range(REPAIRS):
        assert not backoff.resting([key("a")], now)
        backoff.repaired([key("a")], now)
        now += 1
    return now


def test_contested_object_is_repaired_once_a_minute_until_two_are_quiet() -> None:
    backoff, a = RepairBackoff(), key("a")
    now = resting_after(backoff, 0.0)
    for _ in range(3):
        assert backoff.resting([a, key("b")], now) == {a}
        now += REST_SECONDS
        assert not backoff.resting([a], now), "one more try"
        backoff.repaired([a], now)
    now += 2 * REST_SECONDS
    assert not backoff.resting([a], now)
    backoff.repaired([a], now)
    assert not backoff.resting([a], now + 1), "a clean slate"


def test_repairs_with_quiet_minutes_between_them_are_no_conflict() -> None:
    backoff = RepairBackoff()
    for number in range(2 * REPAIRS):
        now = number * 2 * REST_SECONDS
        assert not backoff.resting([key("a")], now)
        backoff.repaired([key("a")], now)


def test_conflict_is_reported_once_and_the_next_one_anew() -> None:
    backoff, resting = RepairBackoff(), frozenset({key("a")})
    assert backoff.is_reported(frozenset()), "there is nothing to report"
    assert not backoff.is_reported(resting)
    now = resting_after(backoff, 0.0)
    backoff.report(resting, {key("a"): ["x"]})
    assert backoff.is_reported(backoff.resting(resting, now))
    assert backoff.managers == {key("a"): ["x"]}
    assert not backoff.is_reported(resting | {key("b")}), "another one joined it"
    now = resting_after(backoff, now + 2 * REST_SECONDS)
    assert not backoff.is_reported(backoff.resting(resting, now)), "somebody else may make this one"


def test_rest_ends_a_minute_after_the_last_repair() -> None:
    backoff = RepairBackoff()
    backoff.repaired([key("a")] * REPAIRS, 7.0)
    assert backoff.rests_until(key("a"), 7.0) == 7.0 + REST_SECONDS
    assert backoff.rests_until(key("b"), 7.0) is None
    assert backoff.rests_until(key("a"), 7.0 + REST_SECONDS) is None


def test_slow_opponent_does_not_make_repairs_rest_where_only_quick_ones_count() -> None:
    backoff = RepairBackoff(repairs=20, rest=10.0, within=60.0)
    for number in range(100):
        assert not backoff.resting([key("a")], number * 5.0)
        backoff.repaired([key("a")], number * 5.0)


def test_quick_opponent_makes_repairs_rest_where_only_quick_ones_count() -> None:
    backoff = RepairBackoff(repairs=20, rest=10.0, within=60.0)
    backoff.repaired([key("a")] * 20, 0.0)
    assert backoff.rests_until(key("a"), 1.0) == 10.0


def test_managers_of_a_conflict_that_is_over_are_forgotten() -> None:
    backoff = RepairBackoff()
    backoff.report(frozenset({key("b")}), {key("a"): ["x"], key("b"): ["y"]})
    assert backoff.managers == {key("b"): ["y"]}
