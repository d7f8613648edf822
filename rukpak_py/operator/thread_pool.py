"""Whether the threads for what blocks are free: the store on disk, certificates, tokens.

A pool whose threads all hang stops most of what the operator does, while its event loop runs on. A call that does
nothing goes through the pool every second: its last success is a heartbeat for the watchdog.
"""

import asyncio
import time
from collections.abc import Callable

BEAT_SECONDS = 1.0
NOT_READY_SECONDS = 15.0


class ThreadPoolMonitor:
    def __init__(self, *, clock: Callable[[], float] = time.monotonic, beat_seconds: float = BEAT_SECONDS) -> None:
        self._clock = clock
        self._beat_seconds = beat_seconds
        self.last_beat = clock()

    async def run(self) -> None:
        while True:
            await asyncio.to_thread(_nothing)
            self.last_beat = self._clock()
            await asyncio.sleep(self._beat_seconds)

    def exhausted(self) -> str | None:
        """For `/readyz`."""
        waited = self._clock() - self.last_beat
        return f"no thread has been free for {waited:.0f} s" if waited > NOT_READY_SECONDS else None


def _nothing() -> None:
    """To see that a thread runs."""
