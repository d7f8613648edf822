"""The loop that every test runs on can be closed whatever is open on it, and tells of what a test left open."""

import asyncio
import socket
import ssl

import pytest

from tests.conftest import Loop


async def connected(peer: socket.socket, tls: ssl.SSLContext | None) -> None:
    """The peer is connected to a server of this loop and says nothing."""
    accepted = asyncio.Event()

    def protocol() -> asyncio.Protocol:
        accepted.set()
        return asyncio.Protocol()

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, ssl=tls)
    peer.connect(server.sockets[0].getsockname())
    await accepted.wait()


def test_a_handshake_that_has_begun_ends_with_the_loop() -> None:
    loop = Loop()
    with socket.socket() as peer:
        loop.run_until_complete(connected(peer, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)))
        loop.close()
        assert peer.recv(1) == b""


def test_a_connection_that_was_left_open_is_told_once_it_is_closed() -> None:
    loop = Loop()
    with socket.socket() as peer:
        loop.run_until_complete(connected(peer, None))
        with pytest.warns(ResourceWarning, match="TCPTransport"):
            loop.close()
        assert peer.recv(1) == b""
