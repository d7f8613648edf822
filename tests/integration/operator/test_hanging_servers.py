"""Servers that take a connection and never answer hold their own Bundles, and no others."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from rukpak_py.controllers.jobs import LANE_WIDTH
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching
from tests.integration.operator.tenant import Tenant
from tests.waiting import eventually

HANGING = 10


class Silence:
    """Takes every connection, and says nothing on it."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.taken: list[socket.socket] = []
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def _take(self) -> None:
        while True:
            try:
                self.taken.append(self._server.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        for one in self.taken:
            one.close()


@pytest.fixture
def silence() -> Iterator[Silence]:
    silence = Silence()
    yield silence
    silence.close()


@pytest.fixture
async def fetch(tenant: Tenant) -> AsyncIterator[Fetching]:
    async with fetching(tenant) as one:
        yield one


async def test_ten_bundles_of_a_server_that_hangs(operators: StartOperator, fetch: Fetching, silence: Silence) -> None:
    """Three sources at once: more than workers, lanes and places for content would bear if they were shared."""
    operator = operators(arguments=[LOOPBACK])
    await operator.start()
    base = f"http://{silence.address}"
    sources = [
        source
        for number in range(HANGING)
        for source in (
            {"type": "image", "image": {"ref": f"{silence.address}/team/demo:v{number}"}},
            {"type": "http", "http": {"url": f"{base}/{number}.tgz"}},
            {"type": "git", "git": {"repository": f"{base}/{number}.git", "ref": {"branch": "main"}}},
        )
    ]
    hanging = [await fetch.bundle(f"hangs-{number}", source) for number, source in enumerate(sources)]

    async def all_hang() -> bool:
        return len(silence.taken) >= LANE_WIDTH

    await eventually(all_hang, what="the server holds a lane's connections")
    await fetch.until_unpacked(*[await fetch.bundle(f"good-{n}", fetch.image(f"v{n}")) for n in range(HANGING)])
    states = await asyncio.gather(*map(fetch.status, hanging))
    assert {state.get("phase", "Unpacking") for state in states} == {"Unpacking"}

    async def nothing_waits() -> bool:
        return await operator.metric("rukpak_queue_depth") == 0

    await eventually(nothing_waits, what="no worker of the queue is held")
