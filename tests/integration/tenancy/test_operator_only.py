"""Attempts to write statuses and the marks of owned Bundles, against the policy of what the operator alone writes."""

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.policies.document import PROBE
from tests.integration.tenancy import attempts as to
from tests.integration.tenancy.attempts import Answer, Attempt, Room, Table, check, note, owner
from tests.integration.tenancy.users import COLLECTOR

TABLE = Table()
OPERATOR = "system/core-admin"
FORGED = {"status": {"activeBundle": "forged"}}
PROBED = to.Expected("rukpak-operator-only", to.PROBED)


@TABLE.add("narrow classic", "sue", to.STATUS, "writes the status of a Bundle")
async def _bundle_status(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.made(room.bundle()), {"status": {"phase": "Unpacked"}}, "/status")


@TABLE.add("narrow", "sue", to.STATUS, "replaces the status of a Bundle")
async def _replace_status(room: Room, user: str) -> Answer:
    live = await room.made(room.bundle())
    return await room.replace(user, {**live, "status": {"phase": "Unpacked"}}, "/status")


@TABLE.add("narrow", "sue", to.STATUS, "writes the status of a BundleDeployment")
@TABLE.add("narrow", "oda", to.OK, "may impersonate the operator and writes a status")
@TABLE.add("narrow", OPERATOR, to.OK, "the operator writes a status")
async def _deployment_status(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), FORGED, "/status")


@TABLE.add("narrow", "sue", to.STATUS, "writes the status of a BundleInstance")
async def _instance_status(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(kind="BundleInstance"), FORGED, "/status")


@TABLE.add("narrow", "sue", to.STATUS, "forges what was judged and the history of a BundleDeployment")
async def _forge_history(room: Room, user: str) -> Answer:
    entry = {"bundle": "b", "digest": "d", "time": "2024-01-01T00:00:00Z"}
    forged = {"status": {"judged": {"generation": 1, "metadata": "x"}, "history": [entry]}}
    return await room.patch(user, await room.base(), forged, "/status")


@TABLE.add("narrow", "bob", to.OK, "creates a Bundle")
async def _create(room: Room, user: str) -> Answer:
    return await room.create(user, room.bundle())


@TABLE.add("narrow", "bob", to.OWNED, "creates a Bundle with our labels")
@TABLE.add("narrow", OPERATOR, to.OK, "the operator creates an owned Bundle")
@TABLE.add("narrow", "ada", to.OK, "a cluster admin restores an owned Bundle")
async def _create_labelled(room: Room, user: str) -> Answer:
    return await room.create(user, room.bundle(labels=room.labels()))


@TABLE.add("narrow", "bob", to.OWNED, "creates a Bundle with a BundleDeployment as owner")
async def _create_owned(room: Room, user: str) -> Answer:
    return await room.create(user, room.bundle(ownerReferences=[owner(await room.base())]))


@TABLE.add("narrow", "bob", to.OK, "creates a Bundle whose owner is of another group")
async def _create_with_namesake(room: Room, user: str) -> Answer:
    return await room.create(user, room.bundle(ownerReferences=[{**owner(), "apiVersion": "example.com/v1"}]))


@TABLE.add("narrow", "bob", to.OWNED, "sets one of our labels on his own Bundle")
async def _label_as_owned(room: Room, user: str) -> Answer:
    live = await room.made(room.bundle())
    return await room.patch(user, live, {"metadata": {"labels": {"core.rukpak.io/owner-name": "d"}}})


@TABLE.add("narrow", "bob", to.OK, "sets another label on his own Bundle")
async def _label(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.made(room.bundle()), {"metadata": {"labels": {"a": "b"}}})


@TABLE.add("narrow", "bob", to.OWNED, "takes the labels off an owned Bundle")
async def _unlabel(room: Room, user: str) -> Answer:
    live = await room.made(room.bundle(labels=room.labels()))
    return await room.patch(user, live, {"metadata": {"labels": None}})


@TABLE.add("narrow", "bob", to.OWNED, "strips the owner of a Bundle")
async def _strip_owner(room: Room, user: str) -> Answer:
    deployment = await room.base()
    live = await room.made(room.bundle(ownerReferences=[owner(deployment, controller=True)]))
    return await room.patch(user, live, {"metadata": {"ownerReferences": None}})


@TABLE.add("narrow", "bob", to.OWNED, "adds another label to an owned Bundle")
@TABLE.add("narrow", COLLECTOR, to.OWNED, "the collector's account changes a label of an owned Bundle")
async def _label_owned(room: Room, user: str) -> Answer:
    live = await room.made(room.bundle(labels=room.labels()))
    return await room.patch(user, live, {"metadata": {"labels": {"a": "b"}}})


@TABLE.add("narrow", "bob", to.OWNED, "adds an owner reference to an owned Bundle")
async def _own(room: Room, user: str) -> Answer:
    live = await room.made(room.bundle(labels=room.labels()))
    return await room.patch(user, live, {"metadata": {"ownerReferences": [owner()]}})


@TABLE.add("narrow", "bob", to.OWNED, "adds a finalizer to an owned Bundle")
async def _finalizer(room: Room, user: str) -> Answer:
    live = await room.made(room.bundle(labels=room.labels()))
    return await room.patch(user, live, {"metadata": {"finalizers": ["x.test/y"]}})


@TABLE.add("narrow", "bob", to.OK, "annotates an owned Bundle")
async def _annotate(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.made(room.bundle(labels=room.labels())), note(note="x"))


@TABLE.add("narrow", "bob", to.OK, "deletes an owned Bundle, which is made again")
async def _delete(room: Room, user: str) -> Answer:
    return await room.delete(user, await room.made(room.bundle(labels=room.labels())))


@TABLE.add("narrow", "mig", to.OK, "a migration of storage puts what is stored of an owned Bundle")
async def _migrate(room: Room, user: str) -> Answer:
    return await room.replace(user, await room.made(room.bundle(labels=room.labels())))


@TABLE.add("narrow", OPERATOR, PROBED, "the operator creates its probe")
async def _probe(room: Room, user: str) -> Answer:
    return await room.create(user, {**room.bundle(), "metadata": {"name": PROBE}}, "?dryRun=All")


@pytest.mark.parametrize(("setting", "attempt"), TABLE.params(), indirect=["setting"])
async def test_attempt(plane: ControlPlane, setting: str, attempt: Attempt, room: Room) -> None:
    check(attempt, await attempt.do(room, attempt.user), room.mark)


@pytest.mark.parametrize("setting", ["narrow"], indirect=True)
async def test_a_status_in_a_patch_of_the_object_is_dropped(plane: ControlPlane, setting: str, room: Room) -> None:
    live = await room.base()
    answer = await room.patch("ada", live, {"metadata": {"labels": {"a": "b"}}, **FORGED})
    assert answer.is_success
    assert "activeBundle" not in answer.body.get("status", {})


@pytest.mark.parametrize("setting", ["narrow"], indirect=True)
async def test_annotations_in_a_patch_of_the_status_are_dropped(plane: ControlPlane, setting: str, room: Room) -> None:
    answer = await room.patch(OPERATOR, await room.base(), {**note(refresh_at="1"), **FORGED}, "/status")
    assert answer.is_success
    assert "annotations" not in answer.body["metadata"]


@pytest.mark.parametrize("setting", ["narrow"], indirect=True)
async def test_rbac_comes_before_the_policies(plane: ControlPlane, setting: str, room: Room) -> None:
    answer = await room.create("tom", room.bundle())
    assert answer.status == 403
    assert 'cannot create resource "bundles"' in answer.text
