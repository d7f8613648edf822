"""Waiting for states that are not announced to a test: of a server, or of another process, thread or task.

A test waits for what it sees, never for a time. Every wait has a deadline, and ends at it with a TimeoutError.
`e2e.waiting` is for those that have no event loop.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from time import monotonic
from typing import TypeVar

from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import Resource

INTERVAL_SECONDS = 0.05
PATIENCE_SECONDS = 90.0  # far more than any wait takes on a busy machine: only a failure lasts so long
TURNS = 100  # of the loop, in which a task of this process comes further; what takes longer waits for something else
SHORT_INTERVAL_SECONDS = 0.01

T = TypeVar("T")


async def eventually(look: Callable[[], Awaitable[T | None]], *, what: str, seconds: float = PATIENCE_SECONDS) -> T:
    """The first answer that is true."""
    deadline = monotonic() + seconds
    while True:
        answer = await look()
        if answer:
            return answer
        if monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:.0f} s: {what}; the last answer was {answer!r}")
        await asyncio.sleep(INTERVAL_SECONDS)


async def until(condition: Callable[[], object], *, seconds: float = PATIENCE_SECONDS) -> None:
    """For what can be seen without asking anybody."""
    turns = 0
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0 if turns < TURNS else SHORT_INTERVAL_SECONDS)
            turns += 1


async def until_gone(
    client: Client, resource: Resource, namespace: str, name: str, *, seconds: float = PATIENCE_SECONDS
) -> None:
    async def is_gone() -> bool:
        try:
            await client.get_metadata(resource, namespace, name)
        except NotFoundError:
            return True
        return False

    await eventually(is_gone, what=f"{resource.gvk.kind} {name} is gone", seconds=seconds)


async def quiet(
    look: Callable[[], Awaitable[T]],
    *,
    seconds: float,
    patience: float = PATIENCE_SECONDS,
    interval: float = INTERVAL_SECONDS,
) -> T:
    """The answer once it has not changed for so long."""
    deadline = monotonic() + patience
    last, since = await look(), monotonic()
    while monotonic() - since < seconds:
        if monotonic() > deadline:
            raise TimeoutError(f"never the same for {seconds:.1f} s; the last answer was {last!r}")
        await asyncio.sleep(interval)
        answer = await look()
        if answer != last:
            last, since = answer, monotonic()
    return last


async def during(seconds: float) -> AsyncIterator[None]:
    """Turns for so long, in each of which to look for what must not happen."""
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        yield
        await asyncio.sleep(INTERVAL_SECONDS)
