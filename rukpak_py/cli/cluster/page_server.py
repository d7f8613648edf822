"""`rukpakctl ui`: the page, served on loopback with the rights of the kubeconfig.

Other users of the machine reach a loopback port, and so does every page that a browser shows. So the address holds a
secret of this run: without it nothing is answered. It is a path and no cookie, because browsers send cookies of
127.0.0.1 to the servers on all its ports. The host of a request must be a name of loopback, so that no other name that
leads here (DNS rebinding) is one origin with the page.

A browser that is started gets the address from a file that only the user may read: arguments of a process are public.
"""

import asyncio
import hmac
import secrets
import signal
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from rukpak_py.apply.upgrade_document import UpgradeDocument
from rukpak_py.cli.cluster.plans import planned_upgrade
from rukpak_py.cli.cluster.session import ClusterSession
from rukpak_py.core.limits import Limits
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from rukpak_py.server.listener import Address, Listener, PortSettings
from rukpak_py.server.page.application import HEADERS, Page, Viewer, protection
from rukpak_py.server.page.markup import document, element

HOST = "127.0.0.1"
HTTP_PORT = "80"  # browsers leave it out
CONNECTIONS = 64
IDLE_SECONDS = 30.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(kw_only=True)
class _KubeconfigViewer:
    cluster: ClusterSession
    name: str = ""
    discovery: Discovery = field(init=False)

    def __post_init__(self) -> None:
        self.discovery = Discovery(self.cluster.client)

    @property
    def server(self) -> str:
        return self.client.server

    @property
    def client(self) -> Client:
        return self.cluster.client

    async def plan_of(self, deployment: str) -> UpgradeDocument | None:
        await self.client.get_metadata(BUNDLE_DEPLOYMENTS, "", deployment)  # one that is not there is a NotFoundError
        return await planned_upgrade(self.cluster, deployment)


class LoopbackPage:
    """The page on a port of loopback. `url` has the secret."""

    def __init__(self, cluster: ClusterSession, *, port: int, troubleshooting: str, limits: Limits) -> None:
        self._secret = secrets.token_urlsafe(32)
        viewer = _KubeconfigViewer(cluster=cluster)

        @asynccontextmanager
        async def viewers(_request: web.Request) -> AsyncIterator[Viewer]:
            yield viewer

        page = Page(viewers, limits=limits, troubleshooting=troubleshooting)
        app = web.Application(middlewares=[self._guard])
        app.router.add_routes(page.routes(f"/{self._secret}"))
        app.on_response_prepare.append(protection("/"))
        settings = PortSettings(
            name="page",
            connections=CONNECTIONS,
            request_seconds=float(limits.request_seconds),
            idle_seconds=IDLE_SECONDS,
        )
        self._listener = Listener(
            app, Address(host=HOST, port=port), settings, ends_with_client=True, refusal_headers=HEADERS
        )

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._listener.port}/{self._secret}/"

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        await self._listener.start()
        try:
            yield
        finally:
            await self._listener.stop()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_loopback(request.headers.get("Host", ""), self._listener.port):
            return _refused(403, "The host of the address must be 127.0.0.1 or localhost.")
        shown = request.path.lstrip("/").partition("/")[0]
        if not hmac.compare_digest(shown.encode(errors="replace"), self._secret.encode()):
            return _refused(403, "Open the whole address that `rukpakctl ui` has printed.")
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _refused(error.status, error.reason, allowed=error.headers.get("Allow", ""))


def is_loopback(host: str, port: int) -> bool:
    """Whether the Host of a request names this server, by a name that no other site can have."""
    name, _, shown = host.partition(":")
    return name in {HOST, "localhost"} and (shown or HTTP_PORT) == str(port)


def _refused(status: int, text: str, *, allowed: str = "") -> web.Response:
    response = web.Response(status=status, text=f"{text}\n", headers={"Allow": allowed} if allowed else None)
    response.force_close()
    return response


async def serve(
    cluster: ClusterSession, *, port: int, troubleshooting: str, opens: bool, started: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C or SIGTERM. `started` hears the address."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    page = LoopbackPage(cluster, port=port, troubleshooting=troubleshooting, limits=Limits.from_environment())
    async with page.served():
        with _opening_file(page.url) as file:
            started(page.url)
            if opens:
                await asyncio.to_thread(webbrowser.open, file.as_uri())
            await stop.wait()


@contextmanager
def _opening_file(url: str) -> Iterator[Path]:
    """A file that leads a browser to the address, for the user alone."""
    with tempfile.TemporaryDirectory(prefix="rukpakctl-ui-") as folder:  # mode 0700
        file = Path(folder) / "open.html"
        refresh = element("meta", http_equiv="refresh", content=f"0;url={url}")
        link = element("a", "Deployments", href=url)
        file.write_bytes(document(element("html", element("head", refresh), element("body", link), lang="en")))
        yield file
