"""Archives on web servers: one GET of a gzipped tar, whose top-level entries are the root of the bundle.

The archive goes to a temporary file first, and its checksum is compared before anything in it is looked at. Only then
does a fetch ask for a place among those that hold content in memory: a slow server does not hold up other fetches.

What is resolved is the source as it is: a URL names no version. The digest in the Bundle's status is what pins it.

* Each request is made by a connector of its own, to addresses that were checked; a redirect is a new request.
* Redirects are followed here, not by the client: https never leads to http, and credentials go to the origin (scheme,
  host and port) of the first URL only; once it was left they are not sent again.
* The body is taken as it was sent, compressed, and no more of it than the limit.
* A proxy resolves names itself, so addresses of names are checked only as far as we can resolve them; it is the
  administrator's, and its own address is not judged.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from rukpak_py import __version__
from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import HttpSource as HttpSpec
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.go_text import quoted
from rukpak_py.core.limits import Limits
from rukpak_py.sources.addresses import AddressPolicy, resolve
from rukpak_py.sources.archive_file import ArchiveFile
from rukpak_py.sources.http_url import (
    HttpTarget,
    InvalidUrlError,
    UnsupportedSchemeError,
    basic,
    forms_of,
    parse_url,
    took_too_long,
    unanswered,
    unexpected_status,
)
from rukpak_py.sources.logins import Logins, Recipient
from rukpak_py.sources.source import Fetched, Fetcher, FetchRequest, Workers
from rukpak_py.sources.spool import Spool
from rukpak_py.sources.tls import client_context
from rukpak_py.sources.urls import masked, masked_entirely, proxy_for

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHUNK = 64 * 1024
_FAILED = "http request for bundle content failed: "


@dataclass(frozen=True, kw_only=True)
class DownloadSettings:
    """The access of this process to web servers."""

    addresses: AddressPolicy
    limits: Limits
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, kw_only=True)
class HttpLogin:
    """`header`: empty without credentials. `advice`: what to do when they are not enough."""

    header: str
    advice: str


class Download:
    def __init__(self, settings: DownloadSettings, tls: ssl.SSLContext, login: HttpLogin) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._tls = tls
        self._login = login
        self._proxy_secrets: Sequence[str] = ()
        self._origin: tuple[str, str, int] | None = None  # where credentials are sent

    async def run(self, first: HttpTarget, archive: ArchiveFile) -> None:
        """Fill the file; RukPakError with everything behind `GET <url>: `."""
        self._origin = first.origin
        try:
            async with asyncio.timeout(self._limits.http_seconds) as deadline:
                await self._follow(first, archive)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise _failed(took_too_long(self._limits)) from error

    async def _follow(self, first: HttpTarget, archive: ArchiveFile) -> None:
        target = first
        for _ in range(self._limits.http_redirects + 1):
            async with self._answer(target) as response:
                if response.status not in _REDIRECTS:
                    return await self._take(response, target, archive, is_first=target is first)
                target = _redirected(target, response)
                if target.origin != self._origin:
                    self._origin = None
        raise _failed(
            UnavailableError(str(self._limits.exceeded("http_redirects", f"the number of redirects of {first.host}")))
        )

    @asynccontextmanager
    async def _answer(self, target: HttpTarget) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with await self._session(target) as session, session.get(target.url, allow_redirects=False) as found:
                yield found
        except (aiohttp.ClientError, OSError) as error:
            raise _failed(unanswered(error, target, self._limits)) from error

    async def _session(self, target: HttpTarget) -> aiohttp.ClientSession:
        limits = self._limits
        proxy = self._proxy(target)
        addresses = await self._checked(target, is_proxied=proxy is not None)
        headers = {"Accept-Encoding": "identity", "User-Agent": f"rukpak-py/{__version__}"}
        if self._login.header and target.origin == self._origin:
            headers["Authorization"] = self._login.header
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=_Pinned(addresses) if proxy is None else None,
                ssl=self._tls,
                use_dns_cache=False,
                force_close=True,
            ),
            headers=headers,
            proxy=proxy,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(connect=limits.http_connect_seconds, sock_read=limits.http_silence_seconds),
            auto_decompress=False,
            trust_env=False,
        )

    async def _checked(self, target: HttpTarget, *, is_proxied: bool) -> tuple[str, ...]:
        try:
            return await self._resolved(target)
        except RukPakError as error:
            if is_proxied and isinstance(error, UnavailableError):
                return ()  # the proxy may know the name
            _failed(error)
            raise

    async def _resolved(self, target: HttpTarget) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(self._limits.http_connect_seconds):
                return await resolve(target.host, target.port, self._settings.addresses)
        except TimeoutError as error:
            raise UnavailableError(f"{target.host} does not resolve: the name server does not answer") from error

    def _proxy(self, target: HttpTarget) -> URL | None:
        text = proxy_for(target.url.scheme, target.host, target.port, self._settings.environ)
        if not text:
            return None
        try:
            proxy = URL(text)
        except ValueError:
            proxy = URL()
        if proxy.scheme not in {"http", "https"} or not proxy.host:
            variable = f"{target.url.scheme.upper()}_PROXY"
            raise _failed(UnavailableError(f"{variable} of the operator is not the URL of an http or https proxy"))
        if proxy.user is not None:
            self._proxy_secrets = forms_of(basic((proxy.user or "").encode(), (proxy.password or "").encode()))
        return proxy

    def _redacted(self, text: str) -> str:
        """The text without credentials, in whatever form they were sent: ours, and those for a proxy."""
        for secret in (*forms_of(self._login.header), *self._proxy_secrets):
            text = text.replace(secret, "***")
        return text

    async def _take(
        self, response: aiohttp.ClientResponse, target: HttpTarget, archive: ArchiveFile, *, is_first: bool
    ) -> None:
        if response.status != 200:
            where = "" if is_first else f" from {target.shown}"
            raise unexpected_status(response, where=where, advice=self._login.advice, redacted=self._redacted)
        archive.has_known_end = response.content_length is not None or "Transfer-Encoding" in response.headers
        archive.expect(response.content_length or 0)
        async for chunk in response.content.iter_chunked(_CHUNK):
            await archive.add(chunk)
        await archive.complete()


class _Pinned(AbstractResolver):
    """The addresses that were checked, and no others."""

    def __init__(self, addresses: tuple[str, ...]) -> None:
        self._addresses = addresses

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - both families are tried
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        pass


def _redirected(target: HttpTarget, response: aiohttp.ClientResponse) -> HttpTarget:
    location = response.headers.get("Location", "")
    if not location:
        raise _failed(UnavailableError(f"{target.address} answers {response.status} without a Location"))
    try:
        found = target.joined(location)
    except (InvalidUrlError, ValueError) as error:
        reason = str(error) if isinstance(error, InvalidUrlError) else "it is not a URL"
        raise _failed(UnavailableError(f"{target.address} redirects to a URL that is refused: {reason}")) from error
    if target.url.scheme == "https" and found.url.scheme != "https":
        raise _failed(UnavailableError(f"{target.address} redirects from https to http, which is refused"))
    return found


def _failed(error: RukPakError) -> RukPakError:
    """The same error behind the prefix that the original has: clients match on it."""
    error.args = (f"{_FAILED}{error}",)
    return error


class HttpFetcher(Fetcher):
    def __init__(self, logins: Logins, downloads: DownloadSettings, *, workers: Workers, spool: Spool) -> None:
        self._logins = logins
        self._downloads = downloads
        self._workers = workers
        self._spool = spool

    def lane(self, source: Source) -> str:
        try:
            return parse_url(source.http.url if source.http else "").host
        except InvalidUrlError:
            return SourceType.HTTP

    async def fetch(self, request: FetchRequest) -> Fetched:
        spec = request.source.http
        if spec is None:
            raise ContentError("bundle source http configuration is unset")
        target = _target(spec.url)
        login = await self._login(spec, target, request)
        tls = await asyncio.to_thread(
            client_context, spec.ca_bundle, insecure_skip_verify=spec.auth.insecure_skip_verify
        )
        with ArchiveFile(self._downloads.limits, self._spool.file) as archive:
            try:
                await Download(self._downloads, tls, login).run(target, archive)
                archive.compare(spec.sha256)
            except RukPakError as error:
                error.args = (f"GET {masked(spec.url)}: {error}",)
                raise
            await request.content_arrives()
            return Fetched(tree=await archive.tree(self._workers), resolved=request.source)

    async def _login(self, spec: HttpSpec, target: HttpTarget, request: FetchRequest) -> HttpLogin:
        """The login for the origin of the URL: the download sends it nowhere else."""
        recipient = Recipient(scheme=target.url.scheme, host=target.host, port=target.port)
        if name := spec.auth.secret.name:
            data = (await self._logins.for_server(name, recipient, request)).data
            if not data.get("username") and not data.get("password"):
                raise AccessError(f"Secret {name} has neither username nor password")
            header = basic(data.get("username", b""), data.get("password", b""))
            return HttpLogin(header=header, advice=f"username and password of Secret {name} are refused")
        if target.login:
            self._logins.check_transport(recipient)
            return HttpLogin(header=target.login, advice="the credentials in the URL are refused")
        return HttpLogin(header="", advice="name a Secret with username and password in auth.secret of the source")


def _target(url: str) -> HttpTarget:
    try:
        return parse_url(url)
    except UnsupportedSchemeError as error:
        raise ContentError(f"GET {masked_entirely(url)}: http request for bundle content failed: {error}") from error
    except InvalidUrlError as error:
        action = quoted(f"GET {masked_entirely(url)}")
        raise ContentError(f"create http request {action} for bundle content: {error}") from error
