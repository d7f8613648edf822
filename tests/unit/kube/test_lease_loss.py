"""Nothing is written without the lease, and the lease is not released while work under it still finishes."""

import asyncio
from typing import TYPE_CHECKING, Any, cast

import orjson
import pytest

from rukpak_py.kube.answers import live_object
from rukpak_py.kube.errors import ErrorAnswer, NotFoundError, ServerUnavailableError
from rukpak_py.kube.lease import Holder, LeaderElector, LeaseLostError, LeaseSettings
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import LEASES, Resource
from tests.waiting import until

if TYPE_CHECKING:
    from rukpak_py.kube.client import Client

QUICK = LeaseSettings(duration_seconds=1.5, renew_seconds=1.0, retry_seconds=0.01)
PATIENCE = 10.0


class OneLease:
    """An API server that has one Lease; `is_down` refuses every request, `hangs` does not answer the next writes."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.writes = 0
        self.is_down = False
        self.hangs = 0

    async def get(self, _resource: Resource, _namespace: str, _name: str) -> bytes:
        self._up()
        if self.lease is None:
            raise NotFoundError(ErrorAnswer(subject="test", status=404, message="no lease"))
        return orjson.dumps(self.lease)

    async def create(self, _resource: Resource, _namespace: str, body: bytes) -> LiveObject:
        return self._stored(body)

    async def replace(self, _resource: Resource, _namespace: str, _name: str, body: bytes) -> LiveObject:
        if self.hangs:
            self.hangs -= 1
            await asyncio.Event().wait()
        return self._stored(body)

    def _stored(self, body: bytes) -> LiveObject:
        self._up()
        self.writes += 1
        lease: dict[str, Any] = orjson.loads(body)
        lease["metadata"] |= {"uid": "u", "resourceVersion": str(self.writes)}
        self.lease = lease
        return live_object(LEASES, orjson.dumps(lease), full=True)

    def _up(self) -> None:
        if self.is_down:
            raise ServerUnavailableError(ErrorAnswer(subject="test", message="down"))

    @property
    def holder(self) -> str:
        return str(self.lease["spec"]["holderIdentity"]) if self.lease else ""


class Clock:
    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return asyncio.get_running_loop().time() + self.ahead


class Leading:
    """Work that notes what happens to it, and that ends in its own time when it is cancelled."""

    def __init__(self) -> None:
        self.server = OneLease()
        self.clock = Clock()
        self.notes: list[str] = []
        self.began = asyncio.Event()
        self.drains = asyncio.Event()
        self.may_end = asyncio.Event()
        self.elector = LeaderElector(
            cast("Client", self.server),
            "system",
            "lease",
            Holder(pod="a", address="1.2.3.4"),
            settings=QUICK,
            on_loss=lambda: self.notes.append("lost"),
            clock=self.clock,
        )
        self.task = asyncio.create_task(self.elector.run(self.work))

    async def work(self) -> None:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.notes.append("cancelled")
            self.drains.set()
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                self.notes.append("cancelled again")
                raise

    def may_write(self) -> bool:
        try:
            self.elector.fence()
        except LeaseLostError:
            return False
        return True


async def begun() -> Leading:
    leading = Leading()
    assert not leading.may_write()
    async with asyncio.timeout(PATIENCE):
        await leading.began.wait()
    assert leading.may_write()
    return leading


async def test_fence_shuts_at_the_deadline_before_the_elector_notices() -> None:
    """A process that was suspended goes on where it was, before its elector has had a turn."""
    leading = await begun()
    leading.clock.ahead += QUICK.renew_seconds
    assert not leading.may_write()
    leading.may_end.set()
    with pytest.raises(LeaseLostError):
        await leading.task


async def test_work_knows_of_a_loss_before_it_is_cancelled() -> None:
    leading = await begun()
    assert leading.server.lease is not None
    leading.server.lease["spec"]["holderIdentity"] = "thief_1.2.3.4"
    leading.server.is_down = True
    leading.clock.ahead += QUICK.renew_seconds
    await leading.drains.wait()
    assert leading.notes == ["lost", "cancelled"]
    assert not leading.may_write()
    leading.may_end.set()
    with pytest.raises(LeaseLostError):
        await leading.task
    assert not leading.may_write()


async def test_the_lease_is_renewed_until_the_work_has_ended_and_then_released() -> None:
    leading = await begun()
    leading.task.cancel()
    await leading.drains.wait()
    for _ in range(3):
        written = leading.server.writes
        await until(lambda written=written: leading.server.writes > written)  # type: ignore[misc]  # bound now
        assert leading.may_write()
        assert leading.server.holder == "a_1.2.3.4"
    leading.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await leading.task
    assert leading.notes == ["cancelled"]
    assert leading.server.holder == ""
    assert not leading.may_write()


async def test_a_loss_while_work_is_being_finished_cancels_it_again() -> None:
    leading = await begun()
    leading.task.cancel()
    await leading.drains.wait()
    leading.server.is_down = True
    leading.clock.ahead += QUICK.renew_seconds
    with pytest.raises(LeaseLostError):
        await leading.task
    assert leading.notes == ["cancelled", "lost", "cancelled again"]


async def test_a_renewal_that_hangs_leaves_time_for_another(caplog: pytest.LogCaptureFixture) -> None:
    """Its connection leads to a server that is gone without a word."""
    leading = await begun()
    written = leading.server.writes
    leading.server.hangs = 1
    await until(lambda: leading.server.writes > written)
    assert not leading.task.done()
    assert leading.may_write()
    assert "the lease system/lease: no answer in time" in caplog.messages
    leading.may_end.set()
    leading.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leading.task
