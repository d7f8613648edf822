"""The connections of one port, and which of them gives way when there is no place for a new one.

A client proves with its first complete request that it means well, and the ones that must never be kept waiting (a
kubelet's probe, the API server's review) send theirs at once. So a new connection is taken, and one of these ends:

1. of the strangers that have not sent a complete request, the one that has been sending for longest;
2. of the strangers between two requests, the one that has been idle for longest;
3. of the strangers whose request is being answered, the one that has waited for longest, because real requests of
   strangers are answered within moments;
4. when all places are taken, of the admitted connections between two requests, the one that has been idle for longest.

The request of an admitted connection is never cut off for a new one; where every place has such a request, the new
connection is refused. A stranger is a connection whose client has shown no right yet. Where clients can show one,
strangers have only a part of the places, so however many there are, the others are left to clients that were admitted.
"""

import asyncio
from collections.abc import Callable, Iterable
from enum import Enum, auto

from rukpak_py.core.metrics import CONNECTIONS_ENDED


class Phase(Enum):
    ARRIVING = auto()  # a request is not complete yet, or the handshake before it
    ANSWERED = auto()  # a request is complete, its answer is not
    IDLE = auto()  # between two requests


class Connection:
    """One connection of a client. `end` ends it at once, whatever it does; it is called again without harm."""

    def __init__(self, end: Callable[["Connection"], None]) -> None:
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._deadline: asyncio.TimerHandle | None = None
        self._admission: asyncio.TimerHandle | None = None
        self._is_over = False
        self.transport: asyncio.Transport | None = None  # once aiohttp has the connection
        self.is_admitted = False
        self.phase = Phase.ARRIVING
        self.since = self._loop.time()

    def admitted_within(self, seconds: float) -> None:
        """The connection ends unless it is admitted in time, whatever it does."""
        self._admission = self._ends_in(seconds)

    def admit(self) -> None:
        self.is_admitted = True
        _cancel(self._admission)

    def arriving(self, seconds: float) -> None:
        """A request begins; the connection ends when it is not complete in time."""
        self._enter(Phase.ARRIVING)
        self._deadline = self._ends_in(seconds)

    def receiving(self) -> None:
        """The body of the request, which has its own deadline, is part of what has to arrive."""
        since = self.since
        self._enter(Phase.ARRIVING)
        self.since = since

    def forwarding(self) -> None:
        """Bytes went by. What they say is between the client and another replica."""
        self._enter(Phase.ARRIVING)

    def answering(self) -> None:
        since = self.since
        self._enter(Phase.ANSWERED)
        self.since = since

    def idle(self, seconds: float) -> None:
        """The answer is made; the connection ends when it was not taken, or no request came after it, in time."""
        self._enter(Phase.IDLE)
        self._deadline = self._ends_in(seconds)

    def end(self) -> None:
        self.ended()
        self._end(self)

    def ended(self) -> None:
        """Cancel the deadlines, and ignore those of a handler that ends later."""
        self._is_over = True
        _cancel(self._deadline)
        _cancel(self._admission)

    def _ends_in(self, seconds: float) -> asyncio.TimerHandle | None:
        """A timer would hold the connection, with its buffers for TLS, after its end."""
        return None if self._is_over else self._loop.call_later(seconds, self.end)

    def _enter(self, phase: Phase) -> None:
        _cancel(self._deadline)
        self.phase, self.since = phase, self._loop.time()


class Places:
    def __init__(self, port: str, *, capacity: int, strangers: int) -> None:
        """`strangers`: how many of the places connections may have that were not admitted."""
        self._port = port
        self._capacity = capacity
        self._strangers = strangers
        self._taken: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._taken)

    @property
    def admitted(self) -> int:
        return sum(one.is_admitted for one in self._taken)

    def take(self, connection: Connection) -> bool:
        """False: the new connection has to go."""
        is_full = len(self._taken) >= self._capacity
        has_room = not is_full and len(self) - self.admitted < self._strangers
        if not has_room and not self.make_room(is_full=is_full):
            CONNECTIONS_ENDED.labels(self._port, "refused").inc()
            return False
        self._taken[connection] = None
        return True

    def leave(self, connection: Connection) -> None:
        self._taken.pop(connection, None)

    def make_room(self, *, is_full: bool) -> bool:
        """End the connection whose turn it is; False: there is none."""
        victim = self._gives_way(is_full=is_full)
        if victim is None:
            return False
        CONNECTIONS_ENDED.labels(self._port, "gave way").inc()
        self.leave(victim)
        victim.end()
        return True

    def _gives_way(self, *, is_full: bool) -> Connection | None:
        strangers = [one for one in self._taken if not one.is_admitted]
        return (
            _longest(strangers, Phase.ARRIVING)
            or _longest(strangers, Phase.IDLE)
            or _longest(strangers, Phase.ANSWERED)
            or (_longest(self._taken, Phase.IDLE) if is_full else None)
        )


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def _longest(connections: Iterable[Connection], phase: Phase) -> Connection | None:
    return min((one for one in connections if one.phase is phase), key=lambda one: one.since, default=None)
