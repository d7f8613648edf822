"""The document of an upgrade: what it lists, in which order, and how much."""

from typing import Any

import msgspec
import pytest

from rukpak_py.apply.planned_fields import FieldChanges
from rukpak_py.apply.upgrade_document import (
    FIELDS_AT_MOST,
    FIELDS_OF_OBJECT,
    LINE_CHARACTERS,
    LINES_AT_MOST,
    OBJECTS_AT_MOST,
    Basis,
    PlannedField,
    UpgradeDocument,
)
from rukpak_py.apply.upgrade_plan import ObjectChanges, UpgradeIdentity, UpgradePlan
from rukpak_py.apply.upgrade_report import ComparedObject, UpgradeSides, upgrade_document
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.hook import Hook, HookEvent
from tests.manifests import config_map, crd, manifest, workload
from tests.unit.apply.lives import desired

IDENTITY = UpgradeIdentity(deployment="uid", from_revision=1, wanted_since=1, content="sha256:c")
BASE = UpgradeDocument(deployment="shop", state="Waiting", why=["it waits"])
NOTHING = UpgradeSides(old={}, new={})


def key(number: int) -> ObjectKey:
    return ObjectKey("", "ConfigMap", "ns", f"a{number:05}")


def plan(**more: Any) -> UpgradePlan:
    return UpgradePlan(identity=IDENTITY, **{"objects": ObjectChanges(), **more})


def document(one: UpgradePlan, sides: UpgradeSides = NOTHING, **more: Any) -> UpgradeDocument:
    given: dict[str, Any] = {"compared": {}, "hide": lambda text: text} | more
    return upgrade_document(BASE, one, sides, given.pop("compared"), **given)


def test_objects_come_in_the_order_in_which_they_deserve_a_look() -> None:
    names = ("created", "changed", "kept", "taken", "pruned", "replaced")
    found = document(plan(objects=ObjectChanges(**{name: (key(0),) for name in names})))
    assert [one.action for one in found.objects] == ["replaced", "pruned", "taken", "kept", "changed", "created"]
    assert found.counts == dict.fromkeys(names, 1)


def test_document_is_read_as_it_was_written() -> None:
    found = document(plan(objects=ObjectChanges(changed=(key(1),)), rights_gained=("a right",)))
    assert msgspec.json.decode(msgspec.json.encode(found), type=UpgradeDocument) == found


def test_everything_is_limited_and_what_is_left_out_is_counted() -> None:
    number = OBJECTS_AT_MOST + 3
    fields = tuple(PlannedField(path=f"data.k{n}", change="added", new="1") for n in range(FIELDS_OF_OBJECT))
    compared = {key(n): ComparedObject(basis=Basis.DRY_RUN, changes=FieldChanges(fields=fields)) for n in range(100)}
    one = plan(
        objects=ObjectChanges(changed=tuple(map(key, range(number)))),
        rights_gained=tuple(f"right {n}" for n in range(LINES_AT_MOST + 1)),
        rights_lost=("x" * 99_999,),
    )
    found = document(one, compared=compared)
    assert (len(found.objects), found.left_out) == (
        OBJECTS_AT_MOST,
        {
            "objects": 3,
            "rightsGained": 1,
            "reviews": 1,
        },
    )
    assert found.counts["changed"] == number
    assert sum(len(one.fields) for one in found.objects) == FIELDS_AT_MOST
    assert sum(one.left_out for one in found.objects) == 100 * FIELDS_OF_OBJECT - FIELDS_AT_MOST
    assert len(found.rights_lost[0]) == LINE_CHARACTERS
    assert len(msgspec.json.encode(found)) < 12 * 1024 * 1024


def test_statements_are_masked() -> None:
    crd = ObjectKey("apiextensions.k8s.io", "CustomResourceDefinition", "", "a.example.com")
    one = plan(rights_gained=("get hunter2",), rights_lost=("list hunter2",), crds={crd: "hunter2 is lost"})
    found = document(one, hide=lambda text: text.replace("hunter2", "***"), refused_crds={crd: "hunter2 is refused"})
    assert "hunter2" not in repr(found)
    assert [statement.text for statement in found.crds] == ["*** is refused", "*** is lost"]


def test_names_and_images_are_masked_and_cut() -> None:
    crd = ObjectKey("apiextensions.k8s.io", "CustomResourceDefinition", "", "hunter2.example.com")
    of_pods = ObjectKey("apps", "Deployment", "hunter2", "web-hunter2")
    old = workload("web-hunter2", "hunter2")
    new = workload("web-hunter2", "hunter2")
    (container,) = new["spec"]["template"]["spec"]["containers"]
    new["spec"]["template"]["spec"]["containers"] = [
        {**container, "image": "registry/" + "x" * 2_000_000},
        {"name": "hunter2" + "y" * 2_000_000, "image": "registry/hunter2:v1"},
    ]
    hook = Hook(
        object=Object.from_manifest(manifest("batch/v1", "Job", "hunter2", "ns", spec={})),
        events=frozenset({HookEvent.PRE_UPGRADE}),
    )
    one = plan(objects=ObjectChanges(changed=(of_pods,)), crds={crd: "is unsafe"}, hooks=(str(hook.object.head.key),))
    found = document(
        one,
        UpgradeSides(old={of_pods: old}, new={of_pods: new}, hooks=(hook,)),
        compared={of_pods: ComparedObject(why="hunter2 is refused")},
        hide=lambda text: text.replace("hunter2", "***"),
    )
    assert "hunter2" not in repr(found)
    assert (found.objects[0].object.name, found.objects[0].object.namespace) == ("web-***", "***")
    assert [len(one.new or "") for one in found.images] == [LINE_CHARACTERS, len("registry/***:v1")]
    assert len(found.images[1].container) == LINE_CHARACTERS
    assert found.images[1].old is None
    assert found.crds[0].object.endswith("***.example.com")
    assert found.hooks[0].events == ["pre-upgrade"]


def test_only_manifests_that_may_have_effects_are_read() -> None:
    account = manifest("v1", "ServiceAccount", "a", "ns")
    contents = [
        workload("web", "ns"),
        crd("shop.example.org", "v1"),
        config_map("a", "ns"),
        account,
        manifest("batch/v1", "Job", "j", "ns"),
    ]
    sides = UpgradeSides.of([desired(contents[2])], list(map(desired, contents)), ())
    assert sides.old == {}
    assert sorted(one.kind for one in sides.new) == ["CustomResourceDefinition", "Deployment", "Job"]
    assert all(one["kind"] == key.kind for key, one in sides.new.items())


@pytest.mark.parametrize("is_changed", [True, False])
def test_hooks_have_their_events_and_whether_they_are_new(*, is_changed: bool) -> None:
    events = frozenset({HookEvent.PRE_UPGRADE, HookEvent.POST_UPGRADE})
    hook = Hook(object=Object.from_manifest(manifest("batch/v1", "Job", "migrate", "ns", spec={})), events=events)
    name = str(hook.object.head.key)
    one = plan(hooks=(name,), changed_hooks=(name,) if is_changed else ())
    (found,) = document(one, UpgradeSides(old={}, new={}, hooks=(hook,))).hooks
    assert (found.object, found.events, found.is_changed) == (name, ["post-upgrade", "pre-upgrade"], is_changed)
