"""Fetch jobs: fetching, checking and storing content apart from the workers, one job per Bundle at a time.

A job never holds a worker. Its result is kept until the reconcile that its end brings back takes it. A job of a Bundle
that is gone is cancelled, and what it stored is swept later.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter

from rukpak_py.api.source import Source
from rukpak_py.controllers.ports import Content, Sources
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.core.metrics import FETCH_SECONDS

LOG = logging.getLogger(__name__)
AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    digest: str
    resolved: Source


@dataclass(frozen=True, kw_only=True)
class Failed:
    """`message` is what the condition says; the error's class decides what happens next."""

    message: str
    error: RukPakError


Result = Unpacked | Failed


async def unpack(sources: Sources, content: Content, *, source: Source, provisioner_class: str) -> Result:
    """One step after the other; each has its own prefix in the message (contract 2.3)."""
    prefix = "source bundle content: "
    try:
        fetched = await sources.fetch(source)
        prefix = ""
        await content.check(provisioner_class, fetched.tree)
        prefix = "persist bundle content: "
        return Unpacked(digest=await content.keep(fetched.tree), resolved=fetched.resolved)
    except RukPakError as error:
        return Failed(message=f"{prefix}{error}", error=error)
    except Exception as error:  # a bug in one source must not take a job's result away
        LOG.exception("unexpected failure; this is a bug, please report it")
        known = UnavailableError(f"unexpected {type(error).__name__}; this is a bug, please report it")
        return Failed(message=f"{prefix}{known}", error=known)


class Jobs:
    def __init__(self, *, on_end: Callable[[str], None]) -> None:
        self._on_end = on_end
        self._tasks: dict[str, asyncio.Task[Result]] = {}  # by uid: a new Bundle of the same name is another job
        self._slots = asyncio.Semaphore(AT_ONCE)

    def start(self, name: str, uid: str, source_type: str, job: Callable[[], Awaitable[Result]]) -> None:
        if uid not in self._tasks:
            task = asyncio.create_task(self._run(source_type, job), name=f"unpack {name}")
            self._tasks[uid] = task
            task.add_done_callback(lambda _: self._on_end(name))

    def is_running(self, uid: str) -> bool:
        return uid in self._tasks and not self._tasks[uid].done()

    def take(self, uid: str) -> Result | None:
        """The result of a job that has ended, once."""
        task = self._tasks.get(uid)
        if task is None or not task.done():
            return None
        del self._tasks[uid]
        return None if task.cancelled() else task.result()

    def drop(self, uid: str) -> None:
        task = self._tasks.pop(uid, None)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, source_type: str, job: Callable[[], Awaitable[Result]]) -> Result:
        async with self._slots:
            started = perf_counter()
            result = await job()
            label = "unpacked" if isinstance(result, Unpacked) else "failed"
            FETCH_SECONDS.labels(source_type, label).observe(perf_counter() - started)
            return result
