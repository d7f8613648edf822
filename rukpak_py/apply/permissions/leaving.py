"""Permissions for objects that leave the content: an upgrade deletes or releases them at its end.

The objects are those that the watches show, so nothing is listed to know them. What is kept needs no permission. A CRD
may go once its instances were counted.
"""

from collections.abc import Callable, Iterable, Iterator

from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.apply.removed_objects import PrunePolicy
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import CRDS, Resource

_PRUNED = ("get", "delete")  # an object that has moved meanwhile is read once more
_RELEASED = ("get", "patch")


def permissions_to_leave(
    lives: Iterable[ObservedObject], policy: PrunePolicy, find: Callable[[GroupVersionKind], Resource | None]
) -> Iterator[Permission]:
    """`find`: the resource of a kind, where the cluster serves it; of others nothing can be deleted."""
    lives = list(lives)
    leaving, counted = policy.divide(lives), policy.crds_to_list(lives)
    for live in (*leaving.prune, *counted):
        yield from _on(live, _PRUNED, find)
    for live in leaving.release:
        yield from _on(live, _RELEASED, find)
    for live in (*leaving.prune, *counted):
        if live.gvk.group_kind == CRDS.group_kind:
            plural, _, group = live.key.name.partition(".")
            yield Permission("", "list", group, plural)


def _on(
    live: ObservedObject, verbs: tuple[str, ...], find: Callable[[GroupVersionKind], Resource | None]
) -> Iterator[Permission]:
    resource = find(live.gvk)
    if resource is not None:
        for verb in verbs:
            yield Permission(live.key.namespace, verb, live.key.group, resource.plural, live.key.name)
