"""The URL of an archive, read once and strictly: what is sent is what was checked, and credentials are kept apart.

Percent-encoding stays as it was written, because signed URLs are signed as written. What holds a space or a character
beyond ASCII is encoded as browsers do.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import SplitResult, quote, unquote_to_bytes, urljoin, urlsplit

from yarl import URL

from rukpak_py.sources.urls import DEFAULT_PORTS

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SENT_AS_WRITTEN = re.compile(r"[\x21-\x7e]*", re.ASCII)
_USER_INFO = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:%@-]*", re.ASCII)  # as Go takes it
_NAME = re.compile(r"[a-z0-9._-]{1,253}", re.ASCII)
_LONGEST = 8000  # what servers take; the line of a request has a limit


class InvalidUrlError(Exception):
    """The text is a reason, and holds no part of the URL but its scheme."""


class UnsupportedSchemeError(InvalidUrlError):
    """Neither http nor https."""


@dataclass(frozen=True, kw_only=True)
class HttpTarget:
    """`url` has neither credentials nor a fragment; `login` is the value of an Authorization header, or empty."""

    url: URL
    host: str
    port: int
    login: str = ""

    @property
    def origin(self) -> tuple[str, str, int]:
        """The scheme, host and port that credentials belong to."""
        return self.url.scheme, self.host, self.port

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def shown(self) -> str:
        """The target of a redirect, without the query, which may be a permission."""
        return str(self.url.with_query(None))

    def joined(self, location: str) -> "HttpTarget":
        """The target of a `Location` of its answer, without the credentials in it."""
        target = parse_url(urljoin(str(self.url), location))
        return HttpTarget(url=target.url, host=target.host, port=target.port)


def parse_url(text: str) -> HttpTarget:
    if _CONTROL.search(text):
        raise InvalidUrlError("invalid control character in URL")
    if text != text.strip() or len(text) > _LONGEST:
        raise InvalidUrlError("white space around the URL" if len(text) <= _LONGEST else "the URL is too long")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise InvalidUrlError("invalid host or port in URL") from error
    if port == 0:
        raise InvalidUrlError("invalid host or port in URL")
    if parts.scheme not in {"http", "https"}:
        shown = parts.scheme if "://" in text else ""  # else it may be the first half of `user:password@host`
        raise UnsupportedSchemeError(f'unsupported protocol scheme "{shown[:20]}"')
    if not _USER_INFO.fullmatch(parts.netloc.rpartition("@")[0]):
        raise InvalidUrlError("invalid userinfo in URL")
    host = _host(parts)
    url = _url(parts, f"[{host}]" if ":" in host else host, port)
    return HttpTarget(url=url, host=host, port=port or DEFAULT_PORTS[parts.scheme], login=_login(parts))


def basic(user: bytes, password: bytes) -> str:
    """The value of an Authorization header."""
    return f"Basic {base64.b64encode(user + b':' + password).decode()}"


def forms_of(header: str) -> Sequence[str]:
    """The texts in which a server may repeat such a header, the longest first; none without a header."""
    encoded = header.removeprefix("Basic ")
    login = base64.b64decode(encoded).decode(errors="replace")
    user, _, password = login.partition(":")
    secret = password or user  # a token may stand in the place of the user
    forms = {encoded, login, secret, quote(secret, safe="")} - {"", ":"}
    return sorted(forms, key=len, reverse=True)


def _host(parts: SplitResult) -> str:
    try:
        host = parts.hostname or ""
        if not host:
            raise InvalidUrlError("no host in URL")
        if "[" in parts.netloc:
            return str(IPv6Address("" if "%" in host else host))
        if not host.isascii():
            host = URL.build(scheme="http", host=host).raw_host or ""
    except ValueError as error:
        raise InvalidUrlError("invalid host in URL") from error
    if not _NAME.fullmatch(host):
        raise InvalidUrlError("invalid character in host name")
    return host


def _url(parts: SplitResult, host: str, port: int | None) -> URL:
    place = host if port in {None, DEFAULT_PORTS[parts.scheme]} else f"{host}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    rest = f"{parts.path or '/'}{query}"
    try:
        return URL(f"{parts.scheme}://{place}{rest}", encoded=bool(_SENT_AS_WRITTEN.fullmatch(rest)))
    except ValueError as error:
        raise InvalidUrlError("invalid characters in URL") from error


def _login(parts: SplitResult) -> str:
    if parts.username is None and parts.password is None:
        return ""
    return basic(unquote_to_bytes(parts.username or ""), unquote_to_bytes(parts.password or ""))
