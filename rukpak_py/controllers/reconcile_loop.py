"""The worker: takes keys of the queue, one after the other, and has them reconciled."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import perf_counter

from rukpak_py.controllers.queue import Queue, QueueClosed, Schedule, Turn
from rukpak_py.controllers.result.errors import reason_of_request
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.logs import LASTING, about, one_reconcile
from rukpak_py.core.metrics import export_bugs_of, observe_reconcile

LASTING_SECONDS = 2.0  # a reconcile that lasts longer waits for slow answers, or has much to do

LOG = logging.getLogger(__name__)


async def work(kind: str, queue: Queue[str], reconcile: Callable[[str, Turn], Awaitable[Schedule]]) -> None:
    """Take keys until the queue is closed. No key's failure ends the worker: the next one may be fine."""
    export_bugs_of(kind)
    while True:
        try:
            key = await queue.get()
        except QueueClosed:
            return
        started, turn = perf_counter(), queue.turn(key)
        lasting = asyncio.get_running_loop().call_later(LASTING_SECONDS, queue.lasts, key)
        with about(kind, key), one_reconcile():
            try:
                schedule = await reconcile(key, turn)
                result = "retry" if turn.is_attempt and _is_tried_again(schedule, turn) else "done"
            except RukPakError as error:
                LASTING.tell(LOG, logging.WARNING, reason_of_request(error), str(error))
                schedule, result = failed(turn, at_least=error.retry_after), "error"
            except Exception:  # a bug in one reconcile must not stop those of all other keys
                LOG.exception("unexpected failure; this is a bug, please report it")
                schedule, result = failed(turn), "bug"
            else:
                if not schedule.failures:
                    LASTING.over(LOG)
            finally:
                lasting.cancel()
                queue.done(key)
        queue.schedule(key, schedule)
        observe_reconcile(kind, result, perf_counter() - started)


def failed(turn: Turn, *, at_least: float = 0.0) -> Schedule:
    """Schedule after a reconcile without a conclusion. A look at a key that has failed is no other failure."""
    if not turn.is_attempt and turn.attempt_at is not None:
        return Schedule(failures=turn.failures, attempt_at=turn.attempt_at)
    failures = turn.failures + 1
    pause = max(at_least, turn.back_off.delay(failures, turn.draw))
    return Schedule(failures=failures, attempt_at=asyncio.get_running_loop().time() + pause)


def _is_tried_again(schedule: Schedule, turn: Turn) -> bool:
    return schedule.failures > turn.failures and schedule.attempt_at is not None
