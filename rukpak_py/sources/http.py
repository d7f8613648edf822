"""Archives on web servers: one GET of a gzipped tar, whose top-level entries are the root of the bundle.

The archive goes to a temporary file first, and its checksum is compared before anything in it is looked at. Only then
does a fetch ask for a place among those that hold content in memory: a slow server does not hold up other fetches.

What is resolved is the source as it is: a URL names no version. The digest in the Bundle's status is what pins it.
"""

import asyncio

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import HttpSource as HttpSpec
from rukpak_py.core.errors import AccessError, ContentError, RukPakError
from rukpak_py.core.go_text import quoted
from rukpak_py.sources.archive_file import ArchiveFile
from rukpak_py.sources.http_download import Download, DownloadSettings, HttpLogin
from rukpak_py.sources.http_url import HttpTarget, InvalidUrlError, UnsupportedSchemeError, basic, parse_url
from rukpak_py.sources.logins import Logins, Recipient
from rukpak_py.sources.ports import Workers
from rukpak_py.sources.source import Fetched, Fetcher, FetchRequest
from rukpak_py.sources.spool import Spool
from rukpak_py.sources.tls import client_context
from rukpak_py.sources.urls import masked, masked_entirely


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
                raise AccessError(f'Secret "{name}" has neither username nor password')
            header = basic(data.get("username", b""), data.get("password", b""))
            return HttpLogin(header=header, advice=f'username and password of Secret "{name}" are refused')
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
