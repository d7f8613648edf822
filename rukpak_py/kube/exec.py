"""Runs a command in a container and reads what it sends, by the API server's websocket protocol (v4, v5).

Each frame is a message whose first byte names its channel: 1 is the standard output, 2 the standard error, 3 the status
with which the command ended, 255 (v5) that a channel is closed. Output is handed on as it arrives and never collected;
of the rest only a bounded beginning is kept. A command has succeeded when its status said so, and not before: a stream
that just ends is one that broke off.

When a command ends, the proxies that forward its output close connections, and output that is still under way may be
lost, although the status says success: this happens to readers that are slower than the command. So a command with much
output prints `end` after it, and waits: a line on its standard input lets it end when all of that has arrived.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import msgspec

from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.calls import Call, Repeat
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import PODS

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
LONGEST_FRAME: Final = 1024 * 1024  # the server sends pieces of 32 KiB
SILENT_SECONDS: Final = 60.0  # that a command may be, or the way to it
_OUTPUT, _ERRORS, _STATUS, _CLOSED = 1, 2, 3, 255
_LINE: Final = b"\x00\n"  # a frame of the standard input
_KEPT: Final = 8 * 1024  # of the standard error, and of the status


class ExecError(UnavailableError):
    """The command did not succeed. `code` is its exit code, None when it did not get to have one."""

    def __init__(self, message: str, *, code: int | None = None, errors: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.errors = errors


async def run_command(
    client: Client,
    namespace: str,
    pod: str,
    container: str,
    command: Sequence[str],
    *,
    end: str = "",
    idle: float = SILENT_SECONDS,
) -> AsyncGenerator[bytes, None]:
    """The standard output of a command in a container, as it arrives; close the generator to end the command.

    It stops without an error only when the command's exit code was 0; else `ExecError`. `end`: what a command
    prints last, without being part of its output, before it waits for a line on its standard input.
    """
    streams = {"stdin": "true", "stdout": "true", "stderr": "true"}
    call = Call(
        method="GET",  # of a websocket; the right that it needs is `create`, and before 1.35 `get`
        verb="exec",
        resource=PODS,
        namespace=namespace,
        name=pod,
        subresource="exec",
        params={"container": container, "command": list(command), **streams},
        repeat=Repeat.NEVER,
    )
    async with (
        client.websocket(call, protocols=PROTOCOLS, longest=LONGEST_FRAME) as socket,
        aclosing(output_of(socket, end=end.encode(), idle=idle)) as pieces,
    ):
        async for piece in pieces:
            yield piece


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct):
    causes: list[_Cause] | None = None


class _Status(msgspec.Struct):
    status: str = ""
    message: str = ""
    details: _Details | None = None


@dataclass(kw_only=True)
class ExecFrames:
    """The frames of one command."""

    _errors: bytearray = field(default_factory=bytearray)
    _status: bytearray = field(default_factory=bytearray)

    def output(self, frame: bytes) -> bytes:
        """The part of the standard output that is in this frame; all else is remembered as far as it may be."""
        if not frame:
            raise ExecError("the API server sent a frame without a channel")
        match frame[0]:
            case channel if channel == _OUTPUT:
                return frame[1:]
            case channel if channel == _ERRORS:
                self._errors += frame[1 : 1 + _KEPT - len(self._errors)]
            case channel if channel == _STATUS:
                self._status += frame[1 : 1 + _KEPT - len(self._status)]
            case channel if channel == _CLOSED:
                pass
            case channel:
                raise ExecError(f"the API server sent a frame of the unknown channel {channel}")
        return b""

    def end(self) -> None:
        """There are no more: raises `ExecError` unless the command has succeeded."""
        if not self._status:
            raise ExecError("the connection to the command broke off before its end", errors=self._said)
        try:
            status = msgspec.json.decode(bytes(self._status), type=_Status)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ExecError("how the command ended cannot be read", errors=self._said) from error
        if status.status == "Success":
            return
        code = _exit_code(status)
        text = status.message or "the command failed"
        raise ExecError(f"{text}: {self._said}" if self._said else text, code=code, errors=self._said)

    @property
    def _said(self) -> str:
        return " ".join(self._errors.decode(errors="replace").split())


@dataclass(kw_only=True)
class ExecEnding:
    """The output without the `end` that it has to end with."""

    end: bytes
    _held: bytes = b""

    def pass_on(self, piece: bytes) -> bytes:
        """Return the bytes that cannot be part of the end."""
        held = self._held + piece
        room = len(held) - len(self.end)
        self._held = held[max(room, 0) :]
        return held[: max(room, 0)]

    @property
    def has_come(self) -> bool:
        return self._held == self.end


async def output_of(
    socket: aiohttp.ClientWebSocketResponse[bool], *, end: bytes, idle: float
) -> AsyncGenerator[bytes, None]:
    """The standard output in pieces; it stops without an error only when all of it came and the command succeeded.

    A slow reader slows the sender down: no more than a few frames wait in memory.
    """
    frames, ending = ExecFrames(), ExecEnding(end=end)
    async for frame in _frames_of(socket, idle):
        output = frames.output(frame)
        if piece := ending.pass_on(output):
            yield piece
        if output and end and ending.has_come:
            try:
                await socket.send_bytes(_LINE)
            except (aiohttp.ClientError, OSError) as error:
                raise ExecError(f"the connection to the command is broken: {type(error).__name__}") from error
    frames.end()
    if not ending.has_come:
        raise ExecError("the end of the output of the command is missing")


async def _frames_of(socket: aiohttp.ClientWebSocketResponse[bool], idle: float) -> AsyncIterator[bytes]:
    while True:
        try:
            message = await socket.receive(timeout=idle)
        except TimeoutError as error:
            raise ExecError(f"the command was silent for {idle:g} s") from error
        match message.type:
            case aiohttp.WSMsgType.BINARY:
                yield message.data
            case aiohttp.WSMsgType.TEXT:
                raise ExecError("the API server sent text in place of a frame")
            case aiohttp.WSMsgType.ERROR:
                raise ExecError(f"the connection to the command is broken: {type(message.data).__name__}")
            case _:  # closed, by whichever side
                return


def _exit_code(status: _Status) -> int | None:
    causes = status.details.causes if status.details is not None else None
    digits = next((cause.message for cause in causes or () if cause.reason == "ExitCode"), "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 3 else None
