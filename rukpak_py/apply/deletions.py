"""The way in which a deployment was deleted, as far as its events prove it.

A deletion that orphans puts the finalizer `orphan` on the deployment; the collector takes the owner references off the
objects and then the finalizer. One that was not asked to orphan is proved in two ways:

* DELETED shows neither a deletion timestamp nor finalizers: the deployment went at once, which an orphaning one never
  does.
* Finalizers held it, and every event from the last one before the deletion on was seen, without `orphan` in any. What
  a list shows (after a restart, or a watch that was lost) may come after `orphan` was there: that proves nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass
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


@dataclass(slots=True)
class Deletion:
    """The deletion of one deployment."""

    was_alive: bool = False  # its last event showed no deletion
    is_collected: bool = False  # it is being deleted, and certainly not orphaning
    is_orphaning: bool = False  # `orphan` was seen, or what the collector has stripped already
    is_told: bool = False  # which objects that leaves

    def seen(self, metadata: Deletable, *, listed: bool) -> None:
        """Every event but DELETED, in order. `listed`: it is from a list, and events before it may be missing."""
        if not metadata.is_deleted:
            self.was_alive = True
            return
        was_alive, self.was_alive = self.was_alive, False
        if ORPHAN in metadata.finalizers:
            self.is_orphaning, self.is_collected = True, False
        elif listed:
            self.is_collected = False
        elif was_alive:
            self.is_collected = True

    def is_proven(self, metadata: Deletable) -> bool:
        """DELETED was seen: whether it is certain that the objects of the deployment are to go with it."""
        if ORPHAN in metadata.finalizers:
            return False
        return self.is_collected if metadata.is_deleted else not metadata.finalizers
