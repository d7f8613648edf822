"""Reports of the content server: each reason for none has its own status, and few are made at once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.server.access import AccessControl, ApiReviews, Identity
from rukpak_py.server.content import ContentApp

Report = Callable[[str, object], Awaitable[bytes | None]]
KNOWN = {"Authorization": "Bearer t"}


class Everybody(ApiReviews):
    """The API server knows the token `t`, and allows everything."""

    def __init__(self) -> None: ...

    async def authenticate(self, token: str) -> Identity | None:
        return Identity(user="ann") if token == "t" else None

    async def is_allowed(self, _identity: Identity, _verb: str, _path: str) -> bool:
        return True


class Leads:
    def unavailable(self) -> str | None:
        return None


@asynccontextmanager
async def serving(report: Report, limits: Limits | None = None) -> AsyncIterator[TestClient[Any, Any]]:
    unused: Any = None
    content: Any = Leads()
    app = ContentApp(
        access=AccessControl(Everybody()),
        bundles=unused,
        content=content,
        uploads=unused,
        permissions=report,
        plans=report,
        may_impersonate=Everybody().may_impersonate,
        limits=limits or Limits(),
    )
    async with TestClient(TestServer(app.application())) as client:
        yield client


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [
        (AccessError("the report needs the verb impersonate"), 403, None),
        (ConflictError("Secret shop/a does not exist"), 409, None),
        (ContentError("invalid bundle"), 422, None),
        (UnavailableError("not rendered yet"), 503, "1"),
        (RukPakError("odd"), 503, "1"),
    ],
)
@pytest.mark.parametrize("path", ["permissions", "plans"])
async def test_reason_for_no_report_has_its_own_status(
    path: str, error: RukPakError, status: int, retry: str | None
) -> None:
    async def report(_name: str, _may: object) -> bytes | None:
        raise error

    async with serving(report) as client, client.get(f"/{path}/shop", headers=KNOWN) as answer:
        assert (answer.status, answer.headers.get("Retry-After")) == (status, retry)
        assert await answer.text() == f"{error}\n"


@pytest.mark.parametrize("path", ["permissions", "plans"])
async def test_report_is_json_and_an_unknown_deployment_a_404(path: str) -> None:
    async def report(name: str, _may: object) -> bytes | None:
        return b"{}" if name == "shop" else None

    async with serving(report) as client:
        async with client.get(f"/{path}/shop", headers=KNOWN) as answer:
            assert (answer.status, answer.content_type, await answer.read()) == (200, "application/json", b"{}")
        async with client.get(f"/{path}/other", headers=KNOWN) as answer:
            assert answer.status == 404
            assert 'bundledeployments.core.rukpak.io "other" not found' in await answer.text()


@pytest.mark.parametrize(
    ("path", "limits"),
    [("permissions", Limits(permission_reports=2)), ("plans", Limits(plan_reports=2, permission_reports=99))],
)
async def test_reports_beyond_the_limit_are_refused_until_one_has_ended(path: str, limits: Limits) -> None:
    begun, may_end = asyncio.Semaphore(0), asyncio.Event()

    async def report(_name: str, _may: object) -> bytes | None:
        begun.release()
        await may_end.wait()
        return b"{}"

    async def status(client: TestClient[Any, Any]) -> int:
        async with client.get(f"/{path}/shop", headers=KNOWN) as answer:
            return answer.status

    async with serving(report, limits) as client:
        running = [asyncio.create_task(status(client)) for _ in range(2)]
        for _ in running:
            await begun.acquire()
        async with client.get(f"/{path}/shop", headers=KNOWN) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
            assert f"RUKPAK_LIMIT_{path[:-1].upper()}_REPORTS" in await answer.text()
        may_end.set()
        assert await asyncio.gather(*running) == [200, 200]
        assert await status(client) == 200
