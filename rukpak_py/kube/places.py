"""Places for requests, of which only a number is in flight at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter

from rukpak_py.core.metrics import LANE_IN_FLIGHT, LANE_WAIT

SLOW_SECONDS = 2.0  # for which a request has a place at most


class Places:
    """Places for requests of one lane. Those behind a slow request do not wait for it.

    A request that is still unanswered after a while gives its place to the next one and goes on without: an admission
    webhook that hangs holds up the requests that it is asked about and no others. How much is in flight then is bounded
    by the callers: by how many reconciles there are at a time, and how many requests each has.
    """

    def __init__(self, number: int, *, seconds: float | None = None, lane: str = "") -> None:
        """`seconds`: for which a request has its place at most; None: until its end. `lane`: its name in metrics."""
        self._free = asyncio.Semaphore(number)
        self._seconds = seconds
        self._lane = lane

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        began = perf_counter()
        await self._free.acquire()
        lane, is_held, timer = self._lane, True, None
        if lane:
            LANE_WAIT.labels(lane).observe(perf_counter() - began)
        self._count(lane, 1)

        def give(to: str) -> None:
            """`to`: the lane in which the request goes on."""
            nonlocal lane, is_held
            is_held = False
            self._free.release()
            self._count(lane, -1)
            lane = to if lane else ""
            self._count(lane, 1)

        if self._seconds is not None:
            timer = asyncio.get_running_loop().call_later(self._seconds, give, "slow")
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            if is_held:
                give("")
            else:
                self._count(lane, -1)

    @staticmethod
    def _count(lane: str, difference: int) -> None:
        if lane:
            LANE_IN_FLIGHT.labels(lane).inc(difference)
