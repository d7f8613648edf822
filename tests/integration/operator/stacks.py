"""Where a process that hangs is: SIGUSR1 has it write the stacks of its threads and of its tasks to its log."""

import asyncio
import faulthandler
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

SIGNAL = signal.SIGUSR1
END = "these were all tasks"


def write_at_signal() -> None:
    signal.signal(SIGNAL, _write)


def _write(*_: object) -> None:
    faulthandler.dump_traceback(file=sys.stderr)
    with suppress(RuntimeError):  # no loop runs yet, or any more
        for task in asyncio.all_tasks():
            sys.stderr.write("\n  ".join([f"task {task.get_name()}:", *_frames(task.get_coro())]) + "\n")
    sys.stderr.write(f"{END}\n")


def _frames(waiting: Any) -> Iterator[str]:
    """From the outermost on; what waits for something that is no coroutine ends it."""
    while (frame := getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)) is not None:
        yield f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)
    yield repr(waiting)
