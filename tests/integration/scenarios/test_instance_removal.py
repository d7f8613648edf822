"""Objects that go with a BundleInstance, that stay, and that a new one finds: much of it is the collector's work."""

import json
import uuid

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, CONFIG_MAPS
from tests.integration.scenarios import instances
from tests.integration.scenarios.stage import Document, Stage, says, settings
from tests.manifests import deployment
from tests.waiting import eventually


def left_behind(stage: Stage, source: Document, **metadata: object) -> Document:
    """A BundleDeployment as a BundleInstance leaves it, or a backup brings it."""
    found = deployment(stage.name, source)
    labels = {"core.rukpak.io/owner-name": stage.name, **instances.LABELS}
    return {**found, "metadata": {"name": stage.name, "labels": labels, **metadata}}


async def test_a_deleted_instance_takes_everything_along(stage: Stage) -> None:
    await instances.create(stage, await stage.content(settings(stage.namespace)))
    await instances.until_ready(stage)
    await stage.client.delete(BUNDLE_INSTANCES, "", stage.name)
    await stage.until_gone(BUNDLE_INSTANCES, "", stage.name)
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", stage.name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "settings")


async def test_an_orphaned_deployment_stays_and_is_found_again(stage: Stage) -> None:
    """The way from the old kind to the new one, and back."""
    content = await stage.content(settings(stage.namespace))
    await instances.create(stage, content)
    await instances.until_ready(stage)
    former, installed = await instances.mirror(stage), await stage.settings()
    await stage.client.delete(BUNDLE_INSTANCES, "", stage.name, propagation="Orphan")
    await stage.until_gone(BUNDLE_INSTANCES, "", stage.name)
    await stage.until_deployment(stage.name, lambda one: "ownerReferences" not in one["metadata"])
    await stage.barrier()
    assert (await stage.settings())["metadata"]["uid"] == installed["metadata"]["uid"]

    await instances.create(stage, content)
    found = await instances.until_ready(stage)
    mirror = await instances.mirror(stage)
    assert mirror["metadata"]["uid"] == former["metadata"]["uid"]
    assert mirror["metadata"]["ownerReferences"] == [instances.owner(found)]


async def test_deployment_that_was_left_behind_and_changed_is_not_taken(stage: Stage) -> None:
    content = await stage.content(settings(stage.namespace))
    await stage.create(BUNDLE_DEPLOYMENTS, "", left_behind(stage, content))
    await instances.create(stage, content, suspend=True)
    await instances.until(
        stage, says("Ready", "False", "Conflict", "was left by a former BundleInstance", "make both specs equal")
    )
    await instances.edit(stage, suspend=None)
    await instances.until_ready(stage)


async def test_a_deployment_restored_with_an_owner_that_is_gone_is_made_again(stage: Stage) -> None:
    """A backup keeps owner references, and the instance has a new uid: the collector takes what it brought."""
    content = await stage.content(settings(stage.namespace))
    restored = left_behind(stage, content)
    owner = instances.owner(restored, uid=str(uuid.uuid4()))
    restored["metadata"] |= {"ownerReferences": [owner], "finalizers": ["tests.example.com/held"]}
    await stage.create(BUNDLE_DEPLOYMENTS, "", restored)
    await instances.create(stage, content)
    await instances.until(stage, says("Ready", "False", "Unavailable", "of a former BundleInstance of this name"))

    async def is_collected() -> bool:
        return "deletionTimestamp" in (await instances.mirror(stage))["metadata"]

    await eventually(is_collected, what="the collector deletes it", seconds=90)
    release = json.dumps({"metadata": {"finalizers": None}}).encode()
    await stage.client.patch(BUNDLE_DEPLOYMENTS, "", stage.name, release)
    found = await instances.until_ready(stage)
    assert (await instances.mirror(stage))["metadata"]["ownerReferences"] == [instances.owner(found)]
