"""The work queue: what client-go's does, for keys of one kind, with two times for each key.

* A key stands in the queue at most once, however often it is added (`dirty`).
* A key is with at most one worker at a time (`processing`); when it is added meanwhile, it comes back after `done`.
* `add` asks for a look, `wake` for an attempt. A look reads and reports; only an attempt starts a job or counts as a
  try. After a failure, a look becomes an attempt when `attempt_at` has come or the key was woken, and not before.
* `schedule` says both times, and replaces those of the last look: `attempt_at`, and `report_at`, which brings a look.
* An attempt goes on while its job runs. A wake-up meanwhile counts for the attempt after it.
* Keys have places: so many are with workers at a time. A key that is for long with its worker gives its place to the
  next one, and there are more workers than places. When its schedule says that it is slow, its next looks have places
  of a lane beside, and keep them: slow keys hold up each other and no others.

Nothing here waits for anything but the next key, and no key is lost: an added key is dirty until a worker takes it.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

PLACES = 8
SLOW_PLACES = 8
WORKERS = 48  # what is for long with its worker is beside the places
EARLY_SECONDS = 0.001  # uvloop rounds to whole milliseconds: a timer may fire half of one before its time


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
class Turn:
    """State of a key that a worker took. `draw`: the random number of this turn's back-off."""

    is_attempt: bool = True
    failures: int = 0
    attempt_at: float | None = None
    back_off: BackOff = BackOff()
    draw: float = field(default=0.0, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The next steps of a key; times are those of the loop. Without failures and times the key is settled.

    `attempt_at` None after a failure: only a wake-up brings another attempt.
    """

    failures: int = 0
    attempt_at: float | None = None
    report_at: float | None = None
    is_under_way: bool = False  # a job of the attempt runs
    is_slow: bool = False  # the API server answers it slowly: other keys are not to wait for it

    @property
    def is_settled(self) -> bool:
        return not self.failures and self.next_at is None and not self.is_under_way

    @property
    def next_at(self) -> float | None:
        return min((at for at in (self.attempt_at, self.report_at) if at is not None), default=None)


SETTLED = Schedule()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Timer:
    due: float  # the loop's time; not every loop's handles know it
    handle: asyncio.Handle


class _Lane(Generic[Key]):
    """Keys that wait for one of its places, and those that have one."""

    def __init__(self, places: int) -> None:
        self.ready: deque[Key] = deque()
        self.taken: set[Key] = set()
        self._places = places

    @property
    def has_next(self) -> bool:
        return bool(self.ready) and len(self.taken) < self._places

    def next(self) -> Key | None:
        return self.ready.popleft() if self.has_next else None


class QueueClosed(Exception):  # noqa: N818 - not an error: it is how a worker learns that its work is over
    pass


class Queue(Generic[Key]):
    """All methods belong to the event loop's thread; from elsewhere use `loop.call_soon_threadsafe(queue.add, key)`."""

    def __init__(
        self,
        *,
        back_off: BackOff | None = None,
        draw: Callable[[], float] = random.random,
        places: int = PLACES,
        slow_places: int = SLOW_PLACES,
    ) -> None:
        self._back_off = back_off or BackOff()
        self._draw = draw
        self._quick_lane: _Lane[Key] = _Lane(places)
        self._slow_lane: _Lane[Key] = _Lane(slow_places)
        self._slow: set[Key] = set()
        self._dirty: set[Key] = set()
        self._processing: set[Key] = set()
        self._schedules: dict[Key, Schedule] = {}  # of keys that are not settled
        self._timers: dict[Key, _Timer] = {}
        self._awake: set[Key] = set()
        self._delayed: dict[Key, _Timer] = {}  # wake-ups
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
        """Whether no key waits for a worker or is with one; timers may still be running."""
        return not self._dirty and not self._processing

    def add(self, key: Key) -> None:
        if self._closed or key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._processing:
            self._push(key)

    def wake(self, key: Key, *, after: float = 0.0) -> None:
        """Make the next look of the key an attempt: what it failed for, or waits for, has changed.

        `after`: seconds; of several such wake-ups the earliest counts.
        """
        if self._closed:
            return
        if after > 0:
            self._arm(self._delayed, key, asyncio.get_running_loop().time() + after, self.wake)
            return
        self._awake.add(key)
        self.add(key)

    def turn(self, key: Key) -> Turn:
        """Begin a turn, once for each key that `get` gave. It spends a wake-up, unless an attempt is under way."""
        known = self._schedules.get(key)
        if known is None:
            self._awake.discard(key)
            return Turn(back_off=self._back_off, draw=self._draw())
        is_awake = key in self._awake
        if not known.is_under_way:
            self._awake.discard(key)
        is_due = known.attempt_at is not None and known.attempt_at <= asyncio.get_running_loop().time() + EARLY_SECONDS
        is_attempt = not known.failures or is_due or is_awake or known.is_under_way
        return Turn(
            is_attempt=is_attempt,
            failures=known.failures,
            attempt_at=known.attempt_at,
            back_off=self._back_off,
            draw=self._draw(),
        )

    def schedule(self, key: Key, schedule: Schedule) -> None:
        """Right after `done`: another worker may have the key after the next `await`."""
        if self._closed:
            return
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.handle.cancel()
        (self._slow.add if schedule.is_slow else self._slow.discard)(key)
        if schedule.is_settled:
            self._schedules.pop(key, None)
            return
        self._schedules[key] = schedule
        if schedule.next_at is not None:
            self._arm(self._timers, key, schedule.next_at, self.add)
        if key in self._awake and not schedule.is_under_way:
            self.add(key)

    async def get(self) -> Key:
        """The next key; raises `QueueClosed` once the queue is closed. Each `get` needs its `done`."""
        while (key := self._take()) is None and not self._closed:
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
        if key is None:
            raise QueueClosed
        return key

    def done(self, key: Key) -> None:
        self._processing.discard(key)
        self._give_place(key)
        if key in self._dirty:
            self._push(key)

    def lasts(self, key: Key) -> None:
        """The key is for long with its worker: its place is for the next one."""
        if key in self._quick_lane.taken:
            self._give_place(key)

    def close(self) -> None:
        """Give out no more keys; workers leave at their next `get`. What a worker holds it may finish."""
        self._closed = True
        for timers in (self._timers, self._delayed):
            for timer in timers.values():
                timer.handle.cancel()
            timers.clear()
        while self._waiters:
            self._wake_one()

    def _arm(self, timers: dict[Key, _Timer], key: Key, due: float, fire: Callable[[Key], None]) -> None:
        """The earlier of two times of a key stays."""
        known = timers.get(key)
        if known is not None:
            if known.due <= due:
                return
            known.handle.cancel()

        def fired() -> None:
            timers.pop(key, None)
            fire(key)

        timers[key] = _Timer(due=due, handle=asyncio.get_running_loop().call_at(due, fired))

    def _push(self, key: Key) -> None:
        self._quick_lane.ready.append(key)
        self._wake_one()

    def _take(self) -> Key | None:
        """The next key that has a place, taken."""
        if self._closed:
            return None
        while (key := self._quick_lane.next()) is not None and key in self._slow:
            self._slow_lane.ready.append(key)
        lane = self._quick_lane
        if key is None:
            key, lane = self._slow_lane.next(), self._slow_lane
        if key is not None:
            lane.taken.add(key)
            self._dirty.discard(key)
            self._processing.add(key)
            if self._quick_lane.has_next or self._slow_lane.has_next:
                self._wake_one()
        return key

    def _give_place(self, key: Key) -> None:
        for lane in (self._quick_lane, self._slow_lane):
            lane.taken.discard(key)
        self._wake_one()

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
