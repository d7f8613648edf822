"""What a reconcile says about its next time, and the worker that acts on it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from rukpak_py.api.conditions import Summary
from rukpak_py.controllers.queue import Queue, QueueClosed, Schedule, Turn
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.logs import about
from rukpak_py.core.metrics import observe_reconcile

LOG = logging.getLogger(__name__)


class Pause(Protocol):
    def __call__(self, failures: int, *, at_least: float) -> float:
        """The seconds until the next attempt after so many failures in a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """When a key comes back, beside its events. Of the times, a look changes none but `after`.

    * `settled`: all is well, the failures of the key are forgotten.
    * `retry`: another attempt after the back-off, and after `at_least` seconds.
    * `after`: another look after so many seconds, whatever the back-off says.
    """

    settled: bool = False
    retry: bool = False
    at_least: float = 0.0
    after: float | None = None


DONE = Outcome(settled=True)
WAIT = Outcome()


def again(after: float) -> Outcome:
    return Outcome(after=after)


def retry(at_least: float = 0.0) -> Outcome:
    return Outcome(retry=True, at_least=at_least)


def retry_unless_stalled(summary: Summary, at_least: float = 0.0) -> Outcome:
    """What is reported as stalled is not tried again by itself: status and queue say the same."""
    return WAIT if summary is Summary.STALLED else retry(at_least)


def both(one: Outcome, other: Outcome) -> Outcome:
    """Two things were looked at under one key: it comes back when either of them needs it."""
    pauses = [outcome.after for outcome in (one, other) if outcome.after is not None]
    return Outcome(
        settled=one.settled and other.settled,
        retry=one.retry or other.retry,
        at_least=max(one.at_least, other.at_least),
        after=min(pauses) if pauses else None,
    )


async def work(kind: str, queue: Queue[str], reconcile: Callable[[str, Turn], Awaitable[Outcome | Schedule]]) -> None:
    """Take keys until the queue is closed. No key's failure ends the worker: the next one may be fine.

    A reconcile that concludes answers with the schedule itself.
    """
    while True:
        try:
            key = await queue.get()
        except QueueClosed:
            return
        started, turn = perf_counter(), queue.turn(key)
        with about(kind, key):
            try:
                outcome = await reconcile(key, turn)
                result = "retry" if turn.is_attempt and _is_tried_again(outcome, turn) else "done"
            except RukPakError as error:
                LOG.warning("%s", error)
                outcome, result = retry(error.retry_after), "error"
            except Exception:
                LOG.exception("unexpected failure; this is a bug, please report it")
                outcome, result = retry(), "bug"
            finally:
                queue.done(key)
        if not isinstance(outcome, Schedule):
            outcome = schedule(outcome, turn, asyncio.get_running_loop().time(), queue.pause)
        queue.schedule(key, outcome)
        observe_reconcile(kind, result, perf_counter() - started)


def _is_tried_again(outcome: Outcome | Schedule, turn: Turn) -> bool:
    if isinstance(outcome, Outcome):
        return outcome.retry
    return outcome.failures > turn.failures and outcome.attempt_at is not None


def schedule(outcome: Outcome, turn: Turn, now: float, pause: Pause) -> Schedule:
    report_at = now + outcome.after if outcome.after is not None else None
    failures, attempt_at = turn.failures, None if turn.is_attempt else turn.attempt_at
    counts = turn.is_attempt or turn.attempt_at is None  # a look at a key that has failed is no other failure
    if outcome.settled:
        failures, attempt_at = 0, None
    elif outcome.retry and counts:
        failures += 1
        attempt_at = now + pause(failures, at_least=outcome.at_least)
    return Schedule(failures=failures, attempt_at=attempt_at, report_at=report_at)
