"""Steps of a fetch have one time together, and none is left running."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from rukpak_py.sources.git.checkout import OutOfTimeError, Steps
from tests.waiting import until


def steps(*, seconds: float, stop: Event) -> Steps:
    return Steps(ThreadPoolExecutor(1), seconds=seconds, stop=stop.set)


async def test_a_step_that_takes_too_long_is_stopped_and_has_ended() -> None:
    stop, ended = Event(), Event()

    def wait() -> None:
        stop.wait()
        ended.set()

    with pytest.raises(OutOfTimeError):
        await steps(seconds=0, stop=stop).run(wait)
    assert ended.is_set()


async def test_time_that_one_step_took_is_not_left_for_the_next() -> None:
    both = steps(seconds=60, stop=Event())
    left = [both._left]
    for _ in range(2):
        await both.run(lambda: time.sleep(0.01))  # the step is to take some time, and nothing waits for it
        left.append(both._left)
    assert left == sorted(set(left), reverse=True)


async def test_a_step_that_fails_stops_nothing() -> None:
    """A system call may have a time limit of its own."""
    stop = Event()
    failing = steps(seconds=60, stop=stop)

    def fail() -> None:
        raise TimeoutError("of a system call")

    with pytest.raises(TimeoutError, match="of a system call"):
        await failing.run(fail)
    assert not stop.is_set()
    assert await failing.run(lambda: 1) == 1


async def test_a_step_that_is_cancelled_has_ended() -> None:
    stop, begun, ended = Event(), Event(), Event()

    def wait() -> None:
        begun.set()
        stop.wait()
        ended.set()

    running = asyncio.create_task(steps(seconds=60, stop=stop).run(wait))
    await until(begun.is_set)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()
