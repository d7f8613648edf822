"""Which addresses a source may connect to: a URL is written by a user, and must not reach what the operator alone sees.

Refused are this machine, link-local addresses, the metadata services of clouds and what is no single host, unless the
policy allows them, and the API server always. An IPv6 address counts as the IPv4 address that it embeds, too.

The check is made on the addresses that a name has, and the caller connects to exactly these (`resolve`): a name that
has another address a moment later changes nothing. It is made again for each redirect.
"""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias

from rukpak_py.core.errors import ContentError, UnavailableError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

SETTING = "--allow-source-addresses"
_REFUSED: dict[str, tuple[Network, ...]] = {
    what: tuple(map(ip_network, networks))
    for what, networks in {
        "a loopback address": ("127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"),
        "a link-local address": ("169.254.0.0/16", "fe80::/10"),
        "the metadata service of a cloud": (
            *("fd00:ec2::254/128", "fd20:ce::254/128"),
            *("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"),
        ),
        "not the address of one host": ("224.0.0.0/4", "240.0.0.0/4", "ff00::/8"),
    }.items()
}
# The loop's own are four, and a name server that does not answer holds one for half a minute.
_RESOLVERS = ThreadPoolExecutor(64, thread_name_prefix="resolve")
_NAT64 = ip_network("64:ff9b::/96")
_IPV4_COMPATIBLE = ip_network("::/96")


@dataclass(frozen=True, kw_only=True)
class AddressPolicy:
    """`api_servers`: names or addresses of the API server with their ports; more of them may become known later."""

    allowed: tuple[Network, ...] = ()
    api_servers: AbstractSet[tuple[str, int]] = frozenset()

    def usable(self, host: str, port: int, found: Sequence[str]) -> tuple[str, ...]:
        """Those of the addresses of the host that may be connected to; ContentError when none is left."""
        refusals = {text: self.refusal(host, port, text) for text in found}
        usable = tuple(text for text, refusal in refusals.items() if refusal is None)
        if not usable:
            raise ContentError(next((text for text in refusals.values() if text), f"{host} has no address"))
        return usable

    def refusal(self, host: str, port: int, text: str) -> str | None:
        """Why one address of the host is refused."""
        for address in _meanings(ip_address(text)):
            if {(host.lower(), port), (str(address), port)} & self.api_servers:
                return f"{host}:{port} is the API server of the cluster, which is not a source"
            what = _refused_as(address)
            if what is not None and not any(address in network for network in self.allowed):
                subject = host if host == text else f"{host} has the address {text}, which"
                return f"{subject} is {what}: refused unless {SETTING} names it"
        return None


async def resolve(host: str, port: int, policy: AddressPolicy) -> tuple[str, ...]:
    """The addresses to connect to; UnavailableError when the name has none, ContentError when they are refused."""
    return await asyncio.get_running_loop().run_in_executor(_RESOLVERS, resolve_blocking, host, port, policy)


def resolve_blocking(host: str, port: int, policy: AddressPolicy) -> tuple[str, ...]:
    """The same, called in a thread."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise _unknown(host, error) from error
    return policy.usable(host, port, _texts(found))


def parse_networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks with commas between them; ValueError, with a message for the user, for anything else."""
    return tuple(_network(part.strip()) for part in text.split(",") if part.strip())


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(f"{text[:100]!r} is not an IP address or a network like 10.0.0.0/8") from error


def _texts(found: Sequence[tuple[Any, Any, Any, Any, tuple[Any, ...]]]) -> list[str]:
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


def _unknown(host: str, error: Exception) -> UnavailableError:
    reason = error.strerror if isinstance(error, OSError) else "not a valid host name"
    return UnavailableError(f"{host} does not resolve: {reason or error}")


def _refused_as(address: Address) -> str | None:
    return next((what for what, networks in _REFUSED.items() if any(address in network for network in networks)), None)


def _meanings(address: Address) -> Iterator[Address]:
    """The address, and the IPv4 addresses that stand in it and that a gateway or the kernel may take it for."""
    yield address
    if isinstance(address, IPv6Address):
        embedded = {address.ipv4_mapped, address.sixtofour, *(address.teredo or ())}
        if address in _NAT64 or (address in _IPV4_COMPATIBLE and int(address) > 1):
            embedded.add(IPv4Address(int(address) & 0xFFFFFFFF))
        yield from (one for one in embedded if one is not None)
