"""Viewers by bearer token: what is remembered of one is used for no other."""

from typing import Any

from aiohttp import web

from rukpak_py.kube.config import Connection
from rukpak_py.server.page.bearer import REMEMBERED_VIEWERS, bearer_viewers
from tests.unit.kube.fake_api import serving
from tests.unit.kube.test_discovery_age import ANSWER, LONG, OF_ONE_RUN


async def no_plan(_request: web.Request, _name: str) -> None:
    return None


async def test_kinds_are_read_once_for_each_viewer_with_their_own_token() -> None:
    async with serving(ANSWER) as (_, api):
        viewers = bearer_viewers(
            Connection(server=api.url),
            token=lambda request: f"token-of-{request['user']}",
            name=lambda request: str(request["user"]),
            plan=no_plan,
        )

        async def asks(user: str) -> int:
            """Number of requests for kinds that a page of this user makes."""
            before = len(api.seen)
            request: Any = {"user": user}
            async with viewers(request) as viewer:
                await viewer.discovery.refresh_after(LONG)
            asked = api.seen[before:]
            assert {one.headers["Authorization"] for one in asked} <= {f"Bearer token-of-{user}"}
            return len(asked)

        assert [await asks(user) for user in ("ann", "ann", "bob", "ann", "bob")] == [OF_ONE_RUN, 0, OF_ONE_RUN, 0, 0]
        for number in range(REMEMBERED_VIEWERS):
            assert await asks(f"viewer-{number}") == OF_ONE_RUN
        assert await asks("ann") == OF_ONE_RUN
