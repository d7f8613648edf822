"""A web server on a loopback address that serves repositories by the real `git http-backend`.

It speaks TLS by an authority made on the spot, or plain HTTP. `answer` may answer in the place of git; what was asked
is in `requests`.
"""

import asyncio
import base64
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from aiohttp import web

from e2e.cluster.pki import Authority
from e2e.servers.web import server_context

CHUNK = 65536
HOST = "127.0.0.1"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


@dataclass(kw_only=True)
class GitWebServer:
    root: Path
    authority: Authority
    scheme: str
    port: int = 0
    login: tuple[str, str] | None = None
    answer: Answer | None = None
    requests: list[web.Request] = field(default_factory=list)
    protocol: str | None = None  # of git, in the place of what the client asks for

    def url(self, name: str, host: str = "localhost") -> str:
        return f"{self.scheme}://{host}:{self.port}/{name}"

    @property
    def ca_bundle(self) -> str:
        return self.authority.pair.certificate.decode()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if self.answer is not None and (answered := await self.answer(request)) is not None:
            return answered
        if self.login is not None and request.headers.get("Authorization") != _basic(*self.login):
            headers = {"WWW-Authenticate": 'Basic realm="git"'} if "Authorization" not in request.headers else {}
            return web.Response(status=401, headers=headers or {"WWW-Authenticate": 'Basic realm="git"'})
        return await self._backend(request)

    async def _backend(self, request: web.Request) -> web.StreamResponse:
        with file_of(await request.read()) as body:  # not a pipe: git may close it before it is written
            process = await asyncio.create_subprocess_exec(
                *("git", "http-backend"), env=self._environment(request), stdin=body, stdout=asyncio.subprocess.PIPE
            )
        output = process.stdout or asyncio.StreamReader()
        try:
            return await self._relay(request, output)
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
            while await output.read(CHUNK):  # a pipe that is not read to its end stays open
                pass
            await process.wait()

    async def _relay(self, request: web.Request, output: asyncio.StreamReader) -> web.StreamResponse:
        response = web.StreamResponse()
        while line := (await output.readline()).decode().strip():
            name, _, value = line.partition(": ")
            if name == "Status":
                response.set_status(int(value.split()[0]))
            else:
                response.headers[name] = value
        await response.prepare(request)
        while piece := await output.read(CHUNK):
            try:
                await response.write(piece)
            except ConnectionError:  # the client went
                break
        return response

    def _environment(self, request: web.Request) -> dict[str, str]:
        given = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "REMOTE_ADDR": HOST,
        }
        protocol = self.protocol or request.headers.get("Git-Protocol", "")
        return given | ({"GIT_PROTOCOL": protocol} if protocol else {})


@asynccontextmanager
async def git_web_server(root: Path, *, scheme: str = "https", host: str = HOST) -> AsyncIterator[GitWebServer]:
    server = GitWebServer(root=root, authority=Authority.create("git tests"), scheme=scheme)
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        tls = server_context(server.authority, HOST, root) if scheme == "https" else None
        site = web.TCPSite(runner, host, 0, ssl_context=tls)
        await site.start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


def file_of(content: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(content)
    file.seek(0)
    return file


def _basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
