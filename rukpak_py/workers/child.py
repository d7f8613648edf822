"""A worker process: takes one call after the other from its standard input, and answers on its standard output.

Its arguments are its memory in bytes, and for each call its seconds, and its seconds of processor time.

A request is a pickle; so is an answer, behind eight bytes of its length. The first answer, `READY`, comes by itself.
Before a call has ended it may ask something of the operator (`asker`), which answers with one more pickle.
Its memory is bounded by the kernel, so that a call which needs more ends in a `MemoryError` here and nowhere else. It
ends with its input, by `SIGPROF` when a call used up its processor time, and by an alarm when it goes on after its
time: the operator may be gone. Both signals end it whatever it does, C code that holds the interpreter included. It
imports little but what its calls name, because it is started often.
"""

import os
import pickle
import resource
import signal
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rukpak_py.core.errors import RukPakError
from rukpak_py.workers.answers import loads

HEADER = struct.Struct(">Q")
_ASKING = threading.Lock()
GRACE_SECONDS = 30  # after which an operator that is alive has ended this process itself


class CallOutcome(Enum):
    READY = auto()
    RETURNED = auto()
    RAISED = auto()
    OUT_OF_MEMORY = auto()
    ASKS = auto()  # the call goes on with what the operator answers


class CallAnswer(NamedTuple):
    outcome: CallOutcome
    value: Any = None


@dataclass(kw_only=True, slots=True)
class _Asker:
    """The way of one call to the operator. A thread that the call leaves behind must not ask in the next one's name."""

    requests: BinaryIO
    answers: BinaryIO
    has_ended: bool = False

    def ask(self, question: object) -> Any:
        """One question at a time, whichever thread asks."""
        with _ASKING:
            if self.has_ended:
                raise RuntimeError("the call that asks has ended")
            _send(self.answers, _framed(CallAnswer(CallOutcome.ASKS, question)))
            return pickle.load(self.requests)  # noqa: S301 - from the operator

    def end(self) -> None:
        with _ASKING:
            self.has_ended = True


_askers: list[_Asker] = []  # of this process, while a call of it runs


def asker() -> Callable[[object], Any]:
    """A function that asks the operator, for the call that runs here and its threads. Afterwards it is an error."""
    return _askers[0].ask


def main() -> None:
    memory, seconds, processor_seconds = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the operator, which then ends its workers
    _bound_memory(memory)
    # The operator may be gone; closing the pipe to it fails then, too.
    with suppress(BrokenPipeError), os.fdopen(0, "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        _send(answers, _framed(CallAnswer(CallOutcome.READY)))
        while _serve(requests, answers, int(seconds) + GRACE_SECONDS, processor_seconds):
            pass


def _serve(requests: BinaryIO, answers: BinaryIO, seconds: int, processor_seconds: float) -> bool:
    """One request; whether there may be more."""
    try:
        call, args, kwargs = pickle.load(requests)  # noqa: S301 - from the operator
    except EOFError:
        return False
    except MemoryError:
        answer = None
    else:
        signal.alarm(seconds)
        signal.setitimer(signal.ITIMER_PROF, processor_seconds)
        _askers.append(_Asker(requests=requests, answers=answers))
        answer = _answer(call, args, kwargs)
        _askers.pop().end()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    _send(answers, answer or _framed(CallAnswer(CallOutcome.OUT_OF_MEMORY)))
    return answer is not None


def _answer(call: Callable[..., object], args: Any, kwargs: Any) -> bytes | None:
    """None: there was not enough memory. What was in use is free again only when this has returned."""
    try:
        return _framed(CallAnswer(CallOutcome.RETURNED, call(*args, **kwargs)))
    except MemoryError:
        return None
    except Exception as error:  # noqa: BLE001 - whatever it is, the operator is who must know
        return _framed(CallAnswer(CallOutcome.RAISED, _portable(error)))


def _portable(error: Exception) -> Exception:
    """Tracebacks do not travel; that of a bug is noted as text."""
    if not isinstance(error, RukPakError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - an error of any kind that cannot travel
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


def _framed(answer: CallAnswer) -> bytes:
    body = pickle.dumps(answer)
    return HEADER.pack(len(body)) + body


def _send(answers: BinaryIO, frame: bytes) -> None:
    answers.write(frame)
    answers.flush()


def _bound_memory(memory: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        memory = min(memory, hard)
    with suppress(OSError, ValueError):  # systems that know no such limit
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with suppress(OSError):  # when memory runs out all the same, the kernel should end this process first
        Path("/proc/self/oom_score_adj").write_text("1000")
