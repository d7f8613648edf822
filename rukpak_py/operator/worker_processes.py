"""Processes for work that must neither hold the event loop nor take the operator with it.

* At most `workers` calls run at once; who waits for its turn waits here, so that a call's time counts from its turn.
* A pool serves a bounded number of calls and is then replaced, and with it the memory of its processes. This is done
  here because `max_tasks_per_child` makes an executor hang (Python 3.11: a worker that ends is not always replaced).
* A call that takes too long, or a process that dies, costs the pool; other calls in it fail as well. All of these are
  `UnavailableError`: the caller tries again, with a new pool.
"""

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import ParamSpec, TypeVar

from rukpak_py.core.errors import UnavailableError

WORKERS = 2
CALLS_PER_POOL = 400
SECONDS_PER_CALL = 120.0

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class WorkerProcesses:
    def __init__(
        self, workers: int = WORKERS, *, calls_per_pool: int = CALLS_PER_POOL, seconds: float = SECONDS_PER_CALL
    ) -> None:
        self._workers = workers
        self._calls_per_pool = calls_per_pool
        self._seconds = seconds
        self._turns = asyncio.Semaphore(workers)
        self._pool: _Pool | None = None
        self._closed = False

    async def run(self, call: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        async with self._turns:
            pool = self._entered()
            try:
                return await self._run_in(pool, call, *args, **kwargs)
            except BrokenProcessPool as error:
                self._give_up(pool)
                raise UnavailableError("the worker that read this content died; it is tried again") from error
            except RuntimeError as error:
                if pool.is_alive:
                    raise
                raise UnavailableError("the worker processes have been stopped") from error
            finally:
                pool.running -= 1
                if pool is not self._pool and not pool.running:
                    pool.executor.shutdown(wait=False)

    async def _run_in(
        self, pool: "_Pool", call: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        try:
            async with asyncio.timeout(self._seconds) as deadline:
                # Submitting may start a process, which takes long enough to be felt.
                return await asyncio.wrap_future(await asyncio.to_thread(pool.executor.submit, call, *args, **kwargs))
        except TimeoutError as error:
            if not deadline.expired():
                raise
            self._give_up(pool)
            pool.kill()
            text = f"reading this content took more than {self._seconds:g} s and was stopped; it is tried again"
            raise UnavailableError(text) from error

    def close(self) -> None:
        """Calls that still run end with an `UnavailableError`."""
        self._closed = True
        if self._pool is not None:
            self._pool.kill()
            self._pool = None

    def _entered(self) -> "_Pool":
        """The pool for one more call. A pool that has served enough ends when its last call does."""
        if self._closed:
            raise UnavailableError("the worker processes have been stopped")
        if self._pool is not None and self._pool.calls >= self._calls_per_pool:
            self._give_up(self._pool)
        if self._pool is None:
            self._pool = _Pool(self._workers)
        self._pool.calls += 1
        self._pool.running += 1
        return self._pool

    def _give_up(self, pool: "_Pool") -> None:
        if pool is self._pool:  # another call may have replaced it already
            self._pool = None
            if not pool.running:
                pool.executor.shutdown(wait=False)


class _Pool:
    def __init__(self, workers: int) -> None:
        self.executor = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
        self.calls = 0
        self.running = 0
        self.is_alive = True

    def kill(self) -> None:
        """What runs in it breaks, nothing more can be submitted."""
        self.is_alive = False
        processes = self.executor._processes or {}  # noqa: SLF001 - the executor offers this from Python 3.14 on only
        self.executor.shutdown(wait=False)  # first, so that no process is started afterwards
        for process in list(processes.values()):
            process.kill()
