"""Time that a registry may take, and work that it may make, checked before every read of one of its sockets.

* What is asked for has a time until its body begins: connecting, tokens, redirects and repetitions included. A small
  answer (a manifest, a configuration) ends within it, however its bytes arrive.
* The body of a layer has a rate instead, over a window of `WINDOW_SECONDS`, so that a slow link is not taken for a
  hostile server. Where a layer is read on, both go on, too.
* The whole pull has a time.
* Single bytes, in segments or chunks, make the operator work for each of them. Work beyond what honest
  answers cost is a share of the time at most: the pull waits meanwhile, and the bytes gather in the kernel.

A registry that did not say a word may say more to a node. One that is too slow may not: a kubelet pulls one image
after the other, and a pod would make all other pods of its node wait for this registry.

One thread at a time uses it. What it raises is final: nothing is tried again.
"""

import io
from dataclasses import dataclass
from http.client import HTTPResponse
from math import inf
from threading import Event
from time import monotonic, thread_time
from typing import Any, Final

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import KIB, Limits, readable_size, variable_of
from rukpak_py.sources.image.unpack_methods import NotForOperatorError

WINDOW_SECONDS: Final = 30.0
SILENCE_SECONDS: Final = 60.0  # without a byte
LONGEST_HEADERS: Final = 128 * KIB  # servers refuse more than 8 to 64 KiB of them
_WORK_SHARE: Final = 0.01  # of the time, in which the processor may work for one pull beyond what is fair
_FAIR_FOR_REQUEST: Final = 0.02  # seconds of the processor; about five times what was measured, TLS included
_FAIR_FOR_BYTE: Final = 30e-9  # checksums, TLS and the disk need a fifth of it
_MOST_CREDIT: Final = 0.1
_MOST_DEBT: Final = 0.01  # before the pull waits
_LONGEST_PAUSE: Final = 1.0


class TooSlowError(UnavailableError):
    """The server answers, but not in time."""


@dataclass(kw_only=True)
class _Window:
    """The bytes of a layer that arrived in the seconds that were spent reading it."""

    used: float = 0.0
    at: float = 0.0  # when that was looked at
    received: int = 0


class Pace:
    def __init__(self, limits: Limits, aborted: Event) -> None:
        """The time of the pull begins now."""
        self._limits = limits
        self._aborted = aborted
        self._ends = monotonic() + limits.image_seconds
        self._answer_ends = inf
        self._answer_left = 0.0  # seconds, for a layer that is read on
        self._host = "the registry"
        self._has_answered = False
        self._window = _Window()
        self._is_layer = False
        self._debt = 0.0  # seconds of the processor
        self._debt_at = (monotonic(), thread_time())

    def begin(self) -> None:
        """Begin the time of another request."""
        self._answer_ends = monotonic() + self._limits.image_answer_seconds
        self._window = _Window()
        self._is_layer = False

    def ask(self, host: str) -> None:
        """A request for it is about to be made, in this thread."""
        if self._is_layer:
            self._is_layer = False
            self._answer_ends = monotonic() + self._answer_left
        self._host = host
        self._has_answered = False
        self._debt = max(self._debt - _FAIR_FOR_REQUEST, -_MOST_CREDIT)
        self._debt_at = (monotonic(), thread_time())

    def read_layer(self) -> None:
        """The body of the answer is a layer, or the rest of one."""
        now = monotonic()
        self._answer_left = self._answer_ends - now
        self._answer_ends = inf
        self._window.at = now
        self._is_layer = True

    def patience(self) -> float:
        """The seconds that the next bytes may be waited for; an `UnavailableError` when that time is over."""
        self._pay()
        if self._aborted.is_set():
            raise UnavailableError("it was ended")
        now = monotonic()
        if now >= self._ends:
            raise TooSlowError(
                f"the image takes more than {self._limits.image_seconds} s to arrive from {self._host} "
                f"({variable_of('image_seconds')} sets it)"
            )
        if now >= self._answer_ends:
            raise self._late()
        return min(SILENCE_SECONDS, self._ends - now, self._answer_ends - now, self._left_of_window(now))

    def received(self, size: int) -> None:
        self._has_answered = True
        self._debt -= size * _FAIR_FOR_BYTE
        if self._is_layer:
            self._window.received += size

    def _late(self) -> UnavailableError:
        seconds = f"{self._limits.image_answer_seconds} s ({variable_of('image_answer_seconds')} sets it)"
        if not self._has_answered:
            return NotForOperatorError(f"{self._host} does not answer: timed out after {seconds}")
        return TooSlowError(f"{self._host} is too slow: its answer takes more than {seconds}")

    def _left_of_window(self, now: float) -> float:
        """A new one begins when enough has arrived in the last one."""
        if not self._is_layer:
            return inf
        window = self._window
        window.used, window.at = window.used + now - window.at, now
        if window.used >= WINDOW_SECONDS:
            if window.received < self._limits.image_rate * window.used:
                raise TooSlowError(
                    f"{self._host} is too slow: {readable_size(window.received)} of a layer in {window.used:.0f} s, "
                    f"less than {readable_size(self._limits.image_rate)} per second "
                    f"({variable_of('image_rate')} sets it)"
                )
            self._window = window = _Window(at=now)
        return WINDOW_SECONDS - window.used

    def _pay(self) -> None:
        """Wait, where the bytes that arrived were much work."""
        now, worked = monotonic(), thread_time()
        before, worked_before = self._debt_at
        self._debt_at = (now, worked)
        self._debt += worked - worked_before - _WORK_SHARE * (now - before)
        self._debt = max(self._debt, -_MOST_CREDIT)
        if self._debt > _MOST_DEBT:
            self._aborted.wait(min(self._debt / _WORK_SHARE, _LONGEST_PAUSE))


def paced_response(pace: Pace) -> type[HTTPResponse]:
    """The class that a connection reads its answers with."""

    class Response(HTTPResponse):
        def __init__(self, sock: Any, *args: Any, **more: Any) -> None:
            self._stream = _PacedStream(sock, pace)
            super().__init__(self._stream, *args, **more)  # type: ignore[arg-type]  # of a socket it is the file that counts

        def begin(self, *args: Any, **more: Any) -> None:  # newer versions of Python give it a limit
            self._stream.left = LONGEST_HEADERS
            super().begin(*args, **more)
            self._stream.left = None

    return Response


class _PacedStream(io.RawIOBase):
    """The bytes that a socket receives. `left`: how many there may be; None: any number."""

    def __init__(self, sock: Any, pace: Pace) -> None:
        super().__init__()
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._pace = pace
        self.left: int | None = None

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Make a reader, as the method of a socket does."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        patience = self._pace.patience()
        self._sock.settimeout(patience)
        try:
            size: int | None = self._raw.readinto(buffer)
        except TimeoutError:
            self._pace.patience()  # says why, unless it was silence
            raise
        self._pace.received(size or 0)
        if self.left is not None:
            self.left -= size or 0
            if self.left < 0:
                raise UnavailableError(f"an answer has more than {readable_size(LONGEST_HEADERS)} of headers")
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()
