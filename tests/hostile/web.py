"""A web server for http sources that attacks who asks it: by path, one attack each.

    /archives/<kind>.tgz    an archive of `archives`
    /<attack>               an answer of `WebAttack`

It counts its requests and speaks HTTP by hand, because no library sends what it has to send.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from types import TracebackType
from typing import Self

from tests.hostile.archives import HostileArchive, hostile_archive

_HEAD_BYTES = 16 * 1024
_DRIP_SECONDS = 20.0
_ENDLESS_BYTES = 1 << 31  # it stops by itself


class WebAttack(StrEnum):
    DRIP = "drip"
    """One byte of the body every 20 seconds."""
    DRIP_HEADER = "drip-header"
    """One header line every second, and never the last."""
    ENDLESS = "endless"
    """A body of two gigabytes in chunks, without a length."""
    LARGE = "large"
    """An announced length of a terabyte."""
    REASON = "reason"
    """A status line with 60 kB of words."""
    RETRY_AFTER = "retry-after"
    """503 that wants to be asked again in the year 9999, in 60 kB of digits."""
    REDIRECTS = "redirects"
    """To itself, for ever."""
    BROKEN_LOCATION = "broken-location"
    """To `http://[::1/`, which is not a URL."""
    METADATA = "metadata"
    """To an address of a cloud's metadata, spelled as one number."""
    NOTHING = "nothing"
    """No answer at all."""


class HostileWebServer:
    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def address(self) -> str:
        if self._server is None:
            raise RuntimeError("the server is not started")
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    def url(self, attack: WebAttack | HostileArchive) -> str:
        path = f"archives/{attack}.tgz" if isinstance(attack, HostileArchive) else str(attack)
        return f"http://{self.address}/{path}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                head = (await reader.readuntil(b"\r\n\r\n"))[:_HEAD_BYTES]
                path = head.split(b" ", 2)[1].decode(errors="replace").lstrip("/")
                self.asked[path] += 1
                async for piece in self._answer(path):
                    writer.write(piece)
                    await writer.drain()
        finally:
            writer.close()

    async def _answer(self, path: str) -> AsyncIterator[bytes]:
        if path.startswith("archives/"):
            kind = HostileArchive(path.removeprefix("archives/").removesuffix(".tgz"))
            body = await asyncio.to_thread(hostile_archive, kind)
            yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            return
        async for piece in _ANSWERS[WebAttack(path)]():
            yield piece


async def _drip() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
    async for piece in _slowly(b"\x1f", _DRIP_SECONDS):
        yield piece


async def _drip_header() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    async for piece in _slowly(b"X-Drip: 1\r\n", 1.0):
        yield piece


async def _slowly(piece: bytes, seconds: float) -> AsyncIterator[bytes]:
    for _ in range(100):
        yield piece
        await asyncio.sleep(seconds)


async def _endless() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"10000\r\n" + bytes(65536) + b"\r\n"
    for _ in range(_ENDLESS_BYTES // 65536):
        yield piece


async def _large() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n"


async def _reason() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 500 " + b"repository not found " * 3000 + b"\r\nContent-Length: 0\r\n\r\n"


async def _retry_after() -> AsyncIterator[bytes]:
    yield b"HTTP/1.1 503 later\r\nContent-Length: 0\r\nRetry-After: " + b"9" * 7000 + b"\r\n\r\n"


async def _redirects() -> AsyncIterator[bytes]:
    yield _redirect(b"/redirects")


async def _broken_location() -> AsyncIterator[bytes]:
    yield _redirect(b"http://[::1/x")


async def _metadata() -> AsyncIterator[bytes]:
    yield _redirect(b"http://2852039166/latest")


async def _nothing() -> AsyncIterator[bytes]:
    await asyncio.sleep(10 * _DRIP_SECONDS)
    yield b""


def _redirect(location: bytes) -> bytes:
    return b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n"


_ANSWERS: Mapping[WebAttack, Callable[[], AsyncIterator[bytes]]] = {
    WebAttack.DRIP: _drip,
    WebAttack.DRIP_HEADER: _drip_header,
    WebAttack.ENDLESS: _endless,
    WebAttack.LARGE: _large,
    WebAttack.REASON: _reason,
    WebAttack.RETRY_AFTER: _retry_after,
    WebAttack.REDIRECTS: _redirects,
    WebAttack.BROKEN_LOCATION: _broken_location,
    WebAttack.METADATA: _metadata,
    WebAttack.NOTHING: _nothing,
}
