"""BundleDeployments that depend on others: installed and upgraded after them, removed before them."""

import json
from typing import Any

from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.stage import BOTH_IDENTITIES, Document, Stage, condition, is_observed, says, settings
from tests.manifests import workload
from tests.waiting import eventually

ORDERED = "core.rukpak.io/ordered-deletion"
HELD = "tests.example.com/held"


async def web(stage: Stage, name: str, *, replicas: int) -> Document:
    """Content that is healthy without replicas only: no node runs any."""
    manifest = workload("web", stage.namespace)
    manifest["spec"]["replicas"] = replicas
    return await stage.content(manifest, name=name)


def on(*names: str) -> list[Document]:
    return [{"name": name} for name in names]


@BOTH_IDENTITIES
async def test_dependent_is_installed_and_upgraded_once_its_dependency_is_ready(stage: Stage) -> None:
    base, shop = f"{stage.name}-base", f"{stage.name}-shop"
    ill, well = await web(stage, "ill", replicas=1), await web(stage, "well", replicas=0)
    first = await stage.content(settings(stage.namespace, version="1"), name="first")
    await stage.deploy(first, name=shop, dependsOn=on(base))
    await stage.until_deployment(shop, says("Installed", "False", "DependencyMissing", base))
    await until_told(stage, shop, "DependencyMissing", base)

    await stage.deploy(ill, name=base)
    waiting = f"waiting for spec.dependsOn: {base} is not Ready"
    await stage.until_deployment(shop, says("Ready", "Unknown", "DependencyNotReady", waiting))
    sick = f"Deployment.apps/{stage.namespace}/web: "
    found = await stage.until_deployment(base, says("Healthy", "False", "Unhealthy", f"{sick}object InProgress: "))
    assert says("Ready", "Unknown", "Unhealthy", sick)(found)
    assert sick not in json.dumps((await stage.deployment(shop))["status"]), "nothing but that it is not Ready"
    assert not await stage.has_settings()
    await stage.edit_template(base, well)
    await stage.until_ready(shop)

    await stage.edit_template(base, ill)
    await stage.until_deployment(base, is_observed, says("Ready", "Unknown", "Unhealthy"))
    second = await stage.content(settings(stage.namespace, version="2"), name="second")
    await stage.edit_template(shop, second)
    found = await stage.until_deployment(shop, says("UpgradePending", "True", "DependencyNotReady", waiting))
    assert condition(found, "Ready")["status"] == "True"
    assert found["status"]["pendingUpgrade"]["reason"] == "DependencyNotReady"
    await stage.client.delete(CONFIG_MAPS, stage.namespace, "settings")
    await eventually(stage.has_settings, what="its drift is corrected whatever it waits for")
    assert (await stage.settings())["data"] == {"version": "1"}

    await stage.edit_template(base, well)
    await stage.until_deployment(shop, is_observed, says("Ready", "True", "Succeeded"))
    assert (await stage.settings())["data"] == {"version": "2"}


@BOTH_IDENTITIES
async def test_deployments_that_are_deleted_together_go_in_reverse_order(stage: Stage) -> None:
    base, shop = f"{stage.name}-base", f"{stage.name}-shop"
    await stage.installed(await stage.content(settings(stage.namespace, "base"), name="of-base"), name=base)
    content = await stage.content(settings(stage.namespace, "shop"), name="of-shop")
    await stage.installed(content, name=shop, dependsOn=on(base))
    for name in (base, shop):
        await stage.until_deployment(name, lambda found: ORDERED in found["metadata"].get("finalizers", ()))
    await finalizers(stage, "shop", "add")

    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", base)
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", shop)
    await stage.until_deployment(shop, says("Ready", "Unknown", "Deleting", "ConfigMap", HELD))
    await stage.until_deployment(base, says("Ready", "Unknown", "Deleting", f"waiting for {shop} to be deleted"))
    assert "deletionTimestamp" not in (await stage.settings("base"))["metadata"]

    await finalizers(stage, "shop", "remove")
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", shop)
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", base)


async def test_dependency_that_is_deleted_alone_waits_for_nothing_and_changes_nothing(stage: Stage) -> None:
    base, shop = f"{stage.name}-base", f"{stage.name}-shop"
    await stage.installed(await stage.content(settings(stage.namespace, "base"), name="of-base"), name=base)
    content = await stage.content(settings(stage.namespace, "shop"), name="of-shop")
    await stage.installed(content, name=shop, dependsOn=on(base))
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", base)
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", base)
    found = await stage.until_deployment(shop, says("Installed", "True", "InstallationSucceeded", f"names {base}"))
    assert condition(found, "Ready")["status"] == "True"
    await until_told(stage, shop, "DependencyUnusable", base)


async def test_cycle_is_told_by_name_and_can_be_resolved_or_deleted(stage: Stage) -> None:
    one, other = f"{stage.name}-one", f"{stage.name}-other"
    for name, needed in ((one, other), (other, one)):
        content = await stage.content(settings(stage.namespace, name), name=f"of-{name}")
        await stage.deploy(content, name=name, dependsOn=on(needed))
    cycle = f"spec.dependsOn has a cycle: {one} depends on {other}"
    await stage.until_deployment(one, says("Installed", "False", "DependencyCycle", cycle), is_stalled)
    await stage.until_deployment(other, says("Ready", "False", "DependencyCycle"))

    await stage.edit(other, dependsOn=None)
    await stage.until_ready(one)
    await stage.edit(other, dependsOn=on(one))
    await stage.until_deployment(other, says("Installed", "True", "InstallationSucceeded", "has a cycle"))
    for name in (one, other):
        await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    for name in (one, other):
        await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)


def is_stalled(found: Document) -> bool:
    return bool(condition(found, "Stalled"))


async def finalizers(stage: Stage, name: str, operation: str) -> None:
    patch: list[dict[str, Any]] = [{"op": operation, "path": "/metadata/finalizers"}]
    if operation == "add":
        patch[0]["value"] = [HELD]
    await stage.client.patch(CONFIG_MAPS, stage.namespace, name, json.dumps(patch).encode(), content_type=JSON_PATCH)
