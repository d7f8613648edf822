"""A wait that a watch or a job usually ends at once is reported only when it lasts."""

from dataclasses import replace

import pytest

from rukpak_py.api.conditions import Summary
from rukpak_py.apply.preflight.refusal import WaitsFor
from rukpak_py.controllers.deployment.stage import LOOK_AGAIN_SECONDS, QUIET_SECONDS, waiting, waiting_to_begin
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.outcome import again
from tests.unit.controllers.fakes import Clock

WAITS = WaitsFor(namespaces=frozenset({"n"}))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("rukpak_py.controllers.deployment.state.monotonic", clock)
    return clock


def test_the_first_second_is_quiet_and_the_key_comes_back_at_its_end(clock: Clock) -> None:
    state = DeploymentState()
    result = waiting(state, "x", "Waiting for x", WAITS)
    assert (result.report, result.outcome) == (None, again(QUIET_SECONDS))
    clock.now += 0.75
    result = waiting(state, "x", "Waiting for x", WAITS)
    assert (result.report, result.outcome) == (None, again(0.25))


def test_what_lasts_is_reported_as_progress_and_looked_at_from_time_to_time(clock: Clock) -> None:
    state = DeploymentState()
    waiting(state, "x", "Waiting for x")
    clock.now += QUIET_SECONDS
    result = waiting(state, "x", "Waiting for x", WAITS)
    assert result.report is not None
    assert (result.report.summary, result.report.message) == (Summary.PROGRESSING, "Waiting for x")
    assert result.outcome == again(LOOK_AGAIN_SECONDS), "a watch should end it, and may not"


def test_a_wait_that_is_over_begins_anew(clock: Clock) -> None:
    state = DeploymentState()
    waiting(state, "x", "Waiting for x")
    clock.now += QUIET_SECONDS
    state.waits.over("x")
    assert waiting(state, "x", "Waiting for x").report is None


def test_waits_for_different_things_are_counted_apart(clock: Clock) -> None:
    state = DeploymentState()
    waiting(state, "x", "Waiting for x")
    clock.now += QUIET_SECONDS
    assert waiting(state, "y", "Waiting for y").report is None
    assert waiting(state, "x", "Waiting for x").report is not None


@pytest.mark.parametrize("seconds", [0.0, QUIET_SECONDS])
def test_a_wait_is_ended_by_what_it_waits_for_and_says_whether_anything_was_written(
    clock: Clock, seconds: float
) -> None:
    state = DeploymentState()
    waiting(state, "x", "Waiting for x")
    clock.now += seconds
    result = waiting(state, "x", "Waiting for x", WAITS)
    assert not result.is_finished
    assert not result.wrote_nothing, "what is installed may be half replaced: it is not drift"
    assert result.waits_for == WAITS
    assert waiting_to_begin(state, "x", "Waiting for x", WAITS) == replace(result, wrote_nothing=True)
