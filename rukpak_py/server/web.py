"""The applications for probes and metrics, which are served in the clear, one answer on each connection.

A check is asked on each probe and answers None when all is well, else what is not. What keeps a process from being
ready is logged once each time that it changes, and so is its end.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from rukpak_py.core import metrics
from rukpak_py.core.limits import Limits
from rukpak_py.server.listener import PortSettings

Check = Callable[[], str | None]
Handler = Callable[[web.Request], Awaitable[web.Response]]

_LOG = logging.getLogger(__name__)


def probe_app(*, live: Mapping[str, Check], ready: Mapping[str, Check]) -> web.Application:
    """`/healthz` says that the process works, `/readyz` that it can serve; both name what is wrong."""
    app = web.Application()
    app.router.add_get("/healthz", _probe(live, lambda _: None))
    app.router.add_get("/readyz", _probe(ready, _ReadinessLog().say))
    return app


def metrics_app() -> web.Application:
    app = web.Application()
    app.router.add_get("/metrics", _metrics)
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


async def _metrics(_: web.Request) -> web.Response:
    return web.Response(body=metrics.render(), headers={"Content-Type": CONTENT_TYPE_LATEST})
