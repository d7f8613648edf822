"""An object is replaced only where its owner says so, for immutable fields, and where nothing of others would go."""

from contextlib import suppress

import orjson

from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.names import FORCE_ANNOTATION, OWNER_NAME_LABEL
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CRDS, Resource
from tests.integration.apply.room import Manifest, Room
from tests.integration.apply.things import thing
from tests.manifests import ANYTHING, crd, manifest
from tests.waiting import eventually, until

FORCED = {FORCE_ANNOTATION: "true"}


def definition(group: str, *versions: str, scope: str = "Namespaced") -> Manifest:
    made = crd(group, *versions, scope=scope, schema=ANYTHING)
    made["metadata"]["annotations"] = FORCED
    return made


def overrides(group: str) -> tuple[Override, ...]:
    return (
        Override(group="apiextensions.k8s.io", kind="CustomResourceDefinition", name=f"things.{group}", force=True),
    )


async def established(room: Room, made: Manifest) -> None:
    await eventually(lambda: is_there(room, made), what="it is established")


async def is_there(room: Room, made: Manifest) -> bool:
    return (await room.bring(made)).is_complete


async def test_a_crd_is_replaced_by_an_override_only_and_not_with_instances_of_others(room: Room, group: str) -> None:
    await established(room, definition(group))
    kind = Resource(gvk=GroupVersionKind(group, "v1", "Thing"), plural="things", namespaced=True)
    body = orjson.dumps({**thing(group, "theirs"), "metadata": {"name": "theirs", "namespace": room.namespace}})
    await room.client.create(kind, room.namespace, body)
    changed = definition(group, scope="Cluster")

    (failure,) = (await room.carry_out(await room.plan(changed))).failures
    assert "scope" in failure.message
    assert failure.message.endswith(
        "set force for it in spec.overrides to delete and re-create it; all its instances are lost with it"
    )
    (failure,) = (await room.carry_out(await room.plan(changed, overrides=overrides(group)))).failures
    assert (
        f"it is not deleted and re-created: that would delete 1 Thing object ({room.namespace}/theirs)"
        in failure.message
    )

    await room.client.delete(kind, room.namespace, "theirs")

    async def replaced() -> bool:
        await room.carry_out(await room.plan(changed, overrides=overrides(group)))
        with suppress(NotFoundError):
            return bool((await room.read(changed))["spec"]["scope"] == "Cluster")
        return False

    await eventually(replaced, what="it is replaced")


async def test_a_crd_that_drops_a_stored_version_is_never_replaced(room: Room, group: str) -> None:
    await established(room, definition(group, "v1", "v2"))
    before = await room.read(definition(group))
    plan = await room.plan(definition(group, "v2"), overrides=overrides(group))
    (failure,) = (await room.carry_out(plan)).failures
    assert "status.storedVersions" in failure.message
    assert (await room.read(definition(group)))["metadata"]["uid"] == before["metadata"]["uid"]
    assert room.inventory.get(CRDS.key("", f"things.{group}")) is not None


async def test_the_pods_of_a_stateful_set_that_is_replaced_stay(room: Room) -> None:
    labels = {"app": "db"}
    made = manifest("apps/v1", "StatefulSet", "db", annotations=FORCED)
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    made["spec"] = {"serviceName": "db", "replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    await room.installed(made)
    pods = Resource(gvk=GroupVersionKind("", "v1", "Pod"), plural="pods", namespaced=True)

    async def pod() -> str:
        found = [one for one in (await room.client.list_metadata(pods)).items if one.key.namespace == room.namespace]
        return found[0].metadata.uid if found else ""

    before = await eventually(pod, what="its pod")
    changed = {**made, "spec": {**made["spec"], "serviceName": "other"}}

    async def replaced() -> bool:
        await room.bring(changed)
        with suppress(NotFoundError):
            return bool((await room.read(changed))["spec"]["serviceName"] == "other")
        return False

    await eventually(replaced, what="it is replaced")
    assert await pod() == before
    await until(lambda: room.inventory.owned_by(room.owner.uid))
    assert (await room.read(changed))["metadata"]["labels"][OWNER_NAME_LABEL] == room.owner.name
