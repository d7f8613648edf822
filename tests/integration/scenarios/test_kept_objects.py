"""Objects that cannot be restored survive an upgrade that drops them, until their owner allows the deletion."""

import json

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, CRDS, NAMESPACES, Resource
from tests.integration.scenarios.stage import (
    Document,
    Stage,
    condition,
    definition,
    is_observed,
    says,
    settings,
    widget,
    widgets,
)

CLAIMS = Resource(
    gvk=GroupVersionKind("", "v1", "PersistentVolumeClaim"), plural="persistentvolumeclaims", namespaced=True
)
ALLOWED = {"metadata": {"annotations": {"core.rukpak.io/prune": "true"}}}


def shipped_namespace(stage: Stage) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{stage.name}-shipped"}}


def claim(stage: Stage) -> Document:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "none"}
    metadata = {"name": "data", "namespace": stage.namespace}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


async def installed(stage: Stage, *leaving: Document) -> str:
    """Install these objects and `leaves`; the next version will have neither."""
    first = await stage.content(settings(stage.namespace), settings(stage.namespace, "leaves"), *leaving)
    # AfterApply: a claim that is not bound is never healthy
    name = await stage.deploy(first, prune={"when": "AfterApply"})
    await stage.until_deployment(name, is_observed, says("Installed", "True"))
    return name


async def upgrade(stage: Stage, name: str) -> Document:
    """The status once the second version is applied and pruned."""
    await stage.edit_template(name, await stage.content(settings(stage.namespace, key="v2"), name="v2"))
    await stage.until_ready(name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "leaves")
    found = await stage.until_ready(name)
    status: Document = found["status"]
    return status


def kept(status: Document) -> list[tuple[str, str, str]]:
    return [(one["kind"], one["name"], one["reason"]) for one in status.get("kept", [])]


async def test_a_namespace_survives_with_what_others_put_in_it(stage: Stage) -> None:
    shipped = shipped_namespace(stage)
    namespace = shipped["metadata"]["name"]
    name = await installed(stage, shipped)
    await stage.create(CONFIG_MAPS, namespace, settings(namespace, "users-own"))
    status = await upgrade(stage, name)
    assert "deletionTimestamp" not in (await stage.get(NAMESPACES, "", namespace))["metadata"]
    assert await stage.exists(CONFIG_MAPS, namespace, "users-own")
    assert kept(status) == [("Namespace", namespace, "HoldsObjects")]

    await stage.client.patch(NAMESPACES, "", namespace, json.dumps(ALLOWED).encode())
    await stage.until_gone(NAMESPACES, "", namespace)
    await stage.until_deployment(name, says("Ready", "True"), lambda found: not kept(found["status"]))


async def test_a_claim_survives_until_an_override_allows_its_deletion(stage: Stage) -> None:
    name = await installed(stage, claim(stage))
    status = await upgrade(stage, name)
    assert kept(status) == [("PersistentVolumeClaim", "data", "HoldsData")]
    await stage.barrier()
    assert "deletionTimestamp" not in (await stage.get(CLAIMS, stage.namespace, "data"))["metadata"]

    override = {"kind": "PersistentVolumeClaim", "namespace": stage.namespace, "name": "data", "prune": True}
    await stage.edit(name, overrides=[override])
    await stage.until_gone(CLAIMS, stage.namespace, "data")
    await stage.until_deployment(name, is_observed, says("Ready", "True"), lambda found: not kept(found["status"]))


async def test_a_crd_survives_with_the_instances_of_others(stage: Stage) -> None:
    name = await installed(stage, definition(stage.group))
    await stage.create(widgets(stage.group), "", widget(stage.group, "users-own"))
    status = await upgrade(stage, name)
    crd = f"widgets.{stage.group}"
    assert "deletionTimestamp" not in (await stage.get(CRDS, "", crd))["metadata"]
    assert await stage.exists(widgets(stage.group), "", "users-own")
    assert kept(status) == [("CustomResourceDefinition", crd, "HasInstances")]

    await stage.client.delete(widgets(stage.group), "", "users-own")
    now = {"metadata": {"annotations": {"core.rukpak.io/reconcile-at": "now"}}}
    await stage.client.patch(BUNDLE_DEPLOYMENTS, "", name, json.dumps(now).encode())
    gone = [("CustomResourceDefinition", crd, "HadInstances")]
    found = await stage.until_deployment(name, says("Ready", "True"), lambda found: kept(found["status"]) == gone)
    assert (
        f"{crd} (its instances are gone); deleted with the BundleDeployment; to delete"
        in condition(found, "Installed")["message"]
    )
    assert "deletionTimestamp" not in (await stage.get(CRDS, "", crd))["metadata"]

    await stage.client.patch(CRDS, "", crd, json.dumps(ALLOWED).encode())
    await stage.until_definition_gone(crd)
    await stage.until_deployment(name, says("Ready", "True"), lambda found: not kept(found["status"]))


async def test_a_crd_without_instances_of_others_goes_as_before(stage: Stage) -> None:
    name = await installed(stage, definition(stage.group), widget(stage.group, "ours"))
    assert kept(await upgrade(stage, name)) == []
    await stage.until_definition_gone(f"widgets.{stage.group}")


async def test_kept_object_is_told_with_the_annotation_that_allows_its_deletion(stage: Stage) -> None:
    name = await installed(stage, shipped_namespace(stage))
    status = await upgrade(stage, name)
    told = [one for one in status["conditions"] if f"Namespace {stage.name}-shipped" in one["message"]]
    assert told
    assert all("core.rukpak.io/prune" in one["message"] for one in told)
    events = await stage.run_kubectl(
        "get", "events", "--all-namespaces", f"--field-selector=involvedObject.name={name}", "-o", "json"
    )
    texts = [event["message"] for event in json.loads(events)["items"] if event["reason"] == "Kept"]
    assert [f"Namespace {stage.name}-shipped" in text for text in texts] == [True]


async def test_a_kept_object_comes_back_into_the_content(stage: Stage) -> None:
    shipped = shipped_namespace(stage)
    name = await installed(stage, shipped)
    uid = (await stage.get(NAMESPACES, "", shipped["metadata"]["name"]))["metadata"]["uid"]
    assert kept(await upgrade(stage, name))
    await stage.edit_template(name, await stage.content(settings(stage.namespace), shipped, name="v3"))
    await stage.until_deployment(name, is_observed, says("Ready", "True"), lambda found: not kept(found["status"]))
    assert (await stage.get(NAMESPACES, "", shipped["metadata"]["name"]))["metadata"]["uid"] == uid


async def test_a_namespace_whose_label_was_stripped_survives_too(stage: Stage) -> None:
    shipped = shipped_namespace(stage)
    name = await installed(stage, shipped)
    await stage.edit(name, suspend=True)  # else the label comes back at once
    await stage.until_deployment(name, is_observed)
    labels = ["core.rukpak.io/owner-kind-", "core.rukpak.io/owner-name-"]
    await stage.run_kubectl("label", f"namespace/{shipped['metadata']['name']}", *labels)
    await stage.edit_template(name, await stage.content(settings(stage.namespace, key="v2"), name="v2"))
    await stage.edit(name, suspend=False)
    await stage.until_ready(name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "leaves")
    await stage.barrier()
    assert "deletionTimestamp" not in (await stage.get(NAMESPACES, "", shipped["metadata"]["name"]))["metadata"]


async def test_a_kept_object_goes_with_the_deployment_that_created_it(stage: Stage) -> None:
    shipped = shipped_namespace(stage)
    name = await installed(stage, shipped)
    assert kept(await upgrade(stage, name))
    await stage.run_kubectl("delete", f"bundledeployment/{name}", "--wait=false")
    await stage.until_gone(NAMESPACES, "", shipped["metadata"]["name"])
