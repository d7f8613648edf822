"""Work that takes longer than a reconcile may: fetching and rendering. One mechanism for all of it.

* Single-flight by key: while a job of a key runs, another one is not started.
* Lanes: at most `LANE_WIDTH` jobs of a lane run at a time, or as few as its user says, so what hangs (a registry)
  holds its own lane only.
* A deadline each, counted from the moment the job has its place in the lane.
* The end of a job adds the name to the queue again; the reconcile that this brings takes the result, once.
* Jobs of one object in one slot supersede each other: one that waits gives its place in the lane to its successor, one
  that runs is cancelled, a result is dropped. So however often what is wanted changes, one is there, for the latest.
* `ContentBudget` bounds how many jobs hold content in memory, whatever their lanes; `KeyedLock` are for what may not
  happen twice at a time for one key.

A job of an object that is gone is cancelled, and its result is dropped.
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
    """The end of a job: a value, or an error whose text is for the user."""

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


@dataclass(kw_only=True, eq=False)
class _Job(Generic[T]):
    """A job. Its work is settled when it gets its place; until then a successor may replace it."""

    key: Key
    work: Callable[[], Awaitable[T]]
    deadline: float
    lane: str
    slot: str
    task: asyncio.Task[Finished[T]] | None = None
    began: float | None = None  # when it got its place; None: it waits, or has ended

    @property
    def is_done(self) -> bool:
        return self.task is not None and self.task.done()

    @property
    def is_waiting(self) -> bool:
        return self.began is None and not self.is_done

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()


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
    """Jobs take a place when content begins to arrive, not while they wait for a server to send it."""

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
        self._jobs: dict[Key, _Job[T]] = {}
        self._lanes: dict[str, _Lane] = {}

    def __len__(self) -> int:
        """Number of jobs that wait or run, and of results that were not taken."""
        return len(self._jobs)

    def start(
        self,
        name: str,
        key: Key,
        work: Callable[[], Awaitable[T]],
        *,
        lane: str,
        deadline: float,
        width: int = LANE_WIDTH,
        slot: str = "",
    ) -> None:
        """`key` begins with the uid of the object that the job is for. `width`: of the lane, the same for all of it.

        `slot`: the job supersedes another one of this object in it; empty: none.
        """
        if key in self._jobs:
            return
        if slot and self._take_over(key, work, deadline, lane=lane, slot=slot):
            return
        job = _Job(key=key, work=work, deadline=deadline, lane=lane, slot=slot)
        self._jobs[key] = job
        job.task = asyncio.create_task(self._run(job, width=width), name=f"job of {name}")
        job.task.add_done_callback(lambda _: self._on_end(name))

    def is_running(self, key: Key) -> bool:
        return key in self._jobs and not self._jobs[key].is_done

    def seconds(self, key: Key) -> float:
        """Time for which the job has been at work; waiting for its place does not count."""
        job = self._jobs.get(key)
        return monotonic() - job.began if job is not None and job.began is not None else 0.0

    def take(self, key: Key) -> Finished[T] | None:
        """The result of a job that has ended, once."""
        job = self._jobs.get(key)
        if job is None or job.task is None or not job.is_done:
            return None
        del self._jobs[key]
        return None if job.task.cancelled() else job.task.result()

    def drop_finished(self, uid: str, *, slot: str = "") -> None:
        """Drop the results in the slot that were not taken: what they were for has changed meanwhile."""
        for job in self._of(uid):
            if job.slot == slot and job.is_done:
                del self._jobs[job.key]

    def drop_superseded(self, uid: str, *, slot: str, but: Key) -> None:
        """Drop the jobs in the slot but that of this key, the only one that is wanted now."""
        for job in self._of(uid):
            if job.slot == slot and job.key != but:
                self._drop(job)

    def drop(self, uid: str) -> None:
        """The object is gone: its jobs end."""
        for job in self._of(uid):
            self._drop(job)

    async def close(self) -> None:
        jobs = list(self._jobs.values())
        self._jobs.clear()
        for job in jobs:
            job.cancel()
        await asyncio.gather(*(job.task for job in jobs if job.task is not None), return_exceptions=True)

    def _of(self, uid: str) -> list[_Job[T]]:
        return [job for key, job in self._jobs.items() if key[0] == uid]

    def _drop(self, job: _Job[T]) -> None:
        del self._jobs[job.key]
        job.cancel()

    def _take_over(self, key: Key, work: Callable[[], Awaitable[T]], deadline: float, *, lane: str, slot: str) -> bool:
        """Whether one waited whose place it has now: at the end of the lane, a successor of its own might be sooner."""
        for job in self._of(key[0]):
            if job.slot != slot:
                continue
            if job.is_waiting and job.lane == lane:
                self._jobs[key] = self._jobs.pop(job.key)
                job.key, job.work, job.deadline = key, work, deadline
                return True
            self._drop(job)
        return False

    async def _run(self, job: _Job[T], *, width: int) -> Finished[T]:
        found = self._lanes.setdefault(job.lane, _Lane(places=asyncio.Semaphore(width)))
        found.users += 1
        try:
            async with found.places:
                job.began = monotonic()
                return await _bounded(job.work, job.deadline)
        finally:
            job.began = None
            found.users -= 1
            if not found.users:
                self._lanes.pop(job.lane, None)


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
