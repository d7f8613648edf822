"""A Namespace, a claim, and a CRD with instances of others survive that they left the content."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.bundle_deployment import KeptReason
from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.names import DELETION_POLICY_ANNOTATION, OWNER_NAME_LABEL, OWNER_UID_ANNOTATION, PRUNE_ANNOTATION
from rukpak_py.apply.instances import instances_of, versions_of
from rukpak_py.apply.plan import Plan
from rukpak_py.apply.prune import prune, release
from rukpak_py.apply.results import ChangeSet
from rukpak_py.kube.resources import CRDS, NAMESPACES, Resource
from tests.integration.apply.room import Manifest, Room, names
from tests.integration.apply.things import brought, definition, thing
from tests.manifests import config_map
from tests.waiting import eventually, until

ALLOWED = {"metadata": {"annotations": {PRUNE_ANNOTATION: "true"}}}
HELD = {"metadata": {"finalizers": ["rooms.test/held"]}}


def namespace(room: Room) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{room.namespace}-shipped"}}


def claim(name: str = "data") -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "none"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


async def carry_out(room: Room, plan: Plan) -> ChangeSet:
    change_set = ChangeSet()
    await prune(room.target, plan.prune, change_set)
    for live in plan.release:
        await release(room.target, live, change_set)
    assert not change_set.failures
    return change_set


def kept(plan: Plan) -> dict[str, KeptReason]:
    return {one.key.kind: one.reason for one in plan.keep}


async def things(room: Room, group: str) -> Resource:
    await room.discovery.refresh()
    (resource,) = versions_of(room.discovery.served, f"things.{group}")
    return resource


async def test_a_namespace_stays_until_its_annotation_allows_its_deletion(room: Room) -> None:
    shipped = namespace(room)
    await room.installed(shipped, config_map("a"))
    body = orjson.dumps(config_map("users-own", x="1"))
    await room.client.create(await room.resource(config_map("x")), shipped["metadata"]["name"], body)

    plan = await room.plan(config_map("a"))
    assert (kept(plan), plan.prune, plan.release) == ({"Namespace": KeptReason.HOLDS_OBJECTS}, (), ())
    await carry_out(room, plan)
    metadata = (await room.read(shipped))["metadata"]
    assert "deletionTimestamp" not in metadata
    assert metadata["labels"][OWNER_NAME_LABEL] == room.owner.name, "with the deployment it goes"
    assert metadata["annotations"][OWNER_UID_ANNOTATION] == room.owner.uid
    assert metadata["annotations"][DELETION_POLICY_ANNOTATION] == "Delete"

    await room.another_client_patches(shipped, ALLOWED)
    await until(lambda: room.inventory.owned_by(room.owner.uid)[NAMESPACES.key("", metadata["name"])].prune)
    change_set = await carry_out(room, await room.plan(config_map("a")))
    assert names(change_set.pruned) == [metadata["name"]]
    assert not await room.exists(shipped) or "deletionTimestamp" in (await room.read(shipped))["metadata"]


async def test_a_claim_stays_until_an_override_allows_its_deletion(room: Room) -> None:
    await room.installed(claim("data"), claim("cache"), config_map("a"))
    plan = await room.plan(config_map("a"))
    assert (kept(plan), plan.prune) == ({"PersistentVolumeClaim": KeptReason.HOLDS_DATA}, ())
    allowed = (Override(kind="PersistentVolumeClaim", name="cache", prune=True),)
    plan = await room.plan(config_map("a"), overrides=allowed)
    change_set = await carry_out(room, plan)
    assert (names(change_set.pruned), names(one.key for one in plan.keep)) == (["cache"], ["data"])
    assert await room.exists(claim("data"))


async def test_a_crd_stays_while_an_override_keeps_an_instance_of_ours(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"), thing(group, "ours", a="1"), config_map("c"))
    stays = Override(group=group, kind="Thing", name="ours", prune=False)
    plan = await room.plan(config_map("c"), overrides=(stays,))
    assert kept(plan) == {"CustomResourceDefinition": KeptReason.HAS_INSTANCES}
    assert (plan.prune, names(one.key for one in plan.release)) == ((), ["ours"])


async def test_a_crd_stays_while_it_has_instances_of_others(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"), thing(group, "ours", a="1"), config_map("c"))
    await room.another_client_creates(thing(group, "theirs", a="2"))
    plan = await room.plan(config_map("c"))
    assert (kept(plan), names(live.key for live in plan.prune)) == (
        {"CustomResourceDefinition": KeptReason.HAS_INSTANCES},
        ["ours"],
    )
    assert f"deleting it would delete 1 Thing object ({room.namespace}/theirs)" in plan.keep[0].detail
    await carry_out(room, plan)
    assert (await room.read(thing(group, "theirs")))["spec"] == {"a": "2"}
    assert not await room.exists(thing(group, "ours"))


async def test_a_crd_goes_with_its_instances_when_all_of_them_go(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"), thing(group, "one"), thing(group, "two"), config_map("c"))
    plan = await room.plan(config_map("c"))
    assert [live.key.name for live in plan.prune] == ["one", "two", f"things.{group}"]
    change_set = await carry_out(room, plan)
    assert (len(change_set.pruned), change_set.waiting) == (3, [])


async def test_instances_are_gone_before_their_crd_goes(room: Room, group: str) -> None:
    """Else the workload that takes their finalizers away could go first."""
    held = thing(group, "held", a="1")
    held["metadata"] |= HELD["metadata"]
    await brought(room, definition(group, "a"), held, config_map("c"), config_map("leaves"))
    change_set = await carry_out(room, await room.plan(config_map("c")))
    assert change_set.waiting == [f"Thing.{group}/{room.namespace}/held is being deleted (finalizer rooms.test/held)"]
    assert "deletionTimestamp" not in (await room.read(definition(group)))["metadata"]
    await until(lambda: any(one.is_deleted for one in room.inventory.owned_by(room.owner.uid).values()))
    assert (await carry_out(room, await room.plan(config_map("c")))).waiting == change_set.waiting

    await room.another_client_patches(held, {"metadata": {"finalizers": None}})
    await until(lambda: "held" not in names(room.inventory.owned_by(room.owner.uid)))
    change_set = await carry_out(room, await room.plan(config_map("c")))
    assert (names(change_set.pruned), change_set.waiting) == (["leaves", f"things.{group}"], [])


async def test_a_crd_stays_with_an_instance_that_the_content_still_has(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"), thing(group, a="1"))
    plan = await room.plan(thing(group, a="1"))
    assert (kept(plan), plan.prune) == ({"CustomResourceDefinition": KeptReason.HAS_INSTANCES}, ())


async def test_a_crd_stays_with_an_instance_that_must_not_be_pruned(room: Room, group: str) -> None:
    stays = thing(group, a="1")
    stays["metadata"]["annotations"] = {PRUNE_ANNOTATION: "false"}
    await brought(room, definition(group, "a"), stays)
    plan = await room.plan()
    assert (kept(plan), plan.prune) == ({"CustomResourceDefinition": KeptReason.HAS_INSTANCES}, ())


async def test_a_crd_with_instances_goes_when_its_annotation_allows_it(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"), config_map("c"))
    await room.another_client_creates(thing(group, "theirs"))
    await room.another_client_patches(definition(group), ALLOWED)
    key = CRDS.key("", f"things.{group}")
    await until(lambda: room.inventory.owned_by(room.owner.uid)[key].prune)
    plan = await room.plan(config_map("c"))
    assert (plan.keep, names(live.key for live in plan.prune)) == ((), [key.name])


@pytest.mark.parametrize(("is_v1_served", "reason"), [(True, KeptReason.HAS_INSTANCES), (False, None)])
async def test_a_crd_whose_conversion_webhook_is_down(
    room: Room, group: str, *, is_v1_served: bool, reason: KeptReason | None
) -> None:
    """Its instances are listed in the version in which they are stored; where no version answers, the CRD stays."""
    await brought(room, definition(group, "a"), config_map("c"))
    await room.another_client_creates(thing(group, "theirs", a="2"))
    await room.another_client_patches(definition(group), with_broken_conversion(is_v1_served=is_v1_served))
    served = [f"{group}/v2", *([f"{group}/v1"] if is_v1_served else [])]

    async def is_served() -> bool:
        await room.discovery.refresh()
        return [one.gvk.api_version for one in versions_of(room.discovery.served, f"things.{group}")] == served

    await eventually(is_served, what=f"{served} are served")
    (kept_crd,) = (await room.plan(config_map("c"))).keep
    assert kept_crd.reason is (reason or KeptReason.INSTANCES_UNKNOWN)
    assert reason or "its instances could not be listed: conversion webhook for " in kept_crd.detail


def with_broken_conversion(*, is_v1_served: bool) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": "v1", "served": is_v1_served, "storage": False, "schema": schema},
        {"name": "v2", "served": True, "storage": True, "schema": schema},
    ]
    webhook = {"clientConfig": {"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": ["v1"]}
    return {"spec": {"versions": versions, "conversion": {"strategy": "Webhook", "webhook": webhook}}}


async def test_many_instances_are_counted_with_one_request(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"))
    for number in range(7):
        await room.another_client_creates(thing(group, f"t{number}"))
    found = await instances_of(room.client, await things(room, group))
    assert (found.kind, found.count, found.is_exact, names(found.first)) == (
        "Thing",
        7,
        True,
        ["t0", "t1", "t2", "t3", "t4"],
    )
    assert str(found).startswith(f"7 Thing objects ({room.namespace}/t0, ")
    assert str(found).endswith("/t4, …)")


async def test_an_override_that_says_never_makes_an_object_outlive_its_deployment(room: Room) -> None:
    never = (Override(kind="ConfigMap", name="a", prune=False),)
    desired, _ = await room.desire(config_map("a"), config_map("b"), overrides=never)
    assert ["ownerReferences" in orjson.loads(one.payload.body)["metadata"] for one in desired] == [False, True]
