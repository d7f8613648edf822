"""An HTTP proxy before an API server: it sees every request, and does to it what goes wrong in the world.

It ends TLS with a certificate of the cluster's own authority and speaks to the server as the admin, or as another user.
Rules look at each exchange before it is forwarded and after it was answered; one of them may answer in the server's
place, or cut the connection. What one who is killed had in flight is still carried out, as it would be. Watches are
streams that can be stalled (connected and silent) and cut, per resource.
"""

import asyncio
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import orjson
from aiohttp import web
from yarl import URL

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.kubeconfig import write_kubeconfig
from e2e.cluster.pki import Authority, KeyPair, Subject

LARGEST_BODY = 16 * 1024 * 1024
HOP_BY_HOP = frozenset({"host", "connection", "content-length", "transfer-encoding", "keep-alive", "upgrade"})
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
REVIEWS = frozenset({"subjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"})
BOOKKEEPING = frozenset({"events", "leases", "secrets"}) | REVIEWS


@dataclass(kw_only=True)
class Exchange:
    """One request and what came of it."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    accept: str = ""
    user: str = ""  # who is impersonated
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    status: int = 0  # as the server answered; 0: not yet, or not at all

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") in {"true", "1"}

    @property
    def is_dry_run(self) -> bool:
        return "dryRun" in self.query or "dryRun" in self.document

    @property
    def is_write(self) -> bool:
        """Whether it writes objects, our kinds or their status; dry-runs are no writes."""
        return self.method in WRITES and self.resource not in BOOKKEEPING and not self.is_dry_run

    @property
    def is_apply(self) -> bool:
        return self.is_write and "force" in self.query

    @property
    def document(self) -> dict[str, Any]:
        """The body, where it is one JSON object."""
        with suppress(orjson.JSONDecodeError):
            found = orjson.loads(self.body)
            if isinstance(found, dict):
                return found
        return {}

    @property
    def what(self) -> str:
        return "/".join(filter(None, (self.resource, self.subresource)))


class Cut(Exception):  # noqa: N818 - not an error: a rule's way to break the client's connection
    pass


class Rule(Protocol):
    async def before(self, exchange: Exchange) -> web.Response | None:
        """An answer in the server's place; None: forward it."""

    async def after(self, exchange: Exchange) -> None:
        """The server has answered; the client has not heard of it yet."""


@dataclass(kw_only=True)
class Fail:
    """Answers that are no success, for the exchanges that match, until it is taken out of the rules."""

    match: Callable[[Exchange], bool]
    status: int  # 0: the connection is cut
    headers: dict[str, str] = field(default_factory=dict)
    failed: list[Exchange] = field(default_factory=list)

    async def before(self, exchange: Exchange) -> web.Response | None:
        if not self.match(exchange):
            return None
        self.failed.append(exchange)
        if not self.status:
            raise Cut
        reason = {429: "TooManyRequests", 403: "Forbidden", 401: "Unauthorized"}.get(self.status, "InternalError")
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": self.status, "reason": reason}
        return web.json_response({**body, "message": "broken on purpose"}, status=self.status, headers=self.headers)

    async def after(self, exchange: Exchange) -> None:
        pass


class Proxy:
    def __init__(self, upstream: str, session: aiohttp.ClientSession, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.seen: list[Exchange] = []
        self.rules: list[Rule] = []
        self._upstream = upstream
        self._session = session
        self._flowing: defaultdict[str, asyncio.Event] = defaultdict(_set)
        self._watches: defaultdict[str, set[asyncio.Transport]] = defaultdict(set)

    @property
    def writes(self) -> list[Exchange]:
        return [exchange for exchange in self.seen if exchange.is_write]

    def stall(self, resource: str) -> None:
        """The watches of this resource stay connected, and nothing passes; new ones begin so."""
        self._flowing[resource].clear()

    def flow(self, resource: str) -> None:
        self._flowing[resource].set()

    def cut(self, resource: str) -> None:
        """End the open watches of this resource in the middle of whatever they carry."""
        for transport in self._watches[resource]:
            transport.abort()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        exchange = _exchange(request, await request.read())
        self.seen.append(exchange)
        try:
            for rule in self.rules:
                answer = await rule.before(exchange)
                if answer is not None:
                    return answer
            return await (self._stream if exchange.is_watch else self._forward)(request, exchange)
        except (Cut, aiohttp.ClientError, OSError):
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=502)  # never received

    async def _forward(self, request: web.Request, exchange: Exchange) -> web.Response:
        async with self._ask(request, exchange) as response:
            body = await response.read()
        exchange.status = response.status
        for rule in self.rules:
            await rule.after(exchange)
        return web.Response(status=response.status, body=body, headers=_passed_on(response.headers))

    async def _stream(self, request: web.Request, exchange: Exchange) -> web.StreamResponse:
        async with self._ask(request, exchange) as response:
            exchange.status = response.status
            stream = web.StreamResponse(status=response.status, headers=_passed_on(response.headers))
            await stream.prepare(request)
            watches, transport = self._watches[exchange.resource], request.transport
            if transport is None:
                raise Cut
            watches.add(transport)
            try:
                async for chunk in response.content.iter_any():
                    await self._flowing[exchange.resource].wait()
                    await stream.write(chunk)
            finally:
                watches.discard(transport)
            await stream.write_eof()
            return stream

    def _ask(self, request: web.Request, exchange: Exchange) -> "aiohttp.client._RequestContextManager":
        return self._session.request(
            exchange.method,
            URL(self._upstream + request.raw_path, encoded=True),
            data=exchange.body or None,
            headers=_passed_on(request.headers),
            allow_redirects=False,
        )


@asynccontextmanager
async def proxy_before(plane: ControlPlane, folder: Path, *, user: str = "") -> AsyncIterator[Proxy]:
    """`user`: the one that the server sees; empty: the admin."""
    pki = plane.state.pki
    authority = Authority(KeyPair.read(pki, "ca"))
    authority.issue(Subject(name="proxy", addresses=["127.0.0.1"])).write(folder, "proxy")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "proxy.crt", folder / "proxy.key")
    asking = ssl.create_default_context(cafile=pki / "ca.crt")
    if user:
        authority.issue(Subject(name=user)).write(folder, "user")
    client = folder / "user" if user else pki / "admin"
    asking.load_cert_chain(client.with_suffix(".crt"), client.with_suffix(".key"))
    kubeconfig = folder / "proxy.kubeconfig"
    connector = aiohttp.TCPConnector(limit=0, ssl=asking)
    async with aiohttp.ClientSession(
        connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
    ) as session:
        proxy = Proxy(plane.url, session, kubeconfig)
        app = web.Application(client_max_size=LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", proxy.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, auto_decompress=False)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving)
            await site.start()
            port = runner.addresses[0][1]
            pair = KeyPair.read(pki, "admin")
            server = f"https://127.0.0.1:{port}"
            write_kubeconfig(kubeconfig, server=server, authority=authority.pair.certificate, user="admin", pair=pair)
            yield proxy
        finally:
            for stalled in proxy._flowing.values():
                stalled.set()
            await runner.cleanup()


def _exchange(request: web.Request, body: bytes) -> Exchange:
    parts = request.path.strip("/").split("/")
    parts = parts[3:] if parts[0] == "apis" else parts[2:]
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces":
        namespace, parts = parts[1], parts[2:]
    resource, name, subresource, *_ = [*parts, "", "", ""]
    return Exchange(
        method=request.method,
        path=request.path,
        query=dict(request.query),
        body=body,
        accept=request.headers.get("Accept", ""),
        user=request.headers.get("Impersonate-User", ""),
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
    )


def _passed_on(headers: Any) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers.items() if name.lower() not in HOP_BY_HOP]


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event
