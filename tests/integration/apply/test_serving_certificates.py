"""A bundle's webhooks get a certificate and everything that calls them its CA, beside the manager of the content."""

import base64
from dataclasses import replace
from typing import Any

import orjson
import pytest

from rukpak_py.api.names import OWNER_NAME_LABEL
from rukpak_py.apply.plan import Action
from rukpak_py.apply.results import FailureKind, failure_kind
from rukpak_py.core import x509
from rukpak_py.kube.resources import API_SERVICES, SECRETS
from tests.handshakes import handshake
from tests.integration.apply.room import Manifest, Room, actions
from tests.integration.apply.signing import Signing, configuration, converted, service
from tests.integration.apply.things import definition
from tests.waiting import until

VALIDATING = "ValidatingWebhookConfiguration"
MUTATING = "MutatingWebhookConfiguration"
SECRET = "hooks-cert"


def content(room: Room, group: str) -> list[Manifest]:
    return [
        service("hooks", SECRET),
        configuration(room, VALIDATING, SECRET, "a", "b"),
        configuration(room, MUTATING, SECRET, "c"),
        converted(room, group, SECRET),
    ]


async def test_the_secret_is_made_and_every_caller_trusts_it(signer: Signing, room: Room, group: str) -> None:
    manifests = content(room, group)
    await signer.install(*manifests)
    secret = await signer.secret(SECRET)
    assert secret is not None
    assert secret["type"] == "kubernetes.io/tls"
    assert [one["uid"] for one in secret["metadata"]["ownerReferences"]] == [room.owner.uid]
    assert OWNER_NAME_LABEL not in secret["metadata"]["labels"]
    assert set(secret["data"]) == {"tls.crt", "tls.key", "ca.crt"}
    pair, trust = await signer.pair(SECRET), (await signer.data(SECRET))["ca.crt"]
    for manifest in manifests[1:]:
        assert set(await signer.trusted_by(manifest)) == {trust}
    for host in ("", ".svc", ".svc.cluster.local"):
        handshake(pair, trust, f"hooks.{room.namespace}{host}")


async def test_the_manager_of_the_content_sees_no_drift(signer: Signing, room: Room, group: str) -> None:
    manifests = content(room, group)
    await signer.install(*manifests)
    for manifest in manifests:
        await room.seen(manifest)
    assert set(actions(await room.plan(*manifests)).values()) == {Action.LEAVE}
    changed = {**manifests[1], "metadata": {**manifests[1]["metadata"], "labels": {"version": "2"}}}
    await signer.install(changed, *manifests[2:], manifests[0])
    assert set(await signer.trusted_by(changed)) == {(await signer.data(SECRET))["ca.crt"]}


async def test_nothing_is_asked_when_nothing_changed(signer: Signing, room: Room, group: str) -> None:
    await signer.install(*content(room, group))
    assert await signer.calls_of_a_look() == []
    await until(lambda: signer.is_in_step)
    assert await signer.calls_of_a_look() == []
    signer.restart()
    reads = ["get customresourcedefinitions", "get mutatingwebhookconfigurations", "get secrets"]
    assert await signer.calls_of_a_look() == [*reads, "get validatingwebhookconfigurations"]
    assert await signer.calls_of_a_look() == []


async def test_the_first_install_costs_one_write_for_each(signer: Signing, room: Room, group: str) -> None:
    signer.client.calls.clear()
    await signer.install(*content(room, group))
    own = sorted(signer.client.calls)
    applies = ["apply customresourcedefinitions", "apply mutatingwebhookconfigurations"]
    assert own == [*applies, "apply validatingwebhookconfigurations", "create secrets"]


async def test_an_api_service_gets_its_ca(signer: Signing, room: Room) -> None:
    name = f"v1.{room.owner.name}.test"
    manifest = {
        "apiVersion": API_SERVICES.gvk.api_version,
        "kind": API_SERVICES.gvk.kind,
        "metadata": {**configuration(room, VALIDATING, SECRET)["metadata"], "name": name},
        "spec": {
            "group": f"{room.owner.name}.test",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"namespace": room.namespace, "name": "hooks"},
        },
    }
    try:
        await signer.install(service("hooks", SECRET), manifest)
        assert await signer.trusted_by(manifest) == [(await signer.data(SECRET))["ca.crt"]]
    finally:  # without a backend it would hold up the end of every namespace
        await room.client.delete(API_SERVICES, "", name)


async def test_a_foreign_secret_is_neither_read_nor_changed(signer: Signing, room: Room) -> None:
    manifest = configuration(room, VALIDATING, SECRET, "a")
    foreign = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "stringData": {"ca.crt": "theirs"}}
    before = await room.another_client_creates(foreign)
    await room.installed(service("hooks", SECRET), manifest)
    desired, _ = await room.desire(service("hooks", SECRET), manifest)
    signer.wanted = signer.wanted_of(desired)
    result = await signer.look()
    assert [(key.name, failure_kind(key, error)) for key, error in result.failures] == [(SECRET, FailureKind.CONFLICT)]
    assert "delete the Secret" in str(result.failures[0][1])
    assert await signer.secret(SECRET) == before
    assert await signer.trusted_by(manifest) == [b""]
    await room.another_client_deletes(foreign)
    assert (await signer.look()).is_complete
    assert await signer.trusted_by(manifest) == [(await signer.data(SECRET))["ca.crt"]]


async def test_a_changed_ca_bundle_is_noticed_by_the_watch_and_put_back(signer: Signing, room: Room) -> None:
    manifest = configuration(room, VALIDATING, SECRET, "a", "b")
    await signer.install(service("hooks", SECRET), manifest)
    room.changes.clear()
    live = await room.read(manifest)
    live["webhooks"][1]["clientConfig"]["caBundle"] = base64.b64encode(b"theirs").decode()
    await room.another_client_patches(manifest, {"webhooks": live["webhooks"]})
    await until(lambda: room.changes)
    assert (await signer.look()).injected
    assert set(await signer.trusted_by(manifest)) == {(await signer.data(SECRET))["ca.crt"]}


async def test_ca_bundle_that_keeps_changing_is_restored_once_a_minute(signer: Signing, room: Room) -> None:
    manifest = configuration(room, VALIDATING, SECRET, "a")
    await signer.install(service("hooks", SECRET), manifest)
    for _ in range(6):
        room.changes.clear()
        live = await room.read(manifest)
        live["webhooks"][0]["clientConfig"]["caBundle"] = base64.b64encode(b"theirs").decode()
        await room.another_client_patches(manifest, {"webhooks": live["webhooks"]})
        await until(lambda: room.changes)
        result = await signer.look()
    assert [key.name for key in result.resting] == [manifest["metadata"]["name"]]
    assert result.look_again_seconds == 60.0
    signer.later(seconds=61)
    assert (await signer.look()).injected


async def test_a_webhook_leaves_the_content_and_its_configuration(signer: Signing, room: Room) -> None:
    two = configuration(room, VALIDATING, SECRET, "a", "b")
    one = {**two, "webhooks": two["webhooks"][:1]}
    await signer.install(service("hooks", SECRET), two)
    await signer.install(service("hooks", SECRET), one)
    assert [webhook["name"] for webhook in (await room.read(one))["webhooks"]] == [one["webhooks"][0]["name"]]
    assert await signer.trusted_by(one) == [(await signer.data(SECRET))["ca.crt"]]


async def test_no_webhook_lacks_its_ca_while_fields_are_given_up(signer: Signing, room: Room) -> None:
    two = configuration(room, VALIDATING, SECRET, "a", "b")
    await signer.install(service("hooks", SECRET), two)
    before = await signer.trusted_by(two)
    desired, _ = await room.desire(service("hooks", SECRET), {**two, "webhooks": two["webhooks"][:1]})
    owned = room.inventory.owned_by(room.owner.uid)
    released = await signer.certificates.release(signer.target, signer.wanted_of(desired), owned, signer.memory)
    assert [key.name for key in released.released] == [two["metadata"]["name"]]
    assert await signer.trusted_by(two) == before
    assert (await signer.look()).injected, "the plan was refused: what is installed is ours again"


async def test_a_conversion_leaves_the_content_and_the_definition(signer: Signing, room: Room, group: str) -> None:
    await signer.install(service("hooks", SECRET), converted(room, group, SECRET))
    await signer.install(service("hooks", SECRET), definition(group))
    assert (await room.read(definition(group)))["spec"]["conversion"] == {"strategy": "None"}


@pytest.mark.parametrize("ruin", ["the pair", "the trust", "the label", "all of it"])
async def test_a_ruined_secret_is_repaired_and_what_was_trusted_stays(signer: Signing, room: Room, ruin: str) -> None:
    manifest = configuration(room, VALIDATING, SECRET, "a")
    await signer.install(service("hooks", SECRET), manifest)
    former = await signer.pair(SECRET)
    await until(lambda: signer.is_in_step)
    signer.woken.clear()
    junk = base64.b64encode(b"junk").decode()
    patches: dict[str, Any] = {
        "the pair": {"data": {"tls.key": junk}},
        "the trust": {"data": {"ca.crt": junk}},
        "the label": {"metadata": {"labels": None}},
    }
    if ruin in patches:
        await room.client.patch(SECRETS, room.namespace, SECRET, orjson.dumps(patches[ruin]), field_manager="somebody")
    else:
        await room.client.delete(SECRETS, room.namespace, SECRET)
    await until(lambda: room.owner.uid in signer.woken)
    assert (await signer.look()).is_complete
    pair, trust = await signer.pair(SECRET), (await signer.data(SECRET))["ca.crt"]
    assert await signer.trusted_by(manifest) == [trust]
    assert x509.is_pair(pair)
    for serving in (pair, former):  # pods may serve the former one until it expires
        handshake(serving, trust, f"hooks.{room.namespace}.svc")
    assert await signer.calls_of_a_look() == []


async def test_a_secret_is_not_given_back_to_a_deployment_that_is_being_deleted(signer: Signing, room: Room) -> None:
    """The deletion orphans: the collector strips the Secret, which may be seen before the deletion is."""
    await signer.install(service("hooks", SECRET))
    await until(lambda: signer.is_in_step)
    signer.woken.clear()
    await room.client.patch(SECRETS, room.namespace, SECRET, b'{"metadata":{"ownerReferences":null}}')
    await until(lambda: room.owner.uid in signer.woken)
    signer.is_being_deleted = True
    orphaned = await signer.secret(SECRET)
    assert (await signer.look()).issued == []
    assert await signer.secret(SECRET) == orphaned
    signer.is_being_deleted = False
    assert [key.name for key in (await signer.look()).issued] == [SECRET]


async def test_a_secret_that_nothing_asks_for_any_more_is_removed(signer: Signing, room: Room) -> None:
    await signer.install(service("hooks", SECRET), service("others", "others-cert"))
    assert not (await signer.certificates.remove_unwanted(signer.target, signer.wanted, signer.memory)).removed
    await signer.install(service("hooks", SECRET))
    removed = await signer.certificates.remove_unwanted(signer.target, signer.wanted, signer.memory)
    assert [key.name for key in removed.removed] == ["others-cert"]
    assert await signer.secret("others-cert") is None
    assert await signer.secret(SECRET) is not None


async def test_a_namespace_that_the_same_plan_makes_is_waited_for(signer: Signing, room: Room) -> None:
    manifest = {
        **service("hooks", SECRET),
        "metadata": {**service("hooks", SECRET)["metadata"], "namespace": "not-yet"},
    }
    desired, _ = await room.desire(manifest)
    wanted = signer.wanted_of(desired)
    result = await signer.certificates.issue_missing(signer.target, wanted, {}, signer.memory)
    assert result.waiting == [f"Secret not-yet/{SECRET} waits for its namespace"]
    assert not result.failures
    after = await signer.certificates.reconcile(signer.target, wanted, {}, signer.memory)
    assert [failure_kind(*one) for one in after.failures] == [FailureKind.MISSING]


async def test_an_identity_without_the_right_is_named_and_nothing_is_made(signer: Signing, room: Room) -> None:
    desired, _ = await room.desire(service("hooks", SECRET))
    powerless = replace(signer.target, client=room.client.acting_as(f"system:serviceaccount:{room.namespace}:nobody"))
    result = await signer.certificates.issue_missing(powerless, signer.wanted_of(desired), {}, signer.memory)
    assert [failure_kind(*one) for one in result.failures] == [FailureKind.ACCESS]
    assert await signer.secret(SECRET) is None


async def test_webhook_that_names_an_unknown_secret_gets_no_ca_bundle(signer: Signing, room: Room) -> None:
    stranger = configuration(room, VALIDATING, "somebody-elses", "a")
    await room.installed(service("hooks", SECRET), stranger)
    desired, _ = await room.desire(service("hooks", SECRET), stranger)
    signer.wanted = signer.wanted_of(desired)
    result = await signer.look()
    assert [failure_kind(*one) for one in result.failures] == [FailureKind.CONTENT]
    assert [key.name for key in result.issued] == [SECRET]
    assert await signer.trusted_by(stranger) == [b""]
