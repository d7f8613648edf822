"""Kills the operator at a chosen request: just before the server gets it, or just before its answer is passed on."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from aiohttp import web

from tests.integration.operator.process import Operator
from tests.integration.proxy import Cut, Exchange


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


class Kill:
    """A rule of the proxy."""

    def __init__(self, point: Point, victim: Operator) -> None:
        self.fired = asyncio.Event()
        self._point = point
        self._victim = victim
        self._matched = 0
        self._hit: Exchange | None = None

    async def before(self, exchange: Exchange) -> web.Response | None:
        if self._hit is None and self._point.match(exchange):
            self._matched += 1
            if self._matched == self._point.nth:
                self._hit = exchange
                if self._point.when is When.BEFORE:
                    self._kill()
        return None

    async def after(self, exchange: Exchange) -> None:
        if exchange is self._hit and not self.fired.is_set():
            self._kill()

    def _kill(self) -> None:
        self._victim.kill()
        self.fired.set()
        raise Cut
