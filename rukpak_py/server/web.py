"""The applications for probes and metrics, which are served in the clear, one answer on each connection.

A check is asked on each probe and answers None when all is well, else what is not. What keeps a process from being
ready is logged once each time that it changes, and so is its end.

Metrics need no credentials, and with many objects a scrape costs tens of milliseconds of the event loop. Scrapes that
come together share one text, which is begun after all of them came, and a pause after it leaves the loop to others.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from rukpak_py.core import metrics
from rukpak_py.core.limits import Limits
from rukpak_py.server.listener import PortSettings

Check = Callable[[], str | None]
Handler = Callable[[web.Request], Awaitable[web.Response]]

_LOG = logging.getLogger(__name__)
PAUSES = 9  # times as long as a text took: scrapes take a tenth of the event loop at most


def probe_app(*, live: Mapping[str, Check], ready: Mapping[str, Check]) -> web.Application:
    """`/healthz` says that the process works, `/readyz` that it can serve; both name what is wrong."""
    app = web.Application()
    app.router.add_get("/healthz", _probe(live, lambda _: None))
    app.router.add_get("/readyz", _probe(ready, _ReadinessLog().say))
    return app


def metrics_app() -> web.Application:
    app = web.Application()
    app.router.add_get("/metrics", Scrapes().handle)
    return app


def probe_port(limits: Limits) -> PortSettings:
    """A kubelet opens a connection for each probe."""
    return PortSettings(name="probes", connections=limits.probe_connections, request_seconds=limits.request_seconds)


def metrics_port(limits: Limits) -> PortSettings:
    return PortSettings(name="metrics", connections=limits.probe_connections, request_seconds=limits.request_seconds)


class _ReadinessLog:
    def __init__(self) -> None:
        self._said: list[str] | None = None

    def say(self, wrong: list[str]) -> None:
        if wrong == self._said:
            return
        self._said = wrong
        if wrong:
            _LOG.info("not ready: %s", "; ".join(wrong))
        else:
            _LOG.info("ready")


def _probe(checks: Mapping[str, Check], say: Callable[[list[str]], None]) -> Handler:
    async def handle(_: web.Request) -> web.Response:
        wrong = sorted(f"{name}: {text}" for name, check in checks.items() if (text := check()) is not None)
        say(wrong)
        if not wrong:
            return web.Response(text="ok\n")
        return web.Response(status=503, text="".join(f"{line}\n" for line in wrong))

    return handle


class Scrapes:
    def __init__(self) -> None:
        self._next: asyncio.Task[bytes] | None = None  # whose text is not begun yet
        self._turn = asyncio.Lock()
        self._not_before = 0.0  # the next text

    async def handle(self, _: web.Request) -> web.Response:
        if self._next is None:
            self._next = asyncio.create_task(self._render())
        body = await asyncio.shield(self._next)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _render(self) -> bytes:
        async with self._turn:
            await asyncio.sleep(max(0.0, self._not_before - perf_counter()))
            self._next = None
            pieces, busy = list[bytes](), 0.0
            began = perf_counter()
            for piece in metrics.rendered():
                pieces.append(piece)
                busy += perf_counter() - began
                await asyncio.sleep(0)
                began = perf_counter()
            self._not_before = perf_counter() + PAUSES * busy
            return b"".join(pieces)
