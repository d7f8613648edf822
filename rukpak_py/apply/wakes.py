"""What ends a failure before its back-off does, when a watch shows it: an object; without a name any of the kind."""

from collections.abc import Iterable

from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.resources import NAMESPACES, RESOURCE_QUOTAS

Wakes = frozenset[ObjectKey]
NO_WAKES: Wakes = frozenset()


def kind_wake(kind: GroupKind) -> ObjectKey:
    """The kind is served, or can be listed."""
    return ObjectKey(kind.group, kind.kind, "", "")


def namespace_wake(name: str) -> ObjectKey:
    """The namespace is created."""
    return NAMESPACES.key("", name)


def quota_wake(namespace: str) -> ObjectKey:
    """The limits of a quota there change."""
    return RESOURCE_QUOTAS.key(namespace, "")


def kind_wakes(kinds: Iterable[GroupKind]) -> Wakes:
    return frozenset(map(kind_wake, kinds))


def wakes_of(failure: Failure) -> Wakes:
    """A server does not say whether a quota, a right or a policy denied a write."""
    key, found = failure.key, set[ObjectKey]()
    match failure.kind:
        case FailureKind.MISSING | FailureKind.LAGGING:
            found.add(kind_wake(key.group_kind))
            found |= {namespace_wake(key.namespace)} if key.namespace else set()
        case FailureKind.UNAVAILABLE if key.namespace:  # it may be going, and be created again
            found.add(namespace_wake(key.namespace))
        case FailureKind.ACCESS if key.namespace:
            found.add(quota_wake(key.namespace))
        case _:
            pass
    return frozenset(found)
