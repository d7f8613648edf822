"""Labels, annotations and owner references travel with copies: a copy is not an object of its deployment."""

from typing import Any

import orjson

from rukpak_py.api.names import APPLIED_ANNOTATION
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, CRDS, EVENTS, Resource
from tests.integration.listing import listed
from tests.integration.operator.counting import settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import SERVICES, WORKLOADS, Tenant, condition
from tests.manifests import Document, config_map, crd, manifest, service, thing, workload
from tests.waiting import eventually

ENDPOINTS = Resource(gvk=GroupVersionKind("", "v1", "Endpoints"), plural="endpoints", namespaced=True)


async def copied(tenant: Tenant, document: Document, name: str) -> None:
    """Copy the object as `kubectl get -o yaml`, renamed, and `kubectl create -f` do."""
    dropped = {"uid", "resourceVersion", "creationTimestamp", "managedFields"}
    metadata = {key: value for key, value in document["metadata"].items() if key not in dropped}
    body: dict[str, Any] = {**document, "metadata": {**metadata, "name": name}}
    await tenant.admin.create(CONFIG_MAPS, tenant.namespace, orjson.dumps(body))


async def test_a_copy_that_a_user_made_of_an_object_stays_and_is_named_once(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("v1", [config_map("one", tenant.namespace, v="1")])
    await tenant.publish("v2", [config_map("one", tenant.namespace, v="2")])
    await tenant.deploy("v1")
    await tenant.ready()
    original = await tenant.read(CONFIG_MAPS, tenant.namespace, "one")
    await copied(tenant, original, "copy")
    copy = await tenant.read(CONFIG_MAPS, tenant.namespace, "copy")
    for mark in ("labels", "annotations", "ownerReferences"):
        assert copy["metadata"][mark] == original["metadata"][mark]

    named = f"ConfigMap {tenant.namespace}/copy"
    await tenant.until(lambda one: named in condition(one, "Installed").get("message", ""), what="the copy is named")
    await tenant.deploy("v2")
    await tenant.until(lambda one: one["status"].get("observedGeneration") == 2, what="the upgrade is seen")
    await tenant.ready()
    operator.kill()
    await operator.start()
    await settled(operator)
    assert (await tenant.read(CONFIG_MAPS, tenant.namespace, "copy"))["metadata"]["uid"] == copy["metadata"]["uid"]
    events = await listed(tenant.admin, EVENTS)
    told = [one for one in events if one["reason"] == "Copied" and one["involvedObject"]["name"] == tenant.name]
    assert [named in one["message"] for one in told] == [True], told


async def test_labels_that_kubernetes_copies_are_no_proof_of_orphaning(tenant: Tenant, operator: Operator) -> None:
    """The Endpoints of a Service have its labels and no controller."""
    kind = Resource(gvk=GroupVersionKind(f"{tenant.name}.rukpak.test", "v1", "Thing"), plural="things", namespaced=True)
    documents = [
        crd(kind.gvk.group),
        thing(kind.gvk.group, "one", tenant.namespace),
        workload("server", tenant.namespace),
        service("server", tenant.namespace),
        manifest("v1", "Endpoints", "ours", tenant.namespace),  # so that their kind is watched
    ]
    await tenant.publish("v1", documents)
    await tenant.deploy("v1")
    await tenant.ready()

    async def mirrored() -> Document | None:
        return (await tenant.owned(ENDPOINTS)).get(("Endpoints", "server"))

    made = (await eventually(mirrored, what="Endpoints with the labels of the Service"))["metadata"]
    assert APPLIED_ANNOTATION not in made.get("annotations", {})

    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, propagation="Background")
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(CRDS, WORKLOADS, SERVICES, BUNDLES)
