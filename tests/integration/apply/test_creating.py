"""A name that was free when we looked: only an object that we made ourselves becomes ours."""

from rukpak_py.api.names import APPLIED_ANNOTATION, OWNER_KIND_LABEL, OWNER_NAME_LABEL
from rukpak_py.apply.plan import Action
from rukpak_py.apply.results import FailureKind
from tests.integration.apply.room import Manifest, Room, managers, names, only
from tests.manifests import config_map, workload
from tests.waiting import until


async def test_an_object_on_a_free_name_is_created_and_owned(room: Room) -> None:
    wanted = config_map("a", x="1")
    change_set = await room.bring(wanted)
    assert names(change_set.created) == ["a"]
    live = await room.read(wanted)
    assert live["metadata"]["labels"] == {OWNER_KIND_LABEL: "BundleDeployment", OWNER_NAME_LABEL: room.owner.name}
    (reference,) = live["metadata"]["ownerReferences"]
    assert reference["uid"] == room.owner.uid
    assert reference["controller"]
    assert managers(live) == {room.owner.manager}
    assert only(await room.plan(wanted)).action is Action.LEAVE


async def test_our_own_echo_is_no_news(room: Room) -> None:
    wanted = config_map("a", x="1")
    change_set = await room.bring(wanted)
    room.changes.clear()
    await room.installed(config_map("b", x="1"), wanted)  # its event comes after the echo of the first
    await room.seen(config_map("b"))
    assert not room.changes
    assert len(room.inventory.owned_by(room.owner.uid)) == 2
    assert names(change_set.created) == ["a"]


async def test_object_that_takes_the_name_meanwhile_keeps_no_trace_of_us(room: Room) -> None:
    wanted = config_map("a", x="ours")
    plan = await room.plan(wanted)
    before = await room.another_client_creates(config_map("a", y="theirs"))
    change_set = await room.engine.apply(room.target, plan)
    (failure,) = change_set.failures
    assert failure.kind is FailureKind.CONFLICT
    assert "was created by another client at the same moment" in failure.message
    after = await room.read(wanted)
    assert no_trace(after, room)
    for unimportant in ("resourceVersion", "managedFields"):
        before["metadata"].pop(unimportant)
        after["metadata"].pop(unimportant)
    assert after == before


async def test_object_that_takes_the_name_with_other_values_is_not_touched(room: Room) -> None:
    plan = await room.plan(config_map("a", x="ours"))
    before = await room.another_client_creates(config_map("a", x="theirs"))
    change_set = await room.engine.apply(room.target, plan)
    (failure,) = change_set.failures
    assert failure.kind is FailureKind.CONFLICT
    assert await room.read(config_map("a")) == before


async def test_the_second_look_says_whose_it_is(room: Room) -> None:
    wanted = config_map("a", x="ours")
    plan = await room.plan(wanted)
    await room.another_client_creates(config_map("a", y="theirs"))
    await room.engine.apply(room.target, plan)
    for _ in range(20):  # also while the watch shows our marks coming and going
        change = only(await room.plan(wanted))
        assert change.action is Action.REFUSE
        assert "is not managed by anyone" in change.reason


async def test_object_of_another_client_in_place_of_ours_is_recognised_at_the_second_look(room: Room) -> None:
    """The object has no label of ours, so the watch shows the name free: the apply finds out, the next look asks."""
    wanted = config_map("a", x="ours")
    await room.installed(wanted)
    await room.replaced(wanted, config_map("a", y="theirs"))
    await until(lambda: not room.inventory.owned_by(room.owner.uid))
    change_set = await room.bring(wanted)
    assert [failure.kind for failure in change_set.failures] == [FailureKind.CONFLICT]
    assert no_trace(await room.read(wanted), room)
    assert only(await room.plan(wanted)).action is Action.REFUSE


async def test_a_stripped_label_is_put_back(room: Room) -> None:
    wanted = config_map("a", x="1")
    await room.installed(wanted)
    await room.another_client_patches(wanted, {"metadata": {"labels": None}})
    await until(lambda: not room.inventory.owned_by(room.owner.uid))
    await room.installed(wanted)
    assert (await room.read(wanted))["metadata"]["labels"][OWNER_NAME_LABEL] == room.owner.name
    await until(lambda: room.inventory.owned_by(room.owner.uid))
    assert only(await room.plan(wanted)).action is Action.LEAVE


async def test_a_label_with_a_strange_value_is_put_back(room: Room) -> None:
    """The apply without force meets a conflict; the second look sees whose the object is."""
    wanted = config_map("a", x="1")
    await room.installed(wanted)
    await room.another_client_patches(wanted, {"metadata": {"labels": {OWNER_KIND_LABEL: "Nonsense"}}})
    await until(lambda: not room.inventory.owned_by(room.owner.uid))
    assert [failure.kind for failure in (await room.bring(wanted)).failures] == [FailureKind.CONFLICT]
    await room.installed(wanted)
    assert (await room.read(wanted))["metadata"]["labels"][OWNER_KIND_LABEL] == "BundleDeployment"


async def test_a_kind_in_two_versions_is_sent_to_both(room: Room) -> None:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    old = scaler("autoscaling/v1", "old", scaleTargetRef=reference, maxReplicas=2)
    new = scaler("autoscaling/v2", "new", scaleTargetRef=reference, maxReplicas=2)
    await room.installed(old, new)
    assert [change.action for change in (await room.plan(old, new)).changes] == [Action.LEAVE, Action.LEAVE]


def scaler(version: str, name: str, **spec: object) -> Manifest:
    return {"apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": name}, "spec": spec}


def no_trace(live: Manifest, room: Room) -> bool:
    metadata = live["metadata"]
    marks = {*metadata.get("labels", {}), *metadata.get("annotations", {})} & {
        OWNER_KIND_LABEL,
        OWNER_NAME_LABEL,
        APPLIED_ANNOTATION,
    }
    return not marks and "ownerReferences" not in metadata and room.owner.manager not in managers(live)


async def test_of_a_first_install_all_that_the_server_refuses_is_named_and_nothing_more_is_written(room: Room) -> None:
    """One of two invalid objects was named, the other after the first was corrected, and the rest was created."""
    bad_map = config_map("a", **{"no such key!": "1"})
    bad_workload, good_workload = workload("b"), workload("c")
    bad_workload["spec"]["selector"] = {"matchLabels": {"app": "another"}}
    plan = await room.plan(bad_map, bad_workload, good_workload)
    change_set = await room.engine.apply(room.target, plan, names_all=True)
    assert names(failure.key for failure in change_set.failures) == ["a", "b"]
    assert change_set.created == []
    assert not await room.exists(good_workload)


async def test_of_drift_everything_else_is_corrected(room: Room) -> None:
    bad_map, good_map = config_map("a", **{"no such key!": "1"}), config_map("b")
    change_set = await room.engine.apply(room.target, await room.plan(bad_map, good_map))
    assert names(failure.key for failure in change_set.failures) == ["a"]
    assert names(change_set.created) == ["b"]
