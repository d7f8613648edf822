"""The operator's content server, as a client that has the user's own credentials.

* It is reached by a port of this machine: a port-forward in general, whatever else in tests. That is all that is known
  of the way; no address is ever taken from a status.
* Its certificate must be for `localhost` and signed by the operator's authority before anything is sent.
* The user is who the kubeconfig says, by token or client certificate, and needs the rights for the path.
* What is not available at the moment is tried again, through a new connection, for a while.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import aiohttp

from rukpak_py.core.errors import AccessError, RukPakError, UnavailableError
from rukpak_py.kube.config import Connection

PATIENCE_SECONDS = 30.0
INTERVAL_SECONDS = 1.0
SILENCE_SECONDS = 60.0
CONNECT_SECONDS = 15.0
CHUNK = 64 * 1024
TEXT_BYTES = 8 * 1024  # of an answer that refuses
SERVER_NAME = "localhost"

T = TypeVar("T")
Progress = Callable[[int], None]  # bytes so far


class ServerRefusedError(RukPakError):
    """The server said no, in its own words."""


class Way(Protocol):
    """How the server is reached."""

    @property
    def failure(self) -> RukPakError | None:
        """Why the last connection failed, when that is known."""

    async def check(self) -> None:
        """An error where there is no server, and waiting for one cannot help."""

    def listening(self) -> AbstractAsyncContextManager[int]:
        """A port of this machine, for as long as the block."""


@dataclass(frozen=True, kw_only=True)
class DownloadedArchive:
    pieces: Sequence[bytes]

    @property
    def size(self) -> int:
        return sum(map(len, self.pieces))

    def chunks(self) -> Iterator[bytes]:
        for piece in self.pieces:
            for start in range(0, len(piece), CHUNK):
                yield piece[start : start + CHUNK]


class ContentServer:
    def __init__(self, way: Way, port: int, session: aiohttp.ClientSession, connection: Connection) -> None:
        self._way = way
        self._url = f"https://127.0.0.1:{port}"
        self._session = session
        self._connection = connection

    async def upload(self, bundle: str, archive: DownloadedArchive, progress: Progress) -> bool:
        """False: the server has it already."""

        async def attempt() -> bool:
            headers = {"Content-Length": str(archive.size), "Content-Type": "application/gzip"}
            async with self._asked("PUT", f"/uploads/{bundle}.tgz", headers, _sent(archive, progress)) as response:
                if response.status not in {201, 204}:
                    raise await _refusal(response)
                return response.status == 201

        return await self._patiently(attempt)

    @asynccontextmanager
    async def archive_of(self, bundle: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """The content of a Bundle, as it arrives. A connection that breaks off is an error, never a shorter archive."""
        response = await self._patiently(lambda: self._download(bundle))
        try:
            yield self._received(response)
        finally:
            response.close()

    async def permissions_of(self, deployment: str) -> bytes:
        """Permissions that the account of a BundleDeployment needs, as JSON."""
        return await self._report(f"/permissions/{deployment}")

    async def plan_of(self, deployment: str) -> bytes:
        """The plan of what a BundleDeployment wants now, as JSON."""
        return await self._report(f"/plans/{deployment}")

    async def _report(self, path: str) -> bytes:
        async def attempt() -> bytes:
            async with self._asked("GET", path, {}) as response:
                if response.status != 200:
                    raise await _refusal(response)
                return await response.read()

        return await self._patiently(attempt)

    async def _download(self, bundle: str) -> aiohttp.ClientResponse:
        asked = self._asked("GET", f"/bundles/{bundle}.tgz", {})
        async with asked as response:
            if response.status != 200:
                raise await _refusal(response)
            return response

    async def _received(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        try:
            async for chunk in response.content.iter_chunked(CHUNK):
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise self._explained(error) from error

    @asynccontextmanager
    async def _asked(
        self, method: str, path: str, headers: dict[str, str], data: AsyncIterator[bytes] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._connection.token is not None:
            headers["Authorization"] = f"Bearer {await self._connection.token.token()}"
        try:
            response = await self._session.request(
                method, self._url + path, headers=headers, data=data, server_hostname=SERVER_NAME, allow_redirects=False
            )
        except (aiohttp.ClientError, OSError) as error:
            raise self._explained(error) from error
        transport = response.connection.transport if response.connection is not None else None
        try:
            yield response
        except BaseException:
            if transport is not None:
                transport.abort()  # the polite end of TLS waits for the server, and nothing waits for that
            raise

    def _explained(self, error: Exception) -> RukPakError:
        """The cause of a failed connection. The way to the server, where it failed, says more than this end."""
        if self._way.failure is not None:
            return self._way.failure
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
            return AccessError(f"the content server cannot be trusted: {error}")
        what = "no answer in time" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
        return UnavailableError(f"the content server cannot be reached ({what})")

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_SECONDS
        while True:
            try:
                return await attempt()
            except UnavailableError:
                if loop.time() >= until:
                    raise
            await asyncio.sleep(INTERVAL_SECONDS)


@asynccontextmanager
async def content_server(way: Way, connection: Connection, authority: bytes) -> AsyncIterator[ContentServer]:
    """`authority`: PEM, and all that is trusted."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
    async with (
        way.listening() as port,
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=_tls(connection, authority)),
            timeout=timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        ) as session,
    ):
        yield ContentServer(way, port, session, connection)


def _tls(connection: Connection, authority: bytes) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        tls.load_verify_locations(cadata=authority.decode())
    except (ssl.SSLError, ValueError):
        raise AccessError("failed to load certificate authority into cert pool: malformed PEM?") from None
    connection.identify(tls)
    return tls


async def _sent(archive: DownloadedArchive, progress: Progress) -> AsyncIterator[bytes]:
    sent = 0
    for chunk in archive.chunks():
        yield chunk
        sent += len(chunk)
        progress(sent)


async def _refusal(response: aiohttp.ClientResponse) -> RukPakError:
    """An error with the server's own words for its refusal."""
    try:
        text = (await response.content.read(TEXT_BYTES)).decode(errors="replace").strip()
    except (aiohttp.ClientError, OSError):
        text = ""
    text = text or f'unexpected response "{response.status} {response.reason}"'
    match response.status:
        case 401:
            return AccessError(f"the content server does not accept the credentials of the kubeconfig: {text}")
        case 403:
            return AccessError(f"{text}. Who reads needs the ClusterRole bundle-reader, who uploads bundle-uploader")
        case 408 | 429 | 503:
            return UnavailableError(text)
        case _:
            return ServerRefusedError(text)
