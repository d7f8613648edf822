"""The work queue: what client-go's does, for keys of one kind.

* A key stands in the queue at most once, however often it is added (`dirty`).
* A key is with at most one worker at a time (`processing`); when it is added meanwhile, it comes back after `done`.
* `add_after` keeps, per key, only the earliest time; a plain `add` does not cancel it (waking twice is harmless).
* `retry` adds with a per-key exponential back-off and jitter; `forget` resets it.

Nothing here waits for anything but the next key, and no key is lost: an added key is dirty until a worker takes it.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class BackOff:
    """Seconds: `first`, doubled with every failure up to `most`, minus up to `jitter` of it."""

    first: float = 0.25
    most: float = 60.0
    jitter: float = 0.25

    def delay(self, failures: int, draw: float) -> float:
        """The pause after the n-th failure (counted from 1); `draw` is random in [0, 1)."""
        pause = min(self.most, self.first * 2.0 ** min(failures - 1, 32))
        return pause * (1 - self.jitter * draw)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Timer:
    due: float  # the loop's time; not every loop's handles know it
    handle: asyncio.Handle


class QueueClosed(Exception):  # noqa: N818 - not an error: it is how a worker learns that its work is over
    pass


class Queue(Generic[Key]):
    """All methods belong to the event loop's thread; from elsewhere use `loop.call_soon_threadsafe(queue.add, key)`."""

    def __init__(self, *, back_off: BackOff | None = None, draw: Callable[[], float] = random.random) -> None:
        self._back_off = back_off or BackOff()
        self._draw = draw
        self._ready: deque[Key] = deque()
        self._dirty: set[Key] = set()
        self._processing: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, _Timer] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def __len__(self) -> int:
        """Keys that wait for a worker now."""
        return len(self._dirty)

    @property
    def in_hand(self) -> frozenset[Key]:
        """Keys that are with a worker. What changes now may have been looked at already."""
        return frozenset(self._processing)

    @property
    def is_idle(self) -> bool:
        """No key waits for a worker or is with one; timers may still be running."""
        return not self._dirty and not self._processing

    def add(self, key: Key) -> None:
        if self._closed or key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._processing:
            self._push(key)

    def add_after(self, key: Key, delay: float) -> None:
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        known = self._timers.get(key)
        if known is not None:
            if known.due <= due:
                return
            known.handle.cancel()
        self._timers[key] = _Timer(due=due, handle=loop.call_at(due, self._timer_fired, key))

    def retry(self, key: Key, *, at_least: float = 0.0) -> float:
        """Come back after this key's back-off; the answer is the pause."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause = max(at_least, self._back_off.delay(failures, self._draw()))
        self.add_after(key, pause)
        return pause

    def forget(self, key: Key) -> None:
        """The key is well again: its next failure starts with the first pause."""
        self._failures.pop(key, None)

    async def get(self) -> Key:
        """The next key; raises `QueueClosed` once the queue is closed. Each `get` needs its `done`."""
        while not self._ready and not self._closed:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                # The wake-up may have been meant for us already: hand it on, or a key waits with workers idle.
                if waiter.done() and not waiter.cancelled():
                    self._wake_one()
                raise
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
        if self._closed:
            raise QueueClosed
        key = self._ready.popleft()
        self._dirty.discard(key)
        self._processing.add(key)
        return key

    def done(self, key: Key) -> None:
        self._processing.discard(key)
        if key in self._dirty:
            self._push(key)

    def close(self) -> None:
        """No key is given out any more; workers leave at their next `get`. What a worker holds it may finish."""
        self._closed = True
        for timer in self._timers.values():
            timer.handle.cancel()
        self._timers.clear()
        while self._waiters:
            self._wake_one()

    def _timer_fired(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _push(self, key: Key) -> None:
        self._ready.append(key)
        self._wake_one()

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
