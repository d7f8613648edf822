"""Two replicas whose leader is killed ten times while deployments are created: one content for each object.

Each kill happens at a write of the leader, which the server may have carried out without anybody hearing of it. The
killed one is started again at once, as the container of a pod is, or after the other replica has taken over.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import orjson

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS
from tests.integration.listing import listed
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.leases import leads
from tests.integration.operator.process import Operator
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import SERVICES, Tenant, is_ready
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import Document, config_map, service, service_account
from tests.waiting import eventually

KILLS = 10
DEPLOYMENTS_PER_KILL = 5
MAPS = 3  # of each deployment, beside a Service and a ServiceAccount
LATEST_WRITE = 20  # of the leader in a round: five deployments take more than twice as many
SEED = 41
BRIEF = "tests.integration.operator.brief_lease"
READY_SECONDS = 120.0


def content_of(tenant: Tenant, name: str) -> list[Document]:
    maps = [config_map(f"{name}-{number}", tenant.namespace, of=name) for number in range(MAPS)]
    return [*maps, service(name, tenant.namespace), service_account(name, tenant.namespace)]


def works(exchange: Exchange) -> bool:
    """Only a leader sends them."""
    return exchange.is_write or exchange.is_dry_run


class StoredContents:
    """The versions of each ConfigMap that the server has ever told a watch: its uids, and its contents."""

    def __init__(self) -> None:
        self.uids: defaultdict[str, set[str]] = defaultdict(set)
        self.contents: defaultdict[str, set[bytes]] = defaultdict(set)

    def see(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        if new is not None:
            self.uids[key.name].add(new.metadata.uid)
            self.contents[key.name].add(orjson.dumps(orjson.loads(new.json or b"{}").get("data")))


@asynccontextmanager
async def stored_contents(client: Client, namespace: str) -> AsyncIterator[StoredContents]:
    stored = StoredContents()
    informer = Informer(client, CONFIG_MAPS, namespace=namespace, full=True, keep=False, on_change=stored.see)
    informer.start()
    await informer.wait_synced(30)
    try:
        yield stored
    finally:
        await informer.stop()


async def test_leader_killed_ten_times_writes_each_object_with_one_content(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    draw = random.Random(SEED)  # noqa: S311 - the same kills each time
    replicas = [
        operators(
            kubeconfig=proxy.kubeconfig,
            arguments=["--leader-elect"],
            module=BRIEF,
            environment={"POD_NAME": f"replica-{number}"},
        )
        for number in range(2)
    ]
    for replica in replicas:
        await replica.start()
    names = [f"{tenant.name}-{number:02d}" for number in range(KILLS * DEPLOYMENTS_PER_KILL)]
    await asyncio.gather(*(tenant.publish(name, content_of(tenant, name)) for name in names))
    former: set[Operator] = set()
    async with stored_contents(tenant.admin, tenant.namespace) as stored:
        for number in range(KILLS):
            leader = await leader_of(replicas)
            former.add(leader)
            point = Point(name="a write", when=draw.choice(list(When)), match=works, nth=draw.randint(1, LATEST_WRITE))
            strike = Strike(point, leader.kill)
            proxy.rules = [strike]
            batch = names[number * DEPLOYMENTS_PER_KILL :][:DEPLOYMENTS_PER_KILL]
            await asyncio.gather(*(tenant.deploy(name, name=name) for name in batch))
            async with asyncio.timeout(READY_SECONDS):
                await strike.fired.wait()
            proxy.rules = []
            if number % 2:
                await leader_of([one for one in replicas if one is not leader])
            leader.launch()
        await eventually(lambda: all_ready(tenant, names), what="all are Ready", seconds=READY_SECONDS)
        assert sum(replica.starts for replica in replicas) == len(replicas) + KILLS
        assert former == set(replicas), "each of them has led"
        await shows_one_content(tenant, proxy, stored, names)


async def shows_one_content(tenant: Tenant, proxy: Proxy, stored: StoredContents, names: Sequence[str]) -> None:
    """As the operators asked for it, and as the server had it at any time."""
    sent: defaultdict[tuple[str, str], set[bytes]] = defaultdict(set)
    for one in proxy.writes:
        if one.is_apply and one.namespace == tenant.namespace:
            body = one.document
            body["metadata"].pop("uid", None)  # a precondition, when the object is there already
            sent[one.what, one.name].add(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
    wanted = {one["metadata"]["name"]: one["data"] for name in names for one in content_of(tenant, name)[:MAPS]}
    assert len(sent) == len(names) * (MAPS + 2)
    assert {key: bodies for key, bodies in sent.items() if len(bodies) > 1} == {}
    assert {name: stored.contents[name] for name in wanted} == {
        name: {orjson.dumps(data)} for name, data in wanted.items()
    }
    assert {name for name in wanted if len(stored.uids[name]) > 1} == set(), "created twice"
    made = Counter(
        (one.what, one.name or one.document["metadata"]["name"]) for one in proxy.writes if one.status == 201
    )
    assert {key: count for key, count in made.items() if count > 1} == {}
    assert [str(one.path) for one in proxy.writes if one.method == "DELETE"] == []
    for resource in (CONFIG_MAPS, SERVICES):
        for live in await listed(tenant.admin, resource, tenant.namespace):
            managers = {entry["manager"] for entry in live["metadata"].get("managedFields", ())}
            assert len(managers) == 1, live
    bundles = await listed(tenant.admin, BUNDLES)
    assert len([one for one in bundles if one["metadata"]["name"].startswith(tenant.name)]) == len(names)


async def leader_of(replicas: Sequence[Operator]) -> Operator:
    """The one that leads, once one of them does."""

    async def look() -> Operator | None:
        for replica in replicas:
            if replica.is_running and (await replica.ask("metrics", "/metrics"))[0] == 200 and await leads(replica):
                return replica
        return None

    return await eventually(look, what="one of the replicas leads")


async def all_ready(tenant: Tenant, names: Sequence[str]) -> bool:
    ready = {one["metadata"]["name"] for one in await listed(tenant.admin, BUNDLE_DEPLOYMENTS) if is_ready(one)}
    return set(names) <= ready
