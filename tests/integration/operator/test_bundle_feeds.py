"""Bundles have one feed at a time: a watch of its own in a replica that does not lead, Kopf's in the leader.

Bundles of other classes count as well: they may use ConfigMaps, and clients upload for whatever Bundle is there.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import uuid4

import orjson
import pytest
from aiohttp import web

from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS
from tests.integration.operator.conftest import Controllers, StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.reviewing import users_of
from tests.integration.operator.striking import PATIENCE
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import Document, bundle, config_map, source
from tests.waiting import eventually, until

ELECT = ("--leader-elect",)
FOREIGN = "example-com-other"
SHUTDOWN_SECONDS = 12  # less than a stop may take, and far more than the test needs
TAKEN_OVER_SECONDS = 40.0  # the Lease of a leader that was killed runs out after 15


class ForeignBundles:
    """Bundles of a class that another operator serves, with names of the tenant's."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._made: set[str] = set()

    async def create(self, suffix: str, *config_maps: str) -> str:
        """Create a Bundle that uses these ConfigMaps; its name."""
        name = f"{self._tenant.name}-{suffix}"
        self._made.add(name)
        body = bundle(name, source(*config_maps), provisioner=FOREIGN)
        await self._tenant.admin.create(BUNDLES, "", orjson.dumps(body))
        return name

    async def use(self, name: str, config_map_name: str) -> None:
        body = orjson.dumps({"spec": {"source": source(config_map_name)}})
        await self._tenant.admin.patch(BUNDLES, "", name, body)

    async def delete(self, name: str) -> None:
        with suppress(NotFoundError):
            await self._tenant.admin.delete(BUNDLES, "", name)

    async def end(self) -> None:
        for name in self._made:
            await self.delete(name)


@pytest.fixture
async def foreign(tenant: Tenant) -> AsyncIterator[ForeignBundles]:
    foreign = ForeignBundles(tenant)
    yield foreign
    await foreign.end()


class LostEvents:
    """The next watch of Bundles waits, and is told then that its version is too old: what happened is never sent."""

    def __init__(self) -> None:
        self.waits = asyncio.Event()
        self.let_go = asyncio.Event()

    async def before(self, exchange: Exchange) -> web.Response | None:
        if not exchange.is_watch or exchange.resource != "bundles" or self.let_go.is_set():
            return None
        self.waits.set()
        async with asyncio.timeout(PATIENCE):
            await self.let_go.wait()
        status = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old"}
        return web.Response(body=orjson.dumps({"type": "ERROR", "object": status}) + b"\n")

    async def after(self, exchange: Exchange) -> None:
        pass


async def uses(operator: Operator, tenant: Tenant, config_map_name: str, *bundles: str) -> None:
    """Wait until the webhook names these Bundles as the users of the ConfigMap, and no other."""

    async def look() -> bool:
        said = await users_of(operator, tenant, config_map_name)
        return bool(said) == bool(bundles) and all(name in said for name in bundles)

    await eventually(look, what=f"the users of {config_map_name} are {bundles}")


async def readers(operator: Operator) -> set[str]:
    """The watches of Bundles that an operator has."""
    metric = 'rukpak_watch_last_event_timestamp_seconds{group="core.rukpak.io",reader="'
    lines = [line for line in (await operator.metrics()).splitlines() if line.startswith(metric)]
    return {line.removeprefix(metric).split('"')[0] for line in lines if 'resource="bundles"' in line}


async def leads_fed_by_kopf(operator: Operator) -> None:
    """Wait until it leads and Kopf has taken over."""

    async def look() -> bool:
        return await readers(operator) == {"Kopf"}

    await eventually(look, what="Kopf has taken over", seconds=TAKEN_OVER_SECONDS)


async def start_leading(operator: Operator) -> None:
    await operator.start()
    await leads_fed_by_kopf(operator)


async def test_webhook_knows_bundles_of_any_class_in_the_leader_and_in_a_replica_that_takes_over(
    tenant: Tenant, operators: StartOperator, foreign: ForeignBundles
) -> None:
    before = await foreign.create("before", "m")
    leader, standby = operators(arguments=ELECT), operators(arguments=ELECT)
    await start_leading(leader)
    await standby.start()
    assert await readers(standby) == {"informer"}
    for operator in (leader, standby):
        await uses(operator, tenant, "m", before)

    later = await foreign.create("later", "m")
    await foreign.use(before, "n")
    for operator in (leader, standby):
        await uses(operator, tenant, "m", later)
        await uses(operator, tenant, "n", before)
        assert before not in await users_of(operator, tenant, "m")

    leader.kill()
    await foreign.delete(later)
    await leads_fed_by_kopf(standby)
    await uses(standby, tenant, "m")
    await uses(standby, tenant, "n", before)
    assert (await standby.ask("health-probe", "/readyz"))[0] == 200
    last = await foreign.create("last", "m")
    await uses(standby, tenant, "m", last)


async def test_replica_with_a_hanging_watch_takes_over_with_what_is_there(
    tenant: Tenant, operators: StartOperator, foreign: ForeignBundles, proxy: Proxy, controllers: Controllers
) -> None:
    """An orphaning deletion that its watch never showed leaves the objects, and a deleted Bundle uses nothing."""
    leader, standby = operators(arguments=ELECT), operators(kubeconfig=proxy.kubeconfig, arguments=ELECT)
    await start_leading(leader)
    await standby.start()
    await tenant.publish("v1", [config_map(f"map-{number}", tenant.namespace, v="1") for number in range(3)])
    await tenant.deploy("v1")
    await tenant.ready()
    deleted = await foreign.create("deleted", "m")
    await uses(standby, tenant, "m", deleted)
    before = await uids(tenant)

    proxy.stall("bundles")
    leader.kill()
    controllers.pause()
    await foreign.delete(deleted)
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation="Orphan")
    await uses(standby, tenant, "m", deleted)
    await leads_fed_by_kopf(standby)
    await uses(standby, tenant, "m")
    controllers.resume()
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    proxy.flow("bundles")
    last = await foreign.create("last", "m")
    await uses(standby, tenant, "m", last)
    assert await uids(tenant) == before
    assert [one for one in proxy.seen if one.is_write and one.method == "DELETE"] == []
    for _, name in await tenant.owned(BUNDLES):
        await tenant.admin.delete(BUNDLES, "", name)


async def test_leader_that_stops_knows_bundles_as_long_as_it_serves_the_webhook(
    tenant: Tenant, operators: StartOperator, foreign: ForeignBundles
) -> None:
    operator = operators(arguments=[f"--shutdown-delay={SHUTDOWN_SECONDS}"])
    await start_leading(operator)
    deleted = await foreign.create("deleted", "m")
    await uses(operator, tenant, "m", deleted)
    stopping = asyncio.create_task(operator.stop())

    async def feeds_itself() -> bool:
        return "informer" in await readers(operator)

    await eventually(feeds_itself, what="its own watch goes on")
    await foreign.delete(deleted)
    last = await foreign.create("last", "n")
    await uses(operator, tenant, "m")
    await uses(operator, tenant, "n", last)
    assert await stopping == 0


async def test_bundle_whose_deletion_no_watch_of_the_leader_showed_uses_nothing_soon(
    tenant: Tenant, operators: StartOperator, foreign: ForeignBundles, proxy: Proxy
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await start_leading(operator)
    deleted, kept = await foreign.create("deleted", "m"), await foreign.create("kept", "n")
    await uses(operator, tenant, "m", deleted)
    lost = LostEvents()
    proxy.rules.append(lost)
    proxy.cut("bundles")
    await until(lost.waits.is_set)
    await foreign.delete(deleted)
    lost.let_go.set()
    await uses(operator, tenant, "m")
    await uses(operator, tenant, "n", kept)


async def test_uploads_stay_for_bundles_of_any_class_and_go_with_those_that_no_operator_saw_going(
    tenant: Tenant, operators: StartOperator, foreign: ForeignBundles, proxy: Proxy
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    name = await foreign.create("kept", "m")
    uid = (await tenant.read(BUNDLES, "", name))["metadata"]["uid"]
    operator.uploads.mkdir(parents=True)
    kept, left = operator.uploads / f"{name}_{uid}.tgz", operator.uploads / f"{name}_{uuid4()}.tgz"
    for file in (kept, left):
        file.write_bytes(b"")
    await start_leading(operator)
    assert left.exists(), "the Bundles have not been listed yet"

    proxy.cut("bundles")  # what is there is listed then, at once

    async def is_swept() -> bool:
        return not left.exists()

    await eventually(is_swept, what="the upload without a Bundle is deleted")
    assert kept.exists()


async def uids(tenant: Tenant) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], Document] = await tenant.owned(CONFIG_MAPS)
    return {key: one["metadata"]["uid"] for key, one in found.items()}
