"""A proxy between client and server that can go silent, as a broken network does: connected, but nothing arrives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

CHUNK = 65536


class Proxy:
    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._pipes: set[asyncio.Task[None]] = set()
        self.accepted = 0
        self.port = 0

    def stall(self) -> None:
        """From now on nothing passes in either direction, on open connections and new ones."""
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    def cut(self) -> None:
        """End every connection in the middle of whatever it carries."""
        for pipe in self._pipes:
            pipe.cancel()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        there_reader, there_writer = await asyncio.open_connection(self._host, self._port)
        pipes = [
            asyncio.create_task(self._pipe(reader, there_writer)),
            asyncio.create_task(self._pipe(there_reader, writer)),
        ]
        self._pipes.update(pipes)
        await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
        for pipe in pipes:
            pipe.cancel()
        self._pipes.difference_update(pipes)
        for end in (writer, there_writer):
            end.close()
            with suppress(OSError):
                await end.wait_closed()

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(CHUNK):
                await self._flowing.wait()
                writer.write(chunk)
                await writer.drain()


@asynccontextmanager
async def proxy_to(server: str) -> AsyncIterator[Proxy]:
    there = urlsplit(server)
    assert there.hostname is not None
    assert there.port is not None
    proxy = Proxy(there.hostname, there.port)
    listener = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        proxy.cut()
        await listener.wait_closed()
