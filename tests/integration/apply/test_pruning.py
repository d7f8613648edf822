"""Objects that left the content are deleted by uid, or let go; nothing else is ever touched."""

import pytest

from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
    RELEASED_ANNOTATION,
)
from rukpak_py.apply.plan import Action, Plan
from rukpak_py.apply.prune import prune, release
from rukpak_py.apply.results import ChangeSet, FailureKind
from tests.integration.apply.room import Manifest, Room, names, only
from tests.manifests import config_map
from tests.waiting import until


def kept(name: str, **data: str) -> Manifest:
    manifest = config_map(name, **data)
    manifest["metadata"]["annotations"] = {PRUNE_ANNOTATION: "false"}
    return manifest


async def carry_out(room: Room, plan: Plan) -> ChangeSet:
    change_set = await room.engine.apply(room.target, plan)
    await prune(room.target, plan.prune, change_set)
    for live in plan.release:
        await release(room.target, live, change_set)
    return change_set


async def test_object_that_left_the_content_is_deleted_and_nothing_else(room: Room) -> None:
    await room.another_client_creates(config_map("foreign"))
    await room.installed(config_map("a"), config_map("b"))
    change_set = await carry_out(room, await room.plan(config_map("a")))
    assert names(change_set.pruned) == ["b"]
    assert not await room.exists(config_map("b"))
    assert await room.exists(config_map("a"))
    assert await room.exists(config_map("foreign"))
    await until(lambda: len(room.inventory.owned_by(room.owner.uid)) == 1)
    assert not (await room.plan(config_map("a"))).prune


async def test_our_labels_on_a_strangers_object_get_nothing_pruned(room: Room) -> None:
    stranger = config_map("stranger", x="1")
    stranger["metadata"]["labels"] = {OWNER_KIND_LABEL: "BundleDeployment", OWNER_NAME_LABEL: room.owner.name}
    await room.installed(config_map("a"))
    await room.another_client_creates(stranger)
    await room.seen(stranger)
    plan = await room.plan()
    assert names(live.key for live in plan.prune) == ["a"]
    assert not plan.release


async def test_our_labels_and_our_uid_on_a_strangers_object_get_it_release_at_most(room: Room) -> None:
    stranger = config_map("stranger", x="1")
    stranger["metadata"] |= {
        "labels": {OWNER_KIND_LABEL: "BundleDeployment", OWNER_NAME_LABEL: room.owner.name},
        "annotations": {OWNER_UID_ANNOTATION: room.owner.uid},
    }
    await room.installed(config_map("a"))
    await room.another_client_creates(stranger)
    await until(lambda: len(room.inventory.owned_by(room.owner.uid)) == 2)
    plan = await room.plan(config_map("a"))
    assert not plan.prune
    await carry_out(room, plan)
    assert (await room.read(stranger))["data"] == {"x": "1"}


async def test_object_with_another_owner_since_it_was_seen_is_not_deleted(room: Room) -> None:
    await room.installed(config_map("a"))
    plan = await room.plan()
    await room.another_client_patches(config_map("a"), {"metadata": {"ownerReferences": None}})
    change_set = await carry_out(room, plan)
    assert [failure.kind for failure in change_set.failures] == [FailureKind.STALE]
    assert await room.exists(config_map("a"))


async def test_object_annotated_to_stay_since_it_was_seen_is_not_deleted(room: Room) -> None:
    await room.installed(config_map("a"))
    plan = await room.plan()
    await room.another_client_patches(config_map("a"), {"metadata": {"annotations": {PRUNE_ANNOTATION: "false"}}})
    change_set = await carry_out(room, plan)
    assert [failure.kind for failure in change_set.failures] == [FailureKind.STALE]
    assert await room.exists(config_map("a"))


async def test_object_replaced_since_it_was_seen_is_not_deleted(room: Room) -> None:
    await room.installed(config_map("a"))
    plan = await room.plan()
    before = await room.replaced(config_map("a"), config_map("a", x="theirs"))
    change_set = await carry_out(room, plan)
    assert [failure.kind for failure in change_set.failures] == [FailureKind.STALE]
    assert await room.read(config_map("a")) == before


async def test_object_only_touched_since_it_was_seen_is_deleted(room: Room) -> None:
    await room.installed(config_map("a"))
    plan = await room.plan()
    await room.another_client_patches(config_map("a"), {"metadata": {"annotations": {"touched": "1"}}})
    change_set = await carry_out(room, plan)
    assert (names(change_set.pruned), change_set.failures) == (["a"], [])
    assert not await room.exists(config_map("a"))


async def test_deleted_object_counts_as_pruned(room: Room) -> None:
    await room.installed(config_map("a"))
    plan = await room.plan()
    await room.another_client_deletes(config_map("a"))
    change_set = await carry_out(room, plan)
    assert (names(change_set.pruned), change_set.failures) == (["a"], [])


async def test_object_that_must_stay_loses_our_marks_and_owner_reference(room: Room) -> None:
    stays = kept("a", x="1")
    stays["metadata"]["labels"] = {"theirs": "1"}
    await room.installed(stays, config_map("b"))
    plan = await room.plan(config_map("b"))
    assert (names(live.key for live in plan.release), plan.prune) == (["a"], ())
    change_set = await carry_out(room, plan)
    assert not change_set.failures
    metadata = (await room.read(stays))["metadata"]
    assert metadata["labels"] == {"theirs": "1"}
    assert metadata["annotations"].keys() == {PRUNE_ANNOTATION, RELEASED_ANNOTATION}
    assert "ownerReferences" not in metadata
    await until(lambda: names(room.inventory.owned_by(room.owner.uid)) == ["b"])


async def test_letting_go_leaves_the_references_of_others(room: Room) -> None:
    await room.installed(config_map("other"), config_map("a"))
    other = await room.read(config_map("other"))
    ours = (await room.read(config_map("a")))["metadata"]["ownerReferences"]
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": other["metadata"]["uid"]}
    (live,) = (await room.plan(config_map("other"))).prune
    await room.another_client_patches(config_map("a"), {"metadata": {"ownerReferences": [*ours, theirs]}})
    await release(room.target, live, ChangeSet())
    assert (await room.read(config_map("a")))["metadata"]["ownerReferences"] == [theirs]


async def test_letting_go_of_what_was_replaced_touches_nothing(room: Room) -> None:
    await room.installed(config_map("b"), kept("a"))
    (live,) = (await room.plan(config_map("b"))).release
    before = await room.replaced(config_map("a"), config_map("a", x="theirs"))
    change_set = ChangeSet()
    await release(room.target, live, change_set)
    assert not change_set.failures
    assert await room.read(config_map("a")) == before


@pytest.mark.parametrize("outlives", [True, False])
async def test_an_object_changes_between_owned_and_outliving_with_its_content(room: Room, *, outlives: bool) -> None:
    first, second = (config_map("a"), kept("a")) if outlives else (kept("a"), config_map("a"))
    await room.installed(first)
    await room.installed(second)
    metadata = (await room.read(second))["metadata"]
    assert ("ownerReferences" not in metadata) is outlives
    assert (OWNER_UID_ANNOTATION in metadata["annotations"]) is outlives
    assert APPLIED_ANNOTATION in metadata["annotations"]
    assert only(await room.plan(second)).action is Action.LEAVE
