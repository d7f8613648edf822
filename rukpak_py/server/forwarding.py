"""The listener of the content server. A replica that does not lead passes connections on to the one that does.

What is passed on is the connection, byte by byte, from before its TLS handshake: the client speaks to the leader
itself, with its own credentials, and verifies its certificate; the replica between them sees only ciphertext. The
leader tells such a connection by its first bytes, `FORWARDED`, which no TLS handshake begins with; it is never passed
on again, so two replicas that take each other for the leader answer with 503.

A connection that nobody was allowed to use ends soon, whatever it sends, and so do those beyond the limit.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

from aiohttp import web

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.core.metrics import CONTENT_FORWARDED
from rukpak_py.server.content import ContentApp
from rukpak_py.server.content_tls import ContentTls
from rukpak_py.server.web import REQUESTS_LOG, SHUTDOWN_SECONDS, Address

_LOG = logging.getLogger(__name__)
FORWARDED = b"rukpak-forwarded\n"
HANDSHAKE_SECONDS = 10.0
CONNECT_SECONDS = 3.0
IDLE_SECONDS = 30.0  # between two requests of one connection
PAUSE_SECONDS = 0.1  # when no connection can be taken
_HANDSHAKE_BYTE = b"\x16"
_PIECE = 64 * 1024
_BACKLOG = 128

Leader = Callable[[], str | None]


class ContentListener:
    def __init__(self, app: ContentApp, address: Address, tls: ContentTls, limits: Limits, *, leader: Leader) -> None:
        """`leader`: the address of the replica to pass connections on to; None: this one answers."""
        self._app = app
        self._address = address
        self._tls = tls
        self._limits = limits
        self._leader = leader
        self._runner: web.AppRunner | None = None
        self._socket: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._unreachable = ""  # the leader that could not be reached, which is logged once
        self._unadmitted: dict[object, asyncio.TimerHandle] = {}  # by protocol, until a request was allowed
        app.on_admitted = self._admitted

    async def start(self) -> None:
        self._socket = _listen(self._address)
        self._runner = web.AppRunner(
            self._app.application(),
            access_log=None,
            logger=REQUESTS_LOG,
            auto_decompress=False,  # an upload is stored as it comes
            keepalive_timeout=IDLE_SECONDS,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        await self._runner.setup()
        self._accepting = asyncio.create_task(self._accept(self._socket), name="content connections")

    async def stop(self) -> None:
        """Take no new connections, let requests in flight end within five seconds."""
        if self._socket is None or self._runner is None or self._accepting is None:
            return
        for task in (self._accepting, *self._tasks):
            task.cancel()
        await asyncio.gather(self._accepting, *self._tasks, return_exceptions=True)
        self._socket.close()
        await self._runner.cleanup()
        self._socket = None

    @property
    def port(self) -> int:
        """The port that is really listened on."""
        if self._socket is None:
            raise RuntimeError("the server is not started")
        port: int = self._socket.getsockname()[1]
        return port

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:  # no descriptor is free, or the client went away meanwhile
                _LOG.warning("no connection for content could be taken: %s", error)
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            if self.connections >= self._limits.server_connections:
                connection.close()
                continue
            task = asyncio.create_task(self._serve(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @property
    def connections(self) -> int:
        """How many there are, whoever answers them."""
        server = self._runner.server if self._runner is not None else None
        return len(self._tasks) + (len(server.connections) if server is not None else 0)

    async def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setblocking(False)  # noqa: FBT003 - the socket module's own
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                was_forwarded = await _was_forwarded(connection)
            leader = None if was_forwarded else self._leader()
            if leader is None or not await self._pass_on(connection, leader):
                await self._answer(connection)
        except OSError as error:  # ssl.SSLError and TimeoutError are OSErrors
            _LOG.debug("a connection for content ended before its first request: %s", error)
        finally:
            connection.close()  # where a transport has it, this is its own copy

    async def _answer(self, connection: socket.socket) -> None:
        """By this process, over TLS. The application goes on with it by itself."""
        context = await self._tls.context()
        if context is None or self._runner is None or self._runner.server is None:
            return
        protocol = self._runner.server()
        loop = asyncio.get_running_loop()
        # Set before the handshake: a request may have arrived, and be allowed, before this goes on.
        seconds = HANDSHAKE_SECONDS + self._limits.server_silence_seconds
        self._unadmitted[protocol] = loop.call_later(seconds, self._drop, protocol)
        try:
            await loop.connect_accepted_socket(
                lambda: protocol, connection.dup(), ssl=context, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except BaseException:  # no handshake, no connection: nothing stays
            self._admitted(protocol)
            raise

    def _admitted(self, protocol: object) -> None:
        if (end := self._unadmitted.pop(protocol, None)) is not None:
            end.cancel()

    def _drop(self, protocol: web.RequestHandler) -> None:
        self._unadmitted.pop(protocol, None)
        if protocol.transport is not None:  # before the handshake, and after the end
            protocol.transport.abort()

    async def _pass_on(self, connection: socket.socket, leader: str) -> bool:
        """False: the leader cannot be reached, and nothing of the connection was used."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                there = await asyncio.open_connection(leader, self.port)
        except OSError as error:
            CONTENT_FORWARDED.labels("failed").inc()
            if leader != self._unreachable:
                _LOG.warning("connections for content cannot be passed on to the leader at %s: %s", leader, error)
            self._unreachable = leader
            return False
        self._unreachable = ""
        CONTENT_FORWARDED.labels("forwarded").inc()
        with closing(there[1]):
            there[1].write(FORWARDED)
            here = await asyncio.open_connection(sock=connection.dup())
            with closing(here[1]):
                await _both(question=_copy(here[0], there[1]), answer=_copy(there[0], here[1]))
        return True


async def _was_forwarded(connection: socket.socket) -> bool:
    """Takes the mark of a forwarded connection off it; raises for what is neither that nor TLS."""
    first = await _peek(connection)
    if first == _HANDSHAKE_BYTE:
        return False
    read = b""
    while len(read) < len(FORWARDED):
        piece = await asyncio.get_running_loop().sock_recv(connection, len(FORWARDED) - len(read))
        read += piece
        if not piece or not FORWARDED.startswith(read):
            raise ConnectionAbortedError("it does not speak TLS")
    return True


async def _peek(connection: socket.socket) -> bytes:
    """The first byte, which stays where it is."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            readable = loop.create_future()
            loop.add_reader(connection, _finish, readable)
            try:
                await readable
            finally:
                loop.remove_reader(connection)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()


async def _both(*, question: Coroutine[Any, Any, None], answer: Coroutine[Any, Any, None]) -> None:
    """Until the leader has said all it will say, or one of the two fails: a client that keeps silent holds nothing."""
    asking, answering = asyncio.create_task(question), asyncio.create_task(answer)
    try:
        await asyncio.wait([asking, answering], return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            await asking
        await answering
    finally:
        for task in (asking, answering):
            task.cancel()
        await asyncio.gather(asking, answering, return_exceptions=True)


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
