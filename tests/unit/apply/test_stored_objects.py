"""A reading of stored objects that is cancelled ends with its thread, so no two of them ever hold memory at once."""

import asyncio
import threading

import pytest

from rukpak_py.apply.stored_objects import to_the_end


async def test_cancelled_caller_goes_on_once_the_thread_has_ended() -> None:
    begun, stop = threading.Event(), threading.Event()
    ended = []

    def work() -> None:
        begun.set()
        stop.wait(10)
        ended.append(True)

    caller = asyncio.create_task(to_the_end(asyncio.to_thread(work), on_cancel=stop.set))
    await asyncio.to_thread(begun.wait, 10)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert ended


async def test_error_of_the_thread_is_the_callers() -> None:
    def work() -> None:
        raise ValueError("a problem")

    with pytest.raises(ValueError, match="a problem"):
        await to_the_end(asyncio.to_thread(work))
