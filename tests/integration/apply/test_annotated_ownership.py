"""Objects of a former release lose their owner reference, and nothing of them is applied for it."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.names import DELETION_POLICY_ANNOTATION, OWNER_UID_ANNOTATION, PRUNE_ANNOTATION
from rukpak_py.apply.annotated_ownership import annotate, has_former_form
from rukpak_py.apply.plan import Action
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.metadata import decode_metadata, field_hash
from tests.integration.apply.room import Manifest, Room, only
from tests.manifests import ANYTHING, crd, manifest
from tests.waiting import until

CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "none",
}


def contents(room: Room, group: str) -> dict[str, Manifest]:
    return {
        "Namespace": manifest("v1", "Namespace", f"{room.namespace}-shipped"),
        "CustomResourceDefinition": crd(group, schema=ANYTHING),
        "PersistentVolumeClaim": manifest("v1", "PersistentVolumeClaim", "data", spec=CLAIM),
    }


async def as_former_release(room: Room, made: Manifest) -> None:
    """The body of today with the owner reference and the annotation that it sent."""
    (want,) = (await room.desire(made))[0]
    body: dict[str, Any] = orjson.loads(want.payload.body)
    metadata = body["metadata"]
    annotations = metadata["annotations"]
    for name in (OWNER_UID_ANNOTATION, DELETION_POLICY_ANNOTATION):
        del annotations[name]
    annotations["core.rukpak.io/applied"] = want.payload.digest
    metadata["ownerReferences"] = [room.owner.reference]
    resource = await room.resource(made)
    await room.client.apply(
        resource,
        want.key.namespace,
        want.key.name,
        canonical_json(body),
        field_manager=room.owner.manager,
        force=False,
    )


@pytest.mark.parametrize("kind", ["Namespace", "CustomResourceDefinition", "PersistentVolumeClaim"])
async def test_the_form_changes_and_the_object_stays_current(room: Room, group: str, kind: str) -> None:
    made = contents(room, group)[kind]
    await as_former_release(room, made)
    plan = await room.plan(made)
    live = only(plan).live
    assert live is not None
    assert has_former_form(live, room.owner.uid)
    assert only(plan).action is Action.CORRECT, "this process has not seen what was applied"
    generation = (await room.read(made))["metadata"].get("generation")

    converted = room.inventory.observe(live.gvk, await annotate(room.target, live))
    assert not has_former_form(converted, room.owner.uid)
    assert converted.is_annotated
    assert not converted.outlives
    after = (await room.read(made))["metadata"]
    assert "ownerReferences" not in after
    assert after.get("generation") == generation
    room.state.applied.applied(converted)
    plan = await room.plan(made)
    assert only(plan).action is Action.LEAVE

    # As an apply of today would have left it.
    (want,) = (await room.desire(made))[0]
    answer = await room.client.apply(
        await room.resource(made),
        live.key.namespace,
        live.key.name,
        want.payload.body,
        field_manager=room.owner.manager,
        force=True,
    )
    assert field_hash(answer.metadata, room.owner.manager) == converted.fields
    metadata = decode_metadata(orjson.dumps(await room.read(made)))
    theirs = [one for one in metadata.managed_fields if one.manager != room.owner.manager]
    assert not any(b"core.rukpak.io" in bytes(one.fields_v1) for one in theirs)


async def test_object_that_another_client_changed_meanwhile_is_left_to_the_next_look(room: Room, group: str) -> None:
    made = contents(room, group)["Namespace"]
    await as_former_release(room, made)
    live = only(await room.plan(made)).live
    assert live is not None
    await room.another_client_patches(made, {"metadata": {"ownerReferences": None}})
    found = await annotate(room.target, live)
    assert OWNER_UID_ANNOTATION not in found.metadata.annotations


async def test_a_conversion_that_ended_half_way_is_finished(room: Room, group: str) -> None:
    """A crash, or a write of another client, came between the two patches."""
    made = contents(room, group)["Namespace"]
    await as_former_release(room, made)
    live = only(await room.plan(made)).live
    assert live is not None
    marks = {OWNER_UID_ANNOTATION: room.owner.uid, DELETION_POLICY_ANNOTATION: "Delete"}
    half = {"metadata": {"ownerReferences": None, "annotations": marks}}
    await room.another_client_patches(made, half, manager="rukpak")
    await until(lambda: (seen := room.inventory.get(live.key)) is not None and seen.is_annotated)
    seen = room.inventory.get(live.key)
    assert seen is not None
    assert has_former_form(seen, room.owner.uid)
    converted = room.inventory.observe(live.gvk, await annotate(room.target, seen))
    assert not has_former_form(converted, room.owner.uid)
    await room.another_client_patches(made, {"metadata": {"annotations": {"theirs": "yes"}}})
    await room.bring({**made, "metadata": {**made["metadata"], "annotations": {PRUNE_ANNOTATION: "false"}}})
    assert DELETION_POLICY_ANNOTATION not in (await room.read(made))["metadata"]["annotations"]
