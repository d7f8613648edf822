"""Effects of an upgrade beside its objects: images, and what going back does not undo."""

from copy import deepcopy
from typing import Any

import pytest

from rukpak_py.apply.upgrade_effects import ImageChange, image_changes, irreversible
from rukpak_py.apply.upgrade_plan import ObjectChanges, UpgradeIdentity, UpgradePlan
from rukpak_py.core.objects import Object, ObjectKey
from tests.manifests import Document, config_map, crd, manifest, workload

IDENTITY = UpgradeIdentity(deployment="uid", from_revision=1, wanted_since=1, content="sha256:c")


def by_key(*documents: Document) -> dict[ObjectKey, Document]:
    return {Object.from_manifest(one).head.key: one for one in documents}


def with_images(kind: str = "Deployment", **images: str) -> Document:
    found = workload("web", "ns")
    found["kind"] = kind
    found["spec"]["template"]["spec"]["containers"] = [{"name": name, "image": image} for name, image in images.items()]
    return found


def test_images_of_containers_are_compared_by_name() -> None:
    old = by_key(with_images(app="app:1", same="same:1", gone="gone:1"))
    new = by_key(with_images(app="app:2", same="same:1", new="new:1"))
    (key,) = old
    assert image_changes(old, new) == [
        ImageChange(key=key, container="app", old="app:1", new="app:2"),
        ImageChange(key=key, container="gone", old="gone:1", new=None),
        ImageChange(key=key, container="new", old=None, new="new:1"),
    ]


@pytest.mark.parametrize("spec", [None, [], {"template": {"spec": {"containers": [None, {"image": 3}, "x"]}}}])
def test_workloads_that_are_none_have_no_images(spec: Any) -> None:
    broken = {**workload("web", "ns"), "spec": spec}
    assert image_changes(by_key(broken), {}) == []


def effects(old: Document | None, new: Document | None, **objects: Any) -> list[str]:
    sides = [by_key(one) if one is not None else {} for one in (old, new)]
    plan = UpgradePlan(identity=IDENTITY, objects=ObjectChanges(**objects), hooks=("Job.batch/ns/migrate",))
    return irreversible(plan, *sides)[:-1]


def test_hooks_that_run_are_not_undone() -> None:
    plan = UpgradePlan(identity=IDENTITY, objects=ObjectChanges(), hooks=("Job.batch/ns/migrate",))
    assert irreversible(plan, {}, {}) == ["hook Job.batch/ns/migrate runs: what it does stays"]


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        ("PersistentVolumeClaim", "its data"),
        ("Namespace", "everything in it"),
        ("Secret", "its values"),
        ("ConfigMap", ""),
    ],
)
def test_deleted_objects_with_data_are_named(kind: str, lost: str) -> None:
    found = effects(None, None, pruned=(ObjectKey("", kind, "ns", "a"),))
    assert [lost in line for line in found] == ([True] if lost else [])


def test_replaced_and_taken_objects_are_named() -> None:
    key = ObjectKey("", "Service", "ns", "a")
    (replaced,) = effects(None, None, replaced=(key,))
    (taken,) = effects(None, None, taken=(key,))
    assert "deleted and created again" in replaced
    assert "taken over" in taken


def version(name: str, *, storage: bool) -> Document:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {"name": name, "served": True, "storage": storage, "schema": schema}


def test_versions_of_crds_that_go_or_are_stored_no_more_are_named() -> None:
    old = crd("example.com")
    new = deepcopy(old)
    (key,) = by_key(old)
    old["spec"]["versions"] = [version("v1", storage=True)]
    new["spec"]["versions"] = [version("v1", storage=False), version("v2", storage=True)]
    (stored,) = effects(old, new, changed=(key,))
    assert "stores objects as v2, and no longer as v1" in stored
    new["spec"]["versions"] = [version("v2", storage=True)]
    gone, stored = effects(old, new, changed=(key,))
    assert "has no version v1 any more" in gone
    assert effects(old, {**new, "spec": "broken"}, changed=(key,)) == []


def test_other_objects_change_without_a_word() -> None:
    old, new = config_map("a", "ns", v="1"), config_map("a", "ns", v="2")
    assert effects(old, new, changed=tuple(by_key(new))) == []


def test_manifest_of_a_list_is_none() -> None:
    assert image_changes(by_key(manifest("apps/v1", "Deployment", "x", "ns")), {}) == []
