"""What uvloop gets wrong, and our loop must not."""

import asyncio
import os
import socket
import ssl
import struct

import pytest


async def test_a_connection_that_breaks_at_its_start_does_not_close_the_next_ones_number() -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        ours.settimeout(0)
        await loop.sock_connect(ours, server.getsockname())
        accepted, _ = server.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()  # a reset, before the first byte of the handshake

        number = ours.fileno()
        with pytest.raises(OSError):  # broken pipe or connection reset, as the kernel likes
            await loop.create_connection(
                asyncio.Protocol, sock=ours, ssl=ssl.create_default_context(), server_hostname="localhost"
            )
    somebody = os.open(os.devnull, os.O_RDONLY)
    os.dup2(somebody, number)  # from here on the number is another one's
    os.close(somebody)
    try:
        ours.close()
        os.fstat(number)
    finally:
        os.close(number)


async def test_a_socket_that_was_refused_stays_with_its_owner() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        with pytest.raises(ValueError, match="Stream Socket was expected"):
            await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=ours)
        assert ours.fileno() >= 0
