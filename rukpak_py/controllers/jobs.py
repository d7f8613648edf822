"""Work that takes longer than a reconcile may: fetching, rendering, hooks. One mechanism for all of it.

* Single-flight by key: while a job of a key runs, another one is not started.
* Lanes: at most `LANE_WIDTH` jobs of a lane run at a time, or as few as its user says, so what hangs (a registry)
  holds its own lane only.
* A deadline each, counted from the moment the job has its place in the lane.
* The end of a job adds the name to the queue again; the reconcile that this brings takes the result, once.
* `ContentBudget` bounds how many jobs hold content in memory, whatever their lanes; `KeyedLock` are for what may not
  happen twice at a time for one key.

A job of an object that is gone is cancelled, and its result is nobody's.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, TypeVar, cast

from rukpak_py.core.errors import RukPakError, UnavailableError

LOG = logging.getLogger(__name__)
LANE_WIDTH = 8
HOLDING_CONTENT = 4

T = TypeVar("T")
Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Finished(Generic[T]):
    """How a job ended: with a value, or with an error whose text is for the user."""

    value: T | None = None
    error: RukPakError | None = None

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return cast("T", self.value)


@dataclass(kw_only=True)
class _Lane:
    places: asyncio.Semaphore
    users: int = 0


@dataclass(kw_only=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class KeyedLock:
    """One at a time for each key, in the order of asking."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[None]:
        turn = self._turns.setdefault(key, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[key]


class ContentBudget:
    """Jobs take a place when content begins to arrive, not while they wait for somebody to send it."""

    def __init__(self, places: int = HOLDING_CONTENT) -> None:
        self._places = asyncio.Semaphore(places)

    @asynccontextmanager
    async def share(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """A job's share. Awaiting what it gives waits for a place, once; the end gives the place back."""
        has_place = False

        async def take() -> None:
            nonlocal has_place
            if not has_place:
                await self._places.acquire()
                has_place = True

        try:
            yield take
        finally:
            if has_place:
                self._places.release()


class Jobs(Generic[T]):
    def __init__(self, *, on_end: Callable[[str], None]) -> None:
        """`on_end` is called with the name that the job was started for."""
        self._on_end = on_end
        self._tasks: dict[Key, asyncio.Task[Finished[T]]] = {}
        self._lanes: dict[str, _Lane] = {}
        self._began: dict[Key, float] = {}  # when a job got its place

    def start(
        self,
        name: str,
        key: Key,
        work: Callable[[], Awaitable[T]],
        *,
        lane: str,
        deadline: float,
        width: int = LANE_WIDTH,
    ) -> None:
        """`key` begins with the uid of the object that the job is for. `width`: of the lane, the same for all of it."""
        if key not in self._tasks:
            run = self._run(key, work, deadline, lane=lane, width=width)
            task = asyncio.create_task(run, name=f"job of {name}")
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._on_end(name))

    def is_running(self, key: Key) -> bool:
        return key in self._tasks and not self._tasks[key].done()

    def seconds(self, key: Key) -> float:
        """How long the job has been at work; waiting for its place does not count."""
        return monotonic() - self._began[key] if key in self._began else 0.0

    def take(self, key: Key) -> Finished[T] | None:
        """The result of a job that has ended, once."""
        task = self._tasks.get(key)
        if task is None or not task.done():
            return None
        del self._tasks[key]
        return None if task.cancelled() else task.result()

    def drop_finished(self, uid: str) -> None:
        """Results that nobody has taken: what they were for has changed meanwhile."""
        for key in [key for key, task in self._tasks.items() if key[0] == uid and task.done()]:
            del self._tasks[key]

    def drop(self, uid: str) -> None:
        """The object is gone: its jobs end."""
        for key in [key for key in self._tasks if key[0] == uid]:
            self._tasks.pop(key).cancel()

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(
        self, key: Key, work: Callable[[], Awaitable[T]], deadline: float, *, lane: str, width: int
    ) -> Finished[T]:
        found = self._lanes.setdefault(lane, _Lane(places=asyncio.Semaphore(width)))
        found.users += 1
        try:
            async with found.places:
                self._began[key] = monotonic()
                return await _bounded(work, deadline)
        finally:
            self._began.pop(key, None)
            found.users -= 1
            if not found.users:
                self._lanes.pop(lane, None)


async def _bounded(work: Callable[[], Awaitable[T]], seconds: float) -> Finished[T]:
    try:
        async with asyncio.timeout(seconds) as deadline:
            return Finished(value=await work())
    except RukPakError as error:
        return Finished(error=error)
    except TimeoutError as error:
        if not deadline.expired():
            return _unexpected(error)
        return Finished(error=UnavailableError(f"it took more than {seconds:g} s and was stopped; retrying"))
    except Exception as error:  # noqa: BLE001 - a bug in one job must not take the result away
        return _unexpected(error)


def _unexpected(error: Exception) -> Finished[T]:
    LOG.error("unexpected failure; this is a bug, please report it", exc_info=error)
    return Finished(error=UnavailableError(f"unexpected {type(error).__name__}; this is a bug, please report it"))
