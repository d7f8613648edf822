"""How a deployment was deleted, as far as its events prove it.

A deletion that orphans puts the finalizer `orphan` on the deployment; the collector takes the owner references off the
objects and then the finalizer. One that was not asked to orphan is proved in two ways:

* DELETED shows neither a deletion timestamp nor finalizers: the deployment went at once, which an orphaning one never
  does.
* Finalizers held it, and every event from the last one before the deletion on was seen, without `orphan` in any. What
  a list shows (after a restart, or a watch that was lost) may come after `orphan` was there: that proves nothing.
"""

from collections.abc import Collection
from typing import Protocol

# The collector's finalizers: of a deletion that leaves what is owned, and of one that waits for it.
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


class Deletable(Protocol):
    """The metadata of a deployment."""

    @property
    def uid(self) -> str: ...

    @property
    def finalizers(self) -> Collection[str]: ...

    @property
    def is_deleted(self) -> bool: ...


class ProvenDeletions:
    def __init__(self) -> None:
        self._alive: set[str] = set()  # uids whose last event showed no deletion
        self._collected: set[str] = set()  # uids that are being deleted, certainly not orphaning

    def seen(self, metadata: Deletable, *, listed: bool) -> None:
        """Every event but DELETED, in order. `listed`: it is from a list, and events before it may be missing."""
        uid = metadata.uid
        if not metadata.is_deleted:
            self._alive.add(uid)
            return
        was_alive = uid in self._alive
        self._alive.discard(uid)
        if listed or ORPHAN in metadata.finalizers:
            self._collected.discard(uid)
        elif was_alive:
            self._collected.add(uid)

    def gone(self, metadata: Deletable) -> bool:
        """DELETED was seen: whether it is certain that the objects of the deployment are to go with it."""
        uid = metadata.uid
        was_collected = uid in self._collected
        self.forget(uid)
        if ORPHAN in metadata.finalizers:
            return False
        if not metadata.is_deleted:
            return not metadata.finalizers
        return was_collected

    def forget(self, uid: str) -> None:
        """It is gone, and no event said so."""
        self._alive.discard(uid)
        self._collected.discard(uid)
