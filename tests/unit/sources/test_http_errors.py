"""Failed downloads: the text that users read, and the consequences of the error's class."""

import asyncio
import socket
from typing import Any

import pytest
from aiohttp import web

from e2e.cluster.ports import free_ports
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from tests.unit.sources.websites import FILES, Reader, Site, raw_server, tgz

FAILED = "http request for bundle content failed: "
EMPTY = {"login": {"user": b"ann"}}
LOGIN = {"login": {"username": b"ann", "password": b"s3cret"}}


@pytest.mark.parametrize(
    ("status", "phrase", "kind"),
    [
        (404, "Not Found", UnavailableError),
        (410, "Gone", ContentError),
        (204, "No Content", UnavailableError),
        (304, "Not Modified", UnavailableError),
        (400, "Bad Request", UnavailableError),
        (429, "Too Many Requests", UnavailableError),
        (500, "Internal Server Error", UnavailableError),
        (503, "Service Unavailable", UnavailableError),
    ],
)
async def test_error_status_is_told(site: Site, status: int, phrase: str, kind: type[Exception]) -> None:
    site.gives("/x.tgz", status=status)
    url = site.url("/x.tgz")
    assert await Reader().refusal(url, kind) == f'GET {url}: unexpected status "{status} {phrase}"'


@pytest.mark.parametrize(("status", "phrase"), [(401, "Unauthorized"), (403, "Forbidden")])
async def test_refused_login_is_told_with_advice(site: Site, status: int, phrase: str) -> None:
    site.gives("/x.tgz", status=status)
    url = site.url("/x.tgz")
    text = f'GET {url}: unexpected status "{status} {phrase}": '
    advice = "name a Secret with username and password in auth.secret of the source"
    assert await Reader().refusal(url, AccessError) == text + advice
    refused = await Reader(secrets=LOGIN).refusal(url, AccessError, secret="login")
    assert refused == f"{text}username and password of Secret login are refused"
    nothing = await Reader(secrets=EMPTY).refusal(url, AccessError, secret="login")
    assert nothing.endswith("Secret login has neither username nor password")
    with_user = await Reader().refusal(site.url("/x.tgz", user="ann:s3cret"), AccessError)
    assert with_user.endswith("the credentials in the URL are refused")


@pytest.mark.parametrize(("header", "seconds"), [("120", 120.0), ("99999", 600.0), ("soon", 0.0), (None, 0.0)])
async def test_a_server_says_when_to_come_back(site: Site, header: str | None, seconds: float) -> None:
    site.gives("/x.tgz", status=503, headers={"Retry-After": header} if header else {})
    with pytest.raises(UnavailableError) as refused:
        await Reader().fetch(site.url("/x.tgz"))
    assert refused.value.retry_after == seconds


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"HTTP/1.1 404 Nicht da", '"404 Nicht da"'),
        (b"HTTP/1.1 404 ", '"404 Not Found"'),
        (b"HTTP/1.1 599 ", '"599 without a reason"'),
        (b"HTTP/1.1 500 " + b"x" * 500, f'"500 {"x" * 100}"'),
    ],
)
async def test_the_reason_is_the_servers(line: bytes, shown: str) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(line + b"\r\nContent-Length: 0\r\n\r\n")

    async with raw_server(answer) as url:
        assert await Reader().refusal(url, UnavailableError) == f"GET {url}: unexpected status {shown}"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", tgz(mode="w"), b"\x1f\x8b", b"BZh91AY"],
    ids=["nothing", "a page", "a tar", "two bytes", "bzip2"],
)
async def test_archive_that_is_not_gzip_is_refused(site: Site, body: bytes) -> None:
    site.gives("/x.tgz", body)
    assert await Reader().refusal(site.url("/x.tgz"), ContentError) == "gzip: invalid header"


@pytest.mark.parametrize(
    "body", [tgz()[:60], tgz() + b"more", tgz()[:30] + b"\xff" * 60], ids=["cut off", "more", "overwritten"]
)
async def test_damaged_archive_is_refused(site: Site, body: bytes) -> None:
    site.gives("/x.tgz", body)
    text = await Reader().refusal(site.url("/x.tgz"), ContentError)
    assert text.startswith("error creating FS: the archive is ")


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("", 'GET : http request for bundle content failed: unsupported protocol scheme ""'),
        ("demo.tgz", 'GET demo.tgz: http request for bundle content failed: unsupported protocol scheme ""'),
        (
            "ftp://user:s3cret@example.com/x",
            'GET ftp://xxxxx@example.com/x: http request for bundle content failed: unsupported protocol scheme "ftp"',
        ),
        ("http://", 'create http request "GET http://" for bundle content: no host in URL'),
        (
            "https://example.com/\n",
            'create http request "GET https://example.com/\\n" for bundle content: invalid control character in URL',
        ),
        (
            "https://ann:s3/cret@example.com/",
            'create http request "GET https://xxxxx@example.com/" for bundle content: invalid host or port in URL',
        ),
    ],
)
async def test_a_url_that_is_none(url: str, text: str) -> None:
    assert await Reader().refusal(url, ContentError) == text


async def test_port_without_a_server_is_told() -> None:
    port = free_ports(["site"], "127.0.0.1")["site"]
    url = f"http://ann:s3cret@127.0.0.1:{port}/x.tgz"
    assert await Reader().refusal(url, UnavailableError) == (
        f"GET http://xxxxx@127.0.0.1:{port}/x.tgz: {FAILED}"
        f"127.0.0.1:{port} does not accept connections: connection refused"
    )


async def test_a_name_that_does_not_resolve() -> None:
    text = await Reader().refusal("http://nowhere.invalid/x.tgz", UnavailableError)
    assert text.startswith(f"GET http://nowhere.invalid/x.tgz: {FAILED}nowhere.invalid does not resolve: ")


async def _nothing(_: asyncio.StreamWriter) -> None:
    """The connection ends."""


async def _nonsense(writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")


async def _half(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + tgz()[:50])
    await writer.drain()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (_nothing, "ended the connection without an answer"),
        (_nonsense, "sent an answer that is not valid HTTP"),
        (_half, "ended the connection in the middle of the archive"),
    ],
)
async def test_a_server_that_breaks_off(answer: Any, text: str) -> None:
    async with raw_server(answer) as url:
        refusal = await Reader().refusal(url, UnavailableError)
    address = url.removeprefix("http://").removesuffix("/demo.tgz")
    assert refusal == f"GET {url}: {FAILED}{address} {text}"


@pytest.mark.parametrize("size", [0, 2, 30, -8])
async def test_an_archive_of_unknown_size_that_breaks_off_is_asked_for_again(size: int) -> None:
    """The end of the connection alone tells the end of the archive, without Content-Length and chunks."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + tgz()[:size])

    async with raw_server(answer) as url:
        assert "it may have broken off" in await Reader().refusal(url, UnavailableError)
        assert "it may have broken off" in await Reader().refusal(url, UnavailableError, sha256=f"{0:064}")


async def test_an_archive_of_unknown_size() -> None:
    """Whole ones are taken, and what is no archive is none."""
    body = tgz()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + body)

    async with raw_server(answer) as url:
        assert dict((await Reader().fetch(url)).tree) == FILES
        body = b"<html>"
        assert "gzip: invalid header" in await Reader().refusal(url, ContentError)


async def test_a_server_that_says_nothing_any_more(site: Site) -> None:
    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(tgz()[:20])
        await asyncio.sleep(30)
        return response

    site.answers["/stall.tgz"] = stall
    url = site.url("/stall.tgz")
    text = await Reader().with_limits(http_silence_seconds=1).refusal(url, UnavailableError)
    assert text == (
        f"GET {url}: {FAILED}127.0.0.1:{site.port} sent nothing for 1 s (RUKPAK_LIMIT_HTTP_SILENCE_SECONDS sets it)"
    )


async def test_a_connection_that_is_never_made() -> None:
    """TLS is asked for, and the server only listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        url = f"https://127.0.0.1:{port}/x.tgz"
        text = await Reader().with_limits(http_connect_seconds=1).refusal(url, UnavailableError)
    assert text == (
        f"GET {url}: {FAILED}no connection to 127.0.0.1:{port} within 1 s (RUKPAK_LIMIT_HTTP_CONNECT_SECONDS sets it)"
    )
