"""On a young cluster the garbage collector does not know our kinds yet, and deleted objects are gone all the same.

It looks for kinds every 30 s. Here its process is halted, which is the same for those who wait, and lasts. It is not
ended: one that has just started may finish an orphaning before it knows all dependents, and deletes the rest later.
"""

import time

import orjson

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, CRDS, EVENTS
from tests.integration.listing import listed
from tests.integration.operator.conftest import Controllers, StartOperator
from tests.integration.operator.counting import calls_during, settled
from tests.integration.operator.process import Operator
from tests.integration.operator.striking import Hold
from tests.integration.operator.tenant import SERVICES, WORKLOADS, Tenant
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import Document, config_map, crd, service, thing, workload
from tests.waiting import eventually

EACH = 5
HELD = b'{"metadata":{"finalizers":["rukpak.test/held"]}}'
RELEASED = b'{"metadata":{"finalizers":null}}'
SOON = 10.0  # 2 s on a quiet machine; the collector alone needs 30


def objects(tenant: Tenant) -> list[Document]:
    maps = [config_map(f"map-{number}", tenant.namespace, v="1") for number in range(EACH)]
    return maps + [service(f"service-{number}", tenant.namespace) for number in range(EACH)]


async def install(tenant: Tenant) -> None:
    await tenant.publish("v1", objects(tenant))
    await tenant.deploy("v1")
    await tenant.ready()


async def names(tenant: Tenant) -> set[str]:
    return {name for _, name in await tenant.owned(CONFIG_MAPS, SERVICES, BUNDLES)}


async def test_all_objects_are_gone_soon_and_each_was_asked_once(
    tenant: Tenant, operator: Operator, controllers: Controllers
) -> None:
    await install(tenant)
    await settled(operator)
    controllers.pause()

    async def delete() -> None:
        began = time.monotonic()
        await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
        await tenant.left_nothing(CONFIG_MAPS, SERVICES, BUNDLES)
        assert time.monotonic() - began < SOON

    assert await calls_during(operator, delete) == {
        ("get", "bundledeployments", "404"): 1,  # it certainly does not exist
        ("delete", "configmaps", "200"): EACH,
        ("delete", "services", "200"): EACH,
        ("delete", "bundles", "200"): 1,
    }


async def test_the_rest_of_an_ordered_deletion_is_gone_too(
    tenant: Tenant, operator: Operator, controllers: Controllers
) -> None:
    """Our finalizer held the deployment: no other client would delete the objects that came after it."""
    group = f"{tenant.name}.rukpak.test"
    await tenant.publish(
        "v1", [crd(group), thing(group, "one", tenant.namespace), workload("server", tenant.namespace)]
    )
    await tenant.deploy("v1")
    await tenant.ready()
    controllers.pause()

    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CRDS, WORKLOADS, BUNDLES)


def asks_whether_the_deployment_exists(exchange: Exchange) -> bool:
    return (exchange.method, exchange.resource, exchange.is_watch) == ("GET", "bundledeployments", False)


async def test_object_that_others_hold_or_own_is_not_deleted_by_force(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, controllers: Controllers
) -> None:
    """A finalizer keeps its object. One with a second owner, or released in the last moment, is not touched."""
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await install(tenant)
    admin, space = tenant.admin, tenant.namespace
    other = await admin.create(CONFIG_MAPS, space, b'{"metadata":{"name":"other"}}')
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other.metadata.uid}
    ours = (await tenant.read(CONFIG_MAPS, space, "map-1"))["metadata"]["ownerReferences"]
    controllers.pause()
    await admin.patch(CONFIG_MAPS, space, "map-0", HELD)
    await admin.patch(CONFIG_MAPS, space, "map-1", _references([*ours, owner]))
    before = await settled(operator)
    hold = Hold(asks_whether_the_deployment_exists)
    proxy.rules.append(hold)

    await admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)

    async def it_has_decided() -> bool:
        return bool(hold.held)

    await eventually(it_has_decided, what="it has decided what to delete")
    await admin.patch(CONFIG_MAPS, space, "map-2", _references([]))
    hold.let_go.set()
    sent = await settled(operator) - before

    left = await tenant.owned(CONFIG_MAPS, SERVICES, BUNDLES)
    assert {name: "deletionTimestamp" in one["metadata"] for (_, name), one in left.items()} == {
        "map-0": True,
        "map-1": False,
        "map-2": False,
    }
    assert sent["delete", "configmaps", "200"] == EACH - 2  # once for what is held
    await admin.patch(CONFIG_MAPS, space, "map-0", RELEASED)


async def test_orphaned_objects_are_never_deleted(tenant: Tenant, operator: Operator, controllers: Controllers) -> None:
    """However late the garbage collector does its part."""
    await install(tenant)
    await settled(operator)
    before = await tenant.owned(CONFIG_MAPS, SERVICES)
    controllers.pause()
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation="Orphan")
    await settled(operator)
    controllers.resume()
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)

    sent = await settled(operator)
    assert not [call for call in sent if call[0] == "delete"]
    after = await tenant.owned(CONFIG_MAPS, SERVICES)
    assert {key: one["metadata"]["uid"] for key, one in after.items()} == {
        key: one["metadata"]["uid"] for key, one in before.items()
    }
    for _, bundle in await tenant.owned(BUNDLES):
        await tenant.admin.delete(BUNDLES, "", bundle)


async def test_a_deletion_that_was_not_seen_is_the_collectors(
    tenant: Tenant, operator: Operator, controllers: Controllers
) -> None:
    await install(tenant)
    await operator.stop()
    controllers.pause()
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await operator.start()

    assert not [call for call in await settled(operator) if call[0] == "delete"]
    assert len(await names(tenant)) == 2 * EACH + 1


def _references(owners: list[Document]) -> bytes:
    return orjson.dumps({"metadata": {"ownerReferences": owners or None}})


async def test_object_that_hangs_in_its_deletion_after_its_deployment_is_gone_is_told(
    tenant: Tenant, operator: Operator
) -> None:
    await install(tenant)
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "map-0", HELD, field_manager="somebody")
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)

    async def is_told() -> bool:
        events = [one for one in await listed(tenant.admin, EVENTS) if one["reason"] == "DeletionHeld"]
        about = [one for one in events if one["involvedObject"].get("namespace") == tenant.namespace]
        return [(one["involvedObject"]["name"], "rukpak.test/held" in one["message"]) for one in about] == [
            ("map-0", True)
        ]

    await eventually(is_told, what="an Event names the finalizer", seconds=90)
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "map-0", RELEASED, field_manager="somebody")
    await tenant.left_nothing(CONFIG_MAPS)
