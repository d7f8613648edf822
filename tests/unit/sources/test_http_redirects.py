"""Redirects: followed by ourselves, checked one by one, and no other server sees the credentials (C13)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rukpak_py.core.errors import ContentError, UnavailableError
from tests.unit.sources.websites import FILES, Reader, Site, authority, website

FAILED = "http request for bundle content failed: "
LOGIN = {"login": {"username": b"ann", "password": b"s3cret"}}
READER = Reader(secrets=LOGIN)


@pytest.fixture
async def other() -> AsyncIterator[Site]:
    async with website() as other:
        yield other


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["/demo.tgz", "demo.tgz", "./a/../demo.tgz"])
async def test_a_redirect_is_followed(site: Site, status: int, location: str) -> None:
    site.redirects("/old.tgz", location, status)
    assert dict((await READER.fetch(site.url("/old.tgz"), secret="login")).tree) == FILES
    assert [asked.login for asked in site.asked] == ["ann:s3cret"] * 2


async def test_the_query_of_a_redirect_stays_as_it_is(site: Site) -> None:
    """Signed URLs are signed as they are written."""
    site.redirects("/old.tgz", "/demo.tgz?X-Sig=a%2Fb%3D&y=%zz")
    await READER.fetch(site.url("/old.tgz"))
    assert site.asked[1].path == "/demo.tgz?X-Sig=a%2Fb%3D&y=%zz"


async def test_c13_credentials_do_not_go_to_another_port(site: Site, other: Site) -> None:
    site.redirects("/old.tgz", other.url("/demo.tgz"))
    await READER.fetch(site.url("/old.tgz"), secret="login")
    await READER.fetch(site.url("/old.tgz", user="ann:s3cret"))
    assert [asked.login for asked in site.asked] == ["ann:s3cret"] * 2
    assert [asked.headers.get("Authorization") for asked in other.asked] == [None] * 2


async def test_c13_credentials_do_not_go_to_another_host(site: Site) -> None:
    site.redirects("/old.tgz", site.url("/demo.tgz", host="localhost"))
    await READER.fetch(site.url("/old.tgz"), secret="login")
    assert [asked.login for asked in site.asked] == ["ann:s3cret", None]


async def test_c13_credentials_do_not_come_back_from_another_host(site: Site, other: Site) -> None:
    site.redirects("/old.tgz", other.url("/there.tgz"))
    other.redirects("/there.tgz", site.url("/demo.tgz"))
    await READER.fetch(site.url("/old.tgz"), secret="login")
    assert [asked.login for asked in site.asked] == ["ann:s3cret", None]


async def test_c13_credentials_do_not_go_to_another_scheme(site: Site, tmp_path: Path) -> None:
    """Credentials do not even go from http to https."""
    async with website(authority(tmp_path).server("127.0.0.1")) as secure:
        site.redirects("/old.tgz", secure.url("/demo.tgz"))
        await READER.fetch(site.url("/old.tgz"), secret="login", insecure=True)
        assert [asked.login for asked in secure.asked] == [None]


async def test_c13_credentials_of_a_location_are_not_sent(site: Site) -> None:
    site.redirects("/old.tgz", site.url("/demo.tgz", user="eve:pw"))
    await READER.fetch(site.url("/old.tgz"))
    assert [asked.login for asked in site.asked] == [None, None]


async def test_c13_https_never_leads_to_http(site: Site, tmp_path: Path) -> None:
    async with website(authority(tmp_path).server("127.0.0.1")) as secure:
        secure.redirects("/old.tgz", site.url("/demo.tgz"))
        url = secure.url("/old.tgz")
        assert await READER.refusal(url, UnavailableError, insecure=True) == (
            f"GET {url}: {FAILED}127.0.0.1:{secure.port} redirects from https to http, which is refused"
        )
    assert not site.asked


async def test_a_loop_ends(site: Site) -> None:
    site.redirects("/a.tgz", "/b.tgz")
    site.redirects("/b.tgz", "/a.tgz")
    url = site.url("/a.tgz")
    assert await READER.refusal(url, UnavailableError) == (
        f"GET {url}: {FAILED}the number of redirects of 127.0.0.1 exceeds the limit of 5 "
        "(RUKPAK_LIMIT_HTTP_REDIRECTS sets it)"
    )
    assert len(site.asked) == 6


async def test_as_many_redirects_as_the_limit(site: Site) -> None:
    for number in range(5):
        site.redirects(f"/{number}", f"/{number + 1}")
    site.answers["/5"] = site.answers["/demo.tgz"]
    await READER.fetch(site.url("/0"))


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("ftp://127.0.0.1/x", 'unsupported protocol scheme "ftp"'),
        ("file:///etc/passwd", 'unsupported protocol scheme "file"'),
        ("gopher://127.0.0.1:70/_x", 'unsupported protocol scheme "gopher"'),
        ("https:///x", "no host in URL"),
        ("http://a b/", "invalid character in host name"),
        ("http://127.0.0.1:99999/", "invalid host or port in URL"),
        ("http://[::1/", "it is not a URL"),
    ],
)
async def test_c11_a_redirect_to_what_is_not_the_web(site: Site, location: str, text: str) -> None:
    site.redirects("/old.tgz", location)
    url = site.url("/old.tgz")
    assert await READER.refusal(url, UnavailableError) == (
        f"GET {url}: {FAILED}127.0.0.1:{site.port} redirects to a URL that is refused: {text}"
    )


async def test_a_redirect_without_a_location(site: Site) -> None:
    site.gives("/old.tgz", status=302)
    assert (await READER.refusal(site.url("/old.tgz"), UnavailableError)).endswith("answers 302 without a Location")


async def test_failure_after_a_redirect_names_its_server_without_the_query(site: Site, other: Site) -> None:
    """The query is left out: it may be a permission."""
    site.redirects("/old.tgz", other.url("/gone.tgz?signature=canary", user="canary"))
    url = site.url("/old.tgz")
    assert await READER.refusal(url, UnavailableError) == (
        f'GET {url}: unexpected status "404 Not Found" from {other.url("/gone.tgz")}'
    )


async def test_c19_a_redirect_to_a_refused_address(site: Site) -> None:
    site.redirects("/old.tgz", "http://169.254.169.254/latest/meta-data/")
    url = site.url("/old.tgz")
    assert await READER.refusal(url, ContentError) == (
        f"GET {url}: {FAILED}169.254.169.254 is a link-local address: refused unless --allow-source-addresses names it"
    )
