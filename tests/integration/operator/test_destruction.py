"""No way of deleting a deployment destroys what others have in its Namespaces or of its CRDs, unless it is allowed."""

import orjson
import pytest

from rukpak_py.api.names import (
    ALLOW_DATA_LOSS_ANNOTATION,
    DELETION_POLICY_ANNOTATION,
    ORDERED_DELETION_FINALIZER,
    OWNER_UID_ANNOTATION,
)
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, CRDS, EVENTS, NAMESPACES, Resource
from tests.integration.listing import listed
from tests.integration.operator.counting import settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map, crd, manifest, thing
from tests.waiting import eventually

ALLOWED = orjson.dumps({"metadata": {"annotations": {ALLOW_DATA_LOSS_ANNOTATION: "true"}}})


def things(tenant: Tenant) -> Resource:
    return Resource(gvk=GroupVersionKind(f"{tenant.name}.rukpak.test", "v1", "Thing"), plural="things", namespaced=True)


def shipped(tenant: Tenant) -> str:
    """The Namespace in the content."""
    return f"{tenant.namespace}-shipped"


async def install(tenant: Tenant, *documents: Document) -> None:
    await tenant.publish("v1", [manifest("v1", "Namespace", shipped(tenant)), *documents])
    await tenant.deploy("v1")
    await tenant.ready()


async def create(tenant: Tenant, resource: Resource, document: Document) -> None:
    await tenant.admin.create(resource, document["metadata"].get("namespace", ""), orjson.dumps(document))


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_deletion_waits_for_what_others_have_until_it_is_allowed(
    tenant: Tenant, operator: Operator, propagation: str
) -> None:
    kind, name = things(tenant), shipped(tenant)
    await install(tenant, crd(kind.gvk.group), config_map("ours", name))
    assert ORDERED_DELETION_FINALIZER in (await tenant.deployment())["metadata"]["finalizers"]
    for resource, object_name in ((NAMESPACES, name), (CRDS, f"things.{kind.gvk.group}")):
        metadata = (await tenant.read(resource, "", object_name))["metadata"]
        assert "ownerReferences" not in metadata
        assert metadata["annotations"][DELETION_POLICY_ANNOTATION] == "Delete"
    await create(tenant, kind, thing(kind.gvk.group, "theirs", tenant.namespace))
    await create(tenant, CONFIG_MAPS, config_map("theirs", name))

    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation=propagation)
    named = f"things.{kind.gvk.group}: 1 Thing object ({tenant.namespace}/theirs)"
    told = await tenant.until(lambda one: named in condition(one, "Ready").get("message", ""), what="it is named")
    assert condition(told, "Ready")["reason"] == "Deleting"
    await tenant.admin.delete(kind, tenant.namespace, "theirs")

    named = f"Namespace {name}: 1 ConfigMap object ({name}/theirs)"
    await tenant.until(lambda one: named in condition(one, "Ready").get("message", ""), what="it is named", seconds=90)
    assert operator.is_running
    await tenant.read(CONFIG_MAPS, name, "theirs")
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, ALLOWED)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CRDS, NAMESPACES, CONFIG_MAPS, BUNDLES)


async def test_without_things_of_others_everything_goes(tenant: Tenant, operator: Operator) -> None:
    kind = things(tenant)
    await install(tenant, crd(kind.gvk.group), config_map("ours", shipped(tenant)))
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CRDS, NAMESPACES, CONFIG_MAPS, BUNDLES)
    assert operator.is_running


async def test_orphaning_is_known_after_a_restart_though_nothing_has_an_owner_reference(
    tenant: Tenant, operator: Operator
) -> None:
    """The Bundle says it: the collector took its owner reference off while no operator ran."""
    await install(tenant)
    uid = (await tenant.read(NAMESPACES, "", shipped(tenant)))["metadata"]["uid"]
    await settled(operator)
    operator.kill()
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation="Orphan")
    bundle = (await tenant.deployment())["status"]["activeBundle"]

    async def stripped() -> bool:
        metadata = (await tenant.read(BUNDLES, "", bundle))["metadata"]
        finalizers = (await tenant.deployment())["metadata"]["finalizers"]
        return not metadata.get("ownerReferences") and finalizers == [ORDERED_DELETION_FINALIZER]

    await eventually(stripped, what="the collector has orphaned the Bundle", seconds=90)
    await operator.start()
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await settled(operator)
    metadata = (await tenant.read(NAMESPACES, "", shipped(tenant)))["metadata"]
    assert (metadata["uid"], metadata["annotations"][OWNER_UID_ANNOTATION] != "") == (uid, True)
    assert "deletionTimestamp" not in metadata

    async def told() -> bool:
        events = await listed(tenant.admin, EVENTS)
        named = [one for one in events if one["involvedObject"]["name"] == tenant.name and one["reason"] == "Orphaned"]
        return any(f"Namespace {shipped(tenant)}" in one["message"] for one in named)

    await eventually(told, what="an Event names what stays")
    await tenant.admin.delete(NAMESPACES, "", shipped(tenant))
    await tenant.admin.delete(BUNDLES, "", bundle)


async def test_a_finalizer_that_a_client_took_away_comes_back(tenant: Tenant, operator: Operator) -> None:
    """`kubectl replace` does, and without it nothing would delete what has no owner reference."""
    await install(tenant)
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, b'{"metadata":{"finalizers":null}}')
    await tenant.until(
        lambda one: ORDERED_DELETION_FINALIZER in one["metadata"].get("finalizers", ()), what="it is back"
    )
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(NAMESPACES)
    assert operator.is_running
