"""Waiting for what nobody announces to a test: the state of a server or of another process."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

INTERVAL = 0.05
PATIENCE = 30.0

T = TypeVar("T")


async def eventually(look: Callable[[], Awaitable[T | None]], *, what: str, seconds: float = PATIENCE) -> T:
    """The first answer that is neither None nor false."""
    deadline = time.monotonic() + seconds
    while True:
        answer = await look()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}; the last answer was {answer!r}")
        await asyncio.sleep(INTERVAL)


async def quiet(look: Callable[[], Awaitable[T]], *, seconds: float, patience: float = PATIENCE) -> T:
    """The answer once it has not changed for so long."""
    deadline = time.monotonic() + patience
    last, since = await look(), time.monotonic()
    while time.monotonic() - since < seconds:
        await asyncio.sleep(INTERVAL)
        answer = await look()
        if answer != last:
            last, since = answer, time.monotonic()
        if time.monotonic() > deadline:
            raise AssertionError(f"never the same for {seconds:.1f} s; the last answer was {last!r}")
    return last
