"""The frames of a command in a container: what is output, what counts as its end, and what breaks off."""

import json
from collections.abc import Sequence
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.kube.errors import ServerUnavailableError
from rukpak_py.kube.exec import ExecEnding, ExecError, ExecFrames, output_of, run_command
from tests.unit.kube.fake_api import serving

SUCCESS = b'\x03{"metadata":{},"status":"Success"}'
END = b"0123456789abcdef"
IDLE_SECONDS = 5.0


def failure(code: str, message: str = "command terminated") -> bytes:
    causes = [{"reason": "ExitCode", "message": code}]
    status = {"status": "Failure", "message": message, "details": {"causes": causes}}
    return b"\x03" + json.dumps(status).encode()


class Socket:
    """Gives these frames, then the end of the connection; and remembers what it is sent."""

    def __init__(self, *frames: bytes, kind: aiohttp.WSMsgType = aiohttp.WSMsgType.BINARY) -> None:
        self._frames = list(frames)
        self._kind = kind
        self.sent: list[tuple[int, bytes]] = []  # with the number of frames that were still to come

    async def receive(self, timeout: float) -> Any:  # noqa: ASYNC109 - as aiohttp's
        assert timeout == IDLE_SECONDS
        if self._frames:
            return SimpleNamespace(type=self._kind, data=self._frames.pop(0))
        return SimpleNamespace(type=aiohttp.WSMsgType.CLOSED, data=None)

    async def send_bytes(self, data: bytes) -> None:
        self.sent.append((len(self._frames), data))


async def collected(socket: Socket, end: bytes = b"") -> bytes:
    typed = cast("aiohttp.ClientWebSocketResponse[bool]", socket)
    async with aclosing(output_of(typed, end=end, idle=IDLE_SECONDS)) as pieces:
        return b"".join([piece async for piece in pieces])


def cut(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


@given(
    st.binary(max_size=300),
    st.lists(st.integers(min_value=0, max_value=40), max_size=20),
    st.lists(st.sampled_from([b"\x02warning", b"\xff\x01", b"\x01", b"\x03"])),
)
async def test_output_is_whole_however_it_is_cut(data: bytes, sizes: list[int], others: list[bytes]) -> None:
    frames = [b"\x01" + piece for piece in cut(data + END, sizes)]
    for place, other in enumerate(others):
        frames.insert(place * 2 % (len(frames) + 1), other)
    socket = Socket(*frames, SUCCESS)
    assert await collected(socket, END) == data
    assert socket.sent[-1][1] == b"\x00\n"


@given(st.lists(st.binary(max_size=20), max_size=10))
async def test_no_frames_are_understood_without_a_success(frames: list[bytes]) -> None:
    """Whatever a server sends: nothing but a status that says so is a success."""
    frames = [frame for frame in frames if not frame.startswith(b"\x03")]
    with pytest.raises(ExecError):
        await collected(Socket(*frames))


async def test_the_command_may_end_when_all_of_it_came_and_not_before() -> None:
    socket = Socket(b"\x01abc" + END[:8], b"\x01" + END[8:], SUCCESS)
    assert await collected(socket, END) == b"abc"
    assert socket.sent == [(1, b"\x00\n")]


async def test_output_that_was_lost_on_the_way_is_no_success() -> None:
    """Seen: a status that says success, after two thirds of the output."""
    with pytest.raises(ExecError, match="the end of the output of the command is missing"):
        await collected(Socket(b"\x01abc", SUCCESS), END)


async def test_a_connection_that_breaks_off_says_what_was_said() -> None:
    with pytest.raises(ExecError, match="broke off before its end") as failed:
        await collected(Socket(b"\x01abc", b"\x02tar: a: No such\nfile"))
    assert failed.value.errors == "tar: a: No such file"


@pytest.mark.parametrize(("digits", "code"), [("2", 2), ("137", 137), ("", None), ("-1", None), ("9999", None)])
async def test_an_exit_code_is_told(digits: str, code: int | None) -> None:
    with pytest.raises(ExecError, match="command terminated: no") as failed:
        await collected(Socket(b"\x02no", failure(digits)))
    assert failed.value.code == code


@pytest.mark.parametrize("frame", [b"", b"\x00", b"\x04x", b"\xfe"])
async def test_a_frame_of_no_channel_is_refused(frame: bytes) -> None:
    with pytest.raises(ExecError, match="frame"):
        await collected(Socket(frame, SUCCESS))


async def test_a_text_is_no_frame() -> None:
    with pytest.raises(ExecError, match="text"):
        await collected(Socket(b"x", kind=aiohttp.WSMsgType.TEXT))


async def test_silence_ends() -> None:
    class Silent(Socket):
        async def receive(self, timeout: float) -> Any:  # noqa: ASYNC109 - as aiohttp's
            raise TimeoutError

    with pytest.raises(ExecError, match="silent for 5 s"):
        await collected(Silent())


async def test_a_redirect_is_not_followed() -> None:
    elsewhere = web.Response(status=307, headers={"Location": "/elsewhere"})
    async with serving(elsewhere, web.Response(status=404)) as (client, api):
        with pytest.raises(ServerUnavailableError, match="it answered 307, and redirects are not followed"):
            async for _ in run_command(client, "apps", "pod", "c", ["true"]):
                pass
        assert len(api.seen) == 1


def test_remembered_errors_are_bounded() -> None:
    frames = ExecFrames()
    for _ in range(100):
        assert frames.output(b"\x02" + b"x" * 1000) == b""
        assert frames.output(b"\x03" + b"y" * 1000) == b""
    with pytest.raises(ExecError, match="cannot be read") as failed:
        frames.end()
    assert len(failed.value.errors) == 8192


@given(st.lists(st.binary(max_size=8), max_size=30))
def test_bytes_held_back_are_never_more_than_an_end(pieces: list[bytes]) -> None:
    ending = ExecEnding(end=END)
    passed = b"".join(map(ending.pass_on, pieces))
    whole = b"".join(pieces)
    assert passed == whole[: max(0, len(whole) - len(END))]
    assert not ending.has_come or whole.endswith(END)
