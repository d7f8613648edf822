"""HTTP to registries, with `requests`, which the client of `oras` is built on.

Every request has an end: to connect, to the next byte, and, where there is a `Pace`, to the whole, however slowly its
bytes arrive (`Connections.abort` ends what another thread waits for). What may pass (no answer, 429, 500 to 504) is
tried again, a few seconds long; a server that wants more patience than that is reported with the time that it wants.
Every answer has a longest size, and what the libraries would read of it on their own (cookies, bodies of redirects) is
not read. Names resolve to addresses that are checked, and just these are connected to. Logins of other programs
(~/.netrc) are not used.
"""

import logging
import socket
import ssl
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from oras.logger import setup_logger
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    MaxRetryError,
    NewConnectionError,
    ResponseError,
)
from urllib3.util import Retry
from urllib3.util.connection import create_connection

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import KIB, readable_size
from rukpak_py.core.text import excerpt
from rukpak_py.sources.addresses import AddressPolicy, resolve_blocking
from rukpak_py.sources.image.pace import SILENCE_SECONDS, Pace, paced_response
from rukpak_py.sources.image.unpack_methods import OutOfReachError
from rukpak_py.sources.urls import DEFAULT_PORTS, joined_url, proxy_for
from rukpak_py.sources.urls import retry_after as retry_after_of

CONNECT_SECONDS: Final = 10
LONGEST_ANSWER: Final = 64 * KIB  # registries say little; tokens are some kilobytes
LONGEST_WAIT: Final = 10.0  # that a server may ask for before it is asked again
LONGEST_URL: Final = 8 * KIB
LONGEST_SAID: Final = 500  # characters of a server's own words
_LONGEST_HOST: Final = 255
_LONGEST_RETRY_AFTER: Final = 64
_CHUNK: Final = 64 * KIB
_RETRY_STATUSES: Final = frozenset({429, 500, 502, 503, 504})


class PatientRetry(Retry):
    """Waits as long as the server says, but for a moment only: longer waits are for those who have time."""

    ended: threading.Event | None = None  # no caller waits any more

    def until(self, ended: threading.Event) -> "PatientRetry":
        retry = self.new()
        retry.ended = ended
        return retry

    def new(self, **given: Any) -> "PatientRetry":
        retry = super().new(**given)
        retry.ended = self.ended
        return retry

    def sleep(self, response: Any = None) -> None:
        seconds = None if response is None else self.get_retry_after(response)
        self.pause(self.get_backoff_time() if seconds is None else seconds)

    def pause(self, seconds: float) -> None:
        (self.ended or threading.Event()).wait(seconds)

    def get_retry_after(self, response: Any) -> float | None:
        return retry_after(response.headers)

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: Any = None,
        error: Exception | None = None,
        _pool: Any = None,
        _stacktrace: TracebackType | None = None,
    ) -> "PatientRetry":
        if self.ended is not None and self.ended.is_set():
            if response is not None:
                response.close()
            raise ended()
        if response is not None and (retry_after(response.headers) or 0.0) > LONGEST_WAIT:
            raise MaxRetryError(_pool, url or "", ResponseError("it is to be asked later"))  # the answer is handed on
        retry = super().increment(method, url, response, error, _pool, _stacktrace)
        if response is not None:
            response.close()  # it would be read to its end, wherever that is
        return retry


RETRY: Final = PatientRetry(
    total=3,
    other=0,  # a certificate does not get better
    backoff_factor=0.5,
    status_forcelist=_RETRY_STATUSES,
    allowed_methods=None,
    raise_on_status=False,
)


def retry_after(headers: Any) -> float | None:
    """The pause in seconds; None when the server names none, or none that can be read."""
    header = headers.get("Retry-After") or ""
    return retry_after_of(header, datetime.now(UTC)) if len(header) <= _LONGEST_RETRY_AFTER else None


def ended() -> UnavailableError:
    return UnavailableError("it was ended")


class Connections:
    """The open connections of one client. `abort` may be called from any thread, at any time, and is final."""

    def __init__(self, addresses: AddressPolicy | None) -> None:
        """Without a policy, connect to any address."""
        self.addresses = addresses
        self.aborted = threading.Event()
        self.pace: Pace | None = None  # before the first session
        self._lock = threading.Lock()
        # Copies of their sockets: TLS takes the original away. They go with their connections, of which a server may
        # demand any number.
        self._sockets: weakref.WeakKeyDictionary[Any, socket.socket] = weakref.WeakKeyDictionary()
        self._sessions: list[requests.Session] = []

    def open(self, connection: Any, *, is_direct: bool) -> socket.socket:
        host = connection.host.strip("[]")
        found: tuple[str, ...] = (host,)
        if is_direct and self.addresses is not None:
            found = _resolved(host, connection.port, self.addresses)
        failure: Exception | None = None
        for address in found:
            if self.pace is not None:
                connection.timeout = min(CONNECT_SECONDS, self.pace.patience())
            try:
                return self._watched(connection, _connected(connection, address))
            except (NewConnectionError, ConnectTimeoutError) as error:
                failure = error
        raise failure or NewConnectionError(connection, f"{host} has no address")

    def abort(self) -> None:
        self.aborted.set()
        self.close()

    def add(self, session: requests.Session) -> None:
        self._sessions.append(session)

    def close(self) -> None:
        for session in self._sessions:
            session.close()
        with self._lock:
            sockets = list(self._sockets.values())
            self._sockets.clear()
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def check_proxied(self, url: str) -> None:
        """A proxy resolves names itself; what needs no resolving is refused here."""
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]
        if self.addresses is not None:
            self.addresses.check_unresolved(host, port)

    def _watched(self, connection: Any, opened: socket.socket) -> socket.socket:
        with self._lock:
            if self.aborted.is_set():
                opened.close()
                raise ended()
            copy = opened.dup()
            former = self._sockets.pop(connection, None)
            self._sockets[connection] = copy
        if former is not None:
            former.close()
        weakref.finalize(connection, copy.close)
        return opened


def _resolved(host: str, port: int, policy: AddressPolicy) -> tuple[str, ...]:
    try:
        return resolve_blocking(host, port, policy)
    except UnavailableError as error:  # a node may have another resolver
        raise OutOfReachError(str(error)) from error


def _connected(connection: Any, address: str) -> socket.socket:
    try:
        return create_connection(
            (address, connection.port),
            connection.timeout,
            source_address=connection.source_address,
            socket_options=connection.socket_options,
        )
    except socket.gaierror as error:
        raise NewConnectionError(connection, f"does not resolve: {error.strerror}") from error
    except TimeoutError as error:
        raise ConnectTimeoutError(connection, f"timed out after {CONNECT_SECONDS} s") from error
    except OSError as error:
        raise NewConnectionError(connection, f"Failed to establish a new connection: {error}") from error


def _pools(connections: Connections, *, is_direct: bool) -> dict[str, type[HTTPConnectionPool]]:
    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return connections.open(self, is_direct=is_direct)

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return connections.open(self, is_direct=is_direct)

    if connections.pace is not None:
        Plain.response_class = Secure.response_class = paced_response(connections.pace)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class _Adapter(HTTPAdapter):
    def __init__(self, connections: Connections, tls: ssl.SSLContext) -> None:
        self._connections = connections
        self._tls = tls
        super().__init__(max_retries=RETRY.until(connections.aborted))

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._tls, **more)
        self.poolmanager.pool_classes_by_scheme = _pools(self._connections, is_direct=True)

    def proxy_manager_for(self, proxy: str, **more: Any) -> Any:
        manager = super().proxy_manager_for(proxy, ssl_context=self._tls, **more)
        manager.pool_classes_by_scheme = _pools(self._connections, is_direct=False)
        return manager

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
        """The context has all that is trusted; the library would add its own list of authorities to it."""
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {}

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """See above."""

    def build_response(self, req: Any, resp: Any) -> requests.Response:
        """Build it without cookies: registries need none, and reading them takes the library long."""
        if (raw := resp._original_response) is not None:  # noqa: SLF001 - where the library looks for them
            del raw.msg["Set-Cookie"], raw.msg["Set-Cookie2"]
        return super().build_response(req, resp)


class Session(requests.Session):
    """Follows nothing, and goes through the proxy that the environment names."""

    def __init__(self, connections: Connections, tls: ssl.SSLContext, *, plain_http: bool) -> None:
        super().__init__()
        setup_logger(quiet=True)  # our errors say it
        logging.getLogger("urllib3").setLevel(logging.ERROR)  # it logs URLs, and those of blob stores are credentials
        self.connections = connections
        connections.add(self)
        self.trust_env = False
        self.headers["Accept-Encoding"] = "identity"  # what is compressed on the way would not have the digest
        self.adapters.clear()
        for scheme in ("http://", "https://") if plain_http else ("https://",):
            self.mount(scheme, _Adapter(connections, tls))

    def get_redirect_target(self, resp: Any) -> None:
        """Return None: else the library reads the whole body of a redirect, and its Location, to follow it later."""

    def request(self, method: str, url: str, **given: Any) -> requests.Response:  # type: ignore[override] # no options
        """The answer, its body unread.

        The session decides about redirects (none is followed), timeouts and proxies, whatever the caller gives: oras
        gives some of them.
        """
        parts = urlsplit(url)
        if len(url) > LONGEST_URL or len(parts.hostname or "") > _LONGEST_HOST:
            raise UnavailableError(
                f"it names a URL of more than {readable_size(LONGEST_URL)}, or a host of more than {_LONGEST_HOST} "
                "characters"
            )
        if self.connections.pace is not None:
            self.connections.pace.ask(parts.netloc)
        proxies = {}
        if parts.scheme in {"http", "https"} and parts.hostname:
            port = parts.port or DEFAULT_PORTS[parts.scheme]
            if proxy := proxy_for(parts.scheme, parts.hostname, port):
                self.connections.check_proxied(url)
                proxies = {parts.scheme: proxy}
        ours = {"stream": True, "allow_redirects": False, "proxies": proxies}
        return super().request(method, url, **{**given, **ours, "timeout": (CONNECT_SECONDS, SILENCE_SECONDS)})


def redirect_target(answer: requests.Response) -> str:
    """The target of a redirect; UnavailableError for what is not a URL."""
    location = answer.headers["Location"]
    if len(location) > LONGEST_URL:
        raise UnavailableError(f"{host_of(answer.url)} redirects to a URL of more than {readable_size(LONGEST_URL)}")
    return joined_url(answer.url, location, what=f"what {host_of(answer.url)} redirects to")


def host_of(url: str) -> str:
    """The host for messages, without what may be a credential."""
    try:
        return excerpt(urlsplit(url).netloc.rpartition("@")[2], _LONGEST_HOST)
    except ValueError:
        return "what is not a host"


def chunks_of(answer: requests.Response) -> Iterator[bytes]:
    """Yield chunks as they are sent: what a server compresses has another digest. Segments of any size make a chunk."""
    while chunk := answer.raw.read(_CHUNK, decode_content=False):
        yield chunk


class TooLargeError(UnavailableError):
    """The answer is larger than answers of its kind are."""


def read_answer(answer: requests.Response) -> None:
    """Read the body to where the library keeps it."""
    if answer._content is not False:  # noqa: SLF001 - the library has no other word for it
        return
    body = bytearray()
    with answer:
        for chunk in chunks_of(answer):
            body += chunk
            if len(body) > LONGEST_ANSWER:
                answer._content = b""  # noqa: SLF001 - see above
                raise TooLargeError(f"its answer is larger than {readable_size(LONGEST_ANSWER)}")
    answer._content = bytes(body)  # noqa: SLF001 - see above
