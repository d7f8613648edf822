"""A content server that answers what a test scripts, over TLS, and a cluster that has its authority."""

import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

from aiohttp import web

from rukpak_py.core import x509
from rukpak_py.core.errors import RukPakError

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@cache
def authority() -> x509.KeyPair:
    return x509.issue_ca(datetime.now(UTC))


def pem() -> bytes:
    return authority().certificate


@dataclass
class Seen:
    method: str
    path: str
    authorization: str
    body: bytes


@dataclass
class Direct:
    """The way to it: a port of this machine."""

    port: int = 0
    failure: RukPakError | None = None
    seen: list[Seen] = field(default_factory=list)

    async def check(self) -> None:
        pass

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        yield self.port


@asynccontextmanager
async def serving(*answers: Answer | web.Response, hosts: tuple[str, ...] = ("localhost",)) -> AsyncIterator[Direct]:
    """The answers are given in turn; the last one stays."""
    way = Direct()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        scripted = answers[min(len(way.seen), len(answers) - 1)]
        body = await request.read() if isinstance(scripted, web.Response) else b""
        way.seen.append(Seen(request.method, request.path, request.headers.get("Authorization", ""), body))
        if not isinstance(scripted, web.Response):
            return await scripted(request)
        return web.Response(status=scripted.status, body=scripted.body, headers=scripted.headers)

    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_tls(hosts)).start()
    way.port = runner.addresses[0][1]
    try:
        yield way
    finally:
        await runner.cleanup()


def _tls(hosts: tuple[str, ...]) -> ssl.SSLContext:
    pair = x509.issue_serving(authority(), hosts, datetime.now(UTC))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        tls.load_cert_chain(file.name)
    return tls
