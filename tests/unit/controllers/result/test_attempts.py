"""Number of requests to a source that fails at once, in half a minute, with all echoes and timers of the queue."""

from dataclasses import replace
from itertools import pairwise

import pytest

from rukpak_py.controllers.queue import SETTLED, BackOff, Schedule, Turn
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import KeyFacts
from rukpak_py.controllers.result.progress import NO_PROGRESS, Progress
from tests.unit.controllers.result.concluding import NEW_BUNDLE, at, fact, progress

SECONDS = 30.0
ECHO_SECONDS = 0.1  # until the event of a status write comes back
RESYNC_SECONDS = 1.0  # other events of the key
JOB_SECONDS = 0.3


class Source:
    """The key of one Bundle, as the queue brings it: `attempts` are the loop times at which its source is asked."""

    def __init__(self, cause: Cause, *, first_pause: float = 1.0, woken_at: float | None = None) -> None:
        self.attempts: list[float] = []
        self._cause = cause
        self._back_off = BackOff(first=first_pause)
        self._wakes = [] if woken_at is None else [woken_at]
        self._status = NEW_BUNDLE
        self._schedule = SETTLED
        self._job_ends: float | None = None
        self._echo: float | None = None

    def run(self) -> "Source":
        now = 0.0
        while now < SECONDS:
            self._look(now)
            now = min(time for time in self._times(now) if time is not None and time > now)
        return self

    def _look(self, now: float) -> None:
        self._echo = None
        key = KeyFacts(generation=1, turn=self._turn(now))
        found = conclude(self._status, self._result(now, is_attempt=key.turn.is_attempt), NO_PROGRESS, key, at(now))
        if found.status != self._status:
            self._status, self._echo = found.status, now + ECHO_SECONDS
        self._schedule = found.schedule

    def _turn(self, now: float) -> Turn:
        known: Schedule = self._schedule
        is_woken = any(wake <= now for wake in self._wakes)
        if not known.is_under_way:
            self._wakes = [wake for wake in self._wakes if wake > now]
        is_due = known.attempt_at is not None and known.attempt_at <= now
        is_attempt = not known.failures or is_due or is_woken or known.is_under_way
        turn = Turn(is_attempt=is_attempt, failures=known.failures, attempt_at=known.attempt_at)
        return replace(turn, back_off=self._back_off, draw=0.9)

    def _result(self, now: float, *, is_attempt: bool) -> Progress:
        if self._job_ends is not None and now >= self._job_ends:
            self._job_ends = None
            return progress(fact(self._cause, "no"))
        if self._job_ends is None and not is_attempt:
            return progress(fact(Cause.NOT_DUE))
        if self._job_ends is None:
            self.attempts.append(now)
            self._job_ends = now + JOB_SECONDS
        return progress(fact(Cause.JOB_RUNNING))

    def _times(self, now: float) -> list[float | None]:
        schedule = self._schedule
        return [
            schedule.attempt_at,
            schedule.report_at,
            self._job_ends,
            self._echo,
            *self._wakes,
            now + RESYNC_SECONDS,
        ]


@pytest.mark.parametrize(
    ("cause", "attempts"),
    [
        (Cause.FETCH_UNAVAILABLE, 6),
        (Cause.FETCH_CONFLICT, 6),
        (Cause.FETCH_FAILED, 6),
        (Cause.CONTENT_CHANGED, 6),
        (Cause.FETCH_DENIED, 1),
        (Cause.FETCH_CONTENT, 1),
        (Cause.CONTENT_LOST, 1),
        (Cause.UPLOAD_PENDING, 1),
        (Cause.IMAGE_PENDING, 1),
    ],
)
def test_a_failing_source_is_asked_at_most_six_times_in_half_a_minute(cause: Cause, attempts: int) -> None:
    assert len(Source(cause).run().attempts) == attempts


@pytest.mark.parametrize("cause", [Cause.FETCH_DENIED, Cause.FETCH_CONTENT, Cause.UPLOAD_PENDING, Cause.IMAGE_PENDING])
def test_a_wake_up_brings_the_next_attempt_at_once(cause: Cause) -> None:
    assert Source(cause, woken_at=20.0).run().attempts == [0.0, 20.0]


def test_the_pauses_grow_across_the_ends_of_jobs() -> None:
    attempts = Source(Cause.FETCH_UNAVAILABLE).run().attempts
    pauses = [after - before for before, after in pairwise(attempts)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 8 * pauses[0]


def test_a_shorter_first_pause_asks_more_often() -> None:
    assert len(Source(Cause.FETCH_UNAVAILABLE, first_pause=0.25).run().attempts) > 6
