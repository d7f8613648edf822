"""An image pushed to a registry with the client of `oras`: blobs first, and the manifest, byte for byte, at last.

The client's own retries are not used: they repeat refusals, and wait for minutes. Ours repeat what may pass (no answer,
429, 502 to 504), a few seconds long. Every request has an end, and every answer a longest size. Credentials go to the
registry's own host, and to the token service that it names. Nothing goes from TLS to plain HTTP, and no redirect is
followed. A refused push is an AccessError that says which login.
"""

import functools
import inspect
import json
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import requests
from oras.logger import setup_logger
from oras.provider import Registry
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.sources.image.build import Blob, Image
from rukpak_py.sources.image.docker_config import credentials_for
from rukpak_py.sources.image.reference import Reference

_SECONDS: Final = (10, 120)  # to connect, and without a byte
_RETRY: Final = Retry(
    total=3,
    backoff_factor=0.5,
    status_forcelist=[429, 502, 503, 504],
    allowed_methods=None,
    raise_on_status=False,
    respect_retry_after_header=False,  # it has no upper end
)
_LONGEST_ANSWER: Final = 1024 * 1024  # registries say little; tokens are some kilobytes
_LONGEST_SAID: Final = 500
_API_HOSTS: Final = {"docker.io": "registry-1.docker.io"}


def push_image(image: Image, reference: Reference, *, plain_http: bool = False) -> None:
    try:
        _Push(reference, plain_http=plain_http).push(image)
    except RukPakError as error:
        raise type(error)(f"{reference} cannot be pushed: {error}") from error
    except requests.exceptions.SSLError as error:
        text = f"{reference} cannot be pushed: {_host(reference)} does not speak TLS, or its certificate is not trusted"
        raise UnavailableError(f"{text}; --plain-http is for registries without TLS") from error
    except requests.exceptions.TooManyRedirects as error:
        target = "" if error.response is None else f" to {error.response.headers['Location'][:_LONGEST_SAID]}"
        raise UnavailableError(
            f"{reference} cannot be pushed: {_host(reference)} redirects{target}: give the registry itself"
        ) from error
    except requests.exceptions.InvalidSchema as error:
        raise UnavailableError(
            f"{reference} cannot be pushed: {_host(reference)} wants something to go without TLS"
        ) from error
    except (requests.exceptions.RequestException, ValueError) as error:
        raise UnavailableError(
            f"{reference} cannot be pushed: {_host(reference)} does not answer: {_cause(error)}"
        ) from error


class _Push:
    def __init__(self, reference: Reference, *, plain_http: bool) -> None:
        setup_logger(quiet=True)  # our errors say it
        self._reference = reference
        self._plain_http = plain_http
        self._host = _host(reference).lower()
        self._client = self._authenticated()

    def push(self, image: Image) -> None:
        for blob in dict.fromkeys((*image.layers, image.config)):
            self._upload(blob)
        answer = self._ask("PUT", self._url(f"manifests/{self._reference.tag}"), image.manifest)
        digest = answer.headers.get("Docker-Content-Digest", image.digest)
        if digest != image.digest:
            raise ContentError(f"the registry stored {digest} instead of {image.digest}")

    def _upload(self, blob: Blob) -> None:
        started = self._ask("POST", self._url("blobs/uploads/"))
        if not (location := started.headers.get("Location")):
            raise UnavailableError("the registry does not say where blobs go")
        target = urljoin(started.url, location)
        joint = "&" if urlsplit(target).query else "?"
        self._ask("PUT", f"{target}{joint}digest={blob.digest}", Blob(media_type=_STREAM, data=blob.data))

    def _ask(self, method: str, url: str, blob: Blob | None = None) -> requests.Response:
        headers = {"Content-Type": blob.media_type} if blob else {"Content-Length": "0"}
        data = blob.data if blob else b""
        if urlsplit(url).scheme != self._client.prefix:
            raise UnavailableError(f"the registry sends uploads from {self._client.prefix} to {urlsplit(url).scheme}")
        if urlsplit(url).netloc != self._host:  # its address is all the permission that it needs
            answer = self._client.session.request(method, url, data=data, headers=headers)
        else:
            try:
                answer = _request(self._client, url, method, data=data, headers=headers)
            except requests.exceptions.InvalidJSONError as error:
                raise self._refused(_NO_TOKEN) from error
            except requests.exceptions.RequestException:
                raise
            except (ValueError, AttributeError) as error:  # of the client, which trusts answers to be what they should
                raise self._refused(_NO_TOKEN) from error
        if answer.status_code in {401, 403}:
            raise self._refused(_said(answer))
        if not answer.ok:
            raise UnavailableError(f"the registry answers {method} with {answer.status_code}: {_said(answer)}")
        return answer  # type: ignore[no-any-return]  # the client is not typed

    def _url(self, rest: str) -> str:
        return f"{self._client.prefix}://{self._host}/v2/{self._reference.repository}/{rest}"

    def _authenticated(self) -> Any:
        """The client for the kind of login that the registry asks for."""
        client = self._new_client("token")
        asked = client.session.get(f"{client.prefix}://{self._host}/v2/")
        challenge = asked.headers.get("WWW-Authenticate", "") if asked.status_code == 401 else ""
        is_basic = challenge.lower().startswith("basic")
        found = credentials_for(self._reference.registry)
        if found is None:
            if is_basic:
                raise self._refused("it wants a login")
            return client
        if is_basic:
            client = self._new_client("basic")
        client.auth.set_basic_auth(found.user, found.password)
        return client

    def _new_client(self, backend: str) -> Any:
        client: Any = Registry(insecure=self._plain_http, auth_backend=backend)
        session = client.session
        session.adapters.clear()
        for scheme in ("http://", "https://") if self._plain_http else ("https://",):
            session.mount(scheme, HTTPAdapter(max_retries=_RETRY))
        session.max_redirects = 0
        session.auth = _with_its_own_login
        session.hooks["response"].append(_read)
        session.request = functools.partial(session.request, timeout=_SECONDS)
        return client

    def _refused(self, why: str) -> AccessError:
        return AccessError(
            f"{self._reference.registry} refuses: {why}. Log in with `docker login {self._reference.registry}`"
        )


_STREAM: Final = "application/octet-stream"
_NO_TOKEN: Final = "no token for this login"  # noqa: S105 - a message
# Without the retries that are wrapped around it.
_request: Final = inspect.unwrap(Registry.do_request)


def _host(reference: Reference) -> str:
    return _API_HOSTS.get(reference.registry, reference.registry)


def _with_its_own_login(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """In place of what ~/.netrc has for the host, which would take the place of the registry's token."""
    return request


def _read(answer: requests.Response, **_: Any) -> None:
    body = bytearray()
    for chunk in answer.iter_content(64 * 1024):
        body += chunk
        if len(body) > _LONGEST_ANSWER:
            answer.close()
            raise UnavailableError(f"its answer is larger than {_LONGEST_ANSWER} bytes")
    answer._content = bytes(body)  # noqa: SLF001 - where the library itself puts what it has read


def _cause(error: Exception) -> str:
    """The innermost reason: what requests makes of it is a paragraph."""
    cause = getattr(error.args[0], "reason", error) if error.args else error
    return str(cause).rpartition(": ")[2]


def _said(answer: requests.Response) -> str:
    """The registry's own words, as far as it has some."""
    try:
        errors = json.loads(answer.content[: 64 * 1024])["errors"]
        said = "; ".join(str(error.get("message") or error.get("code")) for error in errors)
    except (ValueError, KeyError, TypeError, AttributeError):
        said = ""
    return (said or answer.reason or "no reason")[:_LONGEST_SAID]
