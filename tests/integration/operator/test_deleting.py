"""Deployments that are deleted in every way that there is."""

import pytest

from rukpak_py.api.names import ORDERED_DELETION_FINALIZER, OWNER_NAME_LABEL, OWNER_UID_ANNOTATION
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, CRDS, Resource
from tests.integration.operator.counting import settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import WORKLOADS, Tenant, condition
from tests.manifests import Document, config_map, crd, thing, workload

HELD = b'{"metadata":{"finalizers":["rukpak.test/held"]}}'
RELEASED = b'{"metadata":{"finalizers":null}}'


def things(tenant: Tenant) -> Resource:
    group = f"{tenant.name}.rukpak.test"
    return Resource(gvk=GroupVersionKind(group, "v1", "Thing"), plural="things", namespaced=True)


def ordered_content(tenant: Tenant) -> list[Document]:
    """A definition, an instance of it, and the workload that would serve it."""
    group = things(tenant).gvk.group
    return [crd(group), thing(group, "one", tenant.namespace), workload("server", tenant.namespace)]


def owner_of(document: Document) -> str:
    """The uid of the owner: from the reference, or where it must not be collected, from the annotation."""
    metadata = document["metadata"]
    references = metadata.get("ownerReferences") or [{"uid": metadata["annotations"].get(OWNER_UID_ANNOTATION)}]
    return str(references[0]["uid"])


async def install(tenant: Tenant, documents: list[Document]) -> str:
    await tenant.publish("v1", documents)
    uid = await tenant.deploy("v1")
    await tenant.ready()
    return uid


async def test_ordered_deletion_goes_on_after_a_kill(tenant: Tenant, operator: Operator) -> None:
    admin, kind = tenant.admin, things(tenant)
    await install(tenant, ordered_content(tenant))
    assert ORDERED_DELETION_FINALIZER in (await tenant.deployment())["metadata"]["finalizers"]
    await admin.patch(kind, tenant.namespace, "one", HELD, field_manager="somebody")

    await admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    held = f"{kind.key(tenant.namespace, 'one')} (finalizer rukpak.test/held)"
    waits = f"waiting for 1 custom resource to be deleted: {held}"
    for _ in range(2):
        told = await tenant.until(lambda one: waits in condition(one, "Ready").get("message", ""), what="it waits")
        assert condition(told, "Ready")["reason"] == "Deleting"
        operator.kill()
        await operator.start()
    await settled(operator)
    assert set(await tenant.owned(CRDS, WORKLOADS, kind)) == {
        ("CustomResourceDefinition", f"things.{kind.gvk.group}"),
        ("Deployment", "server"),
        ("Thing", "one"),
    }

    await admin.patch(kind, tenant.namespace, "one", RELEASED)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CRDS, WORKLOADS, BUNDLES)


@pytest.mark.parametrize("content", ["plain", "ordered"])
async def test_orphaned_objects_stay(tenant: Tenant, operator: Operator, content: str) -> None:
    """A deployment of the same name takes them again after `kubectl delete --cascade=orphan`."""
    ordered = content == "ordered"
    documents = ordered_content(tenant) if ordered else [config_map("one", tenant.namespace, v="1")]
    resources = (CRDS, WORKLOADS, things(tenant)) if ordered else (CONFIG_MAPS,)
    await install(tenant, documents)
    before = await tenant.owned(*resources)
    assert len(before) == len(documents)

    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation="Orphan")
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await settled(operator)
    after = await tenant.owned(*resources)
    assert {key: one["metadata"]["uid"] for key, one in after.items()} == {
        key: one["metadata"]["uid"] for key, one in before.items()
    }
    assert not any(one["metadata"].get("ownerReferences") for one in after.values())

    uid = await tenant.deploy("v1")
    await tenant.ready()
    taken = await tenant.owned(*resources)
    assert {key: one["metadata"]["uid"] for key, one in taken.items()} == {
        key: one["metadata"]["uid"] for key, one in before.items()
    }
    assert set(map(owner_of, taken.values())) == {uid}
    assert {one["metadata"]["labels"][OWNER_NAME_LABEL] for one in taken.values()} == {tenant.name}


@pytest.mark.parametrize("content", ["plain", "ordered"])
async def test_foreground_deletion_ends(tenant: Tenant, operator: Operator, content: str) -> None:
    ordered = content == "ordered"
    documents = ordered_content(tenant) if ordered else [config_map("one", tenant.namespace, v="1")]
    await install(tenant, documents)
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation="Foreground")
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CONFIG_MAPS, CRDS, WORKLOADS, BUNDLES)
    assert operator.is_running
