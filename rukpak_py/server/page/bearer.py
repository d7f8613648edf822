"""Viewers of the page on the operator's content server: each request reads with the bearer token that it brought.

A client is made for each request, of the operator's way to the API server and the viewer's token alone. No credential
of the operator is sent for a viewer, and no user is impersonated, so a viewer sees what the API server lets them see.
A client certificate proves who has it to this server only, and cannot be passed on.

The kinds that the cluster serves are remembered for each of the last viewers. Asking costs hundreds of kilobytes.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec
from aiohttp import web

from rukpak_py.apply.upgrade_document import UpgradeDocument
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection
from rukpak_py.kube.discovery import NOTHING_READ, Discovery, Snapshot
from rukpak_py.server.page.application import Viewer, Viewers

UNKNOWN_VIEWER = (
    "The page needs your bearer token in the header Authorization, as an authenticating proxy sends it; a client"
    " certificate cannot be passed on to the API server."
)
REJECTED_VIEWER = (
    "The API server does not accept your bearer token, which may have expired. Log in again. If a new token is not"
    " accepted either, configure the API server for its issuer and client."
)
REMEMBERED_VIEWERS = 16
Plan = Callable[[web.Request, str], Awaitable[bytes | None]]


@dataclass(frozen=True, kw_only=True)
class PageSettings:
    """`connection`: the operator's. `troubleshooting`: URL of that page of the documentation; empty: none is known."""

    connection: Connection
    troubleshooting: str = ""


@dataclass(frozen=True, kw_only=True)
class _BearerViewer:
    client: Client
    name: str
    discovery: Discovery
    plan: Callable[[str], Awaitable[bytes | None]]
    server: str = ""  # its address in the cluster says nothing to viewers

    async def plan_of(self, deployment: str) -> UpgradeDocument | None:
        found = await self.plan(deployment)
        return msgspec.json.decode(found, type=UpgradeDocument) if found is not None else None


def bearer_viewers(
    connection: Connection, *, token: Callable[[web.Request], str], name: Callable[[web.Request], str], plan: Plan
) -> Viewers:
    """`token`, `name`: of the user that a request is from. `plan`: as GET /plans/<name> answers it."""
    remembered = OrderedDict[str, Snapshot]()

    def remember(user: str, snapshot: Snapshot) -> None:
        remembered[user] = snapshot
        remembered.move_to_end(user)
        if len(remembered) > REMEMBERED_VIEWERS:
            remembered.popitem(last=False)

    @asynccontextmanager
    async def viewers(request: web.Request) -> AsyncIterator[Viewer]:
        async def plan_of(deployment: str) -> bytes | None:
            return await plan(request, deployment)

        async with Client(connection.as_bearer(token(request))) as client:
            user = name(request)
            discovery = Discovery(client, snapshot=remembered.get(user, NOTHING_READ))
            try:
                yield _BearerViewer(client=client, name=user, discovery=discovery, plan=plan_of)
            finally:
                remember(user, discovery.snapshot)  # and not the client, which has the token

    return viewers
