"""The blocking steps of one fetch, one after the other, in threads. They have a limit for their time together.

What is between them does not count: a turn in a worker process, or room for the content.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")


class OutOfTimeError(Exception):
    """The steps took too long, and the last one was stopped."""


class Steps:
    def __init__(self, threads: Executor, *, seconds: float, stop: Callable[[], None]) -> None:
        """`stop` ends what runs soon, and everything that would be started."""
        self._threads = threads
        self._left = seconds
        self._stop = stop

    async def run(self, step: Callable[[], T]) -> T:
        """The thread has ended when this ends."""
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, step)
        begun = loop.time()
        try:
            async with asyncio.timeout(self._left) as deadline:
                return await asyncio.shield(running)
        except TimeoutError as error:
            await self._ended(running)
            if not deadline.expired():
                raise
            raise OutOfTimeError from error
        except BaseException:  # most often it was cancelled: its processes end first
            await self._ended(running)
            raise
        finally:
            self._left -= loop.time() - begun

    async def _ended(self, running: "asyncio.Future[T]") -> None:
        if not running.done():
            self._stop()
            await asyncio.wait([running])
            running.exception()  # that it was stopped is no news: asyncio would log it as never retrieved
