"""Definitions and their instances in one bundle."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rukpak_py.apply.plan import Action
from rukpak_py.apply.results import Carried, Trouble
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CRDS
from tests.integration.apply.room import PATIENCE_SECONDS, Manifest, Room, config_map, names, only


@pytest.fixture
async def group(room: Room) -> AsyncIterator[str]:
    """A group of one's own; its definition goes at the end."""
    name = f"g{uuid.uuid4().hex[:8]}.rooms.test"
    yield name
    try:
        await room.client.delete(CRDS, "", f"things.{name}")
    except NotFoundError:
        return


def definition(group: str, *fields: str) -> Manifest:
    properties: dict[str, Any] = {field: {"type": "string"} for field in fields}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version],
    }
    return {
        "apiVersion": CRDS.gvk.api_version,
        "kind": CRDS.gvk.kind,
        "metadata": {"name": f"things.{group}"},
        "spec": spec,
    }


def thing(group: str, **spec: str) -> Manifest:
    return {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec}


async def brought(room: Room, *manifests: Manifest) -> list[Carried]:
    """As the controller does it: again and again until all is there."""
    rounds = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            rounds.append(await room.bring(*manifests))
            if rounds[-1].is_complete:
                return rounds
            await asyncio.sleep(0.05)


async def test_a_definition_and_its_instance_are_installed_in_one_go(room: Room, group: str) -> None:
    rounds = await brought(room, definition(group, "a"), thing(group, a="1"), config_map("c"))
    assert not any(carried.failures for carried in rounds)
    (definition_first, *waits) = [carried.waiting for carried in rounds]
    assert definition_first in ([], [f"CustomResourceDefinition things.{group} is not established yet"])
    assert (waits == []) is (definition_first == []), "nothing else is waited for"
    assert names(key for carried in rounds for key in carried.created) == ["c", "t", f"things.{group}"]
    assert (await room.read(thing(group)))["spec"] == {"a": "1"}


async def test_an_unknown_field_of_a_custom_resource_is_refused(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"), thing(group, a="1"))
    carried = await room.bring(definition(group, "a"), thing(group, a="2", nonsense="1"))
    (failure,) = carried.failures
    assert failure.trouble is Trouble.UNAVAILABLE, "its schema may lag behind its definition"
    assert ".spec.nonsense: field not declared in schema" in failure.message
    assert not carried.warnings
    assert (await room.read(thing(group)))["spec"] == {"a": "1"}


async def test_a_definition_and_an_instance_with_a_new_field_arrive_together(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"), thing(group, a="1"))
    wanted = definition(group, "a", "b"), thing(group, a="1", b="2")
    rounds = await brought(room, *wanted)
    assert all(failure.trouble is Trouble.UNAVAILABLE for carried in rounds for failure in carried.failures)
    assert (await room.read(thing(group)))["spec"] == {"a": "1", "b": "2"}


async def test_an_instance_is_judged_like_any_other_object(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"))
    await room.somebody_creates(thing(group, a="theirs"))
    plan = await room.plan(definition(group, "a"), thing(group, a="ours"))
    assert {change.key.kind: change.action for change in plan.changes} == {
        "CustomResourceDefinition": Action.LEAVE,
        "Thing": Action.REFUSE,
    }
    assert only(await room.plan(definition(group, "a"))).action is Action.LEAVE
