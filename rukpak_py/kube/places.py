"""Places for requests, of which only a number is in flight at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SLOW_SECONDS = 2.0  # for which a request has a place at most


class Places:
    """Places for requests of one lane. Those behind a slow request do not wait for it.

    A request that is still unanswered after a while gives its place to the next one and goes on without: an admission
    webhook that hangs holds up the requests that it is asked about and no others. How much is in flight then is bounded
    by the callers: by how many reconciles there are at a time, and how many requests each has.
    """

    def __init__(self, number: int, *, seconds: float | None = None) -> None:
        """`seconds`: for which a request has its place at most; None: until its end."""
        self._free = asyncio.Semaphore(number)
        self._seconds = seconds

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        await self._free.acquire()
        if self._seconds is None:
            try:
                yield
            finally:
                self._free.release()
            return
        is_held = True

        def give() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                self._free.release()

        timer = asyncio.get_running_loop().call_later(self._seconds, give)
        try:
            yield
        finally:
            timer.cancel()
            give()
