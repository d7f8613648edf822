"""Addresses that the http source never asks, however they are written and wherever they come from."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.sources.addresses import AddressPolicy, parse_networks
from tests.unit.sources.websites import FILES, LOOPBACK, STRICT, Reader, Site, authority, tunnel, website

FAILED = "http request for bundle content failed: "
Names = dict[str, list[str]]
EVIL = "http://evil.example:80/x.tgz"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[[Names], Names]:
    """Names of a test with their addresses, one for each time that they are asked for; the last one stays."""

    def known(answers: Names) -> Names:
        real = socket.getaddrinfo

        def lookup(host: str, port: int, **more: Any) -> Any:
            addresses = answers.get(host, [host])
            return real(addresses.pop(0) if len(addresses) > 1 else addresses[0], port, **more)

        monkeypatch.setattr(socket, "getaddrinfo", lookup)
        return answers

    return known


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "[::1]", "0", "2130706433", "0x7f.1", "127.1", "[::]"),
        *("169.254.169.254", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]"),
        *("[fe80::1]", "[fd00:ec2::254]", "100.100.100.200", "2852039166"),
        *("[fd00:ec2::23]", "[::ffff:0:a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "0xa9.254.169.254", "0169.254.169.254"),
    ],
)
async def test_c19_addresses_of_the_operators_own_surroundings(host: str) -> None:
    text = await Reader(addresses=STRICT).refusal(f"http://{host}/latest/meta-data/", ContentError)
    assert text.startswith(f"GET http://{host}/latest/meta-data/: {FAILED}")
    assert text.endswith("refused unless --allow-source-addresses names it")


async def test_a_name_with_such_an_address(names: Any) -> None:
    names({"evil.example": ["169.254.169.254"]})
    assert await Reader(addresses=STRICT).refusal(EVIL, ContentError) == (
        f"GET {EVIL}: {FAILED}evil.example has the address 169.254.169.254, which is a link-local address: "
        "refused unless --allow-source-addresses names it"
    )


async def test_c19_name_that_changes_its_address_is_resolved_once(site: Site, names: Any) -> None:
    """The address that was checked is the one that is connected to: the name is asked for once."""
    answers = names({"files.example": ["127.0.0.1", "169.254.169.254"]})
    fetched = await Reader().fetch(site.url("/demo.tgz", host="files.example"))
    assert dict(fetched.tree) == FILES
    assert answers == {"files.example": ["169.254.169.254"]}
    assert site.asked[0].headers["Host"] == f"files.example:{site.port}"


async def test_c19_dns_rebinding_in_a_redirect(site: Site, names: Any) -> None:
    names({"files.example": ["127.0.0.1", "169.254.169.254"]})
    site.redirects("/old.tgz", "/demo.tgz")
    text = await Reader().refusal(site.url("/old.tgz", host="files.example"), ContentError)
    assert "files.example has the address 169.254.169.254" in text
    assert len(site.asked) == 1


async def test_c19_a_redirect_to_the_api_server(site: Site, names: Any) -> None:
    names({"kubernetes.default.svc": ["10.96.0.1"]})
    site.redirects("/old.tgz", "https://kubernetes.default.svc/api/v1/secrets")
    policy = replace(LOOPBACK, api_servers=frozenset({("10.96.0.1", 443)}))
    url = site.url("/old.tgz")
    assert await Reader(addresses=policy).refusal(url, ContentError) == (
        f"GET {url}: {FAILED}kubernetes.default.svc:443 is the API server of the cluster, which is not a source"
    )


async def test_c19_the_api_server_is_refused_although_its_network_is_allowed(site: Site) -> None:
    policy = AddressPolicy(allowed=parse_networks("127.0.0.0/8"), api_servers=frozenset({("127.0.0.1", site.port)}))
    await Reader(addresses=policy).refusal(site.url("/demo.tgz"), ContentError)
    await Reader(addresses=policy).refusal(site.url("/demo.tgz", host="localhost"), ContentError)
    assert not site.asked


async def test_only_the_addresses_of_a_name_that_are_not_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def lookup(host: str, port: int, **more: Any) -> Any:
        if host != "two.example":
            return real(host, port, **more)
        both = ((socket.AF_INET6, ("fe80::1", port, 0, 0)), (socket.AF_INET, ("127.0.0.1", port)))
        return [(family, socket.SOCK_STREAM, 6, "", address) for family, address in both]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    await Reader().fetch(site.url("/demo.tgz", host="two.example"))


async def test_name_server_that_does_not_answer_delays_no_other_host(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is silent for ten names at once, and a fetch from another host does not wait for them."""
    real, over = socket.getaddrinfo, threading.Event()

    def lookup(host: str, port: int, **more: Any) -> Any:
        if host.endswith("evil.example"):
            over.wait(30)
        return real(host, port, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    reader = Reader().with_limits(http_connect_seconds=1)
    others = [asyncio.create_task(reader.refusal(f"http://{n}.evil.example/x", UnavailableError)) for n in range(10)]
    text = await reader.refusal(EVIL, UnavailableError)
    assert text == f"GET {EVIL}: {FAILED}evil.example does not resolve: the name server does not answer"
    assert await reader.fetch(site.url("/demo.tgz", host="localhost"))
    over.set()
    await asyncio.gather(*others)


@pytest.fixture
async def proxy() -> AsyncIterator[Site]:
    """Answers itself, as a cache may."""
    async with website() as proxy:
        yield proxy


def behind(proxy: Site, *, user: str = "", **more: str) -> Reader:
    return Reader(environ={"HTTP_PROXY": proxy.url("", user=user), **more}, addresses=STRICT)


async def test_a_proxy_is_asked(proxy: Site, names: Any) -> None:
    """A proxy may know names that we do not know; its own address is the administrator's choice."""
    names({"files.example": ["nowhere.invalid"]})
    await behind(proxy, user="op:pr0xy").fetch("http://files.example/demo.tgz")
    (asked,) = proxy.asked
    assert asked.headers["Host"] == "files.example"
    assert asked.headers["Proxy-Authorization"] == "Basic b3A6cHIweHk="


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "0xa9.254.169.254", "2852039166", "0169.254.169.254", "evil.example"]
)
async def test_a_proxy_is_not_asked_for_refused_addresses(proxy: Site, names: Any, host: str) -> None:
    names({"evil.example": ["169.254.169.254"]})
    text = await behind(proxy).refusal(f"http://{host}/demo.tgz", ContentError)
    assert "is a link-local address" in text
    assert not proxy.asked


async def test_loopback_never_goes_through_a_proxy(proxy: Site, site: Site) -> None:
    await replace(behind(proxy), addresses=LOOPBACK).fetch(site.url("/demo.tgz"))
    assert not proxy.asked


async def test_host_in_no_proxy_is_connected_to_directly(proxy: Site, site: Site, names: Any) -> None:
    names({"files.example": ["127.0.0.1"]})
    reader = replace(behind(proxy, NO_PROXY="10.0.0.0/8,.example"), addresses=LOOPBACK)
    await reader.fetch(site.url("/demo.tgz", host="files.example"))
    assert not proxy.asked


async def test_a_request_cannot_set_a_proxy(proxy: Site, site: Site, names: Any) -> None:
    names({"files.example": ["127.0.0.1"]})
    reader = replace(behind(proxy, REQUEST_METHOD="GET"), addresses=LOOPBACK)
    await reader.fetch(site.url("/demo.tgz", host="files.example"))
    assert not proxy.asked


async def test_a_proxy_that_wants_a_login(proxy: Site, names: Any) -> None:
    names({"files.example": ["nowhere.invalid"]})

    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=407)

    proxy.answers["/demo.tgz"] = refuse
    url = "http://files.example/demo.tgz"
    text = await behind(proxy).refusal(url, AccessError)
    assert text == f'GET {url}: unexpected status "407 Proxy Authentication Required": the proxy needs credentials'
    reader = Reader(environ={"HTTPS_PROXY": proxy.url("", user="op:canary")}, addresses=STRICT)
    text = await reader.refusal("https://files.example/demo.tgz", UnavailableError)
    assert text == f"GET https://files.example/demo.tgz: {FAILED}the proxy for it answers with status 404"


async def test_https_goes_through_a_tunnel_of_the_proxy(names: Any, tmp_path: Path) -> None:
    """The proxy sees the name only: the login and the archive go through the tunnel."""
    names({"files.example": ["nowhere.invalid"]})
    ours = authority(tmp_path)
    async with website(ours.server("files.example")) as site, tunnel(site.port) as (address, heads):
        reader = Reader(environ={"HTTPS_PROXY": address.replace("//", "//op:pr0xy@")}, addresses=STRICT)
        url = site.url("/demo.tgz", host="files.example", user="ann:s3cret")
        assert dict((await reader.fetch(url, ca_bundle=ours.pem)).tree) == FILES
        assert site.asked[0].login == "ann:s3cret"
        assert "Proxy-Authorization" not in site.asked[0].headers
        (head,) = heads
        assert head.startswith(f"CONNECT files.example:{site.port} HTTP/1.1\r\n")
        assert "\r\nProxy-Authorization: Basic b3A6cHIweHk=\r\n" in head
        assert "\r\nAuthorization" not in head


@pytest.mark.parametrize("address", ["socks5://op:canary@127.0.0.1:1080", "http://[", "http://"])
async def test_a_proxy_that_is_none(address: str, names: Any) -> None:
    names({"files.example": ["nowhere.invalid"]})
    text = await Reader(environ={"HTTP_PROXY": address}).refusal("http://files.example/x", UnavailableError)
    assert text.endswith(f"{FAILED}HTTP_PROXY of the operator is not the URL of an http or https proxy")


async def test_a_proxy_that_is_not_there(names: Any) -> None:
    names({"files.example": ["nowhere.invalid"]})
    reader = Reader(environ={"HTTP_PROXY": "http://op:canary@127.0.0.1:9"})
    text = await reader.refusal("http://files.example/x", UnavailableError)
    assert text.endswith(f"{FAILED}the proxy for it does not accept connections: connection refused")
