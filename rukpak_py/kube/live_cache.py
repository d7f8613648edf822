"""What an informer knows: the objects of one resource, kept in step with a stream and with our own writes.

Invariants:
* An older version never replaces a newer one, except while a consistent fresh start is read: that is the truth, even
  if the server was restored from a backup and its versions went back.
* `store` puts the answer to a write in before the stream brings it. It is refused when the stream has passed that
  version: then the stream knows better (the object may be gone).
* A fresh start ends with `finish`: what was not sent again is gone, and its deletion is told like any other.
* `on_change` is called once per change, never for the echo of what is known; what it raises is logged and ends there.
"""

import logging
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.metadata import LiveObject

OnChange = Callable[[ObjectKey, LiveObject | None, LiveObject | None], None]
log = logging.getLogger(__name__)


class LiveCache:
    def __init__(self, *, full: bool, on_change: OnChange | None = None) -> None:
        self._full = full
        self._on_change = on_change
        self._objects: dict[ObjectKey, LiveObject] = {}
        self._stored: dict[ObjectKey, int] = {}  # put in by `store`, not yet seen in the stream
        self._sent: set[ObjectKey] | None = None  # what a fresh start has sent so far
        self._consistent = False
        self._position = -1  # every event up to this version has been seen

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
        self._sent, self._consistent, self._position = None, False, position
        gone = [
            live
            for key, live in self._objects.items()
            if key not in sent and self._is_covered(live, position, consistent=consistent)
        ]
        for live in gone:
            self._remove(live.key)
        self._confirm(position)
        return len(gone)

    def observe(self, live: LiveObject) -> None:
        """The stream shows this object (ADDED, MODIFIED)."""
        if self._sent is not None:
            self._sent.add(live.key)
        else:
            self._position = max(self._position, live.metadata.version)
        if live.metadata.version < self._stored.get(live.key, 0):
            return
        self._stored.pop(live.key, None)
        old = self._objects.get(live.key)
        if old is not None and not self._is_news(old, live):
            return
        self._objects[live.key] = live
        self._tell(live.key, old, live)

    def forget(self, live: LiveObject) -> None:
        """The stream shows that this object is gone (DELETED), or left the selection."""
        if self._sent is not None:
            self._sent.discard(live.key)
        else:
            self._position = max(self._position, live.metadata.version)
        old = self._objects.get(live.key)
        if old is None or live.metadata.version < old.metadata.version:
            return
        self._remove(live.key)

    def passed(self, position: int) -> None:
        """A bookmark: there was nothing else up to this version."""
        if self._sent is None:
            self._position = max(self._position, position)
            self._confirm(position)

    def store(self, live: LiveObject) -> bool:
        """Put in the answer to a write of ours; False when something newer is known. `on_change` is not called."""
        old = self._objects.get(live.key)
        if live.metadata.version <= self._position or (old and live.metadata.version <= old.metadata.version):
            return False
        self._objects[live.key] = live if self._full else replace(live, json=None)
        self._stored[live.key] = live.metadata.version
        return True

    def clear(self) -> int:
        """The kind is gone and all its objects with it; returns how many."""
        keys = list(self._objects)
        self._sent, self._consistent, self._position = None, False, -1
        for key in keys:
            self._remove(key)
        return len(keys)

    def _is_news(self, old: LiveObject, live: LiveObject) -> bool:
        if live.metadata.version < old.metadata.version:
            return self._consistent
        if live.metadata.resource_version != old.metadata.resource_version or not live.metadata.version:
            return True
        return old.json is None and live.json is not None  # only metadata was stored; now the whole is here

    def _is_covered(self, live: LiveObject, position: int, *, consistent: bool) -> bool:
        """Would a fresh start as of `position` have sent this object, if it still existed?"""
        if live.metadata.version <= position:
            return True
        return consistent and live.key not in self._stored

    def _confirm(self, position: int) -> None:
        for key in [key for key, version in self._stored.items() if version <= position]:
            del self._stored[key]

    def _remove(self, key: ObjectKey) -> None:
        self._stored.pop(key, None)
        self._tell(key, self._objects.pop(key), None)

    def _tell(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(key, old, new)
        except Exception:
            log.exception("the reaction to a change of %s failed", key)
