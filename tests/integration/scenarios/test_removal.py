"""Objects that go with a Bundle and with a BundleDeployment, in which order, and objects that stay.

Most of it is the work of the cluster's own collector, which looks for kinds that are new to it every 30 seconds only.
"""

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, CRDS, NAMESPACES, Resource
from tests.integration.scenarios.stage import (
    BOTH_IDENTITIES,
    COLLECTOR_SECONDS,
    Stage,
    definition,
    phase,
    says,
    settings,
    widget,
    widgets,
)
from tests.waiting import eventually

ORDERED = "core.rukpak.io/ordered-deletion"
HELD = "tests.example.com/held"
CLAIMS = Resource(
    gvk=GroupVersionKind("", "v1", "PersistentVolumeClaim"), plural="persistentvolumeclaims", namespaced=True
)


async def test_scenario_49_the_archive_goes_with_its_bundle(stage: Stage) -> None:
    name = await stage.bundle(await stage.content(settings(stage.namespace)))
    await stage.until_bundle(name, phase("Unpacked"))
    archive = stage.operator.storage / f"{name}.tgz"
    assert archive.is_file()

    await stage.client.delete(BUNDLES, "", name)

    async def is_gone() -> bool:
        return not archive.is_symlink() and not archive.exists()

    await eventually(is_gone, what="the archive is gone")
    assert not await stage.exists(BUNDLES, "", name)


@BOTH_IDENTITIES
async def test_scenario_50_an_active_bundle_that_is_deleted_comes_back(stage: Stage) -> None:
    await stage.installed(await stage.content(settings(stage.namespace)))
    active = (await stage.deployment())["status"]["activeBundle"]
    former = await stage.get(BUNDLES, "", active)
    installed = await stage.settings()

    await stage.client.delete(BUNDLES, "", active)
    await stage.until_bundle(
        active, lambda found: found["metadata"]["uid"] != former["metadata"]["uid"], phase("Unpacked")
    )
    found = await stage.until_ready(stage.name)
    assert found["status"]["activeBundle"] == active
    assert (await stage.settings())["metadata"]["uid"] == installed["metadata"]["uid"]


@BOTH_IDENTITIES
async def test_scenario_51_a_deployment_takes_its_definitions_along(stage: Stage) -> None:
    name = await stage.installed(await stage.content(definition(stage.group), definition(stage.group, "Gadget")))
    assert len(await stage.bundles_of(name)) == 1
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)

    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)
    for plural in ("widgets", "gadgets"):
        await stage.until_definition_gone(f"{plural}.{stage.group}")
    selector = f"core.rukpak.io/owner-kind=BundleDeployment,core.rukpak.io/owner-name={name}"
    assert not (await stage.client.list_metadata(CRDS, label_selector=selector)).items


@BOTH_IDENTITIES
async def test_scenario_51_instances_go_before_definitions_and_the_rest(stage: Stage) -> None:
    instance = widget(stage.group)
    instance["metadata"]["finalizers"] = [HELD]
    content = await stage.content(definition(stage.group), instance, settings(stage.namespace))
    name = await stage.installed(content)
    assert ORDERED in (await stage.deployment())["metadata"]["finalizers"]
    kind = widgets(stage.group)

    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until(kind, "", "one", lambda found: "deletionTimestamp" in found["metadata"])
    await stage.until_deployment(name, says("Ready", "Unknown", "Deleting", f"Widget.{stage.group}/one"))
    crd = await stage.get(CRDS, "", f"widgets.{stage.group}")
    assert "deletionTimestamp" not in crd["metadata"]
    assert await stage.has_settings()

    patch = b'[{"op":"remove","path":"/metadata/finalizers"}]'
    await stage.client.patch(kind, "", "one", patch, content_type=JSON_PATCH)
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_definition_gone(f"widgets.{stage.group}")
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "settings")

    async def are_gone() -> bool:
        return not await stage.bundles_of(name)

    await eventually(are_gone, what=f"the Bundles of {name} are gone", seconds=COLLECTOR_SECONDS)


@BOTH_IDENTITIES
async def test_scenario_51_instances_of_other_origin_are_named_and_waited_for(stage: Stage) -> None:
    content = await stage.content(definition(stage.group), widget(stage.group))
    name = await stage.installed(content)
    kind = widgets(stage.group)
    stray = widget(stage.group, "stray")
    stray["metadata"]["finalizers"] = [HELD]
    await stage.create(kind, "", stray)

    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    lost = f"CustomResourceDefinition.apiextensions.k8s.io/widgets.{stage.group}: 1 Widget object (stray)"
    await stage.until_deployment(name, says("Ready", "False", "Deleting", "would delete what others have", lost))
    crd = await stage.get(CRDS, "", f"widgets.{stage.group}")
    assert "deletionTimestamp" not in crd["metadata"]
    allowed = b'{"metadata":{"annotations":{"core.rukpak.io/allow-data-loss":"true"}}}'
    await stage.client.patch(BUNDLE_DEPLOYMENTS, "", name, allowed)
    left = f"1 Widget object (stray (finalizer {HELD})) left"
    await stage.until_deployment(name, says("Ready", "Unknown", "Deleting", left))
    patch = b'[{"op":"remove","path":"/metadata/finalizers"}]'
    await stage.client.patch(kind, "", "stray", patch, content_type=JSON_PATCH)
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_definition_gone(f"widgets.{stage.group}")


async def test_without_custom_resources_no_finalizer_holds_a_deployment(stage: Stage) -> None:
    name = await stage.installed(await stage.content(settings(stage.namespace)))
    assert "finalizers" not in (await stage.deployment())["metadata"]
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "settings")


async def test_object_of_an_orphaned_deployment_is_taken_by_its_successor(stage: Stage) -> None:
    """`--cascade=orphan`, then a deployment of the same name: nothing is created anew."""
    content = await stage.content(settings(stage.namespace))
    name = await stage.installed(content)
    before = await stage.settings()
    await stage.run_kubectl("delete", "bundledeployment", name, "--cascade=orphan")
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until(
        CONFIG_MAPS, stage.namespace, "settings", lambda found: "ownerReferences" not in found["metadata"]
    )

    await stage.installed(content, name=name)
    found = await stage.settings()
    assert found["metadata"]["uid"] == before["metadata"]["uid"]
    assert [one["name"] for one in found["metadata"]["ownerReferences"]] == [name]


async def test_an_object_that_says_so_survives_its_deployment(stage: Stage) -> None:
    stays = settings(stage.namespace, "stays", annotations={"core.rukpak.io/prune": "false"})
    name = await stage.installed(await stage.content(settings(stage.namespace), stays))
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "settings")
    assert "deletionTimestamp" not in (await stage.settings("stays"))["metadata"]


async def test_a_namespace_that_is_created_outlives_its_deployment(stage: Stage) -> None:
    name = await stage.installed(await stage.content(settings("")), installNamespace=stage.name, createNamespace=True)
    namespace = await stage.get(NAMESPACES, "", stage.name)
    stage.made.append((NAMESPACES, "", stage.name))
    assert "ownerReferences" not in namespace["metadata"]
    assert namespace["metadata"]["labels"]["core.rukpak.io/owner-name"] == name

    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_gone(CONFIG_MAPS, stage.name, "settings")
    namespace = await stage.get(NAMESPACES, "", stage.name)
    assert "deletionTimestamp" not in namespace["metadata"]

    await stage.installed(await stage.content(settings(""), name="again"), name=name, installNamespace=stage.name)
    assert await stage.exists(CONFIG_MAPS, stage.name, "settings")


async def test_a_namespace_of_the_content_goes_with_its_deployment(stage: Stage) -> None:
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": stage.name}}
    name = await stage.installed(await stage.content(own, settings(stage.name)))
    assert await stage.exists(CONFIG_MAPS, stage.name, "settings")
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until(NAMESPACES, "", stage.name, lambda found: "deletionTimestamp" in found["metadata"])


async def test_adopted_namespace_without_an_owner_outlives_its_deployment(stage: Stage) -> None:
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": stage.namespace, "labels": {"a": "b"}}}
    name = await stage.installed(await stage.content(own, settings(stage.namespace)), adopt="IfUnowned")
    assert (await stage.get(NAMESPACES, "", stage.namespace))["metadata"]["labels"]["a"] == "b"
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "settings")
    assert "deletionTimestamp" not in (await stage.get(NAMESPACES, "", stage.namespace))["metadata"]


async def test_adopted_claim_without_an_owner_outlives_its_deployment(stage: Stage) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Mi"}}}
    metadata = {"name": "data", "namespace": stage.namespace}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    await stage.create(CLAIMS, stage.namespace, claim)
    name = await stage.deploy(await stage.content(claim, settings(stage.namespace)), adopt="IfUnowned")
    await stage.until_deployment(name, says("Installed", "True"))
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "settings")
    assert "deletionTimestamp" not in (await stage.get(CLAIMS, stage.namespace, "data"))["metadata"]


async def test_refused_deployment_gets_the_object_when_its_owner_goes(stage: Stage) -> None:
    first = await stage.installed(await stage.content(settings(stage.namespace, key="first"), name="first"))
    content = await stage.content(settings(stage.namespace, key="second"), name="second")
    second = await stage.deploy(content, name=f"{stage.name}-2")
    await stage.until_deployment(second, says("Ready", "False", "Conflict"))
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", first)
    await stage.until_deployment(second, says("Ready", "True"), seconds=COLLECTOR_SECONDS)
    assert (await stage.settings())["data"] == {"key": "second"}
