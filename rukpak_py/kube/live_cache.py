"""The cache of an informer: the objects of one resource, kept in step with a stream.

Invariants:
* An older version never replaces a newer one, except while a consistent fresh start is read: that is the truth, even
  if the server was restored from a backup and its versions went back.
* A fresh start ends with `finish`: what was not sent again is gone, and its deletion is told like any other.
* `on_change` is called once per change, never for what is known; what it raises is logged and ends there.
* Without `keep` only `on_change` sees objects: of the old one, as of all that is remembered, there is the identity.
"""

import logging
from collections.abc import Callable, Iterator

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.metadata import LiveObject

OnChange = Callable[[ObjectKey, LiveObject | None, LiveObject | None], None]
log = logging.getLogger(__name__)


class LiveCache:
    def __init__(self, *, keep: bool = True, on_change: OnChange | None = None) -> None:
        self._keep = keep
        self._on_change = on_change
        self._objects: dict[ObjectKey, LiveObject] = {}
        self._sent: set[ObjectKey] | None = None  # what a fresh start has sent so far
        self._consistent = False

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[LiveObject]:
        return iter(list(self._objects.values()))

    def get(self, key: ObjectKey) -> LiveObject | None:
        return self._objects.get(key)

    @property
    def is_starting(self) -> bool:
        return self._sent is not None

    def begin(self, *, consistent: bool) -> None:
        """A fresh start is read from now on. `consistent`: it shows the newest state, not what some cache held."""
        self._sent = set()
        self._consistent = consistent

    def finish(self, position: int) -> int:
        """The fresh start is complete as of `position`; returns how many deletions it revealed."""
        sent, consistent = self._sent or set(), self._consistent
        self._sent, self._consistent = None, False
        gone = [
            key
            for key, live in self._objects.items()
            if key not in sent and (consistent or live.metadata.version <= position)
        ]
        for key in gone:
            self._remove(key)
        return len(gone)

    def observe(self, live: LiveObject) -> None:
        """The stream shows this object (ADDED, MODIFIED)."""
        if self._sent is not None:
            self._sent.add(live.key)
        old = self._objects.get(live.key)
        if old is not None and not self._is_news(old, live):
            return
        self._objects[live.key] = live if self._keep else live.identity()
        self._notify(live.key, old, live)

    def forget(self, live: LiveObject) -> None:
        """The stream shows that this object is gone (DELETED), or left the selection."""
        if self._sent is not None:
            self._sent.discard(live.key)
        old = self._objects.get(live.key)
        if old is None or live.metadata.version < old.metadata.version:
            return
        self._remove(live.key)

    def clear(self) -> int:
        """The kind is gone and all its objects with it; returns how many."""
        keys = list(self._objects)
        self._sent, self._consistent = None, False
        for key in keys:
            self._remove(key)
        return len(keys)

    def _is_news(self, old: LiveObject, live: LiveObject) -> bool:
        if live.metadata.version < old.metadata.version:
            return self._consistent
        return live.metadata.resource_version != old.metadata.resource_version or not live.metadata.version

    def _remove(self, key: ObjectKey) -> None:
        self._notify(key, self._objects.pop(key), None)

    def _notify(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(key, old, new)
        except Exception:
            log.exception("the reaction to a change of %s failed", key)
