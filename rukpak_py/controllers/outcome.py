"""What a reconcile says about its next time, and the worker that acts on it."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter

from rukpak_py.api.conditions import Summary
from rukpak_py.controllers.queue import Queue, QueueClosed
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.logs import about
from rukpak_py.core.metrics import observe_reconcile

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """`settled`: all is well, the key's failures are forgotten. `retry`: with its back-off, `at_least` that long.
    `after`: at this pause, whatever the back-off says.

    With none of them the key comes back at the next event.
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


async def work(kind: str, queue: Queue[str], reconcile: Callable[[str], Awaitable[Outcome]]) -> None:
    """Take keys until the queue is closed. No key's failure ends the worker: the next one may be fine."""
    while True:
        try:
            key = await queue.get()
        except QueueClosed:
            return
        started = perf_counter()
        with about(kind, key):
            try:
                outcome = await reconcile(key)
                result = "retry" if outcome.retry else "done"
            except RukPakError as error:
                LOG.warning("%s", error)
                outcome, result = retry(error.retry_after), "error"
            except Exception:
                LOG.exception("unexpected failure; this is a bug, please report it")
                outcome, result = retry(), "bug"
            finally:
                queue.done(key)
        observe_reconcile(kind, result, perf_counter() - started)
        _act(queue, key, outcome)


def _act(queue: Queue[str], key: str, outcome: Outcome) -> None:
    if outcome.retry:
        queue.retry(key, at_least=outcome.at_least)
    if outcome.settled:
        queue.forget(key)
    if outcome.after is not None:
        queue.add_after(key, outcome.after)
