"""How fast the API server answers for one deployment, and what follows: how many requests it has in flight, and when a
look at it has used its time.

An admission webhook that answers slowly does so for the objects of some namespaces or kinds, so that one deployment is
slow and its neighbours are not. Each has a pace of its own, which outlives a look.

* Before anything is known there are few places; each quick answer adds one.
* Slow answers take places away: what is in flight stays about the same number of seconds of the server's time.
* A stage that writes ends early only while answers are slow: however many objects there are, quick answers are never
  cut short. It has begun something by then, so that each look gets on.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from rukpak_py.core.errors import RukPakError

Item = TypeVar("Item")

AT_ONCE = 16  # requests of one deployment; the client bounds the process
FIRST_PLACES = 4
SLOW_SECONDS = 2.0  # an answer that takes longer is slow
STAGE_SECONDS = 5.0  # in which a stage of a slow deployment begins requests


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowAnswer:
    """`request`: what was asked, and of which object."""

    request: str
    seconds: float


class Pace:
    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seconds = 0.0  # of an answer, smoothed
        self._places = float(FIRST_PLACES)
        self._began = float("-inf")
        self.slowest: SlowAnswer | None = None  # since the stage began

    def begin(self) -> None:
        """A stage that sends many requests."""
        self._began = self._clock()
        self.slowest = None

    def answered(self, request: str, seconds: float) -> None:
        self._seconds = (self._seconds + seconds) / 2
        room = AT_ONCE * SLOW_SECONDS / max(SLOW_SECONDS, self._seconds)
        self._places = max(1.0, min(self._places + 1, room))
        if seconds >= SLOW_SECONDS and (self.slowest is None or seconds > self.slowest.seconds):
            self.slowest = SlowAnswer(request=request, seconds=seconds)

    @property
    def places(self) -> int:
        """Requests in flight at a time."""
        return int(self._places)

    @property
    def is_slow(self) -> bool:
        return self._seconds >= SLOW_SECONDS

    @property
    def is_over(self) -> bool:
        """The stage begins nothing more; the next look goes on."""
        return self.is_slow and self._clock() - self._began >= STAGE_SECONDS


async def run_bounded(
    work: Callable[[Item], Awaitable[None]], items: Iterable[Item], *, pace: Pace | None = None
) -> list[Item]:
    """`work` on all items, a bounded number at a time; the first exception ends the rest and is raised.

    `pace` says how many at a time, and when it is over. Returns the items that were not begun by then.
    """
    waiting, running, has_failed = deque(items), 0, False

    def may_begin() -> bool:
        if pace is None:
            return running < AT_ONCE
        return running < pace.places and not pace.is_over

    async def run(item: Item) -> None:
        nonlocal running, has_failed
        try:
            await work(item)
        except BaseException:  # a cancellation, too: the group ends, and nothing more may begin in it
            has_failed = True
            raise
        running -= 1
        if not has_failed:
            begin()

    def begin() -> None:
        nonlocal running
        while waiting and may_begin():
            running += 1
            group.create_task(run(waiting.popleft()))

    try:
        async with asyncio.TaskGroup() as group:
            begin()
    except ExceptionGroup as failures:
        expected = failures.subgroup(RukPakError)
        if expected is None or failures.split(RukPakError)[1] is not None:
            raise  # a bug among them
        raise _first(expected) from None
    return list(waiting)


def _first(group: BaseExceptionGroup[RukPakError]) -> RukPakError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


class Backoff:
    """Doubling, bounded waits, with full jitter so that many callers do not come back together."""

    def __init__(self, *, first: float, limit: float, chance: Callable[[], float] = random.random) -> None:
        self._first = first
        self._limit = limit
        self._chance = chance
        self._failures = 0

    @property
    def failures(self) -> int:
        return self._failures

    def next(self, at_least: float | None = None) -> float:
        """The wait after one more failure: between half and all of the doubled time, and at least `at_least`."""
        whole = min(self._limit, self._first * float(1 << min(self._failures, 30)))
        self._failures += 1
        return (at_least or 0.0) + whole * (0.5 + 0.5 * self._chance())

    def reset(self) -> None:
        self._failures = 0
