"""Attempts to approve upgrades, and to get around an approval, against the policy of accounts."""

from typing import Any

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import API_VERSION, APPROVED_ANNOTATION
from rukpak_py.api.policies.document import Document
from rukpak_py.kube.client import APPLY_PATCH
from tests.integration.tenancy import attempts as to
from tests.integration.tenancy.attempts import Answer, Attempt, Room, Table, check, note, owner, path
from tests.integration.tenancy.users import ADMIN, COLLECTOR

TABLE = Table()
OPERATOR = "system/core-admin"
MANUAL = {"approval": "Manual"}
OTHER_TEMPLATE = {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}}
INSTANCE = "BundleInstance"
FINALIZERS = ["core.rukpak.io/ordered-deletion"]
DIGEST = "sha256:1"


async def manual(room: Room, **more: Any) -> Document:
    return await room.base(upgrades=MANUAL, **more)


async def approved(room: Room, **more: Any) -> Document:
    return await manual(room, metadata={"annotations": {APPROVED_ANNOTATION: DIGEST}}, **more)


# --- the annotation


@TABLE.add("narrow classic", "ann", to.OK, "an approver sets approved")
@TABLE.add("narrow classic default", "tina", to.SETS_APPROVED, "a tenant sets approved")
@TABLE.add("narrow", "tom", to.RUNS, "a user without any right on the account sets approved")
@TABLE.add("narrow", "ada", to.OK, "a cluster admin sets approved")
@TABLE.add("narrow", OPERATOR, to.OK, "the operator mirrors approved from an instance")
async def _approve(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), note(approved=DIGEST))


@TABLE.add("classic", "tina", to.SETS_APPROVED, "a tenant sets approved on one without an account")
@TABLE.add("classic", "ann", to.OK, "an approver sets approved on one without an account")
async def _approve_without_account(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room, account=""), note(approved=DIGEST))


@TABLE.add("narrow", "ann", to.OK, "an approver applies the annotation alone")
@TABLE.add("narrow", "tina", to.SETS_APPROVED, "a tenant applies the annotation alone")
async def _approve_by_apply(room: Room, user: str) -> Answer:
    body = await manual(room)
    metadata = {"name": room.name, "annotations": {APPROVED_ANNOTATION: DIGEST}}
    partial = {"apiVersion": API_VERSION, "kind": body["kind"], "metadata": metadata}
    return await room.ask(user, "PATCH", f"{path(body)}?fieldManager=rukpakctl", partial, APPLY_PATCH)


@TABLE.add("narrow", "ann", to.OK, "an approver sets approved on a BundleInstance")
@TABLE.add("narrow classic", "tina", to.SETS_APPROVED, "a tenant sets approved on a BundleInstance")
async def _approve_instance(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room, kind=INSTANCE), note(approved=DIGEST))


@TABLE.add("narrow", "tina", to.SETS_APPROVED, "a tenant sets approved: none")
@TABLE.add("narrow", "ann", to.OK, "an approver sets approved: none")
async def _withdraw(room: Room, user: str) -> Answer:
    return await room.patch(user, await approved(room), note(approved="none"))


@TABLE.add("narrow", "tina", to.OK, "a tenant removes approved, which withdraws nothing")
@TABLE.add("narrow", "tom", to.RUNS, "a user without any right on the account removes approved")
@TABLE.add("narrow", "ann", to.OK, "an approver removes approved")
async def _remove(room: Room, user: str) -> Answer:
    return await room.patch(user, await approved(room), note(approved=None))


@TABLE.add("narrow", "tina", to.SETS_APPROVED, "a tenant replaces one approval by another")
async def _approve_another(room: Room, user: str) -> Answer:
    return await room.patch(user, await approved(room), note(approved="sha256:2"))


@TABLE.add("narrow", "tina", to.OK, "a tenant changes the template beside an approval that stays")
@TABLE.add("narrow", "ann", to.RUNS, "an approver changes the template beside an approval that stays")
async def _edit_approved(room: Room, user: str) -> Answer:
    return await room.patch(user, await approved(room), OTHER_TEMPLATE)


@TABLE.add("narrow", "tina", to.SETS_APPROVED, "a tenant sets approved with a change of the template")
@TABLE.add("narrow", "ann", to.RUNS, "an approver sets approved with a change of the template")
@TABLE.add("narrow", "tess", to.OK, "a tenant and approver sets approved with a change of the template")
async def _approve_and_edit(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), OTHER_TEMPLATE | note(approved=DIGEST))


@TABLE.add("narrow", "ann", to.RUNS, "an approver sets approved and refresh-at")
async def _approve_and_refresh(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), note(approved=DIGEST, refresh_at="1"))


@TABLE.add("narrow", "ann", to.RUNS, "an approver sets approved and removes another annotation")
async def _approve_and_remove(room: Room, user: str) -> Answer:
    body = await manual(room, metadata={"annotations": {"example.com/a": "b"}})
    change = {"metadata": {"annotations": {APPROVED_ANNOTATION: DIGEST, "example.com/a": None}}}
    return await room.patch(user, body, change)


@TABLE.add("narrow", "ann", to.RUNS, "an approver sets approved and a label")
async def _approve_and_label(room: Room, user: str) -> Answer:
    change = {"metadata": {"annotations": {APPROVED_ANNOTATION: DIGEST}, "labels": {"a": "b"}}}
    return await room.patch(user, await manual(room), change)


@TABLE.add("narrow", "ann", to.RUNS, "an approver sets approved and empties managedFields")
async def _approve_and_forget_managers(room: Room, user: str) -> Answer:
    change = {"metadata": {"annotations": {APPROVED_ANNOTATION: DIGEST}, "managedFields": [{}]}}
    return await room.patch(user, await manual(room), change)


@TABLE.add("narrow", "ann", to.RUNS, "an approver empties managedFields alone")
async def _forget_managers(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), {"metadata": {"managedFields": [{}]}})


@TABLE.add("narrow", "ann", to.RUNS, "an approver sets approved and an owner reference")
async def _approve_and_own(room: Room, user: str) -> Answer:
    change = {"metadata": {"annotations": {APPROVED_ANNOTATION: DIGEST}, "ownerReferences": [owner()]}}
    return await room.patch(user, await manual(room), change)


@TABLE.add("narrow classic", "tina", to.SETS_APPROVED, "a tenant creates it with an approval")
@TABLE.add("narrow", "tess", to.OK, "a tenant and approver creates it with an approval")
async def _create_approved(room: Room, user: str) -> Answer:
    annotations = {APPROVED_ANNOTATION: DIGEST}
    return await room.create(user, room.deployment(upgrades=MANUAL, metadata={"annotations": annotations}))


@TABLE.add("narrow", "tina", to.SETS_APPROVED, "a tenant creates a BundleInstance with an approval")
async def _create_approved_instance(room: Room, user: str) -> Answer:
    annotations = {APPROVED_ANNOTATION: DIGEST}
    return await room.create(user, room.deployment(kind=INSTANCE, metadata={"annotations": annotations}))


# --- the rules for upgrades


@TABLE.add("narrow classic", "tina", to.OK, "a tenant changes the template of one that waits")
@TABLE.add("narrow", "ann", to.RUNS, "an approver changes the template")
async def _edit(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), OTHER_TEMPLATE)


@TABLE.add("narrow classic", "tina", to.CHANGES_RULES, "a tenant takes spec.upgrades away")
@TABLE.add("narrow", "ann", to.RUNS, "an approver without a right on the account takes spec.upgrades away")
@TABLE.add("narrow", "tess", to.OK, "a tenant and approver takes spec.upgrades away")
async def _take_rules_away(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), {"spec": {"upgrades": None}})


@TABLE.add("narrow", "tina", to.CHANGES_RULES, "a tenant lowers the approval")
async def _lower(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), {"spec": {"upgrades": {"approval": "Automatic"}}})


@TABLE.add("narrow", "tina", to.CHANGES_RULES, "a tenant lowers the approval of a BundleInstance")
async def _lower_instance(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room, kind=INSTANCE), {"spec": {"upgrades": {"approval": "WhenSafe"}}})


@TABLE.add("narrow", "tina", to.CHANGES_RULES, "a tenant opens another window")
async def _open(room: Room, user: str) -> Answer:
    body = await room.base(upgrades={"windows": [{"start": "0 2 * * 0", "duration": "4h"}]})
    windows = [{"start": "* * * * *", "duration": "4h"}]
    return await room.patch(user, body, {"spec": {"upgrades": {"windows": windows}}})


@TABLE.add("narrow", "tina", to.CHANGES_RULES, "a tenant applies a manifest that drops spec.upgrades")
async def _apply_without_rules(room: Room, user: str) -> Answer:
    body = room.deployment(upgrades=MANUAL)
    made = await room.ask(ADMIN, "PATCH", f"{path(body)}?fieldManager=applier", body, APPLY_PATCH)
    assert made.is_success, made.text
    return await room.apply(user, room.deployment())  # what the manager drops is removed


@TABLE.add("narrow classic", "tina", to.OK, "a tenant creates one that waits for approvals")
@TABLE.add("approving", "tina", to.OK, "a tenant creates one that asks for more than the least approval")
async def _create_manual(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(upgrades=MANUAL))


@TABLE.add("approving", "tina", to.OK, "a tenant creates one with the least approval")
async def _create_when_safe(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(upgrades={"approval": "WhenSafe"}))


@TABLE.add("approving", "tina", to.ASKS_FOR_LESS, "a tenant creates one below the least approval")
@TABLE.add("approving", "tess", to.OK, "a tenant and approver creates one below the least approval")
@TABLE.add("approving", OPERATOR, to.OK, "the operator mirrors an instance below the least approval")
async def _create_automatic(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment())


@TABLE.add("approving", "tina", to.ASKS_FOR_LESS, "a tenant creates one with windows, below the least approval")
async def _create_with_windows(room: Room, user: str) -> Answer:
    windows = [{"start": "0 2 * * 0", "duration": "4h"}]
    return await room.create(user, room.deployment(upgrades={"windows": windows}))


@TABLE.add("approving", "tina", to.ASKS_FOR_LESS, "a tenant creates a BundleInstance below the least approval")
async def _create_automatic_instance(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(kind=INSTANCE))


# --- the check of CRDs


@TABLE.add("narrow classic", "tina", to.CHANGES_RULES, "a tenant sets crdSafety: Warn")
@TABLE.add("narrow", "ann", to.RUNS, "an approver without a right on the account sets crdSafety: Warn")
@TABLE.add("narrow", "tess", to.OK, "a tenant and approver sets crdSafety: Warn")
async def _check_less(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), {"spec": {"crdSafety": "Warn"}})


@TABLE.add("narrow", "tina", to.CHANGES_RULES, "a tenant sets crdSafety: Warn on a BundleInstance")
async def _check_less_of_instance(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(kind=INSTANCE), {"spec": {"crdSafety": "Warn"}})


@TABLE.add("narrow", "tina", to.CHANGES_RULES, "a tenant takes crdSafety: Warn away")
async def _check_more(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(crdSafety="Warn"), {"spec": {"crdSafety": None}})


@TABLE.add("narrow", "tina", to.OK, "a tenant changes the template beside crdSafety: Warn")
async def _edit_checked_less(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(crdSafety="Warn"), OTHER_TEMPLATE)


@TABLE.add("narrow classic", "tina", to.CHECKS_LESS, "a tenant creates one with crdSafety: Warn")
@TABLE.add("narrow", "tess", to.OK, "a tenant and approver creates one with crdSafety: Warn")
async def _create_checked_less(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(crdSafety="Warn"))


@TABLE.add("narrow", "tina", to.CHECKS_LESS, "a tenant creates a BundleInstance with crdSafety: Warn")
async def _create_checked_less_instance(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(kind=INSTANCE, crdSafety="Warn"))


# --- ways around


@TABLE.add("narrow classic", "tina", to.WAY_AROUND, "a tenant deletes one that waits")
@TABLE.add("narrow", "tess", to.OK, "a tenant and approver deletes one that waits")
@TABLE.add("narrow", COLLECTOR, to.OK, "the collector deletes one that waits")
async def _delete(room: Room, user: str) -> Answer:
    return await room.delete(user, await manual(room))


@TABLE.add("narrow", "tina", to.WAY_AROUND, "a tenant deletes a BundleInstance that waits")
async def _delete_instance(room: Room, user: str) -> Answer:
    return await room.delete(user, await manual(room, kind=INSTANCE))


@TABLE.add("narrow", "tina", to.WAY_AROUND, "a tenant deletes one that waits, by its label")
async def _delete_collection(room: Room, user: str) -> Answer:
    await manual(room, metadata={"labels": {"of": room.name}})
    return await room.ask(user, "DELETE", f"{to.collection(room.deployment())}?labelSelector=of%3D{room.name}")


@TABLE.add("narrow", "tina", to.WAY_AROUND, "a tenant orphans what one that waits has installed")
async def _orphan(room: Room, user: str) -> Answer:
    return await room.delete(user, await manual(room), "?propagationPolicy=Orphan")


@TABLE.add("narrow", "tina", to.OK, "a tenant deletes one whose upgrades go on by themselves")
async def _delete_automatic(room: Room, user: str) -> Answer:
    return await room.delete(user, await room.base())


@TABLE.add("narrow classic", "tina", to.WAY_AROUND, "a tenant sets an owner that is gone")
@TABLE.add("narrow", "tess", to.OK, "a tenant and approver sets an owner that is gone")
async def _own(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), {"metadata": {"ownerReferences": [owner()]}})


@TABLE.add("narrow", "tina", to.WAY_AROUND, "a tenant sets an owner that is gone on a BundleInstance")
async def _own_instance(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room, kind=INSTANCE), {"metadata": {"ownerReferences": [owner()]}})


@TABLE.add("narrow classic", "tina", to.CREATES_OWNED, "a tenant creates one that waits with an owner")
@TABLE.add("narrow", "tess", to.OK, "a tenant and approver creates one that waits with an owner")
async def _create_owned(room: Room, user: str) -> Answer:
    root = room.bundle()
    root["metadata"]["name"] += "-root"
    references = [owner(await room.made(root))]
    return await room.create(user, room.deployment(upgrades=MANUAL, metadata={"ownerReferences": references}))


@TABLE.add("narrow", "tina", to.WAY_AROUND, "a tenant adds a finalizer to one that waits")
@TABLE.add("narrow", OPERATOR, to.OK, "the operator adds a finalizer to one that waits")
async def _add_finalizer(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), {"metadata": {"finalizers": FINALIZERS}})


@TABLE.add("narrow", "tina", to.WAY_AROUND, "a tenant removes the finalizer of one that waits")
async def _remove_finalizer(room: Room, user: str) -> Answer:
    body = await manual(room, metadata={"finalizers": FINALIZERS})
    return await room.patch(user, body, {"metadata": {"finalizers": None}})


@TABLE.add("narrow classic", "tina", to.WAY_AROUND, "a tenant sets skip-hooks on one that waits")
@TABLE.add("narrow", "tess", to.OK, "a tenant and approver sets skip-hooks on one that waits")
async def _skip_hooks(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), note(skip_hooks="true"))


@TABLE.add("narrow", "tina", to.WAY_AROUND, "a tenant removes skip-hooks from one that waits")
async def _run_hooks(room: Room, user: str) -> Answer:
    body = await manual(room, metadata={"annotations": {"core.rukpak.io/skip-hooks": "true"}})
    return await room.patch(user, body, note(skip_hooks=None))


@TABLE.add("narrow", "tina", to.OK, "a tenant sets refresh-at on one that waits")
async def _refresh(room: Room, user: str) -> Answer:
    return await room.patch(user, await manual(room), note(refresh_at="1"))


@TABLE.add("narrow", "gitops/applier", to.OK, "a tool applies its manifest again beside an approval, which stays")
async def _gitops(room: Room, user: str) -> Answer:
    first = await room.apply(user, room.deployment(upgrades=MANUAL))
    assert first.is_success, first.text
    set_ = await room.patch("ann", first.body, note(approved=DIGEST))
    assert set_.is_success, set_.text
    again = await room.apply(user, room.deployment(upgrades=MANUAL, suspend=True))
    assert again.body["metadata"]["annotations"] == {APPROVED_ANNOTATION: DIGEST}
    return again


@pytest.mark.parametrize(("setting", "attempt"), TABLE.params(), indirect=["setting"])
async def test_attempt(plane: ControlPlane, setting: str, attempt: Attempt, room: Room) -> None:
    check(attempt, await attempt.do(room, attempt.user), room.mark)


@pytest.mark.parametrize(("number", "is_compared"), [(127, True), (128, False)])
@pytest.mark.parametrize("setting", ["narrow"], indirect=True)
async def test_an_approval_is_told_apart_from_other_edits_up_to_128_annotations(
    plane: ControlPlane, setting: str, room: Room, *, number: int, is_compared: bool
) -> None:
    """Beyond that it is an edit like any other, which needs the right on the account."""
    annotations = {f"example.com/{one}": "x" * 1000 for one in range(number)}
    body = await manual(room, metadata={"annotations": annotations})
    expected = to.OK if is_compared else to.RUNS
    for user, wanted in (("ann", expected), ("tina", to.SETS_APPROVED), ("tess", to.OK)):
        attempt = Attempt(setting=setting, user=user, what="", expected=wanted, do=_approve)
        check(attempt, await room.patch(user, body, note(approved=f"sha256:{user}")), room.mark)
