"""The highest resourceVersion seen of each resource, to notice that etcd was restored from a backup.

Within one etcd versions only grow, whatever restarts. A consistent list (no `resourceVersion`) is never older than what
was seen before it began, so one that is comes from a restored etcd. Watches that resume from the later version are
silent from then on, without any error, and caches hold objects that do not exist.

Only for resources that the API server itself stores: an aggregated API has versions of its own.
"""

from collections.abc import Callable

from rukpak_py.kube.resources import Resource

OnRestore = Callable[[Resource, int, int], None]


class SeenVersions:
    def __init__(self, *, on_restore: OnRestore) -> None:
        """`on_restore(resource, seen, listed)` is called for each consistent list that is older than what was seen."""
        self._on_restore = on_restore
        self._seen: dict[str, int] = {}  # by path of the resource

    def seen(self, resource: Resource, version: str | int) -> None:
        self._seen[resource.path()] = max(number_of(version), self.get(resource))

    def get(self, resource: Resource) -> int:
        return self._seen.get(resource.path(), 0)

    def listed(self, resource: Resource, version: str, *, before: int) -> bool:
        """A consistent list answered; False when it is older than what had been seen `before` it was asked for."""
        listed = number_of(version)
        self.seen(resource, listed)
        if not 0 < listed < before:
            return True
        self._on_restore(resource, before, listed)
        return False


def number_of(version: str | int) -> int:
    """A resourceVersion as a number; 0 when it is none."""
    if isinstance(version, int):
        return version
    return int(version) if version.isdecimal() else 0
