"""Permissions for objects that an upgrade drops: of those that may be deleted or released, and of no others."""

from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.names import PRUNE_ANNOTATION
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.permissions.leaving import permissions_to_leave
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.apply.removed_objects import PrunePolicy
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, Resource
from tests.unit.apply.lives import live, owned

KNOWN = {one.gvk: one for one in (CONFIG_MAPS, NAMESPACES, CRDS)}


def find(gvk: GroupVersionKind) -> Resource | None:
    return KNOWN.get(gvk)


def needed(*lives: ObservedObject, policy: PrunePolicy | None = None) -> set[str]:
    found = permissions_to_leave(lives, policy or PrunePolicy(), find)
    return {f"{one.verb} {one.resource} {one.scope}/{one.name}" for one in found}


def config_map(**annotations: str) -> ObservedObject:
    mine = owned()
    return live(**{**mine, "annotations": {**mine.get("annotations", {}), **annotations}})


def of(resource: Resource, name: str) -> ObservedObject:
    return live(**owned(name), gvk=resource.gvk, namespace="")


def test_object_that_is_deleted_needs_delete() -> None:
    assert needed(config_map()) == {"get configmaps ns/a", "delete configmaps ns/a"}


def test_object_that_is_released_needs_patch() -> None:
    assert needed(config_map(**{PRUNE_ANNOTATION: "false"})) == {"get configmaps ns/a", "patch configmaps ns/a"}


def test_namespace_that_is_kept_needs_nothing() -> None:
    assert needed(of(NAMESPACES, "shop")) == set()


def test_namespace_whose_owner_lets_it_go_needs_delete() -> None:
    policy = PrunePolicy(overrides=(Override(group="", kind="Namespace", name="shop", prune=True),))
    assert "delete namespaces /shop" in needed(of(NAMESPACES, "shop"), policy=policy)


def test_crd_whose_instances_are_not_counted_yet_needs_delete_and_the_list_of_them() -> None:
    found = permissions_to_leave([of(CRDS, "things.shop.example.org")], PrunePolicy(), find)
    assert Permission("", "list", "shop.example.org", "things") in found
    assert "delete customresourcedefinitions /things.shop.example.org" in needed(of(CRDS, "things.shop.example.org"))


def test_object_of_a_kind_that_is_not_served_needs_nothing() -> None:
    unknown = GroupVersionKind("shop.example.org", "v1", "Gone")
    assert needed(live(**owned(), gvk=unknown)) == set()
