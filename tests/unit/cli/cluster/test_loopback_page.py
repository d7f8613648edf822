"""`rukpakctl ui` answers on loopback only those who have its address: no other user, and no other site."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

import aiohttp
import pytest
from multidict import CIMultiDict

from rukpak_py.api.names import CONTENT_SERVICE, DEFAULT_SYSTEM_NAMESPACE, SecretName
from rukpak_py.cli.cluster.page_server import LoopbackPage, is_loopback
from rukpak_py.cli.cluster.session import ClusterSession, OperatorAt
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection
from rukpak_py.server.page import application

AT = OperatorAt(namespace=DEFAULT_SYSTEM_NAMESPACE, service=CONTENT_SERVICE, ca_secret=str(SecretName.CA))
STYLE = "static/page.css"  # needs no cluster


@pytest.fixture
async def page() -> AsyncIterator[LoopbackPage]:
    connection = Connection(server="http://127.0.0.1:1")
    async with Client(connection) as client:
        page = LoopbackPage(ClusterSession(client, connection, AT), port=0, troubleshooting="", limits=DEFAULT_LIMITS)
        async with page.served():
            yield page


async def test_every_answer_keeps_scripts_and_frames_of_others_out(
    page: LoopbackPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages, files, refusals, failures of the API server, defects, and what is no HTTP request."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(application, "_file", fails)
    origin = page.url.removesuffix(urlsplit(page.url).path)
    asked_for = [
        ("GET", page.url, 503),
        ("HEAD", page.url, 503),
        ("POST", page.url, 405),
        ("GET", f"{page.url}absent", 404),
        ("GET", f"{page.url}static/absent", 404),
        ("GET", f"{origin}/", 403),
        ("HEAD", f"{origin}/", 403),
        ("GET", page.url + STYLE, 500),
    ]
    async with aiohttp.ClientSession() as session:
        for method, url, status in asked_for:
            async with session.request(method, url) as response:
                assert (response.status, protected(response.headers)) == (status, True), (method, url)
                assert ("GET" in response.headers.get("Allow", "")) is (status == 405)
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(page.url).port)
    writer.write(b"GET / HTTP/9\r\n\r\n")
    status_line, *lines = (await reader.read()).decode().split("\r\n\r\n")[0].split("\r\n")
    writer.close()
    assert status_line.split()[1] == "400"
    assert protected(CIMultiDict((line.partition(": ")[0], line.partition(": ")[2]) for line in lines))


def protected(headers: Mapping[str, str]) -> bool:
    return application.HEADERS.items() <= {name: headers.get(name) for name in application.HEADERS}.items()


async def test_head_has_the_headers_of_get_and_no_body(page: LoopbackPage) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(page.url + STYLE) as response:
            full = len(await response.read())
        async with session.head(page.url + STYLE) as response:
            assert (response.status, await response.read()) == (200, b"")
            assert response.headers["Content-Length"] == str(full)


@pytest.mark.parametrize(
    ("host", "port", "is_ours"),
    [
        ("127.0.0.1:8080", 8080, True),
        ("localhost:8080", 8080, True),
        ("127.0.0.1", 80, True),
        ("127.0.0.1:80", 80, True),
        ("127.0.0.1", 8080, False),
        ("127.0.0.1:", 8080, False),
        ("localhost:8081", 8080, False),
        ("evil.example.com", 80, False),
        ("127.0.0.1:80:80", 80, False),
        ("", 80, False),
    ],
)
def test_host_names_this_server(host: str, port: int, *, is_ours: bool) -> None:
    assert is_loopback(host, port) is is_ours


async def asked(url: str, *, method: str = "GET", **headers: str) -> tuple[int, str, SimpleCookie]:
    async with aiohttp.ClientSession() as session, session.request(method, url, headers=headers) as response:
        return response.status, await response.text(), response.cookies


async def test_whole_address_is_answered_without_a_cookie(page: LoopbackPage) -> None:
    status, text, cookies = await asked(page.url + STYLE)
    assert (status, dict(cookies)) == (200, {})
    assert "{" in text


@pytest.mark.parametrize("path", ["", STYLE, "deployments/shop", f"x{'A' * 42}/{STYLE}", f"%00/{STYLE}"])
async def test_address_without_the_secret_is_refused(page: LoopbackPage, path: str) -> None:
    origin = page.url.removesuffix(urlsplit(page.url).path)
    status, text, _ = await asked(f"{origin}/{path}")
    assert (status, text) == (403, "Open the whole address that `rukpakctl ui` has printed.\n")


@pytest.mark.parametrize(
    "host", ["evil.example.com:{port}", "localhost.evil.example.com:{port}", "127.0.0.1", "127.0.0.1:1"]
)
async def test_another_name_that_leads_here_is_refused_even_with_the_secret(page: LoopbackPage, host: str) -> None:
    status, text, _ = await asked(page.url + STYLE, Host=host.format(port=urlsplit(page.url).port))
    assert (status, text) == (403, "The host of the address must be 127.0.0.1 or localhost.\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_no_request_of_another_site_changes_anything(page: LoopbackPage, method: str) -> None:
    """There is nothing that takes a write, whatever page of the browser sends it."""
    status, _, _ = await asked(page.url, method=method, Origin="https://evil.example.com")
    assert status == 405
