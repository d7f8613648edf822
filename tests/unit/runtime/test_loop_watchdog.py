"""A blocked event loop ends the process from another thread."""

import asyncio
import subprocess
import sys
import threading

import pytest

from rukpak_py.runtime.loop import LoopWatchdog
from tests.waiting import until

PATIENCE = 10.0
# A call of C that keeps the interpreter, as a regular expression does that never ends.
STALL = """
import asyncio, ctypes, os
from rukpak_py.runtime.loop import InterpreterTimer, LoopWatchdog

async def main():
    dog = LoopWatchdog(end=lambda: os._exit(9), hang_seconds=60, look_seconds=0.1, timer=InterpreterTimer(2))
    running = asyncio.create_task(dog.run())
    await asyncio.sleep(1)
    print("runs", flush=True)
    ctypes.PyDLL(None).sleep(100)

asyncio.run(main())
"""


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


def test_c_code_that_keeps_the_interpreter_ends_the_process() -> None:
    """No thread of Python runs then, and no signal is handled."""
    ended = subprocess.run([sys.executable, "-c", STALL], capture_output=True, timeout=60, check=False)
    assert ended.stdout == b"runs\n"
    assert ended.returncode == 1
    assert b"Timeout" in ended.stderr
    assert b"in main" in ended.stderr, "the stack says where"
