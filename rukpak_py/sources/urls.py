"""URLs as users write them, as servers name them, and as messages show them: never with credentials."""

import re
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
