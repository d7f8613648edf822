"""Addresses that a source may connect to: a user writes its URL, which must not reach what the operator alone sees.

Refused are this machine, link-local addresses, the metadata services of clouds and what is no single host, unless the
policy allows them, and the API server always. An IPv6 address counts as the IPv4 address that it embeds, too.

The check is made on the addresses that a name has, and the caller connects to exactly these (`resolve`): a name that
has another address a moment later changes nothing. It is made again for each redirect.

A proxy resolves names itself. What it would not have to look up is judged before it is asked (`check_unresolved`): a
host that is a number is an address in every spelling that C libraries read (`numeric_addresses`).
"""

import asyncio
import re
import socket
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from rukpak_py.core.errors import ContentError, UnavailableError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

SETTING = "--allow-source-addresses"
_REFUSED: dict[str, tuple[Network, ...]] = {
    what: tuple(map(ip_network, networks))
    for what, networks in {
        "a loopback address": ("127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"),
        "a link-local address": ("169.254.0.0/16", "fe80::/10"),
        # Those that are not link-local. AWS has several below its prefix: metadata, credentials of pods, DNS, time.
        "the metadata service of a cloud": (
            *("fd00:ec2::/32", "fd20:ce::254/128", "fd00:c1::a9fe:a9fe/128"),  # AWS, Google, Oracle
            *("fd00:42::42/128", "fd00:a9fe:a9fe::1/128"),  # Scaleway, Linode
            *("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"),  # Alibaba, Azure, Oracle
        ),
        "an address of a local NAT64 gateway": ("64:ff9b:1::/48",),  # where it leads, only the gateway knows
        "not the address of one host": ("224.0.0.0/4", "240.0.0.0/4", "ff00::/8"),
    }.items()
}
# The loop's own are four, and a name server that does not answer holds one for half a minute.
_RESOLVERS = ThreadPoolExecutor(64, thread_name_prefix="resolve")
# The last 32 bits are an IPv4 address.
_EMBEDDING = tuple(map(ip_network, ("64:ff9b::/96", "::ffff:0:0:0/96")))  # NAT64, SIIT
_IPV4_COMPATIBLE = ip_network("::/96")
_LOCAL_NAT64 = ip_network("64:ff9b:1::/48")
_ISATAP = frozenset({0x5EFE, 0x0200_5EFE})  # the first half of the interface, below any prefix
_THIS_NETWORK = ip_network("0.0.0.0/8")  # no gateway forwards to it
# Of the text of an IPv4 address, as inet_aton reads it.
_DECIMAL = re.compile(r"[0-9]{1,255}", re.ASCII)
_OCTAL = re.compile(r"0[0-7]{0,254}", re.ASCII)
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{0,253}", re.ASCII)
_MOST_PARTS = 4


@dataclass(frozen=True, kw_only=True)
class AddressPolicy:
    """`api_servers`: names or addresses of the API server with their ports; more of them may become known later."""

    allowed: tuple[Network, ...] = ()
    api_servers: AbstractSet[tuple[str, int]] = frozenset()

    def usable(self, host: str, port: int, found: Sequence[str]) -> tuple[str, ...]:
        """The addresses of the host that may be connected to; ContentError when none is left."""
        refusals = {text: self.refusal(host, port, text) for text in found}
        usable = tuple(text for text, refusal in refusals.items() if refusal is None)
        if not usable:
            raise ContentError(next((text for text in refusals.values() if text), f"{host} has no address"))
        return usable

    def check_unresolved(self, host: str, port: int) -> None:
        """ContentError for what the spelling alone refuses: a number that is a refused address, the API server."""
        if (_bare(host), port) in self.api_servers:
            raise ContentError(_is_api_server(host, port))
        for address in numeric_addresses(host):
            if refusal := self.refusal(host, port, str(address)):
                raise ContentError(refusal)

    def refusal(self, host: str, port: int, text: str) -> str | None:
        """The reason that one address of the host is refused; None: it is not."""
        for address in _meanings(ip_address(text)):
            if {(_bare(host), port), (str(address), port)} & self.api_servers:
                return _is_api_server(host, port)
            what = next(
                (what for what, networks in _REFUSED.items() if any(address in network for network in networks)), None
            )
            if what is not None and not any(address in network for network in self.allowed):
                subject = host if host == text else f"{host} has the address {text}, which"
                return f"{subject} is {what}: refused unless {SETTING} names it"
        return None


async def resolve(host: str, port: int, policy: AddressPolicy) -> tuple[str, ...]:
    """The addresses to connect to; UnavailableError when the name has none, ContentError when they are refused."""
    return await asyncio.get_running_loop().run_in_executor(_RESOLVERS, resolve_blocking, host, port, policy)


def resolve_blocking(host: str, port: int, policy: AddressPolicy) -> tuple[str, ...]:
    """The same, called in a thread."""
    policy.check_unresolved(host, port)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a valid host name"
        raise UnavailableError(f"{host} does not resolve: {reason or error}") from error
    return policy.usable(host, port, list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found)))


def numeric_addresses(host: str) -> tuple[Address, ...]:
    """The address that the host is; none for a name.

    An IPv4 address may have one to four parts, each decimal, octal or hexadecimal, as inet_aton reads them. Programs
    disagree on leading zeros, so both readings count. ContentError for a host that ends in a number and is no address:
    no name ends so, and proxies disagree about it.
    """
    text = host.strip("[]").removesuffix(".")
    with suppress(ValueError):
        return (ip_address(text),)
    *_, last = parts = text.split(".")
    if not (_DECIMAL.fullmatch(last) or _HEXADECIMAL.fullmatch(last)):
        return ()
    readings = (_read(parts, leading_zero) for leading_zero in (8, 10))
    found = tuple(dict.fromkeys(IPv4Address(value) for value in readings if value is not None))
    if not found:
        raise ContentError(f"{host} is not a valid host name: it ends in a number, and is not an IP address")
    return found


def parse_networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks with commas between them; ValueError, with a message for the user, for anything else."""
    return tuple(_network(part.strip()) for part in text.split(",") if part.strip())


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(f"{text[:100]!r} is not an IP address or a network like 10.0.0.0/8") from error


def _read(parts: Sequence[str], leading_zero: int) -> int | None:
    """The last part fills what the others leave."""
    numbers = [_number(part, leading_zero) for part in parts]
    if len(numbers) > _MOST_PARTS or None in numbers:
        return None
    *first, last = (number for number in numbers if number is not None)
    bits = 8 * (4 - len(first))
    if any(number > 0xFF for number in first) or last >> bits:
        return None
    return sum(number << (24 - 8 * place) for place, number in enumerate(first)) + last


def _number(part: str, leading_zero: int) -> int | None:
    if _HEXADECIMAL.fullmatch(part):
        return int(f"{part}0" if len(part) == 2 else part, 16)
    if leading_zero == 8 and part.startswith("0"):
        return int(part, 8) if _OCTAL.fullmatch(part) else None
    return int(part) if _DECIMAL.fullmatch(part) else None


def _bare(host: str) -> str:
    return host.lower().removesuffix(".")


def _is_api_server(host: str, port: int) -> str:
    return f"{host}:{port} is the API server of the cluster, which is not a source"


def _meanings(address: Address) -> Iterator[Address]:
    """The address, and the IPv4 addresses that stand in it and that a gateway or the kernel may take it for."""
    yield address
    if isinstance(address, IPv6Address):
        embedded = {address.ipv4_mapped, address.sixtofour, *(address.teredo or ()), *_local_nat64(address)}
        is_embedding = any(address in network for network in _EMBEDDING)
        if (
            is_embedding
            or (int(address) >> 32 & 0xFFFF_FFFF) in _ISATAP
            or (address in _IPV4_COMPATIBLE and int(address) > 1)
        ):
            embedded.add(IPv4Address(int(address) & 0xFFFF_FFFF))
        yield from (one for one in embedded if one is not None)


def _local_nat64(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses by each layout of RFC 6052 that fits below the prefix: the one of the gateway cannot be seen.

    Bits 64 to 71 are zero and no part of the IPv4 address; so is what follows it.
    """
    if address not in _LOCAL_NAT64:
        return
    bits = f"{int(address):0128b}"
    packed = bits[:64] + bits[72:]
    for start in (48, 56, 64, 88):  # the prefix has 48, 56, 64 or 96 bits, of which the last has those that are zero
        found = IPv4Address(int(packed[start : start + 32], 2))
        if "1" not in packed[start + 32 :] and found not in _THIS_NETWORK:
            yield found
