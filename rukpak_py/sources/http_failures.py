"""Failures of a server, or of the way to it: as errors with texts for users, never with a header or a credential."""

import os
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus

import aiohttp

from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits, variable_of
from rukpak_py.sources.http_url import HttpTarget
from rukpak_py.sources.retry_after import retry_after

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
