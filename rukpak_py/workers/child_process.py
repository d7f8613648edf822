"""One worker process, from the operator's side. See `worker` for the other one.

A request is trusted there. An answer is not trusted here: content may have come to own the process that read it. See
`answers` for what it may be made of.
"""

import asyncio
import os
import pickle
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Self, cast

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.text import excerpt
from rukpak_py.workers.answers import loads
from rukpak_py.workers.child import HEADER, CallAnswer, CallOutcome

Reply = Callable[[object], Awaitable[object]]
START_SECONDS = 60.0
LARGE_FRAME = 256 * 1024  # bytes; from here on a thread reads it
_BUFFER = 1 << 20
_SHOWN = 200  # characters of what is wrong with an answer
_UNREADABLE = "gave an answer that cannot be read"
_PROXY = re.compile(
    r"_proxy$", re.IGNORECASE
)  # the URL of a proxy may hold its password, and no content is fetched there
_PROGRAM = "from rukpak_py.workers.child import main; main()"


class _Parts(list[bytes]):
    """A file for a pickler: the bytes of files stay those of their Tree."""

    write = list.append


def pickled(value: object) -> Sequence[bytes]:
    parts = _Parts()
    pickle.Pickler(parts).dump(value)
    return parts


class WorkerDiedError(Exception):
    """The process is of no more use, and has not answered; the text says what it did."""

    used_up_its_time = False
    was_killed = False  # from outside: by the kernel without memory, or by hand

    @classmethod
    def of_code(cls, code: int) -> Self:
        error = cls(_ending(code))
        error.used_up_its_time = code == -signal.SIGPROF
        error.was_killed = code == -signal.SIGKILL
        return error


class WorkerProcess:
    def __init__(self, process: Process, *, memory: int) -> None:
        self._process = process
        self._largest = memory  # bytes of an answer, which it has in its memory as a whole
        self._requests = cast("asyncio.StreamWriter", process.stdin)  # both are pipes
        self._answers = cast("asyncio.StreamReader", process.stdout)
        self.calls = 0
        self.is_ready = False  # neither starting, nor at work, nor spoilt

    @classmethod
    async def start(cls, *, memory: int, seconds: float, processor_seconds: float) -> Self:
        """UnavailableError when it does not come up: no content is at fault then."""
        # Without the working directory, and with what this process imports from.
        bounds = (str(memory), str(seconds), str(processor_seconds))
        arguments = [sys.executable, "-P", "-c", _PROGRAM, *bounds]
        environment = {name: value for name, value in os.environ.items() if not _PROXY.search(name)}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments, stdin=PIPE, stdout=PIPE, env=environment, limit=_BUFFER
            )
        except OSError as error:
            raise UnavailableError(f"a worker process cannot be started: {error}") from error
        worker = cls(process, memory=memory)
        try:
            async with asyncio.timeout(START_SECONDS):
                await worker._answer()
        except (WorkerDiedError, TimeoutError) as error:
            why = str(error) or f"was not ready within {START_SECONDS:g} s"
            raise UnavailableError(f"a worker process cannot be started: it {why}") from error
        finally:
            if not worker.is_ready:
                await worker.kill()
        return worker

    async def ask(self, request: Sequence[bytes], reply: Reply | None = None) -> CallAnswer:
        """One at a time. A caller that does not wait for the answer has to end the process: it is not ready any more.

        `reply` says what the call gets that asks something in between; None: it may not.
        """
        self.is_ready = False
        self.calls += 1
        await self._send(request)
        while (answer := await self._answer()).outcome is CallOutcome.ASKS:
            if reply is None:
                raise WorkerDiedError("asked for what it has no use for")
            await self._send(pickled(await reply(answer.value)))
        return answer

    async def _send(self, request: Sequence[bytes]) -> None:
        with suppress(ConnectionError):  # what it answered, or how it ended, says more
            for part in request:
                self._requests.write(part)
                await self._requests.drain()

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        self._requests.close()
        await self._process.wait()

    def release(self) -> None:
        """Close the requests, after which the process ends by itself."""
        self._requests.close()

    async def _answer(self) -> CallAnswer:
        try:
            (size,) = HEADER.unpack(await self._answers.readexactly(HEADER.size))
            if size > self._largest:
                raise WorkerDiedError(_UNREADABLE)
            body = await self._answers.readexactly(size)
        except asyncio.IncompleteReadError as error:
            raise WorkerDiedError.of_code(await self._process.wait()) from error
        try:
            answer = loads(body) if size < LARGE_FRAME else await asyncio.to_thread(loads, body)
        except Exception as error:
            raise WorkerDiedError(f"{_UNREADABLE} ({excerpt(str(error), _SHOWN)})") from error
        if not isinstance(answer, CallAnswer) or not _is_sound(answer):
            raise WorkerDiedError(_UNREADABLE)
        self.is_ready = answer.outcome not in {CallOutcome.OUT_OF_MEMORY, CallOutcome.ASKS}
        return answer


def _is_sound(answer: CallAnswer) -> bool:
    """Whether a value to raise is an error, and none that means something else here, such as the end of the process."""
    return isinstance(answer.outcome, CallOutcome) and (
        answer.outcome is not CallOutcome.RAISED or isinstance(answer.value, Exception)
    )


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"
