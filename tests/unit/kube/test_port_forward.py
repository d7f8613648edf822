"""Connections that are forwarded over a websocket: its messages, both directions, and every way in which it ends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import pairwise

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.port_forward import CHUNK, LOOPBACK, PodPort, PortForward, PortForwardError, PortForwardFrames
from tests.unit.kube.fake_api import serving

TARGET = PodPort(namespace="system", pod="core-1", port=8443)
NUMBER = (8443).to_bytes(2, "little")
PATIENCE = 10.0

Socket = Callable[[web.WebSocketResponse], Awaitable[None]]


@given(data=st.binary(max_size=200), cuts=st.lists(st.integers(min_value=0, max_value=202), max_size=6))
def test_bytes_arrive_however_their_frames_are_cut(data: bytes, cuts: list[int]) -> None:
    stream = NUMBER + data
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    frames = PortForwardFrames(TARGET)
    pieces = [stream[start:end] for start, end in pairwise(places)]
    assert b"".join(frames.received(b"\0" + piece) for piece in pieces) == data


@given(number=st.integers(min_value=0, max_value=65535))
def test_only_the_port_that_was_asked_for_is_taken(number: int) -> None:
    frame = b"\0" + number.to_bytes(2, "little") + b"data"
    if number == TARGET.port:
        assert PortForwardFrames(TARGET).received(frame) == b"data"
        return
    with pytest.raises(PortForwardError, match="forwards another port"):
        PortForwardFrames(TARGET).received(frame)


@given(frame=st.binary(max_size=64))
def test_no_message_is_more_than_refused(frame: bytes) -> None:
    with suppress(PortForwardError):
        assert len(PortForwardFrames(TARGET).received(frame)) <= len(frame)


def test_an_error_is_told_in_one_line() -> None:
    frames = PortForwardFrames(TARGET)
    assert frames.received(b"\1" + NUMBER) == b""
    with pytest.raises(PortForwardError, match=r"^forward to port 8443 of Pod system/core-1: connection refused now$"):
        frames.received(b"\1connection refused\n now")


async def echo(socket: web.WebSocketResponse) -> None:
    """As a kubelet in front of a server that sends back what it gets."""
    for channel in (b"\0", b"\1"):
        await socket.send_bytes(channel + NUMBER)
    async for message in socket:
        assert message.data[0] == 0
        await socket.send_bytes(message.data)


async def refuse(socket: web.WebSocketResponse) -> None:
    for channel in (b"\0", b"\1"):
        await socket.send_bytes(channel + NUMBER)
    await socket.send_bytes(b"\1no such port")


async def close(_socket: web.WebSocketResponse) -> None:
    pass


async def find() -> PodPort:
    return TARGET


@asynccontextmanager
async def forwarded(
    *sockets: Socket | int, find: Callable[[], Awaitable[PodPort]] = find
) -> AsyncIterator[tuple[PortForward, int, list[str]]]:
    """One for each connection; a number is a refusal."""
    asked: list[str] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(f"{request.path_qs} {request.headers.get('Sec-WebSocket-Protocol')}")
        assert request.headers["Accept"] == "*/*", "the container runtime answers any other with 406"
        scripted = sockets[min(len(asked), len(sockets)) - 1]
        if isinstance(scripted, int):
            return web.json_response({"kind": "Status", "message": "no"}, status=scripted)
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        await scripted(socket)
        await socket.close()
        return socket

    async with serving(answer) as (client, _), asyncio.timeout(PATIENCE):
        forward = PortForward(client, find)
        async with forward.listening() as port:
            yield forward, port, asked


async def exchange(port: int, data: bytes) -> bytes:
    """Send the data, and read until as much came back or the connection ends."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    try:
        writer.write(data)
        return await reader.readexactly(len(data))
    except asyncio.IncompleteReadError as error:
        return error.partial
    finally:
        writer.close()


async def test_bytes_go_both_ways_through_the_api_server() -> None:
    data = bytes(range(256)) * (4 * CHUNK // 256 + 1)
    async with forwarded(echo) as (forward, port, asked):
        assert await exchange(port, data) == data
        assert forward.failure is None
    assert asked == ["/api/v1/namespaces/system/pods/core-1/portforward?ports=8443 v4.channel.k8s.io"]


async def test_connections_are_independent_and_each_has_its_own_websocket() -> None:
    async with forwarded(echo) as (_, port, asked):
        answers = await asyncio.gather(*(exchange(port, bytes((number,)) * 1000) for number in range(8)))
        assert answers == [bytes((number,)) * 1000 for number in range(8)]
        assert len(asked) == 8


async def test_forward_connects_again_after_a_broken_connection() -> None:
    async with forwarded(close, refuse, echo) as (forward, port, _):
        assert await exchange(port, b"first") == b""
        assert await exchange(port, b"second") == b""
        assert "no such port" in str(forward.failure)
        assert await exchange(port, b"third") == b"third"
        assert forward.failure is None


async def test_a_missing_right_is_named() -> None:
    async with forwarded(403) as (forward, port, _):
        assert await exchange(port, b"x") == b""
        assert isinstance(forward.failure, ForbiddenError)
        assert "the verbs get and create of pods/portforward in the namespace system are needed" in str(forward.failure)


async def test_no_pod_at_the_moment_is_told_and_looked_for_again() -> None:
    pods: list[RukPakError | PodPort] = [UnavailableError("no pod is ready"), TARGET]

    async def find_later() -> PodPort:
        found = pods.pop(0)
        if isinstance(found, PodPort):
            return found
        raise found

    async with forwarded(echo, find=find_later) as (forward, port, _):
        assert await exchange(port, b"x") == b""
        assert str(forward.failure) == "no pod is ready"
        assert await exchange(port, b"x") == b"x"


async def test_end_of_a_forward_closes_its_connections_and_port() -> None:
    async with forwarded(echo) as (_, port, _):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
    assert await reader.read() == b""
    with pytest.raises(OSError):
        await asyncio.open_connection(LOOPBACK, port)
    writer.close()


async def test_the_other_end_is_told_of_the_end() -> None:
    ended = asyncio.Event()

    async def wait(socket: web.WebSocketResponse) -> None:
        await socket.send_bytes(b"\0" + NUMBER)
        message = await socket.receive()
        while message.type is aiohttp.WSMsgType.BINARY:
            message = await socket.receive()
        ended.set()

    async with forwarded(wait) as (_, port, _):
        _, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(b"x")
        await writer.drain()
        writer.close()
        await ended.wait()
