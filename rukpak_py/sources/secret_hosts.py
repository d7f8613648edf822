"""The annotation `core.rukpak.io/hosts` of a Secret: the hosts to which a source may send what it holds.

Entries are separated by commas:

* `git.example.com`: this host, on any port
* `git.example.com:8443`: on this port alone
* `*.example.com`, with a port or without: exactly one label in the place of the asterisk, as in a certificate; neither
  `example.com` nor `a.b.example.com`, and no IP address
* `10.0.0.5`, `[fd12::1]:8443`: an IP address; IPv6 in brackets

Case and a final dot do not count. One entry that cannot be read makes the whole annotation invalid, so that a mistake
never opens more than what was meant.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from rukpak_py.core.errors import ContentError
from rukpak_py.sources.addresses import numeric_addresses

_ENTRY: Final = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9*._-]{1,255})(?::(?P<port>[0-9]{1,5}))?", re.ASCII
)
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
_ANY_LABEL: Final = "*."
_HIGHEST_PORT: Final = 65535
_SHOWN: Final = 100
_FORMS: Final = "write git.example.com, git.example.com:8443, *.example.com or [fd12::1]:8443"


@dataclass(frozen=True, kw_only=True, slots=True)
class HostPattern:
    """`port` None: any."""

    host: str
    port: int | None = None

    def matches(self, host: str, port: int) -> bool:
        if self.port not in {None, port}:
            return False
        host = _canonical(host)
        if not self.host.startswith(_ANY_LABEL):
            return host == self.host
        label, _, rest = host.partition(".")
        return bool(label) and f"{_ANY_LABEL}{rest}" == self.host and not _is_address(host)


def parse_hosts(text: str) -> tuple[HostPattern, ...]:
    """ValueError, with a message for the user, when any entry cannot be read."""
    return tuple(_pattern(entry) for part in text.split(",") if (entry := part.strip()))


def is_named(host: str, port: int, patterns: Sequence[HostPattern]) -> bool:
    return any(pattern.matches(host, port) for pattern in patterns)


def _pattern(entry: str) -> HostPattern:
    found = _ENTRY.fullmatch(entry)
    if found is None or not _is_port(found["port"]) or not _is_host(found["host"]):
        raise ValueError(f"{entry[:_SHOWN]!r} is not a host: {_FORMS}")
    return HostPattern(host=_canonical(found["host"]), port=int(found["port"]) if found["port"] else None)


def _is_port(text: str | None) -> bool:
    return text is None or 0 < int(text) <= _HIGHEST_PORT


def _is_host(text: str) -> bool:
    """An IP address as it is usually written; a name, whose first label may be an asterisk."""
    if text.startswith("["):
        return _is_address(text.strip("[]")) and ":" in text
    name = text.lower().removesuffix(".")
    labels = name.removeprefix(_ANY_LABEL).split(".")
    try:
        is_number = bool(numeric_addresses(labels[-1]))
    except ContentError:
        is_number = True
    return _is_address(name) if is_number else all(_LABEL.fullmatch(label) for label in labels)


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _canonical(host: str) -> str:
    bare = host.strip("[]").lower().removesuffix(".")
    return str(ip_address(bare)) if _is_address(bare) else bare
