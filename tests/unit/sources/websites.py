"""Web servers on loopback for tests of the http source, and a source that may ask them."""

import asyncio
import base64
import io
import ssl
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from rukpak_py.api.source import Source
from rukpak_py.api.source_types import Authorization, HttpSource, SecretReference
from rukpak_py.core import x509
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources import http
from rukpak_py.sources.addresses import AddressPolicy, parse_networks
from rukpak_py.sources.http import DownloadSettings
from rukpak_py.sources.logins import LoginPolicy
from rukpak_py.sources.source import Fetched, FetchRequest, SourceSecret, no_wait
from rukpak_py.sources.spool import Spool
from tests.source_secrets import LENIENT, Secrets, Warnings, logins
from tests.workers import SPOOL, WORKERS

LOOPBACK = AddressPolicy(allowed=parse_networks("127.0.0.0/8,::1"))
STRICT = AddressPolicy()
FILES = {"manifests/map.yaml": b"kind: ConfigMap", "Chart.yaml": b"name: demo"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def tgz(files: Mapping[str, bytes] = FILES, mode: Any = "w:gz") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as tar:
        for path, content in files.items():
            made = tarfile.TarInfo(path)
            made.size = len(content)
            tar.addfile(made, io.BytesIO(content))
    return file.getvalue()


@dataclass(frozen=True)
class Asked:
    path: str
    headers: Mapping[str, str]

    @property
    def login(self) -> str | None:
        """`user:password`, when it had one."""
        header = self.headers.get("Authorization")
        return None if header is None else base64.b64decode(header.removeprefix("Basic ")).decode()


@dataclass
class Site:
    """Answers by path; 404 for a path without an answer."""

    scheme: str = "http"
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    answers: dict[str, Handler] = field(default_factory=dict)

    def url(self, path: str, *, host: str = "127.0.0.1", user: str = "") -> str:
        return f"{self.scheme}://{user and f'{user}@'}{host}:{self.port}{path}"

    def gives(self, path: str, body: bytes = b"", status: int = 200, **more: Any) -> None:
        async def answer(_: web.Request) -> web.Response:
            return web.Response(body=body, status=status, **more)

        self.answers[path] = answer

    def redirects(self, path: str, to: str, status: int = 302) -> None:
        self.gives(path, status=status, headers={"Location": to})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(Asked(request.path_qs, dict(request.headers)))
        answer = self.answers.get(request.path)
        return await answer(request) if answer else web.Response(status=404)


@asynccontextmanager
async def website(tls: ssl.SSLContext | None = None, *, host: str = "127.0.0.1") -> AsyncIterator[Site]:
    site = Site(scheme="https" if tls else "http")
    site.gives("/demo.tgz", tgz())
    app = web.Application()
    app.router.add_route("*", "/{path:(?s:.*)}", site.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, host, 0, ssl_context=tls).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_server(answer: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[str]:
    """The URL of a server that says what it likes after it was asked."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await answer(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/demo.tgz"
    finally:
        server.close()


@asynccontextmanager
async def tunnel(to: int) -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that leads every CONNECT to one port of loopback: its URL, and the heads of what it was asked."""
    heads: list[str] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            writer.write(chunk)
        writer.close()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        there, here = await asyncio.open_connection("127.0.0.1", to)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pump(reader, here), pump(there, writer), return_exceptions=True)

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heads
    finally:
        server.close()


@dataclass(frozen=True)
class Authority:
    """Made on the spot, with contexts for servers."""

    pair: x509.KeyPair
    folder: Path

    @property
    def pem(self) -> str:
        return self.pair.certificate.decode()

    def server(self, *hosts: str) -> ssl.SSLContext:
        serving = x509.issue_serving(self.pair, hosts, datetime.now(UTC))
        file = self.folder / "serving.pem"
        file.write_bytes(serving.certificate + serving.key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(file)
        return context


def authority(folder: Path) -> Authority:
    return Authority(x509.issue_ca(datetime.now(UTC)), folder)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Fetches as the operator does. Loopback is allowed, credentials over plain http too, and no proxy is set, unless a
    test says so.
    """

    addresses: AddressPolicy = LOOPBACK
    limits: Limits = DEFAULT_LIMITS
    environ: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Mapping[str, bytes] | SourceSecret] = field(default_factory=dict)
    policy: LoginPolicy = LENIENT
    warn: Warnings = field(default_factory=Warnings)
    content_arrives: Callable[[], Awaitable[None]] = no_wait
    spool: Spool = SPOOL

    @property
    def source(self) -> http.HttpFetcher:
        downloads = DownloadSettings(addresses=self.addresses, limits=self.limits, environ=self.environ)
        login = logins(Secrets(**self.secrets), self.policy, warn=self.warn)
        return http.HttpFetcher(login, downloads, workers=WORKERS, spool=self.spool)

    def with_limits(self, **limits: int) -> "Reader":
        return replace(self, limits=replace(self.limits, **limits))

    async def fetch(
        self, url: str, *, secret: str = "", insecure: bool = False, sha256: str = "", ca_bundle: str = ""
    ) -> Fetched:
        auth = Authorization(secret=SecretReference(name=secret), insecure_skip_verify=insecure)
        spec = HttpSource(url=url, auth=auth, sha256=sha256, ca_bundle=ca_bundle)
        source = Source(type="http", http=spec)
        request = FetchRequest(bundle="demo", uid="1", source=source, content_arrives=self.content_arrives)
        return await self.source.fetch(request)

    async def refusal(self, url: str, kind: type[Exception], **more: Any) -> str:
        """The text of the error, which has exactly this class."""
        with pytest.raises(kind) as refused:
            await self.fetch(url, **more)
        assert refused.type is kind
        return str(refused.value)
