"""An archive from a web server becomes a Tree."""

import asyncio
import gzip
import hashlib
from pathlib import Path

import pytest
from aiohttp import web

from rukpak_py.api.source import Source
from rukpak_py.api.source_types import HttpSource
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.source import FetchRequest
from rukpak_py.sources.spool import Spool
from tests.unit.sources.websites import FILES, Reader, Site, tgz, website

LOGIN = {"login": {"username": b"ann", "password": b"s3cret"}}


async def test_the_files_of_the_archive(site: Site) -> None:
    fetched = await Reader().fetch(site.url("/demo.tgz"))
    assert dict(fetched.tree) == FILES


async def test_resolved_source_is_the_source_as_it_is(site: Site) -> None:
    """The URL pins nothing: the digest of the Bundle does."""
    fetched = await Reader(secrets=LOGIN).fetch(site.url("/demo.tgz"), secret="login")
    assert fetched.resolved.http is not None
    assert fetched.resolved.http.url == site.url("/demo.tgz")
    assert fetched.resolved.http.auth.secret.name == "login"


async def test_request_has_the_path_as_written_and_no_credentials(site: Site) -> None:
    await Reader().fetch(site.url("/demo.tgz?v=%2F1%252&x#fragment"))
    (asked,) = site.asked
    assert asked.path == "/demo.tgz?v=%2F1%252&x"
    assert asked.headers["Accept-Encoding"] == "identity"
    assert asked.headers["User-Agent"].startswith("rukpak-py/")
    assert not {"Authorization", "Cookie", "Referer"} & set(asked.headers)


async def test_a_server_that_declares_the_archive_as_an_encoding(site: Site) -> None:
    site.gives("/encoded.tgz", tgz(), headers={"Content-Encoding": "gzip", "Content-Type": "application/x-tar"})
    assert dict((await Reader().fetch(site.url("/encoded.tgz"))).tree) == FILES


async def test_an_archive_in_many_pieces(site: Site) -> None:
    """Larger than what stays in memory, and without a declared size."""
    files = {f"file-{number}": bytes([number]) * 1000 + number.to_bytes(8) for number in range(200)}
    body = gzip.compress(tgz(files, "w"), 0)

    async def piecewise(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for start in range(0, len(body), 1777):
            await response.write(body[start : start + 1777])
        return response

    site.answers["/pieces.tgz"] = piecewise
    fetched = await Reader().fetch(site.url("/pieces.tgz"), sha256=hashlib.sha256(body).hexdigest())
    assert dict(fetched.tree) == files


async def test_the_login_of_the_secret(site: Site) -> None:
    await Reader(secrets=LOGIN).fetch(site.url("/demo.tgz"), secret="login")
    assert site.asked[0].login == "ann:s3cret"


async def test_a_key_that_the_secret_does_not_have_is_empty(site: Site) -> None:
    await Reader(secrets={"login": {"password": b"t\xc3\xb6ken\n"}}).fetch(site.url("/demo.tgz"), secret="login")
    assert site.asked[0].login == ":töken\n"


async def test_the_login_of_the_url(site: Site) -> None:
    await Reader().fetch(site.url("/demo.tgz", user="ann:p%40ss"))
    await Reader(secrets=LOGIN).fetch(site.url("/demo.tgz", user="ann:p%40ss"), secret="login")
    assert [asked.login for asked in site.asked] == ["ann:p@ss", "ann:s3cret"]


async def test_a_secret_that_is_not_there(site: Site) -> None:
    refusal = await Reader().refusal(site.url("/demo.tgz"), UnavailableError, secret="login")
    assert refusal == 'get secret rukpak-system/login: Secret "login" not found'
    assert not site.asked


async def test_the_checksum_is_of_the_compressed_archive(site: Site) -> None:
    site.gives("/once.tgz", body := tgz())
    right = hashlib.sha256(body).hexdigest()
    assert dict((await Reader().fetch(site.url("/once.tgz"), sha256=right)).tree) == FILES


async def test_another_checksum_is_refused_before_anything_is_read(site: Site) -> None:
    site.gives("/page.tgz", b"<html>")
    found = hashlib.sha256(b"<html>").hexdigest()
    url = site.url("/page.tgz")
    assert await Reader().refusal(url, ContentError, sha256="0" * 64) == (
        f"GET {url}: the archive has the SHA-256 {found}, but sha256 of the source is {'0' * 64}"
    )


async def test_a_place_for_content_is_taken_when_the_archive_is_there(site: Site) -> None:
    places: list[int] = []

    async def take() -> None:
        places.append(len(site.asked))

    await Reader(content_arrives=take).fetch(site.url("/demo.tgz"))
    assert places == [1]
    with pytest.raises(UnavailableError):
        await Reader(content_arrives=take).fetch(site.url("/missing.tgz"))
    assert places == [1]


async def test_no_file_stays(site: Site, tmp_path: Path) -> None:
    spool = Spool(DEFAULT_LIMITS, tmp_path)
    site.gives("/large.tgz", gzip.compress(bytes(1_000_000), 0))
    await Reader(spool=spool).refusal(site.url("/large.tgz"), ContentError, sha256="0" * 64)
    await Reader(spool=spool).fetch(site.url("/demo.tgz"))
    (directory,) = await asyncio.to_thread(lambda: list(tmp_path.iterdir()))
    assert await asyncio.to_thread(lambda: list(directory.iterdir())) == []
    assert spool.used == 0


async def test_no_place_for_the_file(site: Site, tmp_path: Path) -> None:
    site.gives("/large.tgz", gzip.compress(bytes(1_000_000), 0))
    reader = Reader(spool=Spool(DEFAULT_LIMITS, tmp_path / "missing"))
    text = await reader.refusal(site.url("/large.tgz"), UnavailableError)
    assert text.endswith("content cannot be kept in a temporary file: No such file or directory")


async def test_a_download_that_is_cancelled_ends_at_once(site: Site) -> None:
    """A deletion of the Bundle cancels it."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        began.set()
        while request.transport is not None:  # noqa: ASYNC110 - the server is not told
            await asyncio.sleep(0.01)
        ended.set()
        return response

    site.answers["/stall.tgz"] = stall
    task = asyncio.create_task(Reader().fetch(site.url("/stall.tgz")))
    await began.wait()
    task.cancel()
    async with asyncio.timeout(5):
        await ended.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_redirect_to_an_ipv6_address_is_followed(site: Site) -> None:
    async with website(host="::1") as other:
        site.redirects("/there.tgz", other.url("/demo.tgz", host="[::1]"))
        assert dict((await Reader().fetch(site.url("/there.tgz"))).tree) == FILES


@pytest.mark.parametrize(
    ("url", "lane"),
    [
        ("https://Files.Example.com:8443/x", "files.example.com"),
        ("http://[::1]/x", "::1"),
        ("https://user:x@example.com", "example.com"),
        ("nonsense", "http"),
        ("", "http"),
    ],
)
def test_the_lane_is_the_host(url: str, lane: str) -> None:
    assert Reader().source.lane(Source(type="http", http=HttpSource(url=url))) == lane


async def test_source_without_configuration_is_refused() -> None:
    request = FetchRequest(bundle="demo", uid="1", source=Source(type="http"))
    with pytest.raises(ContentError, match=r"^bundle source http configuration is unset$"):
        await Reader().source.fetch(request)
    assert Reader().source.lane(Source(type="http")) == "http"
