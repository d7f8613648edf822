"""The page as handlers of an aiohttp application: GET and HEAD, and nothing else.

    /                            the list
    /deployments/<name>          one deployment
    /deployments/<name>/plan     what it would do by its template now
    /static/<file>               style, script and icon

`Viewers` gives each request a viewer, whose client has the viewer's rights and no others. What a viewer may not see is
answered with the API server's own words. Few pages are made at a time, and each has a deadline, so viewers who reload
a page all the time hold up neither the operator nor other viewers for long.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Protocol

from aiohttp import web

from rukpak_py.apply.upgrade_document import UpgradeDocument
from rukpak_py.core.errors import AccessError, RukPakError
from rukpak_py.core.limits import Limits
from rukpak_py.diagnosis.reading import read_summaries, read_view
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError, UnauthorizedError
from rukpak_py.server.page.deployment import deployment_page
from rukpak_py.server.page.layout import Frame, failure
from rukpak_py.server.page.listing import Listed, Query, list_page
from rukpak_py.server.page.upgrade import plan_page

NAME = "{name:[a-z0-9][-a-z0-9.]{0,252}}"
_FILES = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def protection(prefix: str) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Set the headers of every answer below the path, refusals and failures among them. For `on_response_prepare`."""

    async def protect(request: web.Request, response: web.StreamResponse) -> None:
        if request.path.startswith(prefix):
            response.headers.update(HEADERS)

    return protect


class Viewer(Protocol):
    """For whom a page is made. `name`, `server`: what the header shows of user and API server; empty: nothing.

    Client and discovery have the viewer's rights.
    """

    @property
    def client(self) -> Client: ...

    @property
    def name(self) -> str: ...

    @property
    def server(self) -> str: ...

    @property
    def discovery(self) -> Discovery: ...

    async def plan_of(self, deployment: str) -> UpgradeDocument | None:
        """The plan that the operator makes. None: there is no such deployment; `RukPakError`: why there is none."""


Viewers = Callable[[web.Request], AbstractAsyncContextManager[Viewer]]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    frame: Frame
    viewer: Viewer
    request: web.Request
    now: datetime


class Page:
    def __init__(self, viewers: Viewers, *, limits: Limits, troubleshooting: str = "") -> None:
        """`troubleshooting`: URL of that page of the documentation; empty: it is named, not linked."""
        self._viewers = viewers
        self._troubleshooting = troubleshooting
        self._places = asyncio.Semaphore(limits.page_requests)
        self._seconds = limits.page_seconds

    def routes(self, prefix: str = "") -> Iterable[web.RouteDef]:
        one = f"{prefix}/deployments/{NAME}"
        return (
            web.get(f"{prefix}/", self._page("./", self._list)),
            web.get(one, self._page("../", self._one)),
            web.get(f"{one}/plan", self._page("../../", self._plan)),
            web.get(f"{prefix}/static/{{file}}", _static),
        )

    def _page(
        self, root: str, make: Callable[[_Asked], Awaitable[bytes]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handler(request: web.Request) -> web.Response:
            frame = Frame(root=root, troubleshooting=self._troubleshooting)
            try:
                async with asyncio.timeout(self._seconds), self._places, self._viewers(request) as viewer:
                    frame = Frame(
                        root=root,
                        troubleshooting=self._troubleshooting,
                        server=viewer.server,
                        viewer=viewer.name,
                    )
                    asked = _Asked(frame=frame, viewer=viewer, request=request, now=datetime.now(UTC))
                    return html(200, await make(asked))
            except TimeoutError:
                sentence = f"The page could not be made within {self._seconds} seconds."
                to_do = "Reload it. The API server, or this server, has too much to do at the moment."
                return html(503, failure(frame, "No answer in time", sentence, to_do=to_do))
            except RukPakError as error:
                return _refusal(frame, error)

        return handler

    async def _list(self, asked: _Asked) -> bytes:
        async with aclosing(read_summaries(asked.viewer.client)) as summaries:
            listed = await Listed.read(summaries)
        return list_page(asked.frame, listed, Query.read(asked.request.query), asked.now)

    async def _one(self, asked: _Asked) -> bytes:
        viewer, name = asked.viewer, asked.request.match_info["name"]
        view = await read_view(viewer.client, name, discovery=viewer.discovery)
        return deployment_page(asked.frame, view, asked.now)

    async def _plan(self, asked: _Asked) -> bytes:
        name = asked.request.match_info["name"]
        plan = await asked.viewer.plan_of(name)
        if plan is None:
            raise _MissingError(f'bundledeployments.core.rukpak.io "{name}" not found')
        return plan_page(asked.frame, name, plan)


class _MissingError(RukPakError):
    """There is no such deployment."""


def _refusal(frame: Frame, error: RukPakError) -> web.Response:
    text = str(error)
    match error:
        case NotFoundError() | _MissingError():
            return html(404, failure(frame, "Not found", text))
        case UnauthorizedError():
            to_do = "Log in again, as for kubectl, then reload the page."
            return html(401, failure(frame, "The API server does not accept your login", text, to_do=to_do))
        case AccessError():
            to_do = "Ask for that right, or open the page as a user who has it."
            return html(403, failure(frame, "You may not see this", text, to_do=to_do))
        case _:
            return html(503, failure(frame, "It cannot be shown", text, to_do="Reload the page later."))


def html(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="text/html", charset="utf-8")


async def _static(request: web.Request) -> web.Response:
    name = request.match_info["file"]
    if name not in _FILES:
        raise web.HTTPNotFound
    return web.Response(body=_file(name), content_type=_FILES[name], charset="utf-8")


@cache
def _file(name: str) -> bytes:
    return resources.files("rukpak_py.server.page").joinpath("static", name).read_bytes()
