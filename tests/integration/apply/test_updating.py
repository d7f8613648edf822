"""Updates of our objects, which are changed by uid; every answer is looked at."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.api.names import FORCE_ANNOTATION
from rukpak_py.apply.plan import Action
from rukpak_py.apply.results import FailureKind
from rukpak_py.kube.errors import StaleError
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.apply.room import Manifest, Room, managers, names, only, written
from tests.manifests import config_map, manifest, service, workload
from tests.waiting import until


def deployment(name: str = "d", *, app: str = "a", **container: Any) -> Manifest:
    return workload(name, app=app, **container)


def forced(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": {FORCE_ANNOTATION: "true"}}}


async def test_a_field_that_left_the_content_leaves_the_object(room: Room) -> None:
    await room.installed(config_map("a", x="1", y="2"))
    change_set = await room.installed(config_map("a", x="1"))
    assert names(change_set.updated) == ["a"]
    assert (await room.read(config_map("a")))["data"] == {"x": "1"}


async def test_field_that_another_client_added_stays(room: Room) -> None:
    await room.installed(config_map("a", x="1"))
    await room.another_client_patches(config_map("a"), {"data": {"theirs": "2"}})
    await room.installed(config_map("a", x="2"))
    assert (await room.read(config_map("a")))["data"] == {"x": "2", "theirs": "2"}


async def test_a_server_refuses_an_apply_for_an_object_that_was_replaced_or_is_gone(room: Room) -> None:
    """The engine relies on this; here as the server says it."""
    await room.another_client_creates(config_map("a", x="theirs"))
    for name in ("a", "free"):
        body = config_map(name, x="ours")
        body["metadata"]["uid"] = "9b1b1b1b-0000-4000-8000-000000000000"
        with pytest.raises(StaleError):
            await room.client.apply(
                CONFIG_MAPS, room.namespace, name, orjson.dumps(body), field_manager="t", force=True
            )
    assert not await room.exists(config_map("free"))


async def test_an_object_that_was_replaced_meanwhile_is_not_overwritten(room: Room) -> None:
    await room.installed(config_map("a", x="1"))
    plan = await room.plan(config_map("a", x="2"))
    assert only(plan).action is Action.UPDATE
    before = await room.replaced(config_map("a"), config_map("a", x="theirs"))
    change_set = await room.engine.apply(room.target, plan)
    assert [failure.kind for failure in change_set.failures] == [FailureKind.STALE]
    assert await room.read(config_map("a")) == before
    await until(lambda: not room.inventory.owned_by(room.owner.uid))
    assert only(await room.plan(config_map("a", x="2"))).action is Action.REFUSE


async def test_an_object_that_was_deleted_meanwhile_is_judged_again_and_then_created(room: Room) -> None:
    await room.installed(config_map("a", x="1"))
    plan = await room.plan(config_map("a", x="2"))
    await room.another_client_deletes(config_map("a"))
    change_set = await room.engine.apply(room.target, plan)
    assert [failure.kind for failure in change_set.failures] == [FailureKind.STALE]
    await until(lambda: not room.inventory.owned_by(room.owner.uid))
    assert names((await room.installed(config_map("a", x="2"))).created) == ["a"]


async def test_an_object_that_is_being_deleted_is_waited_for(room: Room) -> None:
    held = config_map("a", x="1")
    held["metadata"]["finalizers"] = ["rooms.test/hold"]
    await room.installed(held)
    plan = await room.plan({**held, "data": {"x": "2"}})  # it was not seen going yet
    await room.another_client_deletes(held)
    change_set = await room.engine.apply(room.target, plan)
    waiting = f"ConfigMap {room.namespace}/a is being deleted (finalizer rooms.test/hold)"
    assert (change_set.waiting, change_set.failures) == ([waiting], [])
    assert only(await room.plan(held)).action is Action.WAIT
    await room.another_client_patches(held, {"metadata": {"finalizers": None}})
    await until(lambda: not room.inventory.owned_by(room.owner.uid))
    assert names((await room.installed(config_map("a", x="2"))).created) == ["a"]


async def test_an_immutable_field_is_refused_without_our_annotation(room: Room) -> None:
    await room.installed(deployment(app="a"))
    change_set = await room.bring(deployment(app="b"))
    (failure,) = change_set.failures
    assert failure.kind is FailureKind.REFUSED
    assert "field is immutable" in failure.message


FIXED_CLAIM = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def job(image: str) -> Manifest:
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": image}]}
    inner = {"suspend": True, "template": {"spec": spec}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate"}, "spec": inner}


def claim(mode: str) -> Manifest:
    spec = {"accessModes": [mode], "storageClassName": "none", "resources": {"requests": {"storage": "1Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (deployment(app="a"), deployment(app="b"), "Deployment.apps/{}/d: spec.selector: field is immutable; set "),
        (job("one"), job("two"), "Job.batch/{}/migrate: spec.template: field is immutable; set "),
        (
            claim("ReadWriteOnce"),
            claim("ReadOnlyMany"),
            f"PersistentVolumeClaim {{}}/data: spec: Forbidden: {FIXED_CLAIM}; set ",
        ),
    ],
    ids=["selector", "Job", "claim"],
)
async def test_an_immutable_field_is_told_with_its_cause_and_what_helps_in_one_line(
    room: Room, before: Manifest, after: Manifest, told: str
) -> None:
    await room.installed(before)
    (failure,) = (await room.bring(after)).failures
    help_text = (
        "force for it in spec.overrides to delete and re-create it; its data is lost with it"
        if after["kind"] == "PersistentVolumeClaim"
        else 'the annotation core.rukpak.io/force: "true" on the object in the bundle, or spec.overrides[].force, '
        "to delete and re-create it"
    )
    assert failure.message == told.format(room.namespace) + help_text
    assert await room.engine.dry_run(room.target, await room.plan(after), skip=lambda _change: False) == [failure]


async def test_an_immutable_field_and_our_annotation_replace_the_object(room: Room) -> None:
    await room.installed(forced(deployment(app="a")))
    uid = (await room.read(deployment()))["metadata"]["uid"]
    change_set = await room.bring(forced(deployment(app="b")))
    assert not change_set.failures
    assert change_set.waiting == [f"Deployment.apps/{room.namespace}/d is being replaced"]
    await until(lambda: not room.inventory.owned_by(room.owner.uid))
    change_set = await room.installed(forced(deployment(app="b")))
    assert names(change_set.created) == ["d"]
    assert {key.name: why for key, why in change_set.replaced.items()} == {"d": "spec.selector is immutable"}
    assert (await room.read(deployment()))["metadata"]["uid"] != uid


NOT_DELETED = "and is not deleted: restore the old value, or delete it yourself"


def fixed(x: str) -> Manifest:
    """No controller writes to it, so nothing changes between looking at it and taking it."""
    return {**config_map("fixed", x=x), "immutable": True}


async def test_a_union_is_switched_and_the_object_never_replaced_for_it(room: Room) -> None:
    await room.installed(forced(deployment()))
    uid = (await room.read(deployment()))["metadata"]["uid"]
    recreating = forced(deployment())
    recreating["spec"]["strategy"] = {"type": "Recreate"}
    await room.installed(recreating)
    live = await room.read(deployment())
    assert (live["metadata"]["uid"], live["spec"]["strategy"]) == (uid, {"type": "Recreate"})


async def test_object_that_is_being_adopted_is_never_replaced(room: Room) -> None:
    await room.another_client_creates(fixed("theirs"))
    (failure,) = (await room.bring(forced(fixed("ours")), adopt=Adopt.IF_UNOWNED)).failures
    assert failure.kind is FailureKind.REFUSED
    assert failure.message.endswith(f"it existed before this BundleDeployment {NOT_DELETED}")
    assert (await room.read(fixed("theirs")))["data"] == {"x": "theirs"}


async def test_adopted_object_is_replaced_by_a_later_upgrade(room: Room) -> None:
    """The object is ours like all others that go with the deployment: nothing tells it from what we created."""
    await room.another_client_creates(fixed("1"))
    await room.installed(forced(fixed("1")), adopt=Adopt.IF_UNOWNED)
    change_set = await room.bring(forced(fixed("2")))
    assert change_set.waiting == [f"ConfigMap {room.namespace}/fixed is being replaced"]


async def test_an_adopted_claim_is_never_replaced(room: Room) -> None:
    await room.another_client_creates(claim("ReadWriteOnce"))
    await room.installed(forced(claim("ReadWriteOnce")), adopt=Adopt.IF_UNOWNED)
    (failure,) = (await room.bring(forced(claim("ReadOnlyMany")))).failures
    assert failure.message.endswith(
        "; it is a PersistentVolumeClaim that existed before this BundleDeployment and is not deleted: "
        "restore the old value"
    )
    assert await room.exists(claim("ReadWriteOnce"))


async def test_content_that_no_server_takes_never_costs_the_object_that_runs(room: Room) -> None:
    """`force` is for what cannot be changed, not for what cannot be."""
    await room.installed(forced(deployment(app="a")))
    wrong = deployment(app="b")
    wrong["spec"]["selector"]["matchLabels"] = {"app": "not the template's"}
    change_set = await room.bring(forced(wrong))
    assert [failure.kind for failure in change_set.failures] == [FailureKind.REFUSED]
    assert FORCE_ANNOTATION not in change_set.failures[0].message
    assert await room.exists(deployment())


@pytest.mark.parametrize(
    ("before", "after"), [({}, {"egress": [{}]}), ({"egress": [{}]}, {}), ({"ingress": [{}]}, {"egress": [{}]})]
)
async def test_rules_of_a_policy_that_come_or_go_are_enforced_like_those_of_a_new_one(
    room: Room, before: Manifest, after: Manifest
) -> None:
    """The default of `policyTypes` depends on the rules, and the server fills it in when it creates a policy alone."""
    await room.installed(policy("p", **before))
    await room.installed(policy("p", **after))
    created = await room.another_client_creates(policy("new", **after))
    assert (await room.read(policy("p")))["spec"] == created["spec"]


def policy(name: str, **rules: Any) -> Manifest:
    return manifest("networking.k8s.io/v1", "NetworkPolicy", name, spec={"podSelector": {}, **rules})


async def test_unknown_fields_of_a_kind_of_the_server_are_left_out_with_a_warning(room: Room) -> None:
    future = deployment(nonsense=1, env=[{"name": "A", "value": "1", "more": {}}])
    future["spec"]["strategem"] = "x"
    change_set = await room.installed(future)
    told = "\n".join(change_set.warnings)
    assert all(word in told for word in ("nonsense", "more", "strategem", "does not know")), told
    (container,) = (await room.read(future))["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "A", "value": "1"}]
    assert only(await room.plan(future)).action is Action.LEAVE


async def test_value_changed_to_fit_the_server_is_told_with_the_content_and_not_again(room: Room) -> None:
    twice = deployment(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])
    change_set = await room.installed(twice)
    (warning,) = change_set.warnings
    assert f"Deployment.apps/{room.namespace}/d" in warning
    await room.another_client_patches(twice, {"spec": {"replicas": 7}})
    await room.seen(twice)
    assert only(await room.plan(twice)).action is Action.CORRECT
    assert not (await room.installed(twice)).warnings
    twice["metadata"]["labels"] = {"new": "content"}
    assert (await room.installed(twice)).warnings == [warning]


async def test_an_object_of_nothing_but_unknown_fields_is_refused_in_the_end(room: Room) -> None:
    unknown: dict[str, Any] = {f"unknown{number}": number for number in range(30)}
    future = service("s", **unknown)
    change_set = await room.bring(future)
    if change_set.failures:
        assert [failure.kind for failure in change_set.failures] == [FailureKind.CONTENT]
        assert not await room.exists(future)
    else:  # the server named them all at once
        assert len(change_set.warnings) < len(unknown)


async def test_a_wrong_type_is_refused(room: Room) -> None:
    wrong = deployment()
    wrong["spec"]["replicas"] = "one"
    change_set = await room.bring(wrong)
    (failure,) = change_set.failures
    assert failure.kind is FailureKind.CONTENT
    assert not change_set.warnings
    assert not await room.exists(wrong)


async def test_a_phase_that_fails_is_the_last_one_and_all_its_failures_are_told(room: Room) -> None:
    wrong = [{**config_map(name), "data": {"x": 1}} for name in ("b", "a")]
    change_set = await room.bring(deployment(), *wrong, config_map("right"))
    assert [failure.key.name for failure in change_set.failures] == ["a", "b"]
    assert names(change_set.created) == ["right"]
    assert not await room.exists(deployment())


async def test_a_dry_run_changes_nothing_and_names_all_that_would_be_refused(room: Room) -> None:
    await room.installed(config_map("a", x="1"), deployment(app="a"), service("s"))
    before = [written(await room.read(one)) for one in (config_map("a"), deployment(), service("s"))]
    moved = service("s", clusterIP="10.250.250.250")
    plan = await room.plan({**config_map("a"), "data": {"x": 2}}, deployment(app="b"), moved, config_map("n"))
    failures = await room.engine.dry_run(room.target, plan, skip=lambda _change: False)
    assert [failure.key.name for failure in failures] == ["a", "s", "d"]
    assert [written(await room.read(one)) for one in (config_map("a"), deployment(), service("s"))] == before
    assert not await room.exists(config_map("n"))


async def test_a_dry_run_accepts_what_would_be_replaced(room: Room) -> None:
    await room.installed(forced(deployment(app="a")))
    plan = await room.plan(forced(deployment(app="b")))
    assert await room.engine.dry_run(room.target, plan, skip=lambda _change: False) == []
    assert managers(await room.read(deployment())) >= {room.owner.manager}
