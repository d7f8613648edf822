"""Which deployments wait for what, so that a change wakes those whom it concerns and nobody else."""

from collections.abc import Callable, Collection

from rukpak_py.apply.preflight.refusal import WaitsFor
from rukpak_py.core.objects import GroupKind, ObjectKey


class WaitingDeployments:
    def __init__(self, *, watch_quotas: Callable[[], None] = lambda: None) -> None:
        """`watch_quotas` is called when one of them waits for a quota."""
        self._watch_quotas = watch_quotas
        self._waits: dict[str, tuple[str, WaitsFor]] = {}  # by uid, with the name

    def note(self, uid: str, name: str, waits_for: WaitsFor) -> None:
        """What it waits for from now on."""
        if waits_for.quotas:
            self._watch_quotas()
        if waits_for:
            self._waits[uid] = name, waits_for
        else:
            self._waits.pop(uid, None)

    def ended(self, uid: str) -> None:
        self._waits.pop(uid, None)

    def for_kinds(self, kinds: Collection[GroupKind]) -> list[str]:
        return [name for name, waits in self._waits.values() if not waits.kinds.isdisjoint(kinds)]

    def for_namespace(self, namespace: str) -> list[str]:
        return [name for name, waits in self._waits.values() if namespace in waits.namespaces]

    def for_quota(self, namespace: str) -> list[str]:
        return [name for name, waits in self._waits.values() if namespace in waits.quotas]

    def for_object(self, key: ObjectKey) -> list[str]:
        return [name for name, waits in self._waits.values() if key in waits.objects]
