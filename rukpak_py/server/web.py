"""The operator's web servers: admission over TLS, probes and metrics in the clear. No request bodies are ever logged.

A check is asked on each probe and answers None when all is well, else what is not. What keeps a process from being
ready is logged once each time that it changes, and so is its end.
"""

import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from prometheus_client import CONTENT_TYPE_LATEST

from rukpak_py.core import metrics
from rukpak_py.core.errors import UnavailableError

Check = Callable[[], str | None]
Handler = Callable[[web.Request], Awaitable[web.Response]]

_LOG = logging.getLogger(__name__)
REQUESTS_LOG = logging.getLogger(f"{__name__}.requests")  # for aiohttp
SHUTDOWN_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where to listen: `host:port`, `[v6]:port` or `:port` for every interface; port 0 takes any free one."""

    host: str | None
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{text!r} is not a valid address; write it as host:port or :port")
        return cls(host=host.strip("[]") or None, port=int(port))


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


@dataclass(kw_only=True)
class WebServer:
    """One application on one address."""

    app: web.Application
    address: Address
    context: ssl.SSLContext | None = None
    _runner: web.AppRunner | None = field(default=None, init=False)

    async def start(self) -> None:
        runner = web.AppRunner(self.app, access_log=None, logger=REQUESTS_LOG, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        site = web.TCPSite(runner, self.address.host, self.address.port, ssl_context=self.context)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            where = f"{self.address.host or ''}:{self.address.port}"
            raise UnavailableError(f"cannot listen on {where}: {error.strerror or error}") from error
        self._runner = runner

    async def stop(self) -> None:
        """Take no new connections, let requests in flight end within five seconds."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def port(self) -> int:
        """The port that is really listened on."""
        if self._runner is None:
            raise RuntimeError("the server is not started")
        port: int = self._runner.addresses[0][1]
        return port


def _is_about_the_server(record: logging.LogRecord) -> bool:
    """A client that does not speak HTTP, or goes away, is no failure of ours and no news."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | ConnectionError)


REQUESTS_LOG.addFilter(_is_about_the_server)


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
