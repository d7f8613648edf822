"""The one way in which every port of the operator takes connections, and bounds them.

A port has places (see `places`). From its accept on, a connection has `request_seconds` for its TLS handshake and the
header of its first request, and as long for the header of each later one; between two requests it may be idle for as
long as the port allows, or it ends with its answer. A body has a deadline of the handler that reads it. A connection
that breaks a bound ends without an answer: a client that sends half a request does not read one.

Accepting goes on whatever clients do. When no descriptor is free, a connection gives way as when no place is.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.logs import BoundedLog
from rukpak_py.server.places import Connection, Phase, Places

_LOG = logging.getLogger(__name__)
REQUESTS_LOG = logging.getLogger(f"{__name__}.requests")  # for aiohttp
SHUTDOWN_SECONDS = 5.0
PAUSE_SECONDS = 0.1  # when no connection can be taken
TLS_END_SECONDS = 5.0  # for a client to end its half of a TLS session
GRACE_SECONDS = 5.0  # for aiohttp, which ends an idle connection in good order
LINGER_SECONDS = 2.0  # for which the body of a refused request is read and dropped, so that its answer arrives
READ_BUFFER = 64 * 1024  # of a body that its handler has not taken yet, for each connection
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
MOST_HEADERS = 64
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_BACKLOG = 512
_AT_ONCE = 16  # connections that are taken before the loop goes on

Tls = Callable[[], Awaitable[ssl.SSLContext | None]]
Route = Callable[[Connection, socket.socket], Awaitable[bool]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, kw_only=True)
class Address:
    """Address to listen on: `host:port`, `[v6]:port` or `:port` for every interface; port 0 takes any free one."""

    host: str | None
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{text!r} is not a valid address; write it as host:port or :port")
        return cls(host=host.strip("[]") or None, port=int(port))


@dataclass(frozen=True, kw_only=True)
class PortSettings:
    """Limits of one port."""

    name: str  # in metrics and the log
    connections: int
    request_seconds: float
    strangers: int | None = None  # places for connections that were not admitted; None: any
    idle_seconds: float | None = None  # between two requests of a connection; None: it ends with its answer


class Listener:
    def __init__(
        self,
        app: web.Application,
        address: Address,
        settings: PortSettings,
        *,
        tls: Tls | None = None,
        route: Route | None = None,
        ends_with_client: bool = False,
        refusal_headers: Mapping[str, str] = NO_HEADERS,
        **options: Any,
    ) -> None:
        """`tls`: the context for a new connection; the connection ends where there is none.

        `route`: may serve a connection itself, before its handshake; False: it did not. `ends_with_client`: a request
        is cancelled when its connection ends. `refusal_headers`: of answers to what is no HTTP request, which the
        application never sees. `options`: of aiohttp's `RequestHandler`.
        """
        self._address = address
        self._settings = settings
        self._tls = tls
        self.refusal_headers = refusal_headers
        self._route = route
        self._idle_seconds = settings.idle_seconds or settings.request_seconds
        self._options = {
            "access_log": None,
            "logger": REQUESTS_LOG,
            "keepalive_timeout": self._idle_seconds,
            "lingering_time": LINGER_SECONDS,
            "read_bufsize": READ_BUFFER,
            "max_headers": MOST_HEADERS,  # each may have eight KiB
            **options,
        }
        strangers = settings.connections if settings.strangers is None else settings.strangers
        self._places = Places(settings.name, capacity=settings.connections, strangers=max(1, strangers))
        app.middlewares.insert(0, self._follow)
        self._runner = web.AppRunner(
            app, shutdown_timeout=SHUTDOWN_SECONDS, handler_cancellation=ends_with_client, logger=REQUESTS_LOG
        )
        self._failures = BoundedLog(_LOG)
        self._socket: socket.socket | None = None
        self._serving: dict[Connection, asyncio.Task[None]] = {}  # before aiohttp has them

    async def start(self) -> None:
        self._socket = _listen(self._address)
        await self._runner.setup()
        self._watch()

    async def stop(self) -> None:
        """Take no new connections, let requests in flight end within five seconds."""
        if self._socket is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._socket = None
        tasks = tuple(self._serving.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._runner.cleanup()

    @property
    def port(self) -> int:
        """The port that is really listened on."""
        if self._socket is None:
            raise RuntimeError("the server is not started")
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def connections(self) -> int:
        """Number of connections, before and after their admission."""
        return len(self._places)

    @property
    def admitted(self) -> int:
        """Number of connections that were admitted."""
        return self._places.admitted

    def _watch(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().add_reader(self._socket, self._accept, self._socket)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, _ = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._not_accepted(listener, error)
                return
            self._take(accepted)

    def _not_accepted(self, listener: socket.socket, error: OSError) -> None:
        """Make room, or pause, when no descriptor is free; the client may also have gone away meanwhile."""
        self._failures.warning("no connection to the port of %s could be taken: %s", self._settings.name, error)
        if error.errno not in _EXHAUSTED or self._places.make_room(is_full=True):
            return  # it is tried again in the next turn of the loop
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener)
        loop.call_later(PAUSE_SECONDS, self._watch)

    def _take(self, accepted: socket.socket) -> None:
        connection = Connection(self._end)
        if not self._places.take(connection):
            accepted.close()
            return
        connection.arriving(self._settings.request_seconds)
        task = asyncio.create_task(self._serve(connection, accepted))
        self._serving[connection] = task
        # Not in the task: one that is cancelled before it begins runs no `finally`.
        task.add_done_callback(partial(self._served, connection, accepted))

    async def _serve(self, connection: Connection, accepted: socket.socket) -> None:
        try:
            accepted.setblocking(False)  # noqa: FBT003 - the socket module's own
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self._route is None or not await self._route(connection, accepted):
                await self._answer(connection, accepted)
        except OSError as error:  # ssl.SSLError and TimeoutError are OSErrors
            _LOG.debug("a connection to the port of %s ended early: %s", self._settings.name, error)

    def _served(self, connection: Connection, accepted: socket.socket, _: asyncio.Task[None]) -> None:
        accepted.close()
        del self._serving[connection]
        if connection.transport is None:
            self.lost(connection)

    async def _answer(self, connection: Connection, accepted: socket.socket) -> None:
        """Answer in this process. The application takes over the connection, which ends without a certificate."""
        options: dict[str, Any] = {}
        if self._tls is not None:
            context = await self._tls()
            if context is None:
                return
            seconds = self._settings.request_seconds
            options = {"ssl": context, "ssl_handshake_timeout": seconds, "ssl_shutdown_timeout": TLS_END_SECONDS}
        own = accepted.dup()  # the transport closes it
        accepted.close()
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(lambda: self._protocol(connection), own, **options)

    def _protocol(self, connection: Connection) -> "_Protocol":
        server = self._runner.server
        if server is None:
            raise ConnectionAbortedError("the server is stopped")
        return _Protocol(self, connection, server, self._options)

    def _end(self, connection: Connection) -> None:
        if (task := self._serving.get(connection)) is not None:
            task.cancel()
        if connection.transport is not None:
            connection.transport.abort()

    @web.middleware
    async def _follow(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Mark where the request is, and end the connection with its answer unless it is kept."""
        connection = connection_of(request)
        if connection is None:
            return await handler(request)
        connection.answering()
        try:
            response = await handler(request)
        except web.HTTPException as error:
            error.force_close()  # no request that we serve
            raise
        finally:
            connection.idle(self._idle_seconds + GRACE_SECONDS)
        if self._settings.idle_seconds is None:
            response.force_close()
        return response

    def heard(self, connection: Connection) -> None:
        if connection.phase is Phase.IDLE:
            connection.arriving(self._settings.request_seconds)

    def lost(self, connection: Connection) -> None:
        connection.ended()
        self._places.leave(connection)


class _Protocol(web.RequestHandler):
    def __init__(self, listener: Listener, connection: Connection, server: web.Server, options: dict[str, Any]) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self.connection = connection
        self._listener = listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.connection.transport = cast("asyncio.Transport", transport)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._listener.heard(self.connection)
        super().data_received(data)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        response = super().handle_error(request, status, exc, message)
        response.headers.update(self._listener.refusal_headers)
        return response

    def connection_lost(self, exc: BaseException | None) -> None:
        self._listener.lost(self.connection)
        super().connection_lost(exc)


def connection_of(request: web.Request) -> Connection | None:
    """The connection of a request; None where another server than ours has taken it."""
    protocol = request.protocol
    return protocol.connection if isinstance(protocol, _Protocol) else None


def admit(request: web.Request) -> None:
    """The client has shown that it may ask: its connection is none of a stranger any more."""
    if (connection := connection_of(request)) is not None:
        connection.admit()


@contextmanager
def receiving(request: web.Request) -> Iterator[None]:
    """Mark the connection as receiving while the body is read: the request has not arrived yet."""
    connection = connection_of(request)
    if connection is None:
        yield
        return
    connection.receiving()
    try:
        yield
    finally:
        connection.answering()


def _is_about_the_server(record: logging.LogRecord) -> bool:
    """A client that does not speak HTTP, or goes away, is no failure of ours and no news."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | ConnectionError)


REQUESTS_LOG.addFilter(_is_about_the_server)


def _listen(address: Address) -> socket.socket:
    try:
        if address.host is None and socket.has_dualstack_ipv6():
            server = socket.create_server(
                ("", address.port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
            )
        else:
            host = address.host or ""
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            server = socket.create_server((host, address.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        where = f"{address.host or ''}:{address.port}"
        raise UnavailableError(f"cannot listen on {where}: {error.strerror or error}") from error
    server.setblocking(False)  # noqa: FBT003 - the socket module's own
    return server
