"""A process that cannot work leaves the lease alone, and one that ends releases it although its record has changed."""

import asyncio

import orjson
import pytest

from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.lease import Holder, LeaderElector, LeaseSettings
from rukpak_py.kube.resources import LEASES
from tests.waiting import until

NAME = "ability"
PATIENCE = 30.0
SLOW = LeaseSettings(duration_seconds=15, renew_seconds=10, retry_seconds=5)  # it does not renew during the test
# Between two tries, and for the release of the lease: enough for a machine that is busy.
QUICK = LeaseSettings(duration_seconds=15, renew_seconds=10, retry_seconds=0.5)


async def holder(client: Client, namespace: str) -> str:
    lease = orjson.loads(await client.get(LEASES, namespace, NAME))
    return str(lease["spec"].get("holderIdentity") or "")


async def test_the_lease_is_not_taken_before_the_work_can_be_done(client: Client, namespace: str) -> None:
    asked, able, began = 0, False, asyncio.Event()

    async def may_lead() -> bool:
        nonlocal asked
        asked += 1
        return able

    async def lead() -> None:
        began.set()
        await asyncio.Event().wait()

    elector = LeaderElector(client, namespace, NAME, Holder(pod="a", address=""), settings=QUICK, may_lead=may_lead)
    running = asyncio.create_task(elector.run(lead))
    async with asyncio.timeout(PATIENCE):
        await until(lambda: asked >= 3)
        with pytest.raises(NotFoundError):
            await holder(client, namespace)
        assert not began.is_set()
        able = True
        await began.wait()
    asked_before = asked
    assert await holder(client, namespace) == "a_"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert asked == asked_before, "a leader is not asked"
    assert not await holder(client, namespace)


async def test_lease_is_released_although_its_record_was_touched(client: Client, namespace: str) -> None:
    """After a restore of etcd the version that was read last is not the server's either."""
    began, may_end = asyncio.Event(), asyncio.Event()

    async def lead() -> None:
        began.set()
        await may_end.wait()

    elector = LeaderElector(client, namespace, NAME, Holder(pod="a", address=""), settings=SLOW)
    running = asyncio.create_task(elector.run(lead))
    async with asyncio.timeout(PATIENCE):
        await began.wait()
        await client.patch(LEASES, namespace, NAME, b'{"metadata":{"annotations":{"touched":"yes"}}}')
        may_end.set()
        await running
    assert not await holder(client, namespace)
