"""URLs as users write them, as servers name them, and as messages show them: never with credentials.

The proxy for a URL is found by the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY, read as Go programs read them:
Python's own reading knows no networks in NO_PROXY, and clusters list theirs there. Localhost and loopback addresses
never go through a proxy. A variable may be written in lower case; HTTP_PROXY does not count where a web server may have
set it from a header of a request (CGI).
"""

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urljoin, urlsplit

from rukpak_py.core.errors import UnavailableError

DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22}

_MASK = "xxxxx"  # as Go writes it
_USER_INFO = re.compile(r"^((?:[a-z][a-z0-9+.-]*:)?//)?[^/?#]*@", re.IGNORECASE)
_WHATEVER_MAY_BE = re.compile(r"^((?:[a-z][a-z0-9+.-]*:)?//)?.*@", re.IGNORECASE | re.DOTALL)


def read_url(url: str, *, what: str) -> SplitResult:
    """A URL that a server has named. UnavailableError for one that cannot be read: `what` says what it is for.

    Brackets and characters of the host fail in `urlsplit` already, the port only when it is asked for.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UnavailableError(f"{what} is not a valid URL") from error
    return parts


def joined_url(base: str, location: str, *, what: str) -> str:
    """The URL that the `Location` of an answer leads to, safe to parse again. UnavailableError as above."""
    try:
        url = urljoin(base, location)
    except ValueError as error:
        raise UnavailableError(f"{what} is not a valid URL") from error
    read_url(url, what=what)
    return url


def masked(url: str) -> str:
    """The URL without the user and the password before the host."""
    return _USER_INFO.sub(rf"\1{_MASK}@", url, count=1)


def masked_entirely(url: str) -> str:
    """The same for what could not be read: its credentials may reach to the last `@`."""
    return _WHATEVER_MAY_BE.sub(rf"\1{_MASK}@", url, count=1)


def proxy_for(scheme: str, host: str, port: int, environ: Mapping[str, str] = os.environ) -> str:
    """The URL of the proxy, with its credentials; empty: none."""
    proxy = _variable(environ, f"{scheme}_proxy")
    if not proxy or (scheme == "http" and "REQUEST_METHOD" in environ):
        return ""
    if _is_direct(host.lower().rstrip("."), port, _variable(environ, "no_proxy")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def _is_direct(host: str, port: int, no_proxy: str) -> bool:
    try:
        if ip_address(host).is_loopback:
            return True
    except ValueError:
        if host == "localhost":
            return True
    return any(_matches(entry.strip().lower(), host, port) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, port: int) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:  # the entry or the host is a name
        pass
    name, colon, only = entry.rpartition(":")
    if colon and only.isdigit():
        if int(only) != port:
            return False
        entry = name.strip("[]")
    entry = entry.removeprefix("*")
    return host.endswith(entry) if entry.startswith(".") else host == entry or host.endswith(f".{entry}")


_LONGEST_SECONDS = 600.0  # whatever it says; a date may be far away


def retry_after(header: str | None, now: datetime) -> float | None:
    """The pause in seconds. None: the header names none, or none that can be read."""
    if not header:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), _LONGEST_SECONDS)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return min(max((at - now).total_seconds(), 0.0), _LONGEST_SECONDS)
