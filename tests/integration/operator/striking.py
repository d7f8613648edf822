"""Rules for the proxy that do something at a chosen request: kill, wait, let two meet."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from aiohttp import web

from tests.integration.proxy import Cut, Exchange

PATIENCE = 30.0


class When(Enum):
    BEFORE = "before"  # the server never sees the request
    AFTER = "after"  # the server has carried it out, the operator never hears of it


@dataclass(frozen=True, kw_only=True)
class Point:
    """The `nth` request that matches, counted from 1."""

    name: str
    when: When
    match: Callable[[Exchange], bool]
    nth: int = 1


class Strike:
    """At the point something dies, and the connection with it."""

    def __init__(self, point: Point, kill: Callable[[], None]) -> None:
        self.fired = asyncio.Event()
        self._point = point
        self._kill = kill
        self._matched = 0
        self._hit: Exchange | None = None

    async def before(self, exchange: Exchange) -> web.Response | None:
        if self._hit is None and self._point.match(exchange):
            self._matched += 1
            if self._matched == self._point.nth:
                self._hit = exchange
                if self._point.when is When.BEFORE:
                    self._strike()
        return None

    async def after(self, exchange: Exchange) -> None:
        if exchange is self._hit and not self.fired.is_set():
            self._strike()

    def _strike(self) -> None:
        self._kill()
        self.fired.set()
        raise Cut


class Hold:
    """Requests that match wait before the server until `count` of them are there, or until they are let go."""

    def __init__(self, match: Callable[[Exchange], bool], *, count: int = 0) -> None:
        self.let_go = asyncio.Event()
        self.held: list[Exchange] = []
        self._match = match
        self._count = count

    async def before(self, exchange: Exchange) -> web.Response | None:
        if self._match(exchange) and not self.let_go.is_set():
            self.held.append(exchange)
            if len(self.held) == self._count:
                self.let_go.set()
            async with asyncio.timeout(PATIENCE):
                await self.let_go.wait()
        return None

    async def after(self, exchange: Exchange) -> None:
        pass
