"""Reads all objects of a kind and judges them, in bounded memory whatever their number and sizes.

They come in pages. A page that is too large is asked for again with fewer objects. Objects are decoded one at a time,
in a thread: an event loop that judged 500 objects at once would do nothing else meanwhile. A reading that is cancelled
ends when its thread has ended, which is after the object in hand.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from rukpak_py.apply.crd_safety.judging import Offences, judge
from rukpak_py.apply.crd_safety.upgrade import Comparison
from rukpak_py.core.limits import MIB
from rukpak_py.kube.client import PAGE, Client
from rukpak_py.kube.errors import AnswerTooLargeError, GoneError
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import Resource

PAGE_BYTES = 12 * MIB
FEWER = 8  # times fewer objects in the next try

_Result = TypeVar("_Result")


async def judge_stored(client: Client, resource: Resource, comparisons: Sequence[Comparison]) -> tuple[Offences, ...]:
    """The offences of all objects, for each comparison. A list that took too long is begun once more."""
    try:
        return await _judge_all(client, resource, comparisons)
    except GoneError:
        return await _judge_all(client, resource, comparisons)


async def _judge_all(client: Client, resource: Resource, comparisons: Sequence[Comparison]) -> tuple[Offences, ...]:
    found = tuple(Offences(version=one.version) for one in comparisons)
    limit, token = PAGE, ""
    while True:
        try:
            page = await client.list_page(resource, limit=limit, token=token, full=True, most=PAGE_BYTES)
        except AnswerTooLargeError:
            if limit == 1:
                raise
            limit = max(limit // FEWER, 1)
            continue
        token = page.token
        await _judge_in_thread(page.items, comparisons, found)
        del page
        if not token:
            return found


async def _judge_in_thread(
    items: list[LiveObject], comparisons: Sequence[Comparison], found: Sequence[Offences]
) -> None:
    stop = threading.Event()
    await to_the_end(asyncio.to_thread(_judge_page, items, comparisons, found, stop), on_cancel=stop.set)


def _judge_page(
    items: list[LiveObject], comparisons: Sequence[Comparison], found: Sequence[Offences], stop: threading.Event
) -> None:
    for live in items:
        if stop.is_set():
            return
        name = f"{live.key.namespace}/{live.key.name}" if live.key.namespace else live.key.name
        for comparison, offences in zip(comparisons, found, strict=True):
            offences.add(name, judge(live.json or b"{}", comparison))


async def to_the_end(job: Awaitable[_Result], *, on_cancel: Callable[[], None] = lambda: None) -> _Result:
    """Await what a thread does. A caller that is cancelled goes on only once the thread has ended: it holds memory."""
    task = asyncio.ensure_future(job)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        on_cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # asyncio logs an error that is never asked for
        raise
