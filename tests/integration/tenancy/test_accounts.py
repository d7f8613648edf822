"""Attempts to name accounts, and to change or delete what is served with one, against the policy of accounts."""

import ssl

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.policies.document import PROBE
from tests.integration.tenancy import attempts as to
from tests.integration.tenancy.attempts import Answer, Attempt, Room, Table, check, note, owner, path
from tests.integration.tenancy.users import COLLECTOR, NAMESPACE_CONTROLLER

TABLE = Table()
OPERATOR = "system/core-admin"
OTHER_TEMPLATE = {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}}
DRY_RUN = "?dryRun=All"


@TABLE.add("narrow", "tina", to.OK, "creates with her account")
@TABLE.add("narrow default classic", "tom", to.WOULD_RUN, "creates with an account that he may not impersonate")
@TABLE.add("narrow", OPERATOR, to.OK, "the operator mirrors an instance")
async def _create(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment())


@TABLE.add("narrow", "tina", to.WOULD_RUN_ELSEWHERE, "creates with an account of another namespace")
@TABLE.add("narrow", "ada", to.OK, "a cluster admin creates with any account")
async def _create_elsewhere(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(namespace="team-b"))


@TABLE.add("narrow", "tina", to.WOULD_RUN_AS_OPERATOR, "creates without an account")
@TABLE.add("classic", "tina", to.OK, "creates without an account, which is left to RBAC")
@TABLE.add("narrow classic", "oda", to.OK, "creates without an account and may impersonate the operator")
@TABLE.add("default", "tina", to.OK, "names no account where the default one is hers")
async def _create_without(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(account=""))


@TABLE.add(
    "default",
    "tina",
    to.accounts("it would run as service account system/installer; that needs the verb impersonate"),
    "names neither account nor namespace: the default account of the system namespace",
)
async def _create_in_system_namespace(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(account="", namespace=""))


@TABLE.add("narrow", "tom", to.WOULD_RUN, "creates by generateName")
async def _generate(room: Room, user: str) -> Answer:
    return await room.create(user, {**room.deployment(), "metadata": {"generateName": f"{room.name}-"}})


@TABLE.add("narrow", "tom", to.WOULD_RUN, "creates by server-side apply")
async def _create_by_apply(room: Room, user: str) -> Answer:
    return await room.apply(user, room.deployment())


@TABLE.add("narrow", "tom", to.WOULD_RUN, "creates in a dry run")
async def _create_dry(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(), DRY_RUN)


@TABLE.add("narrow classic", "tom", to.WOULD_RUN, "creates a BundleInstance with an account")
@TABLE.add("narrow", "tina", to.OK, "creates a BundleInstance with her account")
async def _create_instance(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(kind="BundleInstance"))


@TABLE.add("narrow", "tina", to.OK, "changes the template")
@TABLE.add("narrow classic default", "tom", to.RUNS, "changes the template")
@TABLE.add("narrow", "team-a/installer", to.RUNS, "the account itself, which may not impersonate itself, edits")
async def _edit(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), OTHER_TEMPLATE)


@TABLE.add("narrow", "tom", to.RUNS, "changes the template of a BundleInstance")
async def _edit_instance(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(kind="BundleInstance"), OTHER_TEMPLATE)


@TABLE.add("narrow", "tom", to.RUNS, "changes a label")
@TABLE.add("narrow", COLLECTOR, to.RUNS, "the collector's account changes a label")
async def _label(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), {"metadata": {"labels": {"a": "b"}}})


@TABLE.add("narrow", "tom", to.RUNS, "sets refresh-at")
async def _refresh(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), note(refresh_at="1"))


@TABLE.add("narrow", "tom", to.RUNS, "sets allow-data-loss")
async def _allow_data_loss(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), note(allow_data_loss="true"))


@TABLE.add("narrow", "tom", to.RUNS, "sets skip-hooks")
@TABLE.add("narrow", "tina", to.OK, "sets skip-hooks")
async def _skip_hooks(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), note(skip_hooks="true"))


@TABLE.add("narrow", "tom", to.RUNS, "adds an owner reference to a dead uid, so that the collector deletes it")
async def _dead_owner(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), {"metadata": {"ownerReferences": [owner()]}})


@TABLE.add("narrow", "tom", to.RUNS, "adds a finalizer")
@TABLE.add("narrow", OPERATOR, to.OK, "the operator adds a finalizer")
async def _add_finalizer(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), {"metadata": {"finalizers": ["core.rukpak.io/ordered-deletion"]}})


@TABLE.add("narrow", "tom", to.RUNS, "removes the operator's finalizer")
async def _remove_finalizer(room: Room, user: str) -> Answer:
    body = await room.base(metadata={"finalizers": ["core.rukpak.io/ordered-deletion"]})
    return await room.patch(user, body, {"metadata": {"finalizers": None}})


@TABLE.add("narrow", "tom", to.RUNS, "replaces it with another spec")
async def _replace(room: Room, user: str) -> Answer:
    body = await room.base()
    body["spec"]["suspend"] = True
    return await room.replace(user, body)


@TABLE.add("narrow classic", "tom", to.RUNS, "deletes")
@TABLE.add("narrow", "tina", to.OK, "deletes")
@TABLE.add("narrow", NAMESPACE_CONTROLLER, to.RUNS, "the namespace controller's account deletes")
async def _delete(room: Room, user: str) -> Answer:
    return await room.delete(user, await room.base())


@TABLE.add("narrow", "tom", to.RUNS, "deletes a BundleInstance")
async def _delete_instance(room: Room, user: str) -> Answer:
    return await room.delete(user, await room.base(kind="BundleInstance"))


@TABLE.add("narrow", "tom", to.RUNS, "deletes and orphans")
async def _delete_orphaning(room: Room, user: str) -> Answer:
    return await room.delete(user, await room.base(), "?propagationPolicy=Orphan")


@TABLE.add("narrow", "tina", to.RUNS_AS_OPERATOR, "deletes one without an account, left from classic mode")
async def _delete_without(room: Room, user: str) -> Answer:
    return await room.delete(user, await room.base(account=""))


@TABLE.add("narrow classic", "tina", to.WOULD_RUN_AS_OPERATOR, "takes the account away")
@TABLE.add("narrow", "ada", to.OK, "a cluster admin takes the account away")
async def _take_away(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), {"spec": {"serviceAccountName": None}})


@TABLE.add(
    "narrow",
    "tina",
    to.accounts("it runs as service account team-b/installer; changing or deleting it needs"),
    "takes another's deployment into her namespace",
)
@TABLE.add("narrow", "ada", to.MOVES, "a cluster admin changes installNamespace under an account")
async def _move(room: Room, user: str) -> Answer:
    body = await room.base(namespace="team-b")
    return await room.patch(user, body, {"spec": {"installNamespace": f"team-a-{room.mark}"}})


@TABLE.add("narrow classic", "tina", to.RUNS_AS_OPERATOR, "names her account in one that has none")
async def _name_in_other(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(account=""), {"spec": {"serviceAccountName": "installer"}})


@TABLE.add("classic", "tina", to.OK, "edits one that has none, which is left to RBAC")
async def _edit_without(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(account=""), OTHER_TEMPLATE)


@TABLE.add("default", "ada", to.MOVES, "a cluster admin sets installNamespace where the default account counts")
async def _move_default(room: Room, user: str) -> Answer:
    body = await room.base(account="", namespace="")
    return await room.patch(user, body, {"spec": {"installNamespace": f"team-a-{room.mark}"}})


@TABLE.add("narrow", "tina", to.OK, "changes from one account of hers to another")
async def _other_account(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), {"spec": {"serviceAccountName": "builder"}})


@TABLE.add("narrow", "tom", to.OK, "patches nothing")
async def _patch_nothing(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), {"spec": {"suspend": None}})


@TABLE.add("narrow", "mig", to.OK, "a migration of storage puts what is stored")
async def _migrate_by_put(room: Room, user: str) -> Answer:
    return await room.replace(user, await room.base())


@TABLE.add("narrow", "mig", to.OK, "a migration of storage applies nothing")
async def _migrate_by_apply(room: Room, user: str) -> Answer:
    live = await room.base()
    metadata = {key: live["metadata"][key] for key in ("name", "uid", "resourceVersion")}
    bare = {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata}
    return await room.apply(user, bare)


@TABLE.add("narrow", "tom", to.RUNS, "applies the same spec, which changes managedFields alone")
@TABLE.add("narrow", "tina", to.OK, "applies the same spec")
async def _apply_same(room: Room, user: str) -> Answer:
    await room.base()
    return await room.apply(user, room.deployment())


@TABLE.add("narrow", "tom", to.RUNS, "empties managedFields, so that no manager removes what it drops")
async def _empty_managed_fields(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(), {"metadata": {"managedFields": [{}]}})


@TABLE.add("narrow", "gitops/applier", to.OK, "applies, and applies a change")
async def _gitops(room: Room, user: str) -> Answer:
    first = await room.apply(user, room.deployment())
    return await room.apply(user, room.deployment(suspend=True)) if first.is_success else first


@TABLE.add("narrow", OPERATOR, to.accounts(to.PROBED), "the operator creates its probe")
@TABLE.add("narrow", "ada", to.accounts(to.PROBED), "a cluster admin creates the operator's probe")
async def _probe(room: Room, user: str) -> Answer:
    return await room.create(user, {**room.deployment(), "metadata": {"name": PROBE}}, DRY_RUN)


@pytest.mark.parametrize(("setting", "attempt"), TABLE.params(), indirect=["setting"])
async def test_attempt(plane: ControlPlane, setting: str, attempt: Attempt, room: Room) -> None:
    check(attempt, await attempt.do(room, attempt.user), room.mark)


@pytest.mark.parametrize("setting", ["narrow"], indirect=True)
async def test_a_token_is_judged_as_its_account(plane: ControlPlane, setting: str, room: Room) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    asked = f"/api/v1/namespaces/gitops-{room.mark}/serviceaccounts/applier/token"
    token = (await room.ask("", "POST", asked, body)).body["status"]["token"]
    tls = ssl.create_default_context(cafile=plane.state.pki / "ca.crt")  # without the admin's certificate
    for namespace, status in (("team-b", 403), ("team-a", 201)):
        async with room.session.patch(
            room.connection.server + path(room.deployment()) + "?fieldManager=applier",
            json=room.deployment(namespace=namespace),
            headers={"Content-Type": "application/apply-patch+yaml", "Authorization": f"Bearer {token}"},
            ssl=tls,
        ) as answer:
            assert answer.status == status, await answer.text()


@pytest.mark.parametrize("setting", ["narrow", "classic"], indirect=True)
async def test_a_collection_is_deleted_up_to_the_first_that_is_refused(
    plane: ControlPlane, setting: str, room: Room
) -> None:
    names = [f"{room.name}-{number}" for number in range(6)]
    for number, name in enumerate(names):
        account = "installer" if number == 3 or setting == "narrow" else ""
        labelled = {"name": name, "labels": {"of": room.name}}
        await room.made(room.deployment(account, metadata=labelled))

    where = f"{to.collection(room.deployment())}?labelSelector=of%3D{room.name}"
    answer = await room.ask("tom", "DELETE", where)

    check(Attempt(setting=setting, user="tom", what="", expected=to.RUNS, do=_delete), answer, room.mark)
    left = (await room.ask("", "GET", where)).body["items"]
    assert [one["metadata"]["name"] for one in left] == (names if setting == "narrow" else names[3:])
