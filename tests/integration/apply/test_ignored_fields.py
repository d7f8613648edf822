"""Fields that other clients set: left out of what is applied, they are no drift and stay as they are."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.deployment_spec import Adopt, Override
from rukpak_py.apply.plan import Action
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.core.objects import ADMISSION_GROUP
from tests.integration.apply.room import Manifest, Room, only
from tests.manifests import manifest, workload
from tests.waiting import eventually

WEB = Override(group="apps", kind="Deployment", name="web", ignore=("/spec/replicas",))


def webhooks(room: Room, policy: str = "Ignore", **more: Any) -> Manifest:
    """A configuration as istiod ships it, which sets `failurePolicy` once it serves. It is called for nothing."""

    def one(name: str) -> Manifest:
        return {
            "name": f"{name}.example.com",
            "failurePolicy": policy,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [
                {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]}
            ],
            **more,
        }

    name = f"istiod-{room.namespace}"
    return manifest(f"{ADMISSION_GROUP}/v1", "ValidatingWebhookConfiguration", name, webhooks=[one("a"), one("b")])


def ignoring(document: Manifest, *pointers: str) -> tuple[Override, ...]:
    name, kind = document["metadata"]["name"], document["kind"]
    group = document["apiVersion"].rpartition("/")[0]
    return (Override(group=group, kind=kind, name=name, ignore=pointers),)


async def installed(room: Room, document: Manifest, *overrides: Override, **given: Any) -> None:
    """Again when a controller writes its status in between."""
    failures: list[Failure] = []

    async def is_done() -> bool:
        failures[:] = (await room.carry_out(await room.plan(document, overrides=overrides, **given))).failures
        assert all(one.kind is FailureKind.STALE for one in failures), failures
        return not failures

    await eventually(is_done, what="it is applied")
    await room.seen(document)


async def scale(room: Room, replicas: int) -> None:
    """Scale as an autoscaler does, by the subresource."""
    resource = await room.resource(workload("web"))
    await room.client.patch(
        resource, room.namespace, "web", orjson.dumps({"spec": {"replicas": replicas}}), subresource="scale"
    )
    await room.seen(workload("web"))


async def test_a_webhook_configuration_whose_failure_policy_its_server_sets_is_no_drift(room: Room) -> None:
    document = webhooks(room)
    overrides = ignoring(document, "/webhooks/1/failurePolicy")
    try:
        await installed(room, document, *overrides)
        assert [one["failurePolicy"] for one in (await room.read(document))["webhooks"]] == ["Ignore", "Fail"]
        theirs = webhooks(room, "Fail")["webhooks"]
        theirs[0]["failurePolicy"] = theirs[1]["failurePolicy"] = "Ignore"
        await room.another_client_patches(document, {"webhooks": theirs}, manager="istiod")
        await room.seen(document)
        assert only(await room.plan(document, overrides=overrides)).action is Action.LEAVE

        await room.another_client_patches(document, {"webhooks": webhooks(room, "Fail")["webhooks"]}, manager="istiod")
        await room.seen(document)
        assert only(await room.plan(document, overrides=overrides)).action is Action.CORRECT, "of the other one"
        await installed(room, document, *overrides)
        assert [one["failurePolicy"] for one in (await room.read(document))["webhooks"]] == ["Ignore", "Fail"]
    finally:
        await room.another_client_deletes(document)


async def test_a_field_that_is_ignored_from_now_on_stays_as_it_is_and_comes_back_when_it_no_longer_is(
    room: Room,
) -> None:
    document = workload("web")
    document["spec"]["replicas"] = 0
    await room.installed(document)
    await room.another_client_patches(document, {"spec": {"replicas": 3}}, manager="somebody")
    await room.seen(document)
    plan = await room.plan(document, overrides=(WEB,))
    assert only(plan).action is Action.UPDATE
    assert await room.engine.dry_run(room.target, plan, skip=lambda _: False) == []
    await installed(room, document, WEB)
    assert (await room.read(document))["spec"]["replicas"] == 3
    await scale(room, 5)
    assert only(await room.plan(document, overrides=(WEB,))).action is Action.LEAVE
    await installed(room, document)
    assert (await room.read(document))["spec"]["replicas"] == 0


async def test_field_that_is_ours_alone_is_neither_removed_nor_reset_when_it_is_ignored(room: Room) -> None:
    """A leaf alone would be set to its default, and an item of a list that lacks what it needs is a 422."""
    document = workload("web", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
    document["spec"] |= {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3}}, "replicas": 2}
    await room.installed(document)
    below = "/spec/template/spec/containers/0"
    (override,) = ignoring(document, "/spec/strategy", f"{below}/env/1", f"{below}/image", "/spec/replicas")
    plan = await room.plan(document, overrides=(override,))
    assert await room.engine.dry_run(room.target, plan, skip=lambda _: False) == []
    before = (await room.read(document))["spec"]
    await installed(room, document, override)
    assert (await room.read(document))["spec"] == before
    await room.another_client_patches(document, {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 7}}}})
    await room.seen(document)
    assert only(await room.plan(document, overrides=(override,))).action is Action.LEAVE


async def test_ignored_field_of_an_orphaned_object_stays_when_the_object_is_taken(room: Room) -> None:
    """Our entry is there already."""
    document = workload("web")
    document["spec"]["replicas"] = 4
    await room.installed(document)
    await room.another_client_patches(document, {"metadata": {"ownerReferences": None}})
    await room.seen(document)
    plan = await room.plan(document, overrides=(WEB,), adopt=Adopt.IF_UNOWNED)
    assert only(plan).action is Action.TAKE
    await installed(room, document, WEB, adopt=Adopt.IF_UNOWNED)
    assert (await room.read(document))["spec"]["replicas"] == 4


@pytest.mark.parametrize("is_upgrade", [False, True])
async def test_a_pointer_below_a_list_that_is_owned_as_a_whole_is_refused(room: Room, *, is_upgrade: bool) -> None:
    document = workload("web", args=["a"])
    document["spec"]["template"]["spec"]["tolerations"] = [{"key": "a", "operator": "Exists"}]
    pointer = "/spec/template/spec/tolerations/0/key"
    (override,) = ignoring(document, pointer)
    if is_upgrade:
        await room.installed(document)
        plan = await room.plan(document, overrides=(override,))
        (failure,) = await room.engine.dry_run(room.target, plan, skip=lambda _: False)
    else:
        (failure,) = (await room.carry_out(await room.plan(document, overrides=(override,)))).failures
    assert failure.kind is FailureKind.CONTENT
    assert failure.message == (
        f"Deployment.apps/{room.namespace}/web: spec.overrides[].ignore: {pointer} is below a list that can only be "
        "owned as a whole; ignore the list"
    )
