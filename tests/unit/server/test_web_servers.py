"""Probes name what is wrong, metrics are readable, servers start and stop."""

import asyncio

import aiohttp
import pytest
from aiohttp import web

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.server.listener import Address, Listener
from rukpak_py.server.web import metrics_app, metrics_port, probe_app, probe_port

LOOPBACK = Address(host="127.0.0.1", port=0)


def serving(app: web.Application, address: Address = LOOPBACK) -> Listener:
    return Listener(app, address, probe_port(DEFAULT_LIMITS))


async def get(server: Listener, path: str) -> tuple[int, str, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{server.port}{path}") as response,
    ):
        return response.status, response.headers["Content-Type"], await response.text()


async def test_readiness_lists_what_is_not_ready() -> None:
    waiting: dict[str, str | None] = {"cache": "no list of Bundles yet", "certificate": "none yet", "lease": None}
    checks = {name: (lambda name=name: waiting[name]) for name in waiting}
    server = serving(probe_app(live={}, ready=checks))
    await server.start()
    try:
        status, _, text = await get(server, "/readyz")
        assert (status, text) == (503, "cache: no list of Bundles yet\ncertificate: none yet\n")
        assert (await get(server, "/healthz"))[::2] == (200, "ok\n")
        waiting.update(cache=None, certificate=None)
        assert (await get(server, "/readyz"))[::2] == (200, "ok\n")
    finally:
        await server.stop()


async def test_reasons_of_unreadiness_are_logged_when_they_change_and_when_they_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger="rukpak_py.server.web")
    wrong: list[str | None] = [None]
    server = serving(probe_app(live={}, ready={"api": lambda: wrong[0]}))
    await server.start()
    try:
        for reason in ("no Bundles", "no Bundles", "no CRDs", None, None):
            wrong[0] = reason
            await get(server, "/readyz")
    finally:
        await server.stop()
    assert caplog.messages == ["not ready: api: no Bundles", "not ready: api: no CRDs", "ready"]


async def test_metrics_are_prometheus_text() -> None:
    server = Listener(metrics_app(), LOOPBACK, metrics_port(DEFAULT_LIMITS))
    await server.start()
    try:
        status, content_type, text = await get(server, "/metrics")
    finally:
        await server.stop()
    assert status == 200
    assert content_type.startswith("text/plain; version=")
    assert "# TYPE rest_client_requests_total counter" in text


async def test_stopping_lets_a_request_in_flight_end() -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        started.set()
        await go_on.wait()
        return web.Response(text="done")

    app = web.Application()
    app.router.add_get("/slow", slow)
    server = serving(app)
    await server.start()
    request = asyncio.create_task(get(server, "/slow"))
    await started.wait()
    stopping = asyncio.create_task(server.stop())
    await asyncio.sleep(0)
    go_on.set()
    assert (await request)[2] == "done"
    await stopping


async def test_a_taken_port_is_an_error_and_leaves_nothing_open() -> None:
    first = serving(web.Application())
    await first.start()
    second = serving(web.Application(), Address(host="127.0.0.1", port=first.port))
    with pytest.raises(UnavailableError, match=r"cannot listen on 127.0.0.1:\d+: .*already in use"):
        await second.start()
    await second.stop()
    await first.stop()


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [(":9443", None, 9443), ("127.0.0.1:80", "127.0.0.1", 80), ("[::1]:0", "::1", 0), ("localhost:1", "localhost", 1)],
)
def test_addresses_as_in_go(text: str, host: str | None, port: int) -> None:
    assert Address.parse(text) == Address(host=host, port=port)


@pytest.mark.parametrize("text", ["", "9443", "host:", "host:x", ":65536", ":-1"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write it as host:port or :port"):
        Address.parse(text)
