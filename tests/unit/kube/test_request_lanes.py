"""Slow applies, however many, delay neither the lease nor what an admission review waits for (defect 2).

The server here answers reads and Leases at once and applies never: the work fills its lane and stays in it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import orjson
import pytest
from aiohttp import web

from rukpak_py.kube.calls import Lane
from rukpak_py.kube.client import Client
from rukpak_py.kube.lease import Holder, LeaderElector, LeaseSettings
from rukpak_py.kube.resources import CONFIG_MAPS
from rukpak_py.kube.transport import IN_FLIGHT
from tests.unit.kube.fake_api import FakeApi, serving

OBJECT = (
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1"}}'
)
MISSING = orjson.dumps({"kind": "Status", "code": 404, "reason": "NotFound", "details": {"name": "lease"}})
WORKLOAD = 4 * IN_FLIGHT[Lane.WORK]  # 8 workers with 16 requests each
QUICK = LeaseSettings(duration_seconds=1.0, renew_seconds=0.8, retry_seconds=0.05)
RENEWALS = 3 * int(QUICK.renew_seconds / QUICK.retry_seconds)  # three times what a lost lease could have had
PATIENCE = 20.0


class Server:
    """Its applies hang until the test is over."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.applies = 0
        self.renewals = 0
        self.lane_is_full = asyncio.Event()
        self.renewed = asyncio.Event()

    async def answer(self, request: web.BaseRequest) -> web.Response:
        if request.method == "PATCH":
            self.applies += 1
            if self.applies == IN_FLIGHT[Lane.WORK]:
                self.lane_is_full.set()
            await self.over.wait()
        if "leases" not in request.path:
            return web.Response(body=OBJECT)
        if request.method == "GET":
            return web.Response(status=404, body=MISSING)
        lease = orjson.loads(await request.read())
        self.renewals += 1
        if self.renewals > RENEWALS:
            self.renewed.set()
        lease["metadata"] |= {"uid": "u", "resourceVersion": str(self.renewals)}
        return web.json_response(lease)


async def apply(client: Client) -> None:
    await client.apply(CONFIG_MAPS, "n", "a", b"{}", field_manager="m", force=True)


@asynccontextmanager
async def busy() -> AsyncIterator[tuple[Client, FakeApi, Server]]:
    """A client whose lane for work is full, with a queue behind it."""
    server = Server()
    async with AsyncExitStack() as stack:
        client, api = await stack.enter_async_context(serving(server.answer))
        work = [asyncio.create_task(apply(client)) for _ in range(WORKLOAD)]
        try:
            await asyncio.wait_for(server.lane_is_full.wait(), PATIENCE)
            yield client, api, server
        finally:
            server.over.set()
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)


async def test_a_look_up_for_a_review_does_not_wait_for_slow_applies() -> None:
    async with busy() as (client, _, server), asyncio.timeout(PATIENCE):
        assert await client.in_lane(Lane.VITAL).get(CONFIG_MAPS, "n", "a") == OBJECT
        assert server.applies == IN_FLIGHT[Lane.WORK]


async def test_work_itself_stays_bounded() -> None:
    async with busy() as (client, _, server), asyncio.timeout(PATIENCE):
        waiting = asyncio.create_task(client.get(CONFIG_MAPS, "n", "a"))
        await client.in_lane(Lane.VITAL).get(CONFIG_MAPS, "n", "a")
        assert not waiting.done()
        assert server.applies == IN_FLIGHT[Lane.WORK]
        waiting.cancel()


async def test_the_lease_is_kept_behind_slow_applies_and_slow_look_ups() -> None:
    async with busy() as (client, _, server), asyncio.timeout(PATIENCE):
        elector = LeaderElector(
            client.in_lane(Lane.LEASE), "n", "lease", Holder(pod="a", address="1.2.3.4"), settings=QUICK
        )
        look_ups = [asyncio.create_task(apply(client.in_lane(Lane.VITAL))) for _ in range(WORKLOAD)]

        async def lead() -> None:
            await asyncio.wait_for(server.renewed.wait(), PATIENCE)

        await elector.run(lead)  # `LeaseLostError` when it could not be renewed
        for task in look_ups:
            task.cancel()
        await asyncio.gather(*look_ups, return_exceptions=True)


DERIVED: list[Callable[[Client], Client]] = [
    lambda client: client.in_lane(Lane.VITAL).fenced(lambda: None),
    lambda client: client.fenced(lambda: None).in_lane(Lane.VITAL),
    lambda client: client.in_lane(Lane.VITAL).acting_as("system:serviceaccount:n:a"),
]


@pytest.mark.parametrize("derive", DERIVED)
async def test_a_lane_a_fence_and_an_identity_are_kept_together(derive: Callable[[Client], Client]) -> None:
    async with busy() as (client, _, _), asyncio.timeout(PATIENCE):
        await derive(client).get(CONFIG_MAPS, "n", "a")


NOT_NAMES = ["", " ", "\t\n", " system:admin", "system:admin ", "system:admin\r\nX-Other: 1"]


@pytest.mark.parametrize("user", NOT_NAMES)
async def test_client_without_a_user_name_does_not_act_as_the_operator(user: str) -> None:
    """Defect 16: without a name in the header, the server acts as the sender of the request."""
    async with serving(web.Response(body=OBJECT)) as (client, api):
        with pytest.raises(ValueError, match="cannot act as"):
            client.acting_as(user)
        assert api.seen == []


async def test_an_identity_is_sent_as_it_is() -> None:
    async with serving(web.Response(body=OBJECT)) as (client, api):
        await client.acting_as("CN=Jane Doe").get(CONFIG_MAPS, "n", "a")
        await client.get(CONFIG_MAPS, "n", "a")
    assert [one.headers.get("Impersonate-User") for one in api.seen] == ["CN=Jane Doe", None]


async def test_a_request_does_not_wait_for_those_that_hang() -> None:
    """They give up their places after a while, and go on."""
    async with busy() as (client, _, server), asyncio.timeout(PATIENCE):
        assert await client.get(CONFIG_MAPS, "n", "a") == OBJECT
        assert not server.over.is_set()


async def test_timed_client_reports_how_long_a_write_took() -> None:
    heard: list[str] = []
    async with serving(web.Response(body=OBJECT)) as (client, _):
        timed = client.timed(lambda subject, seconds: heard.append(f"{subject} {seconds >= 0}"))
        await timed.get(CONFIG_MAPS, "n", "a")
        await apply(timed.in_lane(Lane.VITAL))
    assert heard == ["apply ConfigMap n/a True"]
