"""Which addresses a source may connect to."""

import socket
from ipaddress import ip_network
from typing import Any

import pytest

from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.sources.addresses import AddressPolicy, parse_networks, resolve, resolve_blocking

STRICT = AddressPolicy()
LOOPBACK = AddressPolicy(allowed=parse_networks("127.0.0.0/8,::1"))
REFUSED = (
    ("127.0.0.1", "a loopback address"),
    ("127.255.1.2", "a loopback address"),
    ("::1", "a loopback address"),
    ("0.0.0.0", "a loopback address"),  # noqa: S104 - the kernel takes it for this machine
    ("::", "a loopback address"),
    ("169.254.169.254", "a link-local address"),
    ("169.254.170.2", "a link-local address"),
    ("fe80::1", "a link-local address"),
    ("fd00:ec2::254", "the metadata service of a cloud"),
    ("100.100.100.200", "the metadata service of a cloud"),
    ("168.63.129.16", "the metadata service of a cloud"),
    ("224.0.0.1", "not the address of one host"),
    ("255.255.255.255", "not the address of one host"),
    ("ff02::1", "not the address of one host"),
)
EMBEDDED = (
    "::ffff:169.254.169.254",
    "::ffff:127.0.0.1",
    "::127.0.0.1",
    "64:ff9b::169.254.169.254",
    "2002:a9fe:a9fe::1",
)


@pytest.mark.parametrize(("address", "what"), REFUSED)
async def test_c19_what_is_refused(address: str, what: str) -> None:
    with pytest.raises(ContentError) as refused:
        await resolve(address, 80, STRICT)
    assert str(refused.value) == f"{address} is {what}: refused unless --allow-source-addresses names it"


@pytest.mark.parametrize("address", EMBEDDED)
async def test_c19_an_ipv4_address_inside_of_an_ipv6_address(address: str) -> None:
    with pytest.raises(ContentError, match="refused unless"):
        await resolve(address, 80, STRICT)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "017700000001", "localhost", "LOCALHOST"])
async def test_other_ways_to_write_loopback(host: str) -> None:
    with pytest.raises(ContentError, match="loopback"):
        await resolve(host, 80, STRICT)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "10.0.0.1", "192.168.1.1", "fd12::1", "2001:db8::1", "64:ff9b::808:808"]
)
async def test_what_is_not_refused(address: str) -> None:
    assert await resolve(address, 80, STRICT) == (address,)


async def test_a_setting_allows_networks() -> None:
    assert await resolve("127.0.0.1", 80, LOOPBACK) == ("127.0.0.1",)
    assert await resolve("::ffff:127.0.0.1", 80, LOOPBACK) == ("::ffff:127.0.0.1",)
    with pytest.raises(ContentError, match="link-local"):
        await resolve("169.254.169.254", 80, LOOPBACK)


@pytest.mark.parametrize("host", ["10.96.0.1", "kube.example"])
def test_c19_the_api_server_is_never_a_source(host: str) -> None:
    policy = AddressPolicy(
        allowed=(ip_network("0.0.0.0/0"),), api_servers=frozenset({("10.96.0.1", 443), ("kube.example", 443)})
    )
    with pytest.raises(ContentError) as refused:
        policy.usable(host, 443, ["10.96.0.1" if host == "10.96.0.1" else "1.2.3.4"])
    assert str(refused.value) == f"{host}:443 is the API server of the cluster, which is not a source"
    assert policy.usable(host, 8443, ["10.96.0.1"]) == ("10.96.0.1",)


def test_only_addresses_that_are_not_refused_are_used() -> None:
    assert STRICT.usable("two.example", 80, ["127.0.0.1", "10.0.0.1"]) == ("10.0.0.1",)
    with pytest.raises(ContentError) as refused:
        STRICT.usable("evil.example", 80, ["169.254.169.254"])
    assert str(refused.value) == (
        "evil.example has the address 169.254.169.254, which is a link-local address: "
        "refused unless --allow-source-addresses names it"
    )


async def test_a_name_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(UnavailableError) as missing:
        resolve_blocking("nowhere.example", 80, STRICT)
    assert str(missing.value) == "nowhere.example does not resolve: Name or service not known"
    with pytest.raises(UnavailableError, match=r"does not resolve|not a valid host name"):
        await resolve("x" * 300, 80, STRICT)


def test_the_same_in_a_thread() -> None:
    assert resolve_blocking("127.0.0.1", 80, LOOPBACK) == ("127.0.0.1",)
    with pytest.raises(ContentError, match="loopback"):
        resolve_blocking("127.0.0.1", 80, STRICT)


@pytest.mark.parametrize("text", ["10.0.0.0/8 ::1", "10.0.0.1/8", "localhost", "1.2.3"])
def test_a_setting_that_is_no_network(text: str) -> None:
    with pytest.raises(ValueError, match="is not an IP address or a network like"):
        parse_networks(text)
