"""Stacks of a process that hangs: SIGUSR1 has it write those of its threads and of its tasks to its log."""

import asyncio
import faulthandler
import gc
import signal
import sys
from collections.abc import Iterator
from typing import Any

SIGNAL = signal.SIGUSR1
END = "these were all tasks of all loops"


def write_at_signal() -> None:
    """The threads also where the main one is in C code that does not come back."""
    signal.signal(SIGNAL, _write_tasks)
    faulthandler.register(SIGNAL, chain=True)


def _write_tasks(*_: object) -> None:
    for task in gc.get_objects():
        if issubclass(type(task), asyncio.Task) and not task.done():
            sys.stderr.write("\n  ".join([f"task {task.get_name()}:", *_frames(task.get_coro())]) + "\n")
    sys.stderr.write(f"{END}\n")


def _frames(waiting: Any) -> Iterator[str]:
    """From the outermost on; what waits for something that is no coroutine ends it."""
    while (frame := getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)) is not None:
        yield f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)
    yield repr(waiting)
