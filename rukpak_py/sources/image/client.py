"""A client for one repository: that of `oras`, with our transport and our logins in place of its own.

Its own requests have no end, repeat refusals for minutes, and know one token for everything. Credentials go to the
registry's own origin and its token service, never to where it redirects to; nothing goes from TLS to plain HTTP.

What ends a request is an error whose text begins with the host: AccessError for a refused login, UnavailableError for
whatever may pass, NoTlsError where the caller may want to try without.
"""

import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from oras.provider import Registry
from urllib3.exceptions import ConnectTimeoutError, HTTPError, ProxyError

from rukpak_py.core.errors import AccessError, UnavailableError
from rukpak_py.core.limits import readable_size
from rukpak_py.core.text import excerpt
from rukpak_py.sources.image.credentials import RegistryCredentials
from rukpak_py.sources.image.reference import ImageReference
from rukpak_py.sources.image.tokens import RegistryLogin
from rukpak_py.sources.image.transport import (
    LONGEST_ANSWER,
    Connections,
    Session,
    chunks_of,
    host_of,
    read_body,
    redirect_target,
    retry_after,
)
from rukpak_py.sources.image.unpack_methods import ImageNotFoundError, NotForOperatorError, OutOfReachError
from rukpak_py.sources.tls import client_context

_MOST_REDIRECTS: Final = 5
_LONGEST_SAID: Final = 500
_NOT_FOR_US: Final = frozenset({401, 403, 404, 429})  # a node may be told otherwise
_API_HOSTS: Final = {"docker.io": "registry-1.docker.io"}


class NoTlsError(NotForOperatorError):
    """The registry answers, but not with TLS."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Advice for messages, which depends on their readers."""

    login: str
    certificate: str
    no_tls: str


class RegistryClient(Registry):  # type: ignore[misc]  # it is not typed
    def __init__(
        self,
        reference: ImageReference,
        *,
        credentials: RegistryCredentials | None,
        connections: Connections,
        advice: Advice,
        ca_bundle: str = "",
        plain_http: bool = False,
    ) -> None:
        super().__init__(insecure=plain_http)
        self._reference = reference
        self._advice = advice
        self._host = _API_HOSTS.get(reference.registry, reference.registry).lower()
        self._origin = (self.prefix, self._host)
        self.session = Session(connections, client_context(ca_bundle), plain_http=plain_http)
        self._login = RegistryLogin(self.session, credentials, plain_http=plain_http, refused=self.refused)

    def url(self, rest: str) -> str:
        """The URL of something in the repository."""
        return f"{self.prefix}://{self._host}/v2/{self._reference.repository}/{rest}"

    def ping(self) -> requests.Response:
        """Ask the registry without credentials."""
        answer = self._send("GET", f"{self.prefix}://{self._host}/v2/")
        self._read(answer)
        return answer

    def demand_login(self) -> None:
        """Fail now where a registry asks for a password and there is none."""
        answer = self.ping()
        if answer.status_code == 401:
            self._login.demand_password(answer.headers.get("WWW-Authenticate", ""))

    def do_request(  # noqa: PLR0917 - as the library calls it
        self,
        url: str,
        method: str = "GET",
        data: dict[str, Any] | bytes | None = None,
        headers: dict[str, str] | None = None,
        json: dict[str, Any] | None = None,
        stream: bool = False,  # noqa: FBT001, FBT002 - see above
    ) -> requests.Response:
        """Return one answer, after a login where one is asked for; no redirect is followed."""
        given = {"data": data, "json": json}
        is_own = self._is_own(url)
        answer = self._send(method, url, self._headers(headers, is_own=is_own), **given)
        if answer.status_code == 401 and is_own:
            with _Translated(self, url, login=self._login):
                # To its end, so that the connection is used again; a page that is too long has nothing to say.
                answer._content = read_body(answer, LONGEST_ANSWER) or b""  # noqa: SLF001 - see _read
                is_new = self._login.accept(answer.headers.get("WWW-Authenticate", ""))
            if is_new:
                answer = self._send(method, url, self._headers(headers, is_own=True), **given)
        if not stream and answer._content is False:  # noqa: SLF001 - see _read
            self._read(answer)
        return answer

    def follow(self, url: str, headers: dict[str, str]) -> requests.Response:
        """The answer to a GET, its body unread, from wherever the registry says that it is."""
        answer = self.do_request(url, headers=headers, stream=True)
        for _ in range(_MOST_REDIRECTS):
            if not answer.is_redirect:
                return self.checked(answer)
            answer.close()
            target = redirect_target(answer)
            if urlsplit(target).scheme != "https" and self.prefix == "https":
                raise UnavailableError(f"{self._host} asks for a request without TLS, which is refused")
            answer = self.do_request(target, headers=headers, stream=True)
        answer.close()
        raise UnavailableError(f"{self._host} redirects more than {_MOST_REDIRECTS} times")

    def chunks(self, answer: requests.Response) -> Iterator[bytes]:
        """UnavailableError when they break off."""
        with _Translated(self, answer.url), answer:
            yield from chunks_of(answer)

    def checked(self, answer: requests.Response) -> requests.Response:
        """The answer, when it is a success."""
        if answer.is_redirect:
            answer.close()
            target = excerpt(redirect_target(answer).partition("?")[0], _LONGEST_SAID)  # the rest may be a secret
            raise UnavailableError(f"{self._host} redirects to {target}: give the registry itself")
        if answer.ok:
            return answer
        said = self._said(answer)
        kind = NotForOperatorError if answer.status_code in _NOT_FOR_US else UnavailableError
        if not self._is_own(answer.url):
            raise kind(f"{host_of(answer.url)} answers with {answer.status_code}: {said}")
        if answer.status_code in {401, 403}:
            raise self.refused(said)
        method = answer.request.method
        if answer.status_code == 404:
            kind = ImageNotFoundError
        raise kind(
            f"the registry answers {method} with {answer.status_code}: {said}", retry_after=retry_after(answer.headers)
        )

    def refused(self, why: str) -> AccessError:
        advice = self._advice.login.format(registry=self._reference.registry)
        return AccessError(f"{self._reference.registry} refuses: {why}. {advice}")

    def translated(self, error: Exception, url: str) -> NotForOperatorError:
        """The error for users, without the URL, which may hold a credential of a blob store."""
        host = host_of(url)
        cause = _cause(error)
        match error:
            case OutOfReachError():  # a name without an address
                return error if self._is_own(url) else NotForOperatorError(str(error))
            case requests.exceptions.SSLError() if isinstance(cause, ssl.SSLCertVerificationError):
                return NotForOperatorError(
                    f"the certificate of {host} is not trusted: {cause.verify_message}; {self._advice.certificate}"
                )
            case requests.exceptions.SSLError():
                return NoTlsError(f"{host} does not speak TLS; {self._advice.no_tls}")
            case requests.exceptions.InvalidSchema():
                return NotForOperatorError(f"{host} asks for a request without TLS, which is refused")
            case _:
                why = excerpt(str(cause), 2 * _LONGEST_SAID).rpartition(": ")[2]
                is_connected = not isinstance(cause, ConnectTimeoutError | ProxyError)
                kind = NotForOperatorError if is_connected or not self._is_own(url) else OutOfReachError
                return kind(f"{host} does not answer: {excerpt(why, _LONGEST_SAID)}")

    def _is_own(self, url: str) -> bool:
        """Whether the URL is of the registry itself, and not of a blob store or token service."""
        return urlsplit(url)[:2] == self._origin

    def _headers(self, given: dict[str, str] | None, *, is_own: bool) -> dict[str, str]:
        """`identity`: what is compressed on the way would not have the digest."""
        with _Translated(self, self.url(""), login=self._login):
            login = self._login.header() if is_own else {}
        return {"Accept-Encoding": "identity", **(given or {}), **login}

    def _send(self, method: str, url: str, headers: dict[str, str] | None = None, **given: Any) -> requests.Response:
        with _Translated(self, url):
            return self.session.send_once(method, url, headers=headers, **given)

    def _read(self, answer: requests.Response) -> None:
        with _Translated(self, answer.url):
            body = read_body(answer, LONGEST_ANSWER)
        if body is None:
            raise UnavailableError(f"its answer is larger than {readable_size(LONGEST_ANSWER)}")
        answer._content = body  # noqa: SLF001 - where the library itself puts what it has read

    def _said(self, answer: requests.Response) -> str:
        """The registry's own words, as far as it has some."""
        try:
            if answer._content is False:  # noqa: SLF001 - see _read
                self._read(answer)
            errors = json.loads(answer.content)["errors"]
            said = "; ".join(str(error.get("message") or error.get("code")) for error in errors)
        except (ValueError, KeyError, TypeError, AttributeError, UnavailableError, RecursionError):
            said = ""
        return excerpt(self._login.scrubbed(said or answer.reason or "no reason"), _LONGEST_SAID)


class _Translated:
    """Errors of the libraries, translated to ours. ValueError: answers that they trust to be well-formed.

    `login`: it may ask a token service meanwhile, which is another server.
    """

    def __init__(self, client: RegistryClient, url: str, *, login: RegistryLogin | None = None) -> None:
        self._client = client
        self._url = url
        self._login = login

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OutOfReachError | requests.exceptions.RequestException | HTTPError | ValueError | OSError):
            asked = self._login.asked if self._login is not None else ""
            raise self._client.translated(error, asked or self._url) from error


def _cause(error: BaseException) -> BaseException:
    """The innermost reason: what the libraries make of it is a paragraph."""
    for _ in range(10):
        inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
        if not isinstance(inner, BaseException):
            break
        error = inner
    return error
