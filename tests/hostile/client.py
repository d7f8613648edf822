"""A hostile client of the operator's ports. It opens connections, does on each what its attack says, and holds them.

`opened` counts the connections that did their part, `held` those that the server has not ended, and `answers` has the
status of every answer. A connection that the server ends is not opened again: how many are held at the end is what the
server allows.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rukpak_py.api.names import BUNDLE_WEBHOOK_PATH
from rukpak_py.api.source_types import CONFIG_MAPS_AT_MOST

NAMES = 60_000
REVIEW_BYTES = 8 * 1024 * 1024  # what a review may have
AT_A_TIME = 50  # connections that are being opened
TRICKLE_SECONDS = 0.05  # between two bytes


class Attack(Enum):
    MANY_NAMES = "many-names"
    """A review of a Bundle with 60,000 ConfigMaps: each name was a look-up, and a task that waits for its turn."""
    HALF_REVIEWS = "half-reviews"
    """Reviews that say that they have eight MiB, and stop after half of them: their bytes were held for ever."""
    SLOW_REVIEWS = "slow-reviews"
    """The same with bodies that come byte by byte, so that no pause is long."""
    FULL_REVIEWS = "full-reviews"
    """Whole reviews with as many ConfigMaps as a Bundle may have, none of which exists: each is a request of ours."""
    HALF_PROBES = "half-probes"
    """Probes whose header does not end: without a deadline each keeps a descriptor."""
    SLOW_PROBES = "slow-probes"
    """Probes whose header comes byte by byte."""
    SILENT = "silent"
    """Connections without a byte, not even of a TLS handshake: they took the places of those who have content."""
    SILENT_TLS = "silent-tls"
    """Connections with a TLS handshake and nothing after it."""
    STRANGERS = "strangers"
    """Requests for content with a forged token."""


@dataclass(frozen=True, kw_only=True)
class Script:
    """Steps of the client on each connection."""

    tls: bool
    opening: bytes = b""
    trickle: bytes = b""  # byte by byte, again and again


def script(attack: Attack, size: int = REVIEW_BYTES) -> Script:
    """`size`: of the reviews that are not sent as a whole."""
    match attack:
        case Attack.MANY_NAMES:
            return Script(tls=True, opening=_whole_review(NAMES))
        case Attack.FULL_REVIEWS:
            return Script(tls=True, opening=_whole_review(CONFIG_MAPS_AT_MOST))
        case Attack.HALF_REVIEWS:
            return Script(tls=True, opening=_post(size) + b'"' + bytes(size // 2))
        case Attack.SLOW_REVIEWS:
            return Script(tls=True, opening=_post(size), trickle=b" ")
        case Attack.HALF_PROBES:
            return Script(tls=False, opening=b"GET /healthz HTTP/1.1\r\nHost: h\r\nX-Slow: ")
        case Attack.SLOW_PROBES:
            return Script(tls=False, opening=b"GET /healthz HTTP/1.1\r\nHost: h\r\nX-Slow: ", trickle=b"x")
        case Attack.SILENT:
            return Script(tls=False)
        case Attack.SILENT_TLS:
            return Script(tls=True)
        case Attack.STRANGERS:
            request = b"GET /bundles/b.tgz HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer nobody\r\n\r\n"
            return Script(tls=True, opening=request)


def review_of(config_maps: list[dict[str, Any]]) -> dict[str, Any]:
    """The review of a Bundle that is created from these ConfigMaps."""
    spec = {"provisionerClassName": "p", "source": {"type": "configMaps", "configMaps": config_maps}}
    request = {
        "uid": "u-1",
        "operation": "CREATE",
        "name": "b",
        "resource": {"group": "core.rukpak.io", "version": "v1alpha1", "resource": "bundles"},
        "object": {"metadata": {"name": "b"}, "spec": spec},
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


class HostileClient:
    def __init__(self, attack: Attack, port: int, *, count: int, size: int = REVIEW_BYTES) -> None:
        self._script = script(attack, size)
        self._port = port
        self._count = count
        self._turns = asyncio.Semaphore(AT_A_TIME)
        self._tasks: list[asyncio.Task[None]] = []
        self.opened = 0
        self.held = 0
        self.answers: list[int] = []

    async def start(self) -> None:
        """Until every connection has done its part, or was ended by the server before."""
        done = [asyncio.get_running_loop().create_future() for _ in range(self._count)]
        self._tasks = [asyncio.create_task(self._attack(one)) for one in done]
        await asyncio.wait(done)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def ended(self) -> None:
        """Until the server has ended every connection."""
        await asyncio.wait(self._tasks)

    async def _attack(self, done: asyncio.Future[None]) -> None:
        writer = None
        try:
            async with self._turns:
                reader, writer = await self._connect()
                self.held += 1
                writer.write(self._script.opening)
                await writer.drain()
                self.opened += 1
            done.set_result(None)
            await self._hold(reader, writer)
        except OSError:  # the server has ended the connection
            return
        finally:
            if not done.done():
                done.set_result(None)
            if writer is not None:
                self.held -= 1
                writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self._script.tls:
            return await asyncio.open_connection("127.0.0.1", self._port)
        return await asyncio.open_connection("127.0.0.1", self._port, ssl=_any_server())

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        trickle = asyncio.create_task(self._send_slowly(writer))
        try:
            if status := await reader.readline():
                self.answers.append(int(status.split()[1]))
            await reader.read()
        finally:
            trickle.cancel()

    async def _send_slowly(self, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while self._script.trickle:
                writer.write(self._script.trickle)
                await writer.drain()
                await asyncio.sleep(TRICKLE_SECONDS)


@asynccontextmanager
async def attacking(attack: Attack, port: int, *, count: int, size: int = REVIEW_BYTES) -> AsyncIterator[HostileClient]:
    client = HostileClient(attack, port, count=count, size=size)
    try:
        await client.start()
        yield client
    finally:
        await client.stop()


def _post(length: int) -> bytes:
    return f"POST {BUNDLE_WEBHOOK_PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n".encode()


def _whole_review(names: int) -> bytes:
    body = json.dumps(review_of([{"configMap": {"name": f"name-{number}"}} for number in range(names)])).encode()
    return _post(len(body)) + body


def _any_server() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
