"""A blocked event loop ends the process from another thread."""

import asyncio
import threading

import pytest

from rukpak_py.operator.loop_watchdog import LoopWatchdog
from tests.waiting import until

PATIENCE = 10.0


async def test_a_loop_that_does_not_run_ends_the_process(caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    dog = LoopWatchdog(end=ended.set, hang_seconds=0.05, look_seconds=0.01)
    running = asyncio.create_task(dog.run())
    await asyncio.sleep(0)
    assert ended.wait(PATIENCE), "this blocks the loop"
    assert "the event loop hangs" in caplog.text
    running.cancel()


async def test_a_loop_that_runs_is_left_alone_and_the_thread_ends_with_it() -> None:
    ended = threading.Event()
    dog = LoopWatchdog(end=ended.set, hang_seconds=5, look_seconds=0.01)
    running = asyncio.create_task(dog.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await until(lambda: all(thread.name != "event loop watchdog" for thread in threading.enumerate()))
    assert not ended.is_set()
