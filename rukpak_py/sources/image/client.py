"""A client for one repository: the registry of `oras`, with our session and our login as its parts.

`oras` knows the URLs of the API, and repeats a request after the login that its answer asks for. Its own session has no
limits, and its own login knows one token for everything. Credentials go to the registry's own origin and its token
service, never to where it redirects to; nothing goes from TLS to plain HTTP.

What ends a request is an error whose text begins with the host: AccessError for a refused login, UnavailableError for
whatever may pass, NoTlsError where the caller may want to try without.
"""

import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from oras.container import Container
from oras.provider import Registry
from urllib3.exceptions import ConnectTimeoutError, HTTPError, ProxyError

from rukpak_py.core.errors import AccessError, UnavailableError
from rukpak_py.core.text import excerpt
from rukpak_py.sources.image.credentials import RegistryCredentials
from rukpak_py.sources.image.reference import ImageReference
from rukpak_py.sources.image.tokens import RegistryLogin
from rukpak_py.sources.image.transport import (
    LONGEST_SAID,
    Connections,
    Session,
    chunks_of,
    host_of,
    read_answer,
    redirect_target,
    retry_after,
)
from rukpak_py.sources.image.unpack_methods import ImageNotFoundError, NotForOperatorError, OutOfReachError
from rukpak_py.sources.tls import client_context

_MOST_REDIRECTS: Final = 5
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


class RegistryClient:
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
        self._reference = reference
        self._advice = advice
        self._host = _API_HOSTS.get(reference.registry, reference.registry).lower()
        self._container = Container("-", registry=self._host)
        self._container.repository = reference.repository  # its own parser takes a dot in it for a registry
        self._session = Session(connections, client_context(ca_bundle), plain_http=plain_http)
        self._login = RegistryLogin(self._session, credentials, plain_http=plain_http, refused=self.refused)
        self._registry = Registry(insecure=plain_http)
        self._registry.session = self._session
        self._registry.auth = self._login
        self.scheme: str = self._registry.prefix

    def manifest(self, name: str, accepted: Sequence[str]) -> requests.Response:
        """The answer with the manifest of a tag or digest, its body unread."""
        return self._followed(self._container.manifest_url(name), {"Accept": ", ".join(accepted)})

    def blob(self, digest: str, position: int) -> requests.Response:
        """The answer with a blob from the position on, or with all of it, its body unread."""
        return self._followed(self._container.get_blob_url(digest), {"Range": f"bytes={position}-"} if position else {})

    def start_upload(self) -> requests.Response:
        return self.send("POST", f"{self.scheme}://{self._container.upload_blob_url()}", b"", {"Content-Length": "0"})

    def put_manifest(self, name: str, data: bytes, media_type: str) -> requests.Response:
        url = f"{self.scheme}://{self._container.manifest_url(name)}"
        return self.send("PUT", url, data, {"Content-Type": media_type})

    def demand_login(self) -> None:
        """Ask without credentials, and fail now where the registry asks for a password and there is none."""
        url = f"{self.scheme}://{self._host}/v2/"
        with self._translated(url):
            answer = self._session.request("GET", url)
            read_answer(answer)
        if answer.status_code == 401:
            self._login.demand_password(answer.headers.get("WWW-Authenticate", ""))

    def send(self, method: str, url: str, data: bytes, headers: dict[str, str]) -> requests.Response:
        """Return the answer to an upload, read, when it is a success."""
        answer = self._request(method, url, data=data, headers=headers)
        with self._translated(url):
            read_answer(answer)
        return self._checked(answer)

    def _followed(self, place: str, headers: dict[str, str]) -> requests.Response:
        """The answer to a GET, its body unread, from wherever the registry says that it is."""
        answer = self._request("GET", f"{self.scheme}://{place}", headers=headers)
        for _ in range(_MOST_REDIRECTS):
            if not answer.is_redirect:
                return self._checked(answer)
            answer.close()
            target = redirect_target(answer)
            if urlsplit(target).scheme != "https" and self.scheme == "https":
                raise UnavailableError(f"{self._host} asks for a request without TLS, which is refused")
            answer = self._request("GET", target, headers=headers)
        answer.close()
        raise UnavailableError(f"{self._host} redirects more than {_MOST_REDIRECTS} times")

    def _request(self, method: str, url: str, *, headers: dict[str, str], **given: Any) -> requests.Response:
        """One answer, its body unread; from the registry itself after a login where it asks for one."""
        with self._translated(url):
            if not self._is_own(url):
                return self._session.request(method, url, headers=headers, **given)
            request = Registry.do_request.__wrapped__  # its decorator repeats every refusal and error for minutes
            headers = {**headers, **self._login.header()}
            answer: requests.Response = request(self._registry, url, method, headers=headers, stream=True, **given)
            return answer

    def chunks(self, answer: requests.Response) -> Iterator[bytes]:
        """UnavailableError when they break off. The caller closes the answer, also where it does not read on."""
        with self._translated(answer.url):
            yield from chunks_of(answer)

    def _checked(self, answer: requests.Response) -> requests.Response:
        """The answer, when it is a success."""
        if answer.is_redirect:
            answer.close()
            target = excerpt(redirect_target(answer).partition("?")[0], LONGEST_SAID)  # the rest may be a secret
            raise UnavailableError(f"{self._host} redirects to {target}: give the registry itself")
        if answer.ok:
            return answer
        said = self._login.said(answer)
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

    @contextmanager
    def _translated(self, url: str) -> Iterator[None]:
        """Errors of the libraries, as ours. ValueError: answers that they trust to be well-formed."""
        try:
            yield
        except (OutOfReachError, requests.exceptions.RequestException, HTTPError, ValueError, OSError) as error:
            asked, self._login.asked = self._login.asked, ""
            raise self._translation(error, asked or url) from error

    def _translation(self, error: Exception, url: str) -> NotForOperatorError:
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
                why = excerpt(str(cause), 2 * LONGEST_SAID).rpartition(": ")[2]
                is_connected = not isinstance(cause, ConnectTimeoutError | ProxyError)
                kind = NotForOperatorError if is_connected or not self._is_own(url) else OutOfReachError
                return kind(f"{host} does not answer: {excerpt(why, LONGEST_SAID)}")

    def _is_own(self, url: str) -> bool:
        """Whether the URL is of the registry itself, and not of a blob store or token service."""
        return urlsplit(url)[:2] == (self.scheme, self._host)


def _cause(error: BaseException) -> BaseException:
    """The innermost reason: what the libraries make of it is a paragraph."""
    for _ in range(10):
        inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
        if not isinstance(inner, BaseException):
            break
        error = inner
    return error
