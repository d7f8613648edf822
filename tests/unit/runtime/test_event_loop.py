"""Connections that break at their start or end: uvloop gets them wrong, and our loop must not."""

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
    another = os.open(os.devnull, os.O_RDONLY)
    os.dup2(another, number)  # from here on the number is another one's
    os.close(another)
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


@pytest.mark.parametrize(
    ("message", "error", "is_told"),
    [
        ("Fatal error on SSL protocol", RuntimeError("<transport>; the handler is closed"), False),
        ("Fatal error on SSL protocol", RuntimeError("something else"), True),
        ("Future exception was never retrieved", RuntimeError("<transport>; the handler is closed"), True),
    ],
)
async def test_of_a_connection_that_is_closed_nothing_is_told(message: str, error: Exception, *, is_told: bool) -> None:
    """As uvloop reports it when something arrives in the moment in which we close."""
    told: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told.append(context["message"]))
    loop.call_exception_handler({"message": message, "exception": error})
    assert told == ([message] if is_told else [])
