"""Leadership: never two leaders at once, a hand-over at once, a take-over after a crash."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from rukpak_py.core.metrics import request_counts
from rukpak_py.kube.client import Client
from rukpak_py.kube.lease import Holder, LeaderElector, LeaseLostError, LeaseSettings
from rukpak_py.kube.resources import LEASES
from tests.integration.kube.watching import through_proxy
from tests.waiting import until

QUICK = LeaseSettings(duration_seconds=1.5, renew_seconds=1.0, retry_seconds=0.1)


class Contender:
    """An elector whose work is to note when it leads; `leading` is shared by all contenders of a test."""

    def __init__(self, client: Client, namespace: str, name: str, leading: list[str]) -> None:
        holder = Holder(pod=name, address=f"10.0.0.{name[-1]}:8443")
        self.elector = LeaderElector(client, namespace, "rukpak", holder, settings=QUICK)
        self.name = name
        self.leading = leading
        self.most = 0
        self.task = asyncio.create_task(self.elector.run(self.lead))

    async def lead(self) -> None:
        self.leading.append(self.name)
        self.most = max(self.most, len(self.leading))
        try:
            await asyncio.Event().wait()
        finally:
            self.leading.remove(self.name)

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


@pytest.fixture
async def contenders(client: Client, namespace: str) -> AsyncIterator[list[Contender]]:
    leading: list[str] = []
    contenders = [Contender(client, namespace, f"pod-{number}", leading) for number in range(3)]
    yield contenders
    for contender in contenders:
        await contender.end()


async def test_of_three_one_leads_and_a_release_hands_over(contenders: list[Contender]) -> None:
    leading = contenders[0].leading
    for _ in range(2):
        await until(lambda: leading)
        leader = next(contender for contender in contenders if contender.name == leading[0])
        await leader.end()
        contenders.remove(leader)
    await until(lambda: leading == [contenders[0].name])

    assert all(contender.most <= 1 for contender in contenders)


async def test_followers_know_where_the_leader_is(contenders: list[Contender]) -> None:
    await until(lambda: contenders[0].leading)
    name = contenders[0].leading[0]

    for contender in contenders:
        await until(lambda contender=contender: contender.elector.holder is not None)  # type: ignore[misc]  # bound now
        assert contender.elector.holder == Holder(pod=name, address=f"10.0.0.{name[-1]}:8443")
        assert contender.elector.is_leader == (contender.name == name)


async def test_a_leader_that_is_cut_off_stops_before_the_next_one_starts(
    kubeconfig: Path, client: Client, namespace: str
) -> None:
    leading: list[str] = []
    async with through_proxy(kubeconfig) as (through, proxy):
        first = Contender(through, namespace, "pod-0", leading)
        await until(lambda: leading == ["pod-0"])
        second = Contender(client, namespace, "pod-1", leading)
        await until(lambda: second.elector.holder is not None)
        proxy.stall()
        await asyncio.wait({first.task})
        assert leading == []  # the second has not begun: the first ends earlier than the lease runs out

        with pytest.raises(LeaseLostError, match="could not be renewed in time"):
            first.task.result()
        await until(lambda: leading == ["pod-1"])
        proxy.flow()
        await second.end()


async def test_lease_taken_by_another_process_is_lost(client: Client, namespace: str) -> None:
    leading: list[str] = []
    contender = Contender(client, namespace, "pod-0", leading)
    await until(lambda: leading)
    await client.patch(LEASES, namespace, "rukpak", b'{"spec":{"holderIdentity":"thief_1.2.3.4"}}')

    await asyncio.wait({contender.task})
    with pytest.raises(LeaseLostError, match=r"went to 'thief_1\.2\.3\.4'"):
        contender.task.result()
    lease = orjson.loads(await client.get(LEASES, namespace, "rukpak"))
    assert lease["spec"]["holderIdentity"] == "thief_1.2.3.4"


async def test_the_end_of_the_work_releases_the_lease(client: Client, namespace: str) -> None:
    async def work() -> None:
        pass

    elector = LeaderElector(client, namespace, "rukpak", Holder(pod="a", address="b"), settings=QUICK)
    await elector.run(work)

    spec = orjson.loads(await client.get(LEASES, namespace, "rukpak"))["spec"]
    assert not spec.get("holderIdentity")


async def test_a_failure_of_the_work_is_the_callers(client: Client, namespace: str) -> None:
    async def work() -> None:
        raise RuntimeError("a defect")

    elector = LeaderElector(client, namespace, "rukpak", Holder(pod="a", address="b"), settings=QUICK)
    with pytest.raises(RuntimeError, match="a defect"):
        await elector.run(work)


async def test_a_leader_at_rest_costs_one_put_for_each_renewal(client: Client, namespace: str) -> None:
    leading: list[str] = []
    contender = Contender(client, namespace, f"pod-{uuid.uuid4().hex[:4]}-0", leading)
    await until(lambda: leading)
    before = request_counts()
    await until(lambda: sum((request_counts() - before).values()) >= 3)
    sent = request_counts() - before
    await contender.end()

    assert {(request.verb, request.code) for request in sent} == {("update", "200")}
