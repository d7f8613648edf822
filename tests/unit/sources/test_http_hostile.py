"""Servers and archives that attack. Each is refused with a message, early, and nothing of it is held."""

import asyncio
import gzip
import logging
import resource
import tarfile
import zlib
from collections.abc import Callable

import pytest
from aiohttp import web

from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import GIB, KIB, MIB, LimitError
from tests.unit.content.test_tar_hostile import DIRECTORY, FILE, HARD, SOFT, archive, info
from tests.unit.sources.websites import Reader, Site, raw_server, tgz

FAILED = "http request for bundle content failed: "


def endless(chunk: bytes, head: bytes = b"") -> Callable[[web.Request], "asyncio.Future[web.StreamResponse]"]:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(head)
        while True:
            await response.write(chunk)

    return answer  # type: ignore[return-value]


async def test_infinite_body_is_cut_at_the_limit(site: Site) -> None:
    site.answers["/x.tgz"] = endless(bytes(64 * KIB), tgz())
    url = site.url("/x.tgz")
    assert await Reader().with_limits(archive_bytes=MIB).refusal(url, LimitError) == (
        f"GET {url}: the size of the archive exceeds the limit of 1 MiB (RUKPAK_LIMIT_ARCHIVE_BYTES sets it)"
    )


async def test_a_size_over_the_limit_is_refused_before_anything_arrives() -> None:
    async def promise(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(30)

    async with asyncio.timeout(5), raw_server(promise) as url:
        text = await Reader().refusal(url, LimitError)
    assert text.endswith("the size of the archive exceeds the limit of 64 MiB (RUKPAK_LIMIT_ARCHIVE_BYTES sets it)")


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n\x1f\x8b\x08"])
async def test_slowloris(head: bytes) -> None:
    """A byte now and then, so that silence never ends it."""

    async def trickle(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(b"H")
            await writer.drain()
            await asyncio.sleep(0.05)

    async with raw_server(trickle) as url:
        reader = Reader().with_limits(http_seconds=1)
        if not head:
            assert isinstance(await _error(reader, url), UnavailableError)
            return
        text = await reader.refusal(url, UnavailableError)
    assert text == f"GET {url}: {FAILED}it took more than 1 s (RUKPAK_LIMIT_HTTP_SECONDS sets it)"


async def _error(reader: Reader, url: str) -> RukPakError:
    with pytest.raises(RukPakError) as refused:
        await reader.fetch(url)
    return refused.value


@pytest.mark.parametrize(
    "header", [b"X: " + b"x" * 100_000, b"".join(b"X-%d: x\r\n" % number for number in range(100_000))]
)
async def test_endless_headers_are_refused(header: bytes) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n" + header)
        await writer.drain()

    async with raw_server(answer) as url:
        assert isinstance(await _error(Reader().with_limits(http_seconds=5), url), RukPakError)


async def test_answers_that_announce_another_one() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with raw_server(answer) as url:
        assert isinstance(await _error(Reader().with_limits(http_seconds=1), url), UnavailableError)


async def test_c1_a_gzip_bomb(site: Site) -> None:
    """256 MiB of zeros in a quarter of one: refused within the first of its bytes, and memory does not grow."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = bytes(MIB)
    bomb = b"".join(packer.compress(piece) for _ in range(256)) + packer.flush()
    site.gives("/bomb.tgz", bomb)
    await Reader().fetch(site.url("/demo.tgz"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = await Reader().refusal(site.url("/bomb.tgz"), ContentError)
    assert text.startswith("error creating FS: ")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * KIB  # KiB: 50 MiB


async def test_c1_a_nested_bomb_is_a_file_like_others(site: Site) -> None:
    """An archive in the archive is content, and is not unpacked."""
    inner = gzip.compress(bytes(10 * MIB))
    site.gives("/x.tgz", tgz({"inner.tgz": inner}))
    assert dict((await Reader().fetch(site.url("/x.tgz"))).tree) == {"inner.tgz": inner}


async def test_c1_a_sparse_member_of_ten_gib(site: Site) -> None:
    site.gives("/x.tgz", gzip.compress(_header(10 * GIB)))
    text = await Reader().refusal(site.url("/x.tgz"), ContentError)
    assert "the size of file 'huge' exceeds the limit of 32 MiB" in text
    site.gives("/s.tgz", gzip.compress(archive(info("huge", sparse="1"))))
    assert "sparse files in archives are not supported" in await Reader().refusal(site.url("/s.tgz"), ContentError)


def _header(size: int) -> bytes:
    made = tarfile.TarInfo("huge")
    made.size = size
    return made.tobuf(tarfile.GNU_FORMAT)


async def test_c1_a_million_tiny_members(site: Site) -> None:
    """Headers without content, which gzip makes small: the limit on their number ends the reading."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    members = (tarfile.TarInfo(f"d/{number:06}").tobuf() for number in range(2100))
    site.gives("/x.tgz", b"".join(map(packer.compress, members)) + packer.flush())
    text = await Reader().with_limits(content_files=2000).refusal(site.url("/x.tgz"), ContentError)
    assert text.endswith("exceeds the limit of 2000 (RUKPAK_LIMIT_CONTENT_FILES sets it)")


@pytest.mark.parametrize(
    "members",
    [
        [info("../out")],
        [info("/etc/passwd")],
        [info("a", SOFT, "../../etc/passwd")],
        [info("a", SOFT, "/var/run/secrets"), info("a/token")],
        [info("a", HARD, "/etc/passwd")],
        [info("a", tarfile.CHRTYPE)],
        [info("a", tarfile.FIFOTYPE)],
        [info("a"), info("./a")],
        [info("a\\..\\b")],
        [info("x/" * 40 + "a")],
        [info("x" * 1100)],
        [info("a", DIRECTORY), info("a")],
        [info("a", FILE, path="../out")],
    ],
)
async def test_c1_hostile_archive_is_refused(site: Site, members: list[tarfile.TarInfo]) -> None:
    site.gives("/x.tgz", gzip.compress(archive(*members)))
    text = await Reader().refusal(site.url("/x.tgz"), ContentError)
    assert text.startswith("error creating FS: ")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "ext::sh -c id",
            "git://example.com/x",
            "unix:///run/x.sock",
            "data:,x",
            "jar:http://x!/",
        ),
        *("-oProxyCommand=id", "javascript:0", "dict://127.0.0.1:11211/", "ws://example.com/", "HTTP+unix://x/"),
    ],
)
async def test_c11_url_of_another_scheme_is_refused(url: str) -> None:
    text = await Reader().refusal(url, ContentError)
    assert "unsupported protocol scheme" in text


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com%0a.evil/", "http://example.com\r\nX: y/", "http://exa\tmple.com/", "http://a%00b/"),
        *("http://example.com\\@evil.example/", "http://example.com /", " http://example.com/", "http://[::1%25lo]/"),
        *("http://example.com:port/", "http://example.com:0x50/", "http://[v1.x]/", "http://exa<mple.com/"),
        "http://example.com/" + "x" * 9000,
    ],
)
async def test_c13_urls_that_mean_two_things(url: str) -> None:
    text = await Reader().refusal(url, ContentError)
    assert text.startswith('create http request "GET ')
    assert "\n" not in text


async def test_c13_a_newline_in_a_path_stays_encoded(site: Site) -> None:
    await Reader().refusal(site.url("/x%0d%0aX-Evil:%201"), UnavailableError)
    (asked,) = site.asked
    assert asked.path == "/x%0d%0aX-Evil:%201"
    assert "X-Evil" not in asked.headers


async def test_c5_a_login_cannot_add_a_header(site: Site) -> None:
    reader = Reader(secrets={"login": {"username": b"a\r\nX-Evil: 1", "password": b"\0\xff\r\n"}})
    await reader.fetch(site.url("/demo.tgz"), secret="login")
    assert "X-Evil" not in site.asked[0].headers


CANARY = "c4n4ry"


def ways_to_fail(site: Site) -> list[str]:
    """URLs with credentials that end in every kind of error."""
    for status in (401, 403, 404, 500):
        site.gives(f"/{status}", status=status)
    site.gives("/page", b"<html>")
    site.gives("/cut", tgz()[:50])
    site.redirects("/away", site.url(f"/404?{CANARY}", user=f"{CANARY}:{CANARY}"))
    site.redirects("/loop", "/loop")
    site.redirects("/ftp", f"ftp://{CANARY}@127.0.0.1/{CANARY}")
    site.redirects("/bad", f"http://{CANARY}:{CANARY}@[::1/{CANARY}")
    paths = ("401", "403", "404", "500", "page", "cut", "away", "loop", "ftp", "bad")
    user = f"{CANARY}:{CANARY}"
    return [
        *(site.url(f"/{path}", user=user) for path in paths),
        site.url("/404", user=CANARY).replace("http:", "https:"),
        f"http://{user}@nowhere.invalid/",
        f"http://{user}@127.0.0.1:9/",
        f"ftp://{user}@127.0.0.1/",
        f"http://{user}/{CANARY}@127.0.0.1/",
        f"http://{user}@127.0.0.1:port/",
        f"//{user}@127.0.0.1/",
        f"{user}@127.0.0.1",
    ]


async def test_c18_no_secret_in_errors_and_logs(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    reader = Reader(secrets={"login": {"username": CANARY.encode(), "password": CANARY.encode()}})
    for url in ways_to_fail(site):
        for secret in ("", "login"):
            with pytest.raises(RukPakError) as refused:
                await reader.fetch(url, secret=secret)
            assert CANARY not in str(refused.value), url
    assert CANARY not in caplog.text
