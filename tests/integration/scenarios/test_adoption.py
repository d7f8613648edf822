"""Objects that exist already: their owner decides, and nothing is written while any of them has another one."""

import asyncio
import json

from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.listing import listed
from tests.integration.scenarios.stage import COLLECTOR_SECONDS, EVENTS, Document, Stage, condition, says, settings
from tests.waiting import eventually


async def apply_by_hand(stage: Stage, manifest: Document) -> None:
    """Apply as a user does: by `kubectl apply`, with its annotation and its own field manager."""
    await stage.run_kubectl("apply", "--filename=-", stdin=json.dumps(manifest))


async def has_event(stage: Stage, text: str) -> bool:
    found = await listed(stage.client, EVENTS, field_selector=f"regarding.name={stage.name}")
    return text in {f"{one['reason']} {one['note']}" for one in found}


async def test_object_without_an_owner_is_left_alone(stage: Stage) -> None:
    """Nothing else of the content is written either."""
    await apply_by_hand(stage, settings(stage.namespace, key="mine"))
    before = await stage.settings()
    await stage.deploy(await stage.content(settings(stage.namespace), settings(stage.namespace, "another")))

    text = (
        f"ConfigMap {stage.namespace}/settings exists and is not managed by anyone; "
        "delete it, or set spec.adopt to IfUnowned to take it over"
    )
    found = await stage.until_deployment(stage.name, says("Ready", "False", "Conflict", text))
    assert says("Installed", "False", "InstallFailed", text)(found)
    assert says("Healthy", "False", "InstallationStatusFalse")(found)
    assert says("Reconciling", "True")(found)
    assert await stage.settings() == before
    assert not await stage.has_settings("another")


async def test_refused_install_continues_when_the_name_becomes_free(stage: Stage) -> None:
    await apply_by_hand(stage, settings(stage.namespace, key="mine"))
    await stage.deploy(await stage.content(settings(stage.namespace)))
    await stage.until_deployment(stage.name, says("Ready", "False", "Conflict"))
    await stage.client.delete(CONFIG_MAPS, stage.namespace, "settings")
    await stage.until_ready(stage.name)
    assert (await stage.settings())["data"] == {"key": "value"}


async def test_object_without_an_owner_can_be_taken_over(stage: Stage) -> None:
    """Its fields of the content, that is: other fields stay with the clients that set them."""
    await apply_by_hand(stage, settings(stage.namespace, key="mine", theirs="yes"))
    other = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"third": "party"}}
    await stage.client.apply(
        CONFIG_MAPS, stage.namespace, "settings", json.dumps(other).encode(), field_manager="third-party", force=False
    )
    uid = (await stage.settings())["metadata"]["uid"]
    await stage.installed(await stage.content(settings(stage.namespace)), adopt="IfUnowned")

    found = await stage.settings()
    assert found["data"] == {"key": "value", "theirs": "yes", "third": "party"}
    assert found["metadata"]["uid"] == uid
    assert [one["name"] for one in found["metadata"]["ownerReferences"]] == [stage.name]
    managers = {one["manager"]: one["fieldsV1"].get("f:data", {}) for one in found["metadata"]["managedFields"]}
    assert managers.keys() == {f"rukpak/{stage.name}", "kubectl-client-side-apply", "third-party"}
    assert "f:key" not in managers["kubectl-client-side-apply"]


async def test_an_event_names_what_was_adopted(stage: Stage) -> None:
    await apply_by_hand(stage, settings(stage.namespace, key="mine"))
    await stage.installed(await stage.content(settings(stage.namespace)), adopt="IfUnowned")
    told = f"Adopted adopted 1 object: ConfigMap {stage.namespace}/settings"
    await eventually(lambda: has_event(stage, told), what="the Event")


async def test_object_of_a_helm_release_is_left_to_it_unless_forced(stage: Stage) -> None:
    theirs = settings(stage.namespace, key="helms", theirs="yes")
    theirs["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
    release = {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": stage.namespace}
    theirs["metadata"]["annotations"] = release
    await apply_by_hand(stage, theirs)
    before = await stage.settings()
    await stage.deploy(await stage.content(settings(stage.namespace)), adopt="IfUnowned")
    text = (
        f"ConfigMap {stage.namespace}/settings is managed by Helm (release {stage.namespace}/shop); "
        "remove it from the bundle or from there, or set spec.adopt to Force to take it over"
    )
    await stage.until_deployment(stage.name, says("Ready", "False", "Conflict", text))
    assert await stage.settings() == before

    await stage.edit(stage.name, adopt="Force")
    await stage.until_ready(stage.name)
    assert (await stage.settings())["data"] == {"key": "value", "theirs": "yes"}


async def test_a_renamed_deployment_can_have_the_objects_of_the_old_name(stage: Stage) -> None:
    old = await stage.installed(await stage.content(settings(stage.namespace)), name=f"{stage.name}-old")
    uid = (await stage.settings())["metadata"]["uid"]
    content = await stage.content(settings(stage.namespace, key="renamed"), name="renamed")
    new = await stage.deploy(content, adopt="IfUnowned")
    text = f"ConfigMap {stage.namespace}/settings belongs to BundleDeployment {old}"
    await stage.until_deployment(new, says("Ready", "False", "Conflict", text))

    await stage.run_kubectl("delete", "bundledeployment", old, "--cascade=orphan")
    await stage.until_deployment(new, says("Ready", "True"), seconds=COLLECTOR_SECONDS)
    found = await stage.settings()
    assert (found["metadata"]["uid"], found["data"]) == (uid, {"key": "renamed"})
    assert [one["name"] for one in found["metadata"]["ownerReferences"]] == [new]


async def test_a_field_that_was_taken_over_goes_with_an_upgrade(stage: Stage) -> None:
    await apply_by_hand(stage, settings(stage.namespace, key="mine", later="dropped"))
    name = await stage.installed(
        await stage.content(settings(stage.namespace, key="value", later="kept")), adopt="IfUnowned"
    )
    await stage.edit_template(name, await stage.content(settings(stage.namespace), name="v2"))
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", lambda found: found["data"] == {"key": "value"})


async def test_changing_the_mind_about_adoption_is_acted_on(stage: Stage) -> None:
    await apply_by_hand(stage, settings(stage.namespace, key="mine"))
    await stage.deploy(await stage.content(settings(stage.namespace)))
    await stage.until_deployment(stage.name, says("Ready", "False", "Conflict"))
    await stage.edit(stage.name, adopt="IfUnowned")
    await stage.until_ready(stage.name)
    assert (await stage.settings())["data"] == {"key": "value"}


async def test_object_of_another_controller_is_refused_with_adopt_too(stage: Stage) -> None:
    holder = settings(stage.namespace, "holder")
    await stage.create(CONFIG_MAPS, stage.namespace, holder)
    uid = (await stage.settings("holder"))["metadata"]["uid"]
    manifest = settings(stage.namespace, key="mine")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "holder", "uid": uid, "controller": True}
    manifest["metadata"]["ownerReferences"] = [reference]
    await stage.create(CONFIG_MAPS, stage.namespace, manifest)

    await stage.deploy(await stage.content(settings(stage.namespace)), adopt="IfUnowned")
    text = f"ConfigMap {stage.namespace}/settings is controlled by ConfigMap holder"
    await stage.until_deployment(stage.name, says("Ready", "False", "Conflict", text))
    assert (await stage.settings())["data"] == {"key": "mine"}


async def test_of_two_deployments_that_ship_the_same_object_the_second_is_refused(stage: Stage) -> None:
    """The refusal names the first, and nothing of the second is written to the object."""
    first = await stage.installed(await stage.content(settings(stage.namespace, key="first"), name="first"))
    shared = await stage.settings()
    extra = settings(stage.namespace, "extra")
    second = await stage.deploy(
        await stage.content(settings(stage.namespace, key="second"), extra, name="second"), name=f"{stage.name}-2"
    )
    text = (
        f"ConfigMap {stage.namespace}/settings belongs to BundleDeployment {first}; "
        "remove it from one of the two bundles, or, to hand its objects over, delete that BundleDeployment "
        "with --cascade=orphan and set spec.adopt: IfUnowned here"
    )
    found = await stage.until_deployment(second, says("Ready", "False", "Conflict"))
    assert condition(found, "Installed")["message"] == text
    await stage.barrier()
    assert await stage.settings() == shared
    assert not await stage.has_settings("extra")
    assert says("Ready", "True")(await stage.deployment(first))


async def test_of_two_deployments_that_start_at_once_one_gets_the_object(stage: Stage) -> None:
    names = [f"{stage.name}-{number}" for number in range(4)]
    contents = [await stage.content(settings(stage.namespace, key=name), name=name) for name in names]
    await asyncio.gather(*(stage.deploy(content, name=name) for content, name in zip(contents, names, strict=True)))
    for name in names:
        await stage.until_deployment(name, lambda found: says("Ready", "True")(found) or says("Ready", "False")(found))
    await stage.barrier()
    ready = [name for name in names if says("Ready", "True")(await stage.deployment(name))]
    found = await stage.settings()
    assert [one["name"] for one in found["metadata"]["ownerReferences"]] == ready
    assert found["data"] == {"key": ready[0]}
    assert {one["manager"] for one in found["metadata"]["managedFields"]} == {f"rukpak/{ready[0]}"}
