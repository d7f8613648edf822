"""The URL of an archive, read once and strictly: what is sent is what was checked, and credentials are kept apart.

Percent-encoding stays as it was written, because signed URLs are signed as written. What holds a space or a character
beyond ASCII is encoded as browsers do.

Failures of a server, or of the way to it, are errors with texts for users, never with a header or a credential.
"""

import base64
import os
import re
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from ipaddress import IPv6Address
from urllib.parse import SplitResult, quote, unquote_to_bytes, urljoin, urlsplit

import aiohttp
from yarl import URL

from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits, variable_of
from rukpak_py.sources.urls import DEFAULT_PORTS, retry_after

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


_LONGEST_REASON = 100


def unanswered(error: Exception, target: HttpTarget, limits: Limits) -> RukPakError:
    """The request failed without a status that could be shown."""
    if isinstance(error, aiohttp.InvalidURL):
        return ContentError(f"{target.host} is not a valid host name")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return _refused_by_proxy(error.status)
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientConnectorCertificateError):
        return UnavailableError(_unconnected(error, target))
    return UnavailableError(_broken_off(error, target, limits))


def _unconnected(error: Exception, target: HttpTarget) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return _untrusted(error.certificate_error, target)
        case aiohttp.ClientConnectorSSLError():
            return f"{target.address} does not speak a supported version of TLS{_reason(error.os_error)}"
        case aiohttp.ClientProxyConnectionError():
            return f"the proxy for it does not accept connections{_reason(error.os_error)}"
        case aiohttp.ClientConnectorError():
            return f"{target.address} does not accept connections{_reason(error.os_error)}"
        case _:
            return f"{target.address} does not accept connections"


def _broken_off(error: Exception, target: HttpTarget, limits: Limits) -> str:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return f"no connection to {target.address} within {_seconds('http_connect_seconds', limits)}"
        case aiohttp.SocketTimeoutError():
            return f"{target.address} sent nothing for {_seconds('http_silence_seconds', limits)}"
        case aiohttp.ClientPayloadError():
            return f"{target.address} ended the connection in the middle of the archive"
        case aiohttp.ServerDisconnectedError():
            return f"{target.address} ended the connection without an answer"
        case aiohttp.ClientResponseError():
            return f"{target.address} sent an answer that is not valid HTTP"
        case OSError():
            return f"the connection to {target.address} failed{_reason(error)}"
        case _:
            return f"{target.address} does not answer"


def took_too_long(limits: Limits) -> UnavailableError:
    return UnavailableError(f"it took more than {_seconds('http_seconds', limits)}")


def unexpected_status(
    response: aiohttp.ClientResponse, *, where: str, advice: str, redacted: Callable[[str], str]
) -> RukPakError:
    """`where`: which URL answered, when it is not the one of the spec. `advice`: what to do about credentials.

    `redacted` takes out of the reason phrase what the server may have repeated of the request.
    """
    status = response.status
    text = f'unexpected status "{status} {_phrase(response, redacted)}"{where}'
    match status:
        case 401 | 403:
            return AccessError(f"{text}: {advice}")
        case 407:
            return AccessError(f"{text}: the proxy needs credentials")
        case 410:
            return ContentError(text)
        case _:
            wait = retry_after(response.headers.get("Retry-After"), datetime.now(UTC))
            return UnavailableError(text, retry_after=wait)


def _phrase(response: aiohttp.ClientResponse, redacted: Callable[[str], str]) -> str:
    phrase = "".join(character for character in redacted(response.reason or "") if character.isprintable())
    if phrase:
        return phrase[:_LONGEST_REASON]
    try:
        return HTTPStatus(response.status).phrase
    except ValueError:
        return "without a reason"


def _untrusted(error: Exception, target: HttpTarget) -> str:
    reason = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else "it cannot be verified"
    hint = "" if "mismatch" in reason else "; caBundle of the source is for private authorities"
    return f"the certificate of {target.address} is not trusted: {reason.rstrip('.')}{hint}"


def _refused_by_proxy(status: int) -> RukPakError:
    if status == 407:
        return AccessError("the proxy for it needs credentials (407)")
    return UnavailableError(f"the proxy for it answers with status {status}")


def _seconds(limit: str, limits: Limits) -> str:
    return f"{getattr(limits, limit)} s ({variable_of(limit)} sets it)"


def _reason(error: OSError) -> str:
    """The error in the words of the system: those of the event loop name addresses, also that of a proxy."""
    if isinstance(error, ssl.SSLError):
        text = (error.reason or "").replace("_", " ").lower()
    elif error.errno:
        text = os.strerror(error.errno).lower()
    else:
        text = ""
    return f": {text}" if text else ""
