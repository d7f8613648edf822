"""The event loop: uvloop, with what it does wrong when a connection breaks put right, and a watchdog of its own.

A socket that is handed to uvloop's `create_connection` belongs to the new transport, and its number is closed with it.
When the peer resets it while the TLS handshake starts, the transport is closed before it knows the Python socket, and
the socket is not told; when it is collected it closes its number a second time, which by then may be a watch. What
arrives for a TLS connection that we are closing is still read, and that uvloop cannot answer it is reported as a fatal
error with a traceback, though nothing of the connection is wanted any more.

A loop that is blocked serves no probes, renews no lease and cannot end itself. A thread counts its beats: it gives up
after `hang_seconds` of its own looks without one, so that a process that was stopped as a whole is not taken for one
that hangs. C code that does not let go of the interpreter stops that thread as well. So the thread starts the timer of
`faulthandler` again at each look: a thread in C, which needs no interpreter and ends the process when the timer is not
started again in time. It cannot tell a process that was stopped: one that was stopped for longer than `hang_seconds`
may end when it goes on, and the lease is lost by then.
"""

import asyncio
import faulthandler
import logging
import threading
from collections.abc import Callable
from socket import socket
from typing import Any

import uvloop

from rukpak_py.core.metrics import LOOP_LAG


class Loop(uvloop.Loop):
    async def create_connection(
        self, protocol_factory: Callable[[], Any], *arguments: Any, sock: socket | None = None, **options: Any
    ) -> tuple[Any, Any]:
        try:
            return await super().create_connection(protocol_factory, *arguments, sock=sock, **options)
        except BaseException as error:
            # Arguments are refused by TypeError and ValueError, and then the socket is still the caller's; a
            # certificate that is not trusted is a ValueError too, but it is an OSError first.
            refused = isinstance(error, TypeError | ValueError) and not isinstance(error, OSError)
            if sock is not None and not refused:
                sock.detach()
            raise

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not _is_of_a_closed_connection(context):
            super().call_exception_handler(context)


def _is_of_a_closed_connection(context: dict[str, Any]) -> bool:
    error = context.get("exception")
    is_of_tls = context.get("message") == "Fatal error on SSL protocol"
    return is_of_tls and isinstance(error, RuntimeError) and str(error).endswith("the handler is closed")


LOG = logging.getLogger(__name__)
BEAT_SECONDS = 0.1
LOOK_SECONDS = 1.0
HANG_SECONDS = 60.0


class InterpreterTimer:
    """Ends the process, with the stacks of all threads on stderr, unless it is started again in time.

    There is one in a process.
    """

    def __init__(self, seconds: float = HANG_SECONDS) -> None:
        self._seconds = seconds

    def start(self) -> None:
        faulthandler.dump_traceback_later(self._seconds, exit=True)

    def stop(self) -> None:
        faulthandler.cancel_dump_traceback_later()


class LoopWatchdog:
    def __init__(
        self,
        *,
        end: Callable[[], None],
        hang_seconds: float = HANG_SECONDS,
        look_seconds: float = LOOK_SECONDS,
        timer: InterpreterTimer | None = None,
    ) -> None:
        """`end` ends the process, from another thread, at once. `timer`: for when no thread of Python runs."""
        self._end = end
        self._looks = max(1, round(hang_seconds / look_seconds))
        self._look_seconds = look_seconds
        self._beats = 0
        self._stopped = threading.Event()
        self._timer = timer

    async def run(self) -> None:
        """Run in the loop that is guarded, until cancelled."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._guard, name="event loop watchdog", daemon=True).start()
        try:
            while True:
                due = loop.time() + BEAT_SECONDS
                await asyncio.sleep(BEAT_SECONDS)
                LOOP_LAG.observe(max(0.0, loop.time() - due))
                self._beats += 1
        finally:
            self._stopped.set()

    def _guard(self) -> None:
        seen, without = -1, 0
        while not self._stopped.wait(self._look_seconds):
            if self._timer is not None:
                self._timer.start()
            without = without + 1 if self._beats == seen else 0
            seen = self._beats
            if without >= self._looks:
                LOG.critical("the event loop hangs: no beat for %.0f s; the process ends", without * self._look_seconds)
                faulthandler.dump_traceback()
                self._end()
                return
        if self._timer is not None:
            self._timer.stop()
