"""`rukpakctl ui` answers on loopback only those who have its address: no other user, and no other site."""

from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

import aiohttp
import pytest

from rukpak_py.api.names import CONTENT_SERVICE, DEFAULT_SYSTEM_NAMESPACE, SecretName
from rukpak_py.cli.cluster.page_server import LoopbackPage
from rukpak_py.cli.cluster.session import ClusterSession, OperatorAt
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection

AT = OperatorAt(namespace=DEFAULT_SYSTEM_NAMESPACE, service=CONTENT_SERVICE, ca_secret=str(SecretName.CA))
STYLE = "static/page.css"  # needs no cluster


@pytest.fixture
async def page() -> AsyncIterator[LoopbackPage]:
    connection = Connection(server="http://127.0.0.1:1")
    async with Client(connection) as client:
        page = LoopbackPage(ClusterSession(client, connection, AT), port=0, troubleshooting="", limits=DEFAULT_LIMITS)
        async with page.served():
            yield page


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
