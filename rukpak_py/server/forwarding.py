"""The listener of the content server. A replica that does not lead passes connections on to the one that does.

What is passed on is the connection, byte by byte, from before its TLS handshake: the client speaks to the leader
itself, with its own credentials, and verifies its certificate; the replica between them sees only ciphertext. The
leader tells such a connection by its first bytes, `FORWARDED`, which no TLS handshake begins with; it is never passed
on again, so two replicas that take each other for the leader answer with 503.

A connection becomes an admitted one (see `places`) with its first request that the API server allows; one that has none
ends soon, whatever it sends. The replica between cannot see that. It takes a connection for an admitted one when it has
lasted for longer than the leader lets strangers stay; of the younger ones, the one that was silent for longest gives
way first.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

from rukpak_py.core.limits import Limits
from rukpak_py.core.metrics import CONTENT_FORWARDED
from rukpak_py.server.content import ContentApp
from rukpak_py.server.listener import Address, Listener, PortSettings
from rukpak_py.server.places import Connection
from rukpak_py.server.server_tls import ServerTls

_LOG = logging.getLogger(__name__)
FORWARDED = b"rukpak-forwarded\n"
CONNECT_SECONDS = 3.0
REFUSED_SECONDS = 10.0  # for which the rest of a refused upload is read, before its client reads the answer
IDLE_SECONDS = 30.0  # between two requests of one connection
_HANDSHAKE_BYTE = b"\x16"
_PIECE = 64 * 1024

Leader = Callable[[], str | None]


class ContentListener:
    def __init__(self, app: ContentApp, address: Address, tls: ServerTls, limits: Limits, *, leader: Leader) -> None:
        """`leader`: the address of the replica to pass connections on to; None: this one answers."""
        self._leader = leader
        self._handshake_seconds = limits.request_seconds
        self._admission_seconds = limits.request_seconds + limits.server_silence_seconds
        self._unreachable = ""  # the leader that could not be reached, which is logged once
        settings = PortSettings(
            name="content",
            connections=limits.server_connections,
            strangers=limits.server_connections // 2,
            request_seconds=limits.request_seconds,
            idle_seconds=IDLE_SECONDS,
        )
        self._listener = Listener(
            app.application(),
            address,
            settings,
            tls=tls.context,
            route=self._route,
            auto_decompress=False,  # an upload is stored as it comes
            lingering_time=REFUSED_SECONDS,
        )

    async def start(self) -> None:
        await self._listener.start()

    async def stop(self) -> None:
        """Take no new connections, let requests in flight end within five seconds."""
        await self._listener.stop()

    @property
    def port(self) -> int:
        """The port that is really listened on."""
        return self._listener.port

    @property
    def connections(self) -> int:
        """Number of connections, both answered here and forwarded."""
        return self._listener.connections

    @property
    def admitted(self) -> int:
        """Number of connections that may read or upload, as far as is known here."""
        return self._listener.admitted

    async def _route(self, connection: Connection, accepted: socket.socket) -> bool:
        """Pass the connection on where another replica leads; False: this one answers."""
        async with asyncio.timeout(self._handshake_seconds):
            was_forwarded = await _was_forwarded(accepted)
        leader = None if was_forwarded else self._leader()
        if leader is not None and await self._pass_on(connection, accepted, leader):
            return True
        connection.admitted_within(self._admission_seconds)
        return False

    async def _pass_on(self, connection: Connection, accepted: socket.socket, leader: str) -> bool:
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
        connection.forwarding()
        # The leader ends a connection that it did not admit in this time, so it has admitted one that lasts longer.
        admission = asyncio.get_running_loop().call_later(self._admission_seconds + CONNECT_SECONDS, connection.admit)
        try:
            with closing(there[1]):
                there[1].write(FORWARDED)
                own = accepted.dup()
                accepted.close()
                here = await asyncio.open_connection(sock=own)
                with closing(here[1]):
                    question = _copy(here[0], there[1], connection)
                    await _both(question=question, answer=_copy(there[0], here[1], connection))
        finally:
            admission.cancel()
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


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection) -> None:
    while piece := await reader.read(_PIECE):
        connection.forwarding()
        writer.write(piece)
        await writer.drain()
    writer.write_eof()


async def _both(*, question: Coroutine[Any, Any, None], answer: Coroutine[Any, Any, None]) -> None:
    """Forward until the leader's answer ends, or one of the two fails: a client that keeps silent holds nothing."""
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
