"""Fields of a plan: how many are looked for and remembered, and what digests of Secrets tell."""

import threading
from typing import Any

import orjson
import pytest

from rukpak_py.apply.plan import Action, Change, Plan
from rukpak_py.apply.planned_fields import FieldChanges, changed_fields
from rukpak_py.apply.target import Target
from rukpak_py.apply.upgrade_document import FIELDS_AT_MOST, FIELDS_OF_OBJECT
from rukpak_py.apply.upgrade_plan import ObjectChanges
from rukpak_py.controllers.deployment import plan_fields
from rukpak_py.controllers.deployment.kinds import HiddenKinds
from rukpak_py.controllers.deployment.plan_fields import Compared, PlanFields
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.core.objects import GroupVersionKind
from tests.manifests import Document, config_map, manifest
from tests.unit.apply.lives import desired, live, owned
from tests.unit.controllers.deployment.parts import attempt, target_of
from tests.unit.controllers.fakes import FakeClient
from tests.unit.controllers.values import UID, deployment


class Previews:
    """Objects of the server by name; it stores what is sent."""

    def __init__(self, stored: dict[str, Document]) -> None:
        self.stored = stored
        self.asked: list[str] = []

    async def preview(self, _target: Target, change: Change) -> tuple[bytes | None, bytes]:
        self.asked.append(change.key.name)
        return orjson.dumps(self.stored[change.key.name]), change.payload.body


@pytest.fixture
def previews(monkeypatch: pytest.MonkeyPatch) -> Previews:
    found = Previews({})
    monkeypatch.setattr(plan_fields, "preview", found.preview)
    return found


def config(number: int) -> Document:
    return config_map(f"a{number:02}", "ns", **{f"k{field}": "v" for field in range(2 * FIELDS_OF_OBJECT)})


def secret(name: str, value: str) -> Document:
    return manifest("v1", "Secret", name, "ns", data={"password": value})


async def compared(fields: PlanFields, *wanted: Document, uid: str = UID) -> Compared:
    one = attempt(of=deployment(uid=uid))
    changes = []
    for each in wanted:
        made = desired(each)
        seen = live(gvk=GroupVersionKind("", "v1", made.key.kind), **owned(made.key.name))
        changes.append(Change(action=Action.UPDATE, desired=made, payload=made.payload, live=seen))
    plan = Plan(changes=tuple(changes), prune=())
    planned = Planned(target=target_of(one, FakeClient()), plan=plan, hidden=HiddenKinds())
    objects = ObjectChanges(changed=tuple(sorted(change.key for change in changes)))
    return await fields.compared(one, planned, objects, {}, lambda _: False)


async def test_no_more_fields_are_looked_for_than_are_listed(previews: Previews) -> None:
    wanted = [config(number) for number in range(60)]
    previews.stored = {one["metadata"]["name"]: config_map(one["metadata"]["name"], "ns") for one in wanted}
    found = await compared(PlanFields(), *reversed(wanted))
    assert sum(len(one.changes.fields) for one in found.values()) == FIELDS_AT_MOST
    assert len(previews.asked) < 60
    first, last = min(found), max(found)
    assert len(found[first].changes.fields) == FIELDS_OF_OBJECT, "what is listed first has its fields first"
    assert found[first].changes.left_out >= FIELDS_OF_OBJECT
    assert found[last].why == f"more than {FIELDS_AT_MOST} fields are not listed"


async def test_fields_are_remembered_while_the_deployment_is_there(previews: Previews) -> None:
    fields, wanted = PlanFields(), [config(number) for number in range(3)]
    previews.stored = {one["metadata"]["name"]: config_map(one["metadata"]["name"], "ns") for one in wanted}
    found = await compared(fields, *wanted)
    previews.asked.clear()
    assert await compared(fields, *wanted) == found
    assert previews.asked == []
    fields.ended(UID)
    await compared(fields, wanted[0])
    assert previews.asked == ["a00"]


async def test_equal_values_of_secrets_have_equal_digests_in_one_object_alone(previews: Previews) -> None:
    fields = PlanFields()
    previews.stored = {name: secret(name, "b2xk") for name in ("mine", "other")}

    async def digests(name: str, value: str, **more: str) -> tuple[str | None, str | None]:
        (found,) = (await compared(fields, secret(name, value), **more)).values()
        return next((one.old, one.new) for one in found.changes.fields if one.path == "data.password")

    mine = await digests("mine", "bmV3")
    other = await digests("other", "bmV3")
    of_another = await digests("mine", "bmV3", uid="another")
    assert len({*mine, *other, *of_another}) == 6
    previews.stored["mine"] = secret("mine", "bmV3")
    assert (await digests("mine", "YWdhaW4=", uid="third"))[0] is not None
    fields.ended(UID)
    assert (await digests("mine", "YWdhaW4="))[0] == mine[1]


async def test_fields_are_compared_on_threads_of_their_own(previews: Previews, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []

    def watched(*given: Any, **more: Any) -> FieldChanges:
        names.append(threading.current_thread().name)
        return changed_fields(*given, **more)

    monkeypatch.setattr(plan_fields, "changed_fields", watched)
    previews.stored = {"a00": config_map("a00", "ns")}
    await compared(PlanFields(), config(0))
    assert names[0].startswith("plan-fields")
