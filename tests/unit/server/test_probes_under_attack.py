"""A kubelet's probe is answered, whatever other clients do to its port."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest

from rukpak_py.core.limits import Limits
from rukpak_py.server.listener import Address, Listener
from rukpak_py.server.web import metrics_app, metrics_port, probe_app, probe_port
from tests.hostile.client import Attack, attacking
from tests.waiting import until

LOOPBACK = Address(host="127.0.0.1", port=0)
MANY = 1000
FAILURE_THRESHOLD = 6  # of the chart's liveness probe


async def probe(port: int) -> str:
    """Probe as a kubelet does, with a connection of its own."""
    timeout = aiohttp.ClientTimeout(total=20)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.get(f"http://127.0.0.1:{port}/healthz") as response,
    ):
        assert response.headers["Connection"] == "close"
        return await response.text()


async def probed(port: int) -> str:
    """Judge as a kubelet does: `failureThreshold` probes in a row have to fail. An attacker may displace one."""
    for _ in range(FAILURE_THRESHOLD - 1):
        with suppress(aiohttp.ClientError):
            return await probe(port)
    return await probe(port)


@asynccontextmanager
async def listening(limits: Limits) -> AsyncIterator[Listener]:
    listener = Listener(probe_app(live={}, ready={}), LOOPBACK, probe_port(limits))
    await listener.start()
    try:
        yield listener
    finally:
        await listener.stop()


@pytest.mark.parametrize("attack", [Attack.HALF_PROBES, Attack.SLOW_PROBES, Attack.SILENT])
async def test_a_probe_is_answered_while_others_hold_half_a_request(attack: Attack) -> None:
    limits = Limits(request_seconds=600)
    async with listening(limits) as listener, attacking(attack, listener.port, count=MANY) as client:
        assert await probe(listener.port) == "ok\n"
        assert listener.connections <= limits.probe_connections
        await until(lambda: client.held <= limits.probe_connections)


@pytest.mark.parametrize("attack", [Attack.HALF_PROBES, Attack.SLOW_PROBES, Attack.SILENT])
async def test_a_header_that_does_not_end_in_time_ends_its_connection(attack: Attack) -> None:
    limits = Limits(request_seconds=1)
    async with listening(limits) as listener, attacking(attack, listener.port, count=3) as client:
        await client.ended()
        await until(lambda: not listener.connections)
        assert client.answers == []


async def test_a_process_without_descriptors_still_answers_a_probe() -> None:
    """Many more half requests than the process may have files, and more than its port has places."""
    command = (sys.executable, "-m", "tests.unit.server.probe_server")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        async with attacking(Attack.HALF_PROBES, port, count=MANY):
            assert await probed(port) == "ok\n"
    finally:
        process.kill()
        await process.wait()


async def test_an_answer_ends_the_connection() -> None:
    for app, settings in (
        (probe_app(live={}, ready={}), probe_port(Limits())),
        (metrics_app(), metrics_port(Limits())),
    ):
        listener = Listener(app, LOOPBACK, settings)
        await listener.start()
        for path in ("/healthz", "/metrics", "/else"):
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            assert b"Connection: close" in await reader.read()
            writer.close()
        await listener.stop()
