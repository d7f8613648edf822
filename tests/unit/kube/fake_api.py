"""An API server that answers what a test scripts, for answers that a real one gives only under stress."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection, TokenSource
from rukpak_py.kube.transport import Transport

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(kw_only=True)
class FakeApi:
    """`answers` are given in turn; the last one stays. `seen` are the requests."""

    answers: list[web.Response | Handler]
    seen: list[web.BaseRequest] = field(default_factory=list)
    url: str = ""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        self.seen.append(request)
        scripted = self.answers[min(len(self.seen), len(self.answers)) - 1]
        if not isinstance(scripted, web.Response):
            return await scripted(request)
        return web.Response(status=scripted.status, body=scripted.body, headers=scripted.headers)


async def hang_up(request: web.BaseRequest) -> web.StreamResponse:
    """Take the request and end the connection without an answer."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@asynccontextmanager
async def serving(
    *answers: web.Response | Handler, token: TokenSource | None = None, waited: list[float] | None = None
) -> AsyncIterator[tuple[Client, FakeApi]]:
    """A client of a server that gives these answers; it waits no time between tries, and notes what it would have."""

    async def sleep(seconds: float) -> None:
        if waited is not None:
            waited.append(seconds)

    api = FakeApi(answers=list(answers))
    server = web.Server(api.answer)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    api.url = f"http://{host}:{port}"
    try:
        connection = Connection(server=api.url, token=token)
        async with Client(connection, transport=Transport(connection, sleep=sleep)) as client:
            yield client, api
    finally:
        await runner.cleanup()
