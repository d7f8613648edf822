"""Drift of what we applied: the watch shows it, and the plan corrects it. Changes of foreign fields are no drift."""

import base64
from typing import Any

import orjson
import pytest

from rukpak_py.apply.plan import Action
from rukpak_py.kube.client import JSON_PATCH
from tests.integration.apply.room import Manifest, Room, only, written
from tests.integration.apply.test_updating import deployment
from tests.manifests import config_map, service
from tests.waiting import until

RBAC = "rbac.authorization.k8s.io/v1"


def manifest(api_version: str, kind: str, **fields: Any) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "labels": {"shipped": "1"}}, **fields}


SCALED = deployment("x")
OURS: dict[str, Manifest] = {
    "ConfigMap": manifest("v1", "ConfigMap", data={"key": "1"}),
    "Secret": manifest("v1", "Secret", stringData={"key": "1"}),
    "Service": {**service("x", selector={"app": "a"}), "metadata": {"name": "x", "labels": {"shipped": "1"}}},
    "Deployment": {**SCALED, "metadata": {"name": "x", "labels": {"shipped": "1"}}},
    "Role": manifest(RBAC, "Role", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
    "ServiceAccount": manifest("v1", "ServiceAccount", automountServiceAccountToken=False),
}
FOREIGN_VALUE: dict[str, Manifest] = {
    "ConfigMap": {"data": {"key": "2"}},
    "Secret": {"data": {"key": base64.b64encode(b"2").decode()}},
    "Service": {"spec": {"selector": {"app": "b"}}},
    "Deployment": {"spec": {"replicas": 3}},
    "Role": {"rules": []},
    "ServiceAccount": {"automountServiceAccountToken": True},
}
FOREIGN_ADDITION: dict[str, Manifest] = {
    "ConfigMap": {"data": {"more": "2"}},
    "Secret": {"data": {"more": base64.b64encode(b"2").decode()}},
    "Service": {"spec": {"sessionAffinity": "ClientIP"}},
    "Deployment": {"spec": {"template": {"metadata": {"annotations": {"restartedAt": "now"}}}}},
    "Role": {"metadata": {"annotations": {"more": "2"}}},
    "ServiceAccount": {"secrets": [{"name": "more"}]},
}


@pytest.mark.parametrize("kind", OURS)
async def test_value_that_another_client_changed_is_reverted(room: Room, kind: str) -> None:
    wanted = OURS[kind]
    await room.installed(wanted)
    shipped = written(await room.read(wanted))
    await room.another_client_patches(wanted, FOREIGN_VALUE[kind])
    await room.seen(wanted)
    assert room.changes
    assert only(await room.plan(wanted)).action is Action.CORRECT
    await room.installed(wanted)
    assert written(await room.read(wanted)) == shipped
    assert only(await room.plan(wanted)).action is Action.LEAVE


@pytest.mark.parametrize("kind", OURS)
async def test_label_that_another_client_removed_is_restored(room: Room, kind: str) -> None:
    wanted = OURS[kind]
    await room.installed(wanted)
    await room.another_client_patches(wanted, {"metadata": {"labels": {"shipped": None}}})
    await room.seen(wanted)
    assert room.changes
    assert only(await room.plan(wanted)).action is Action.CORRECT


@pytest.mark.parametrize("kind", OURS)
async def test_field_that_another_client_added_is_no_drift(room: Room, kind: str) -> None:
    wanted = OURS[kind]
    await room.installed(wanted)
    await room.seen(wanted)
    room.changes.clear()  # with the whole object came its health
    await room.another_client_patches(wanted, FOREIGN_ADDITION[kind])
    await room.seen(wanted)
    assert only(await room.plan(wanted)).action is Action.LEAVE
    assert room.changes == [] or kind == "Deployment", "its controller changes its health"


async def test_scaling_is_drift_where_the_content_says_how_many(room: Room) -> None:
    await room.installed(SCALED)
    resource = await room.resource(SCALED)
    body = orjson.dumps({"spec": {"replicas": 2}})
    await room.client.patch(resource, room.namespace, "x", body, subresource="scale", field_manager="kubectl-scale")
    await room.seen(SCALED)
    assert only(await room.plan(SCALED)).action is Action.CORRECT


async def test_scaling_is_no_drift_where_the_content_leaves_it_open(room: Room) -> None:
    open_ended = {**SCALED, "spec": {name: value for name, value in SCALED["spec"].items() if name != "replicas"}}
    await room.installed(open_ended)
    resource = await room.resource(open_ended)
    body = orjson.dumps({"spec": {"replicas": 2}})
    await room.client.patch(resource, room.namespace, "x", body, subresource="scale", field_manager="kubectl-scale")
    await room.seen(open_ended)
    assert only(await room.plan(open_ended)).action is Action.LEAVE


async def test_wiped_managed_fields_are_drift(room: Room) -> None:
    await room.installed(config_map("a", x="1"))
    resource = await room.resource(config_map("a"))
    wipe = orjson.dumps([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])
    await room.client.patch(resource, room.namespace, "a", wipe, content_type=JSON_PATCH)
    await until(lambda: room.changes)
    assert only(await room.plan(config_map("a", x="1"))).action is Action.CORRECT
    await room.installed(config_map("a", x="1"))
    assert only(await room.plan(config_map("a", x="1"))).action is Action.LEAVE


async def test_a_deletion_is_drift(room: Room) -> None:
    await room.installed(config_map("a", x="1"))
    await room.another_client_deletes(config_map("a"))
    await until(lambda: room.changes)
    assert only(await room.plan(config_map("a", x="1"))).action is Action.CREATE
