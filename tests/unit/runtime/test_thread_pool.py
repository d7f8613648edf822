"""A pool of threads that all hang is noticed: the replica is not ready, and later its watchdog ends it."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from rukpak_py.runtime.watchdog import NOT_READY_SECONDS, ThreadPoolMonitor, Watchdog, WatchdogLimits
from tests.unit.controllers.fakes import Clock
from tests.waiting import until


async def test_an_exhausted_pool_is_told_until_a_thread_is_free() -> None:
    clock = Clock()
    monitor = ThreadPoolMonitor(clock=clock, beat_seconds=0.01)
    watchdog = Watchdog(
        watches=tuple, heartbeats=lambda: {"the thread pool": monitor.last_beat}, limits=WatchdogLimits(), clock=clock
    )
    with ThreadPoolExecutor(1) as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        running = asyncio.create_task(monitor.run())
        free = threading.Event()
        blocked = asyncio.get_running_loop().run_in_executor(None, free.wait)
        clock.now += NOT_READY_SECONDS + 1
        assert monitor.exhausted() == "no thread has been free for 16 s"
        assert watchdog.hanging() is None
        clock.now += 60
        assert watchdog.hanging() == "the thread pool hangs: no heartbeat for 76 s"
        free.set()
        await blocked
        await until(lambda: monitor.exhausted() is None)
        assert watchdog.hanging() is None
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
