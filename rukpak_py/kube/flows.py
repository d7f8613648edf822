"""Accounts as which requests are sent: how many of each are in flight, and until when the API server wants none.

Priority and fairness of the API server sees each account as a flow of its own, and so does this: an account with many
objects, or one that is told to wait, slows neither other accounts nor the operator itself.

* One account has a bounded number of requests in flight, all accounts together leave places to the operator.
* After a 429 no request of that account is sent before its time. A short first wait is sat through, once; after that,
  and for a longer one, requests fail at once with what is left of it: a caller that waits holds up others.
* An account of which nothing is in flight, and that need not wait, is forgotten.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

from rukpak_py.kube.places import SLOW_SECONDS, Places

EACH = 16  # requests of one account in flight
TOGETHER = 24  # of all accounts
PATIENCE = 1.5  # seconds of a wait that is sat through
ASSUMED_SECONDS = 1.0  # where the server names none


@dataclass(slots=True)
class Flow:
    """`held_until`: no request is sent before; `refused`: 429s in a row, those counted once that were sent together."""

    places: Places
    users: int = 0
    held_until: float = float("-inf")
    held_since: float = float("-inf")
    refused: int = 0

    def refuse(self, *, sent: float, now: float, seconds: float) -> None:
        """A request that was sent at that time was answered 429."""
        if sent >= self.held_since:
            self.refused += 1
            self.held_since = now
        self.held_until = max(self.held_until, now + (seconds or ASSUMED_SECONDS))

    def accept(self, *, sent: float) -> None:
        if sent >= self.held_since:
            self.refused = 0

    def left(self, now: float) -> float:
        """Seconds in which nothing is sent."""
        return max(0.0, self.held_until - now)

    def is_over(self, now: float) -> bool:
        """Whether a request that has to wait fails now, with what is left."""
        left = self.left(now)
        return left > 0 and (self.refused > 1 or left > PATIENCE)


@dataclass(kw_only=True)
class Flows:
    clock: Callable[[], float] = monotonic
    _flows: dict[str, Flow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._together = Places(TOGETHER, seconds=SLOW_SECONDS)

    def __len__(self) -> int:
        return len(self._flows)

    @asynccontextmanager
    async def of(self, user: str) -> AsyncIterator[Flow]:
        """The account for the time of a request with all its tries."""
        flow = self._flows.get(user)
        if flow is None:
            self._forget_idle()
            flow = self._flows[user] = Flow(places=Places(EACH, seconds=SLOW_SECONDS))
        flow.users += 1
        try:
            yield flow
        finally:
            flow.users -= 1
            self._forget_idle()

    @asynccontextmanager
    async def place(self, flow: Flow) -> AsyncIterator[None]:
        async with flow.places.one(), self._together.one():
            yield

    def _forget_idle(self) -> None:
        now = self.clock()
        for user in [user for user, flow in self._flows.items() if not flow.users and not flow.left(now)]:
            del self._flows[user]
