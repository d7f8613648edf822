"""Processes for work that must neither hold the event loop nor take the operator with it.

* At most `workers` calls run at once, each in a process of its own; a call that waits for its turn waits here, so that
  its time counts from its turn. A `lane` has fewer turns than there are workers: what it does never holds all of them.
* A call that takes too long, needs too much memory, or whose process dies, costs that process and no other call.
  It is run once more, in a new process: it may have been the machine, or what earlier calls left behind. What fails
  there too, used up its processor time, or needed too much memory of a process that had done nothing else, is a
  `ContentError`: it would fail again, for ever. What ends by SIGKILL there too, or took too long without using up its
  processor time, is an `UnavailableError`: a kernel without memory does the one, a busy machine the other.
* A process ends after a bounded number of calls, and with it the memory that it gathered, or when it idles.
* Reading what arrives and rendering what is installed have lanes of their own: neither keeps the other waiting.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, ParamSpec, TypeVar, cast

from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import Limits, readable_size
from rukpak_py.runtime.limits import container_memory, worker_memory
from rukpak_py.sources.spool import Spool
from rukpak_py.workers.child import CallAnswer, CallOutcome
from rukpak_py.workers.child_process import Reply, WorkerDiedError, WorkerProcess, pickled

LOG = logging.getLogger(__name__)

WORKERS = 3
NEED_ALL = 2  # of them need all of their memory at a time, it is assumed; docs/limits.md says what three may cause
CALLS_PER_PROCESS = 400
CALL_SECONDS = 120.0
PROCESSOR_SECONDS = 60.0
IDLE_SECONDS = 60.0
READERS: Final = 2
RENDERERS: Final = 2

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _AttemptError(Exception):
    """The failure of one process; its text ends a sentence that begins with the content."""

    def __init__(self, text: str, *, is_final: bool = False, may_pass: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final
        self.may_pass = may_pass


class WorkerProcesses:
    def __init__(
        self,
        workers: int = WORKERS,
        *,
        calls_per_process: int = CALLS_PER_PROCESS,
        seconds: float = CALL_SECONDS,
        processor_seconds: float = PROCESSOR_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        memory: int | None = None,
    ) -> None:
        """`memory`: bytes for each process; by default its share of what the container has.

        `processor_seconds`: for each call, without those of programs that it starts.
        """
        self._calls_per_process = calls_per_process
        self._seconds = seconds
        self._processor_seconds = processor_seconds
        self._idle_seconds = idle_seconds
        self._memory = memory or worker_memory(min(workers, NEED_ALL), container_memory())
        self._turns = asyncio.Semaphore(workers)
        self._processes: set[WorkerProcess] = set()
        self._idle: dict[WorkerProcess, asyncio.TimerHandle] = {}  # the one that was used last comes last
        self._closed = False

    async def run(
        self, call: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """The call's result, or the error that it raised. All of these must be picklable."""
        return await self.run_answering(None, call, *args, **kwargs)

    async def run_answering(
        self,
        reply: Reply | None,
        call: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """The same for a call that asks something in between. What it asks is as little trusted as its result."""
        async with self._turns:
            request = pickled((call, args, kwargs))
            try:
                return cast("Result", await self._attempt(request, reply, is_first=True))
            except _AttemptError as first:
                LOG.warning("a worker process failed: reading content %s", first)
                if first.is_final:
                    raise ContentError(f"reading this content {first}") from first
            try:
                return cast("Result", await self._attempt(request, reply, is_first=False))
            except _AttemptError as second:
                LOG.warning("a worker process failed again: reading content %s", second)
                if second.may_pass:
                    raise UnavailableError(f"reading this content {second}") from second
                raise ContentError(f"reading this content {second}") from second

    def lane(self, width: int) -> "WorkerLane":
        """Make a lane, through which at most `width` calls run at once."""
        return WorkerLane(self, width)

    async def close(self) -> None:
        """Calls that still run end with an `UnavailableError`."""
        self._closed = True
        for timer in self._idle.values():
            timer.cancel()
        self._idle.clear()
        await asyncio.gather(*(process.kill() for process in self._processes))

    async def _attempt(self, request: Sequence[bytes], reply: Reply | None, *, is_first: bool) -> object:
        process = await self._process(may_be_used=is_first)
        try:
            async with asyncio.timeout(self._seconds) as deadline:
                answer = await process.ask(request, reply)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            text = f"takes more than {self._seconds:g} s and was stopped; the machine may be busy, else make it smaller"
            raise _AttemptError(text, may_pass=True) from error
        except WorkerDiedError as error:
            self._demand_open()
            if error.used_up_its_time:
                text = f"takes more than {self._processor_seconds:g} s of processor time; make it smaller"
                raise _AttemptError(text, is_final=True) from error
            if error.was_killed:
                text = f"was cut short: a worker process {error}; the operator or its node may be short of memory"
                raise _AttemptError(text, may_pass=True) from error
            text = f"ended a worker process, which {error}; make it smaller, or report this if the content is correct"
            raise _AttemptError(text) from error
        finally:
            await self._give_back(process)
        return self._value(answer, calls=process.calls)

    def _value(self, answer: CallAnswer, *, calls: int) -> object:
        match answer.outcome:
            case CallOutcome.RAISED:
                raise answer.value
            case CallOutcome.OUT_OF_MEMORY:
                text = (
                    f"needs more than {readable_size(self._memory)} of memory, which is the limit of a worker process; "
                    "make it smaller, or raise the memory limit of the operator's container"
                )
                raise _AttemptError(text, is_final=calls == 1)
            case _:
                return answer.value

    async def _process(self, *, may_be_used: bool) -> WorkerProcess:
        self._demand_open()
        if self._idle and may_be_used:
            process, timer = self._idle.popitem()
            timer.cancel()
            return process
        process = await WorkerProcess.start(
            memory=self._memory, seconds=self._seconds, processor_seconds=self._processor_seconds
        )
        self._processes.add(process)
        try:
            self._demand_open()  # it may have been closed meanwhile
        except UnavailableError:
            await self._end(process)
            raise
        return process

    def _demand_open(self) -> None:
        if self._closed:
            raise UnavailableError("the worker processes have been stopped")

    async def _give_back(self, process: WorkerProcess) -> None:
        if self._closed or not process.is_ready or process.calls >= self._calls_per_process:
            await self._end(process)
        else:
            self._idle[process] = asyncio.get_running_loop().call_later(self._idle_seconds, self._retire, process)

    def _retire(self, process: WorkerProcess) -> None:
        del self._idle[process]
        self._processes.discard(process)
        process.release()

    async def _end(self, process: WorkerProcess) -> None:
        self._processes.discard(process)
        await process.kill()


class WorkerLane:
    """The sources' `Workers`."""

    def __init__(self, processes: WorkerProcesses, width: int) -> None:
        self._processes = processes
        self._turns = asyncio.Semaphore(width)

    async def run(
        self, call: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        return await self.run_answering(None, call, *args, **kwargs)

    async def run_answering(
        self,
        reply: Reply | None,
        call: Callable[Arguments, Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """See `WorkerProcesses`."""
        async with self._turns:
            return await self._processes.run_answering(reply, call, *args, **kwargs)


class ContentReading:
    """Means to receive and read content of others: temporary files, and lanes of worker processes."""

    def __init__(self, limits: Limits) -> None:
        self._processes = WorkerProcesses(seconds=max(CALL_SECONDS, limits.helm_seconds + CALL_SECONDS / 2))
        self.readers = self._processes.lane(READERS)
        self.renderers = self._processes.lane(RENDERERS)
        self.spool = Spool(limits)

    async def open(self) -> None:
        """Remove what processes that were killed have left behind."""
        await asyncio.to_thread(self.spool.remove_abandoned)

    async def close(self) -> None:
        await self._processes.close()
        await asyncio.to_thread(self.spool.close)
