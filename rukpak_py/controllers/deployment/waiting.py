"""Index of what deployments wait for, so that a change wakes those that it concerns and no others."""

from collections.abc import Callable, Collection

from rukpak_py.apply.results import Wakes, kind_wakes, namespace_wake, quota_wake
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.resources import RESOURCE_QUOTAS


class WaitingDeployments:
    def __init__(self, *, watch_quotas: Callable[[], None] = lambda: None) -> None:
        """`watch_quotas` is called when one of them waits for a quota."""
        self._watch_quotas = watch_quotas
        self._waits: dict[str, tuple[str, Wakes]] = {}  # by uid, with the name

    def note(self, uid: str, name: str, wakes: Wakes) -> None:
        """Record what the deployment waits for from now on."""
        if any(map(_is_quota, wakes)):
            self._watch_quotas()
        if wakes:
            self._waits[uid] = name, wakes
        else:
            self._waits.pop(uid, None)

    def ended(self, uid: str) -> None:
        self._waits.pop(uid, None)

    def for_kinds(self, kinds: Collection[GroupKind]) -> list[str]:
        return self._for(kind_wakes(kinds))

    def for_namespace(self, namespace: str) -> list[str]:
        return self._for({namespace_wake(namespace)})

    def for_quota(self, namespace: str) -> list[str]:
        """Deployments that wait for a quota in the namespace; without a name: in any."""
        if namespace:
            return self._for({quota_wake(namespace)})
        return self._for({key for _, wakes in self._waits.values() for key in wakes if _is_quota(key)})

    def for_object(self, key: ObjectKey) -> list[str]:
        return self._for({key})

    def _for(self, found: Collection[ObjectKey]) -> list[str]:
        return [name for name, wakes in self._waits.values() if not wakes.isdisjoint(found)]


def _is_quota(key: ObjectKey) -> bool:
    return (key.group, key.kind) == RESOURCE_QUOTAS.group_kind
