"""Objects that a backup brought back with their status: it speaks of a generation that they never had.

A restore creates the object, whose generation is 1 then, and writes the status that was saved.
"""

import orjson

from rukpak_py.api.names import UPSTREAM_BUNDLE_FINALIZER
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, Resource
from tests import manifests
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document, config_map, crd, thing
from tests.waiting import eventually

OBSERVED = 7  # generations that the saved object had


def content(tenant: Tenant) -> list[Document]:
    """A custom resource: its deployment has a finalizer, so it is gone only when the operator sees to it."""
    group = f"{tenant.name}.example.com"
    return [crd(group), thing(group, "one", tenant.namespace), config_map("one", tenant.namespace, v="1")]


async def saved(tenant: Tenant, resource: Resource, name: str) -> Document:
    """The status, as a backup has it of an object that was edited more often."""
    status: Document = (await tenant.read(resource, "", name))["status"]
    status["observedGeneration"] = OBSERVED
    for one in status["conditions"]:
        one["observedGeneration"] = OBSERVED
    return status


async def restore_status(tenant: Tenant, resource: Resource, name: str, status: Document) -> None:
    await tenant.admin.patch_status(resource, "", name, orjson.dumps({"status": status}))


async def test_a_deployment_restored_with_its_status_is_kept_upgraded_and_deleted(
    tenant: Tenant, operator: Operator
) -> None:
    await tenant.publish("v1", content(tenant))
    await tenant.deploy("v1")
    await tenant.ready()
    status = await saved(tenant, BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CONFIG_MAPS, BUNDLES)
    await operator.stop()
    await tenant.deploy("v1")
    await restore_status(tenant, BUNDLE_DEPLOYMENTS, tenant.name, status)
    await operator.start()

    restored = await tenant.ready()
    assert restored["metadata"]["generation"] == restored["status"]["observedGeneration"] == 1
    assert ("ConfigMap", "one") in await tenant.owned(CONFIG_MAPS)
    changed = content(tenant)
    changed[-1]["data"] = {"v": "2"}
    await tenant.publish("v2", changed)
    await tenant.deploy("v2")
    await tenant.ready()
    assert (await tenant.owned(CONFIG_MAPS))["ConfigMap", "one"]["data"] == {"v": "2"}
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)


async def test_a_deployment_that_is_deleted_before_the_operator_saw_its_restored_status_goes(
    tenant: Tenant, operator: Operator
) -> None:
    await tenant.publish("v1", content(tenant))
    await tenant.deploy("v1")
    await tenant.ready()
    await operator.stop()
    await restore_status(tenant, BUNDLE_DEPLOYMENTS, tenant.name, await saved(tenant, BUNDLE_DEPLOYMENTS, tenant.name))
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await operator.start()
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)


async def test_a_bundle_restored_with_its_status_is_observed_and_deleted(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("v1", [config_map("one", tenant.namespace, v="1")])
    body = manifests.bundle(tenant.name, manifests.source("v1"))
    body["metadata"]["finalizers"] = [UPSTREAM_BUNDLE_FINALIZER]  # a backup of the original has it, too
    await tenant.admin.create(BUNDLES, "", orjson.dumps(body))
    await is_unpacked(tenant)
    status = await saved(tenant, BUNDLES, tenant.name)
    await tenant.admin.delete(BUNDLES, "", tenant.name)
    await tenant.gone(BUNDLES, tenant.name)
    await operator.stop()
    await tenant.admin.create(BUNDLES, "", orjson.dumps(body))
    await restore_status(tenant, BUNDLES, tenant.name, status)
    await operator.start()

    await is_unpacked(tenant)
    await tenant.admin.delete(BUNDLES, "", tenant.name)
    await tenant.gone(BUNDLES, tenant.name)


async def is_unpacked(tenant: Tenant) -> None:
    async def look() -> bool:
        status = (await tenant.read(BUNDLES, "", tenant.name))["status"]
        return (status.get("phase"), status["observedGeneration"]) == ("Unpacked", 1)

    await eventually(look, what="the Bundle is unpacked and observed")
