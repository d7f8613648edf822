"""Addresses that a source may connect to."""

import socket
from ipaddress import ip_network
from typing import Any

import pytest

from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.sources.addresses import AddressPolicy, numeric_addresses, parse_networks, resolve, resolve_blocking

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
    ("fd00:ec2::23", "the metadata service of a cloud"),
    ("fd00:ec2::253", "the metadata service of a cloud"),
    ("fd20:ce::254", "the metadata service of a cloud"),
    ("fd00:c1::a9fe:a9fe", "the metadata service of a cloud"),
    ("fd00:42::42", "the metadata service of a cloud"),
    ("fd00:a9fe:a9fe::1", "the metadata service of a cloud"),
    ("192.0.0.192", "the metadata service of a cloud"),
    ("64:ff9b:1::808:808", "an address of a local NAT64 gateway"),
    ("64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "an address of a local NAT64 gateway"),
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
    "::ffff:0:169.254.169.254",  # SIIT
    "::ffff:0:127.0.0.1",
    "2001:0:a9fe:a9fe::1",  # Teredo: the server, and the client with its bits inverted
    "2001:0:808:808:0:0:5601:5601",
    "2001:db8::5efe:a9fe:a9fe",  # ISATAP, below any prefix
    "2001:db8::200:5efe:a9fe:a9fe",
)
# 169.254.169.254 below the prefix of a local NAT64 gateway, in each layout of RFC 6052.
LOCAL_NAT64 = (
    "64:ff9b:1:a9fe:a9:fe00::",  # 48 bits
    "64:ff9b:1:ffa9:fe:a9fe::",  # 56
    "64:ff9b:1:fffe:a9:fea9:fe00:0",  # 64
    "64:ff9b:1:fffe::a9fe:a9fe",  # 96
)
LINK_LOCAL = (
    *("0xa9.254.169.254", "0xA9FEA9FE", "2852039166", "0251.0376.0251.0376", "0x00000000a9fea9fe"),
    *("169.254.43518", "169.16689662", "0xa9.0376.0xa9fe", "169.254.169.254.", "025177524776"),
    "0169.254.169.254",  # not octal: decimal, for those who read it
)


@pytest.mark.parametrize(("address", "what"), REFUSED)
async def test_c19_address_that_the_operator_alone_reaches_is_refused(address: str, what: str) -> None:
    with pytest.raises(ContentError) as refused:
        await resolve(address, 80, STRICT)
    assert str(refused.value) == f"{address} is {what}: refused unless --allow-source-addresses names it"


@pytest.mark.parametrize("address", EMBEDDED)
async def test_c19_an_ipv4_address_inside_of_an_ipv6_address(address: str) -> None:
    with pytest.raises(ContentError, match="refused unless"):
        await resolve(address, 80, STRICT)


@pytest.mark.parametrize("address", LOCAL_NAT64)
async def test_a_local_nat64_gateway_that_is_allowed_leads_to_no_refused_address(address: str) -> None:
    policy = AddressPolicy(allowed=parse_networks("64:ff9b:1::/48"))
    with pytest.raises(ContentError, match="refused unless"):
        await resolve(address, 80, policy)
    for public in ("64:ff9b:1::808:808", "64:ff9b:1:808:8:800::", "64:ff9b:1:1:8:808:800:0"):
        assert await resolve(public, 80, policy) == (public,)


@pytest.mark.parametrize("host", LINK_LOCAL)
async def test_c19_numbers_that_are_a_link_local_address(host: str) -> None:
    """The resolver may be ours, or a proxy that is handed the host as it is."""
    with pytest.raises(ContentError, match=r"link-local address: refused unless"):
        STRICT.check_unresolved(host, 80)
    with pytest.raises(ContentError, match=r"link-local address: refused unless"):
        await resolve(host, 80, STRICT)


@pytest.mark.parametrize("host", ["0127.0.0.1", "0177.0.0.1"])
def test_both_readings_of_a_leading_zero_count(host: str) -> None:
    with pytest.raises(ContentError, match="loopback"):
        STRICT.check_unresolved(host, 80)


@pytest.mark.parametrize(
    "host", ["1.2.3.4.5", "256.0.0.1", "1.256.1", "4294967296", "0x1ffffffff", "files.1", "files.0x1", "1..2", "9" * 21]
)
def test_a_number_that_is_no_address_is_no_name_either(host: str) -> None:
    with pytest.raises(ContentError, match="is not a valid host name: it ends in a number, and is not an IP address"):
        STRICT.check_unresolved(host, 80)


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("10.0.0.1", ["10.0.0.1"]),
        ("10.1", ["10.0.0.1"]),
        ("0x0a000001", ["10.0.0.1"]),
        ("0x", ["0.0.0.0"]),  # noqa: S104 - as browsers read it
        ("010.0.0.1", ["8.0.0.1", "10.0.0.1"]),
        ("[FD12::1]", ["fd12::1"]),
        ("files.example.com", []),
        ("1password.com", []),
        ("0x.example", []),
        ("a1.2b", []),
        ("xn--1", []),
    ],
)
def test_host_that_is_a_number_is_read_as_its_addresses(host: str, addresses: list[str]) -> None:
    assert list(map(str, numeric_addresses(host))) == addresses


def test_names_are_left_to_a_proxy_but_for_the_api_server() -> None:
    policy = AddressPolicy(api_servers=frozenset({("kubernetes.default.svc", 443)}))
    policy.check_unresolved("files.example.com", 443)
    for host in ("kubernetes.default.svc", "Kubernetes.Default.svc."):
        policy.check_unresolved(host, 8443)
        with pytest.raises(ContentError, match="is the API server of the cluster"):
            policy.check_unresolved(host, 443)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "017700000001", "localhost", "LOCALHOST"])
async def test_other_ways_to_write_loopback(host: str) -> None:
    with pytest.raises(ContentError, match="loopback"):
        await resolve(host, 80, STRICT)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "10.0.0.1", "192.168.1.1", "fd12::1", "2001:db8::1", "64:ff9b::808:808"]
)
async def test_address_of_a_public_or_private_network_is_not_refused(address: str) -> None:
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
