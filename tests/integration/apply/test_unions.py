"""A union is switched by an upgrade and by a correction, also where another client owns the member that has to go."""

import copy
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import orjson
import pytest

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.apply.plan import Action
from rukpak_py.apply.unions.switch import RefusedApply
from rukpak_py.core.objects import canonical_json
from rukpak_py.core.x509 import issue_ca
from rukpak_py.kube.errors import StaleError
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import Resource
from tests.integration.apply.room import Manifest, Room, names, only
from tests.integration.apply.switched_unions import DROPPED, SWITCHED, Put, at, deployment, disruption_budget, nothing
from tests.integration.apply.things import brought
from tests.manifests import crd, workload
from tests.waiting import eventually

CA_BUNDLE = b64encode(issue_ca(datetime.now(UTC)).certificate).decode()


def to_webhook(**client_config: object) -> Manifest:
    webhook = {"clientConfig": client_config, "conversionReviewVersions": ["v1"]}
    return {"strategy": "Webhook", "webhook": webhook}


def switches() -> Iterator[tuple[str, str, str]]:
    """Switches from the first form to each other one, and from each to the next one, around."""
    for name, union in SWITCHED.items():
        first, *others = union.forms
        yield from ((name, first, other) for other in others)
        yield from ((name, *pair) for pair in pairwise([*others, first]))


SWITCHES = list(switches())
TOUCHED = [switch for switch in SWITCHES if SWITCHED[switch[0]].forms[switch[1]].touch is not None]


@pytest.mark.parametrize(("union", "before", "after"), SWITCHES)
async def test_an_upgrade_switches_a_union_and_a_correction_too(
    room: Room, union: str, before: str, after: str
) -> None:
    old, new = content(room, union, before), content(room, union, after)
    await room.installed(old)
    stored = content_of(await room.read(old))
    await upgraded(room, new)
    live = await room.read(new)
    assert content_of(live) == await fresh(room, new)
    ours = our_fields(room, live)

    await another_client_writes(room, new, lambda live: live.update(stored))
    if our_fields(room, await room.read(new)) == ours:  # the other form has nothing that the content sets otherwise
        assert only(await room.plan(new)).action is Action.LEAVE
        return
    assert only(await room.plan(new)).action is Action.CORRECT
    await room.installed(new)
    assert our_fields(room, await room.read(new)) == ours


@pytest.mark.parametrize(("union", "before", "after"), TOUCHED)
async def test_an_upgrade_switches_a_union_in_which_another_client_has_a_field(
    room: Room, union: str, before: str, after: str
) -> None:
    old, new = content(room, union, before), content(room, union, after)
    await room.installed(old)
    await another_client_writes(room, old, SWITCHED[union].forms[before].touch or nothing)
    await upgraded(room, new)
    assert our_fields(room, await room.read(new)) is not None


@pytest.mark.parametrize("conversion", [None, {"strategy": "None"}, to_webhook(url="https://127.0.0.1:1/x")])
async def test_a_conversion_goes_into_which_another_client_injected_an_authority(
    room: Room, group: str, conversion: Manifest | None
) -> None:
    old = converting(group, to_webhook(service={"name": "a", "namespace": "a"}))
    await brought(room, old)
    await another_client_writes(room, old, at("spec", "conversion", "webhook", "clientConfig", caBundle=CA_BUNDLE))
    await another_client_writes(room, old, at("spec", "conversion", "webhook", "clientConfig", "service", path="/x"))
    new = converting(group, conversion)
    await upgraded(room, new)
    wanted = conversion or {"strategy": "None"}
    found = (await room.read(new))["spec"]["conversion"]
    found.get("webhook", {}).get("clientConfig", {}).pop("caBundle", None)  # of a URL it may stay
    assert found == wanted


def converting(group: str, conversion: Manifest | None) -> Manifest:
    made = crd(group)
    made["spec"] |= {"conversion": conversion} if conversion else {}
    return made


async def test_a_dry_run_of_a_switch_knows_what_the_apply_will_drop(room: Room) -> None:
    """The new port has the name of the one that goes; a patch that keeps items of lists would have both."""
    old = workload("d", ports=[{"containerPort": 80, "name": "http"}])
    new = workload("d", ports=[{"containerPort": 81, "name": "http"}])
    new["spec"]["strategy"] = {"type": "Recreate"}
    await room.installed(old)
    await upgraded(room, new)


async def test_other_error_of_an_upgrade_is_told_and_nothing_is_changed(room: Room) -> None:
    await room.installed(workload("d"))
    before = await room.read(workload("d"))
    new = workload("d", ports=[{"containerPort": 0, "name": "http"}])
    new["spec"]["strategy"] = {"type": "Recreate"}
    plan = await room.plan(new)
    told = (
        f"Deployment.apps/{room.namespace}/d: spec.template.spec.containers[0].ports[0].containerPort: Required value"
    )
    failures = await room.engine.dry_run(room.target, plan, skip=lambda _change: False)
    assert [failure.message for failure in failures] == [told]
    assert (await room.bring(new)).failures == failures
    after = await room.read(new)
    assert after["spec"] == before["spec"]
    assert our_fields(room, after) == our_fields(room, before)


async def test_a_union_is_switched_by_adoption(room: Room) -> None:
    theirs = workload("d")
    await room.another_client_creates(
        {**theirs, "spec": {**theirs["spec"], "strategy": {"rollingUpdate": {"maxSurge": 2}}}}
    )
    new = workload("d")
    new["spec"]["strategy"] = {"type": "Recreate"}

    async def is_taken() -> bool:  # its controller writes the status, and what changed is judged again
        return names((await room.bring(new, adopt=Adopt.IF_UNOWNED)).taken) == ["d"]

    await eventually(is_taken, what="it is adopted")
    assert (await room.read(new))["spec"]["strategy"] == {"type": "Recreate"}


async def test_the_old_content_gives_back_what_was_moved_before_a_crash(room: Room) -> None:
    old, new = workload("d"), workload("d")
    new["spec"]["strategy"] = {"type": "Recreate"}
    await room.installed(old)
    default = (await room.read(old))["spec"]["strategy"]
    ours = our_fields(room, await room.read(old))
    change = only(await room.plan(new))
    refused = RefusedApply(
        client=room.client,
        resource=await room.resource(new),
        key=change.key,
        uid=change.live.uid if change.live else "",
        body=change.payload.body,
        manager=room.owner.manager,
    )
    assert await refused.switch()
    moved = await room.read(old)
    assert moved["spec"]["strategy"] == default
    assert our_fields(room, moved) != ours
    await room.seen(old)
    await room.installed(old)
    back = await room.read(old)
    assert (back["spec"]["strategy"], our_fields(room, back)) == (default, ours)


async def test_a_write_in_between_costs_another_look(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that writes the status does so."""
    old, new = disruption_budget(), disruption_budget()
    old["spec"]["minAvailable"] = new["spec"]["maxUnavailable"] = 1
    await room.installed(new)
    await another_client_writes(room, new, lambda live: live.update(spec=old["spec"]))
    plan, looks = await room.plan(new), 0
    client = room.target.client
    patch = client.patch

    async def patch_late(resource: Resource, namespace: str, name: str, body: bytes, **how: Any) -> LiveObject:
        nonlocal looks
        answer = await patch(resource, namespace, name, body, **how)
        if how.get("dry_run"):
            looks += 1
            if looks == 1:  # its controller may add one
                change = b'{"metadata":{"annotations":{"look":"1"}}}'
                await patch(resource, namespace, name, change, field_manager="somebody")
        return answer

    monkeypatch.setattr(client, "patch", patch_late)
    change_set = await room.carry_out(plan)
    assert (names(change_set.corrected), change_set.failures) == (["x"], [])
    assert looks > 1


async def test_fields_that_the_server_does_not_know_are_told_once(room: Room) -> None:
    await room.installed(workload("d"))
    new = workload("d", nonsense=1)
    new["spec"]["strategy"] = {"type": "Recreate"}
    assert await room.engine.dry_run(room.target, await room.plan(new), skip=lambda _change: False) == []
    (warning,) = (await room.installed(new)).warnings
    assert "nonsense" in warning


async def test_another_object_on_the_name_is_left_alone(room: Room) -> None:
    old, new = workload("d"), workload("d")
    new["spec"]["strategy"] = {"type": "Recreate"}
    await room.installed(old)
    change = only(await room.plan(new))
    refused = RefusedApply(
        client=room.client,
        resource=await room.resource(new),
        key=change.key,
        uid="9b1b1b1b-0000-4000-8000-000000000000",
        body=change.payload.body,
        manager=room.owner.manager,
    )
    with pytest.raises(StaleError):
        await refused.switch()


@pytest.mark.parametrize("switches", [False, True], ids=["alone", "with a switch"])
@pytest.mark.parametrize("dropped", DROPPED)
async def test_member_that_an_upgrade_drops_goes_with_fields_of_another_client(
    room: Room, dropped: str, *, switches: bool
) -> None:
    old, new = deployment(), deployment()
    DROPPED[dropped].put(old)
    if switches:
        new["spec"]["strategy"] = {"type": "Recreate"}
    await room.installed(old)
    await another_client_writes(room, old, DROPPED[dropped].touch or nothing)
    await upgraded(room, new)
    assert content_of(await room.read(new)) == await fresh(room, new)


async def upgraded(room: Room, new: Manifest) -> None:
    """A dry run takes it, changing nothing, and then the server does."""
    before = content_of(await room.read(new))
    assert await room.engine.dry_run(room.target, await room.plan(new), skip=lambda _change: False) == []
    assert content_of(await room.read(new)) == before
    assert not (await room.installed(new)).warnings
    assert only(await room.plan(new)).action is Action.LEAVE


def our_fields(room: Room, live: Manifest) -> Manifest:
    """We apply, and never update."""
    entries = [one for one in live["metadata"]["managedFields"] if one["manager"].startswith("rukpak/")]
    ((manager, operation, fields),) = [(one["manager"], one["operation"], one["fieldsV1"]) for one in entries]
    assert (manager, operation) == (room.owner.manager, "Apply")
    found: Manifest = fields
    return found


def content(room: Room, name: str, form: str) -> Manifest:
    """A name of its own, for kinds without a namespace."""
    made = SWITCHED[name].base()
    made["metadata"]["name"] = room.namespace
    SWITCHED[name].forms[form].put(made)
    return made


async def another_client_writes(room: Room, manifest: Manifest, change: Put) -> None:
    resource = await room.resource(manifest)
    while True:
        live = await room.read(manifest)
        change(live)
        namespace = room.namespace if resource.namespaced else ""
        try:
            await room.client.replace(resource, namespace, manifest["metadata"]["name"], orjson.dumps(live))
        except StaleError:
            continue  # a controller wrote the status in between
        break
    await room.seen(manifest)


async def fresh(room: Room, manifest: Manifest) -> Manifest:
    """The object as the server would store it were it created now."""
    ((desired,), _) = await room.desire(manifest)
    body = orjson.loads(desired.payload.body)
    body["metadata"] = {"name": f"fresh-{room.namespace}", "namespace": body["metadata"].get("namespace")}
    resource = await room.resource(manifest)
    namespace = room.namespace if resource.namespaced else ""
    created = await room.client.create(resource, namespace, canonical_json(body), dry_run=True)
    return content_of(orjson.loads(created.json or b""))


def content_of(live: Manifest) -> Manifest:
    """The content without what the server chooses, and what means the same whether it is there or not."""
    found = copy.deepcopy({name: value for name, value in live.items() if name not in {"metadata", "status"}})
    if live["kind"] == "Service":
        for name in ("clusterIP", "clusterIPs"):
            found["spec"].pop(name, None)
        for port in found["spec"].get("ports", []):
            port.pop("nodePort", None)
    if live["kind"] == "DaemonSet":  # whatever the type
        found["spec"]["updateStrategy"].pop("rollingUpdate", None)
    if live["kind"] == "StatefulSet" and found["spec"]["updateStrategy"].get("rollingUpdate") == {"partition": 0}:
        del found["spec"]["updateStrategy"]["rollingUpdate"]
    return found
