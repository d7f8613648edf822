"""Definitions and their instances in one bundle."""

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.apply.plan import Action
from rukpak_py.apply.results import FailureKind
from tests.integration.apply.room import Room, names, only
from tests.integration.apply.things import brought, definition, thing
from tests.manifests import config_map, crd, manifest, strings


async def test_a_definition_and_its_instance_are_installed_in_one_go(room: Room, group: str) -> None:
    rounds = await brought(room, definition(group, "a"), thing(group, a="1"), config_map("c"))
    assert not any(change_set.failures for change_set in rounds)
    waits = {wait for change_set in rounds for wait in change_set.waiting}
    assert waits <= {f"CustomResourceDefinition.apiextensions.k8s.io/things.{group} is not established yet"}
    assert names(key for change_set in rounds for key in change_set.created) == ["c", "t", f"things.{group}"]
    assert (await room.read(thing(group)))["spec"] == {"a": "1"}


async def test_an_unknown_field_of_a_custom_resource_is_refused(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"), thing(group, a="1"))
    change_set = await room.bring(definition(group, "a"), thing(group, a="2", nonsense="1"))
    (failure,) = change_set.failures
    assert failure.kind is FailureKind.LAGGING, "its schema may lag behind its definition"
    assert ".spec.nonsense: field not declared in schema" in failure.message
    assert not change_set.warnings
    assert (await room.read(thing(group)))["spec"] == {"a": "1"}


async def test_a_refused_secret_of_another_group_is_not_taken_for_a_core_secret(room: Room, group: str) -> None:
    crds = crd(group, kind="Secret", schema=strings("a"))
    login = manifest(f"{group}/v1", "Secret", "login", spec={"a": "1"})
    await brought(room, crds, login)
    (failure,) = (await room.bring(crds, login | {"spec": {"nonsense": "1"}})).failures
    assert failure.message.startswith(f"Secret.{group}/{room.namespace}/login: ")
    assert "field not declared in schema" in failure.message


async def test_a_definition_and_an_instance_with_a_new_field_arrive_together(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"), thing(group, a="1"))
    wanted = definition(group, "a", "b"), thing(group, a="1", b="2")
    rounds = await brought(room, *wanted)
    assert all(failure.kind is FailureKind.LAGGING for change_set in rounds for failure in change_set.failures)
    assert (await room.read(thing(group)))["spec"] == {"a": "1", "b": "2"}


async def test_an_instance_is_judged_like_any_other_object(room: Room, group: str) -> None:
    await brought(room, definition(group, "a"))
    await room.another_client_creates(thing(group, a="theirs"))
    plan = await room.plan(definition(group, "a"), thing(group, a="ours"))
    assert {change.key.kind: change.action for change in plan.changes} == {
        "CustomResourceDefinition": Action.LEAVE,
        "Thing": Action.REFUSE,
    }
    assert only(await room.plan(definition(group, "a"))).action is Action.LEAVE


async def test_of_an_adopted_instance_a_parent_goes_with_all_that_the_content_had_under_it(
    room: Room, group: str
) -> None:
    """Its first manager is left with no empty parent, of which the server would make a null that the schema refuses."""
    crd = definition(group, "a")
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["git"] = {"type": "object", "properties": {"url": {"type": "string"}}}
    await brought(room, crd)
    mine = thing(group, a="1")
    mine["spec"]["git"] = {"url": "example.com"}
    await room.another_client_creates(mine)
    await room.installed(crd, mine, adopt=Adopt.IF_UNOWNED)
    await room.installed(crd, thing(group, a="1"))
    assert (await room.read(mine))["spec"] == {"a": "1"}
