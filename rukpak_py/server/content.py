"""The application that serves content and takes uploads: who may is judged first, then what is asked for.

    GET, HEAD /bundles/<bundle>.tgz    what was unpacked
    GET, HEAD /uploads/<bundle>.tgz    what was uploaded, as it came
    PUT       /uploads/<bundle>.tgz    upload
    GET, HEAD /permissions/<name>      permissions that the account of a BundleDeployment needs, and those that it lacks
    GET, HEAD /plans/<name>            what a BundleDeployment would do by its template now
    GET, HEAD /ui/…                    the page, where it is switched on (see `page`)

Callers without the right learn nothing about what exists, and lose their connection. Only the leader has content;
another replica answers here only when it cannot pass a connection on (see `forwarding`).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Protocol

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle import Bundle
from rukpak_py.api.conditions import find_condition, first_line
from rukpak_py.api.names import ConditionType
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.core.metrics import CONTENT_REQUESTS
from rukpak_py.kube.errors import ApiError, NotFoundError
from rukpak_py.server.access import (
    PAGE_PATH,
    PERMISSIONS_PATH,
    PLANS_PATH,
    AccessControl,
    ClientCredentials,
    ForbiddenPathError,
    Identity,
    UnauthenticatedError,
    identity_of,
    token_of,
)
from rukpak_py.server.archives import Archive, send
from rukpak_py.server.listener import admit
from rukpak_py.server.page.application import Page, protection
from rukpak_py.server.page.bearer import REJECTED_VIEWER, UNKNOWN_VIEWER, PageSettings, bearer_viewers
from rukpak_py.server.uploads import LiveBundles, UploadRefusedError, Uploads

_LOG = logging.getLogger(__name__)
_NAME = "{name:[a-z0-9][-a-z0-9.]{0,252}}"
_METHODS = {"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"}
_CHUNK = 128 * 1024
_IDENTITY = web.RequestKey("identity", Identity)

MayImpersonate = Callable[[Account], Awaitable[bool]]
Report = Callable[[str, MayImpersonate], Awaitable[bytes | None]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class LeaderContent(Protocol):
    """The content of Bundles, on the leader."""

    def unavailable(self) -> str | None:
        """Reason why this replica has no content."""

    async def archive(self, bundle: Bundle) -> Archive | None:
        """Archive of an unpacked Bundle; None when it was lost and did not come back in time."""

    async def uploaded(self, bundle: Bundle) -> Archive | None: ...


class SilentError(UploadRefusedError):
    """Nothing of the archive arrived for too long."""


class ContentApp:
    def __init__(
        self,
        *,
        access: AccessControl,
        bundles: LiveBundles,
        content: LeaderContent,
        uploads: Uploads,
        permissions: Report,
        plans: Report,
        may_impersonate: Callable[[Identity, Account], Awaitable[bool]],
        limits: Limits,
        page: PageSettings | None = None,
    ) -> None:
        """`permissions`, `plans`: by the name of a BundleDeployment, as JSON, for clients that may impersonate its
        account. `page`: None where it is not served.

        None: there is no such deployment. The class of its error decides the status; see `report_errors`.
        """
        self._access = access
        self._bundles = bundles
        self._content = content
        self._uploads = uploads
        self._permissions = permissions
        self._plans = plans
        self._may_impersonate = may_impersonate
        self._limits = limits
        self._places = asyncio.Semaphore(limits.uploads)
        self._permission_places = asyncio.Semaphore(limits.permission_reports)
        self._plan_places = asyncio.Semaphore(limits.plan_reports)
        self._page = self._page_of(page) if page is not None else None

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        app.router.add_get(f"/bundles/{_NAME}.tgz", self._get_bundle)
        app.router.add_get(f"/uploads/{_NAME}.tgz", self._get_upload)
        app.router.add_put(f"/uploads/{_NAME}.tgz", self._put_upload)
        app.router.add_get(f"{PERMISSIONS_PATH}{_NAME}", self._get_permissions)
        app.router.add_get(f"{PLANS_PATH}{_NAME}", self._get_plan)
        if self._page is not None:
            app.on_response_prepare.append(protection(PAGE_PATH))
            app.router.add_routes(self._page.routes(PAGE_PATH.rstrip("/")))
        return app

    def _page_of(self, settings: PageSettings) -> Page:
        viewers = bearer_viewers(
            settings.connection,
            token=lambda request: _credentials_of(request).token,
            name=lambda request: request[_IDENTITY].user,
            plan=self._plan_for_page,
        )
        return Page(viewers, limits=self._limits, troubleshooting=settings.troubleshooting)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        what = request.path.removeprefix("/").partition("/")[0]
        what = what if what in {"bundles", "uploads", "permissions", "plans", "ui"} else "other"
        method = request.method if request.method in _METHODS else "other"
        code = 499  # the client went away, or was sent away
        try:
            if self._page is not None and request.path.startswith(PAGE_PATH):
                response = await self._admit_to_page(request, handler)
            else:
                response = await self._admit(request, handler, request.path)
            code = response.status
        finally:
            CONTENT_REQUESTS.labels(what, method, str(code)).inc()
        return response

    async def _admit_to_page(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not _credentials_of(request).token:
            return _refused(_text(401, UNKNOWN_VIEWER, headers={"WWW-Authenticate": "Bearer"}))
        return await self._admit(request, handler, PAGE_PATH)

    async def _admit(self, request: web.Request, handler: Handler, path: str) -> web.StreamResponse:
        """`path`: for which the right is asked."""
        credentials = _credentials_of(request)
        if path == PAGE_PATH:
            credentials = replace(credentials, certificate=None)
        if (why := self._content.unavailable()) is not None:
            return _later(why)
        try:
            identity = await self._access.check(credentials, request.method, path)
        except UnauthenticatedError as error:
            text = REJECTED_VIEWER if path == PAGE_PATH else str(error)
            return _refused(_text(401, text, headers={"WWW-Authenticate": "Bearer"}))
        except ForbiddenPathError as error:
            return _refused(_text(403, str(error)))
        except RukPakError as error:
            return _later(f"the API server could not say whether this is allowed: {error}")
        admit(request)
        request[_IDENTITY] = identity
        try:
            return await handler(request)
        except web.HTTPException as error:
            allowed = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
            return _text(error.status, error.reason, headers=allowed)
        except UploadRefusedError as error:
            return _text(error.status, str(error))
        except NotFoundError:
            return _text(404, f'bundles.core.rukpak.io "{request.match_info.get("name", "")}" not found')
        except ApiError as error:
            return _text(error.status or 503, str(error))

    async def _get_bundle(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        bundle = await self._bundles.read(name)
        archive = None
        if bundle.status.is_unpacked:
            try:
                archive = await self._content.archive(bundle)
            except RukPakError as error:
                return _later(str(error))
            if archive is None:
                bundle = await self._bundles.read(name)
        if not bundle.status.is_unpacked:
            condition = find_condition(bundle.status.conditions, ConditionType.UNPACKED)
            why = first_line(condition.message) if condition is not None else ""
            return _text(404, f'bundle "{name}" is not unpacked' + (f": {why}" if why else ""))
        if archive is None:
            return _later(f'the content of bundle "{name}" was lost and is fetched again')
        return await send(request, archive, silence=self._limits.server_silence_seconds)

    async def _get_permissions(self, request: web.Request) -> web.StreamResponse:
        return await self._report(request, self._permissions, self._permission_places, "permission_reports")

    async def _get_plan(self, request: web.Request) -> web.StreamResponse:
        return await self._report(request, self._plans, self._plan_places, "plan_reports")

    async def _plan_for_page(self, request: web.Request, name: str) -> bytes | None:
        """The plan, after the checks of GET /plans/<name>."""
        credentials = replace(_credentials_of(request), certificate=None)
        try:
            identity = await self._access.check(credentials, "GET", f"{PLANS_PATH}{name}")
        except ForbiddenPathError as error:
            raise AccessError(
                f'user {request[_IDENTITY].user} may not get bundledeployments.core.rukpak.io "{name}": its plan is'
                " for users who may"
            ) from error
        if self._plan_places.locked():
            limit = self._limits.exceeded("plan_reports", "the number of plans that are made now")
            raise UnavailableError(str(limit))
        async with self._plan_places:
            return await self._plans(name, partial(self._may_impersonate, identity))

    async def _report(
        self, request: web.Request, make: Report, places: asyncio.Semaphore, limit: str
    ) -> web.StreamResponse:
        """`limit`: the name of that on the places."""
        name = request.match_info["name"]
        if places.locked():
            text = str(self._limits.exceeded(limit, "the number of reports that are made now"))
            return _refused(_text(429, text, headers={"Retry-After": "1"}))
        try:
            async with places:
                report = await make(name, partial(self._may_impersonate, request[_IDENTITY]))
        except AccessError as error:
            return _refused(_text(403, str(error)))
        except ContentError as error:
            return _refused(_text(422, str(error)))
        except ConflictError as error:
            return _refused(_text(409, str(error)))
        except RukPakError as error:
            return _later(str(error))
        if report is None:
            return _text(404, f'bundledeployments.core.rukpak.io "{name}" not found')
        return web.Response(body=report, content_type="application/json")

    async def _get_upload(self, request: web.Request) -> web.StreamResponse:
        bundle = await self._bundles.read(request.match_info["name"])
        try:
            archive = await self._content.uploaded(bundle)
        except RukPakError as error:
            return _text(500, str(error))
        if archive is None:
            return _text(404, f'nothing was uploaded for bundle "{bundle.metadata.name}"')
        return await send(request, archive, silence=self._limits.server_silence_seconds)

    async def _put_upload(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if (request.content_length or 0) > self._limits.archive_bytes:
            return _refused(_text(413, str(self._limits.exceeded("archive_bytes", "the size of the archive"))))
        try:
            async with self._places:
                chunks = _with_silence_limit(request.content.iter_chunked(_CHUNK), self._limits)
                is_new = await self._uploads.receive(
                    name, request[_IDENTITY], chunks, seconds=self._limits.upload_seconds
                )
        except SilentError as error:
            return _refused(_text(error.status, str(error)))
        except (UploadRefusedError, ApiError):
            raise
        except ContentError as error:
            return _refused(_text(413, str(error)))
        except RukPakError as error:
            _LOG.warning("an upload for Bundle %s could not be stored: %s", name, error)
            return _refused(_text(500, f"failed to store bundle data: {error}"))
        except TimeoutError:
            limit = self._limits.exceeded("upload_seconds", "the time that the upload takes")
            return _refused(_text(408, str(limit)))
        except (aiohttp.ClientError, web.RequestPayloadError, HttpProcessingError, OSError) as error:
            return _refused(_text(500, f"read request body: {error}"))
        if is_new:
            _LOG.info("content of Bundle %s was uploaded by %s", name, request[_IDENTITY].user)
        return web.Response(status=201 if is_new else 204)


async def _with_silence_limit(chunks: AsyncIterator[bytes], limits: Limits) -> AsyncIterator[bytes]:
    """A client that falls silent loses its place to those who wait."""
    while True:
        try:
            async with asyncio.timeout(limits.server_silence_seconds):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            limit = limits.exceeded("server_silence_seconds", "the time without a byte of the archive")
            raise SilentError(408, str(limit)) from error
        yield chunk


def _credentials_of(request: web.Request) -> ClientCredentials:
    transport = request.transport
    certificate = transport.get_extra_info("peercert") if transport is not None else None
    return ClientCredentials(
        certificate=identity_of(certificate), token=token_of(request.headers.getall("Authorization", []))
    )


def _text(status: int, text: str, *, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=f"{text}\n", headers=headers)


def _later(text: str) -> web.Response:
    return _refused(_text(503, text, headers={"Retry-After": "1"}))


def _refused(response: web.Response) -> web.Response:
    """Close the connection after this answer: a refused client keeps none, and no body is waited for."""
    response.force_close()
    return response
