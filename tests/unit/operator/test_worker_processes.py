"""Work in other processes: it never hangs, and what goes wrong there is told and costs nothing but a retry."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.operator.worker_processes import WorkerProcesses

PATIENCE = 60.0  # seconds; a process needs about one to start


@asynccontextmanager
async def working(
    workers: int = 2, *, calls_per_pool: int = 100, seconds: float = PATIENCE
) -> AsyncIterator[WorkerProcesses]:
    processes = WorkerProcesses(workers, calls_per_pool=calls_per_pool, seconds=seconds)
    try:
        async with asyncio.timeout(2 * PATIENCE):
            yield processes
    finally:
        processes.close()


def identity() -> int:
    return os.getpid()


def die() -> None:
    os._exit(3)


def wrong() -> None:
    raise ContentError("no good")


def late() -> None:
    raise TimeoutError("its own")


def hang() -> None:
    time.sleep(3600)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - processes tell nobody here when they end
            await asyncio.sleep(0.02)


async def test_more_calls_than_a_pool_serves_are_all_answered_by_several_pools() -> None:
    async with working(calls_per_pool=5) as processes:
        used = [
            pid
            for many in (8, 1, 2, 6)  # above and below the number of workers
            for pid in await asyncio.gather(*(processes.run(identity) for _ in range(many)))
        ]
        assert len(used) == 17
        assert len(set(used)) >= 4, "17 calls need four pools of five"
        assert os.getpid() not in used
        await eventually(lambda: sum(map(alive, set(used))) <= 2)  # the last pool's


async def test_failures_come_back_as_they_are() -> None:
    async with working(1) as processes:
        with pytest.raises(ContentError, match="no good"):
            await processes.run(wrong)
        with pytest.raises(TimeoutError, match="its own"):
            await processes.run(late)


async def test_after_a_worker_died_the_next_call_works() -> None:
    async with working() as processes:
        with pytest.raises(UnavailableError, match="died"):
            await processes.run(die)
        assert await processes.run(identity) != os.getpid()


async def test_all_calls_of_a_pool_that_broke_end_and_its_successor_is_kept() -> None:
    async with working() as processes:
        ends = await asyncio.gather(*(processes.run(die) for _ in range(4)), return_exceptions=True)
        assert [type(end) for end in ends] == [UnavailableError] * 4
        first = await processes.run(identity)
        assert alive(first)


async def test_a_call_that_takes_too_long_is_stopped_and_said_so() -> None:
    async with working(1, seconds=5) as processes:  # enough to start a process
        worker = await processes.run(identity)
        with pytest.raises(UnavailableError, match=r"took more than 5 s"):
            await processes.run(hang)
        await eventually(lambda: not alive(worker))
        assert await processes.run(identity) != worker


async def test_waiting_for_a_turn_does_not_count() -> None:
    async with working(1, seconds=5) as processes:
        hanging = asyncio.create_task(processes.run(hang))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(processes.run(identity))
        with pytest.raises(UnavailableError):
            await hanging
        assert await waiting != os.getpid()


async def test_closing_ends_what_runs() -> None:
    async with working(1) as processes:
        worker = await processes.run(identity)
        at_once = asyncio.create_task(processes.run(hang))
        waiting = asyncio.create_task(processes.run(identity))
        await asyncio.sleep(0)
        processes.close()
        for call in (at_once, waiting):
            with pytest.raises(UnavailableError):
                await call
        await eventually(lambda: not alive(worker))
        with pytest.raises(UnavailableError, match="stopped"):
            await processes.run(identity)
