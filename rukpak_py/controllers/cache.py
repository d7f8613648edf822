"""Cache of one of our own kinds: the newest version of every object, by name.

* Events and the answers to our own writes both come in here; an older version never overwrites a newer one, and an
  object whose deletion was seen never comes back (another object of its name does).
* `seen_at` is when the API server last spoke of the object: before something is created for an object that it has been
  silent about for long, its uid is checked live.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from rukpak_py.api.metadata import ObjectMeta

REMEMBERED_DELETIONS = 4096


class HasMetadata(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


Kind = TypeVar("Kind", bound=HasMetadata)


class Cache(Generic[Kind]):
    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._objects: dict[str, Kind] = {}
        self._seen_at: dict[str, float] = {}
        self._children: dict[str, set[str]] = {}
        self._names: dict[str, str] = {}
        self._deleted_uids: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Kind]:
        return iter(tuple(self._objects.values()))

    def __contains__(self, name: str) -> bool:
        return name in self._objects

    def get(self, name: str) -> Kind | None:
        return self._objects.get(name)

    def put(self, obj: Kind) -> bool:
        """Whether the object is news. Events of the version that our own write answered with are not."""
        metadata = obj.metadata
        if metadata.uid in self._deleted_uids:
            return False
        self._seen_at[metadata.name] = self._clock()
        known = self._objects.get(metadata.name)
        if known is not None and _version(known) >= _version(obj):
            return False
        if known is not None:
            self._disown(known)
        self._objects[metadata.name] = obj
        self._names[metadata.uid] = metadata.name
        if metadata.controller is not None:
            self._children.setdefault(metadata.controller.uid, set()).add(metadata.name)
        return True

    def predecessor_of(self, obj: Kind) -> Kind | None:
        """The object that had the name before this one: it is gone. None for a late event of an earlier object."""
        known = self._objects.get(obj.metadata.name)
        if known is None or known.metadata.uid == obj.metadata.uid or _version(known) >= _version(obj):
            return None
        return known

    def drop(self, name: str, uid: str) -> Kind | None:
        """The object is gone; the answer is what was known of it."""
        self._deleted_uids[uid] = None
        if len(self._deleted_uids) > REMEMBERED_DELETIONS:
            self._deleted_uids.popitem(last=False)
        known = self._objects.get(name)
        if known is None or known.metadata.uid != uid:
            return None
        del self._objects[name]
        self._seen_at.pop(name, None)
        self._disown(known)
        return known

    def controlled_by(self, uid: str) -> list[Kind]:
        """The objects that this one controls, oldest first."""
        found = [self._objects[name] for name in self._children.get(uid, ())]
        return sorted(found, key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name))

    def name_of(self, uid: str) -> str | None:
        return self._names.get(uid)

    def seen_at(self, name: str) -> float:
        return self._seen_at.get(name, float("-inf"))

    def confirm(self, name: str) -> None:
        """The API server was asked, and the object is still the one that we know."""
        if name in self._objects:
            self._seen_at[name] = self._clock()

    def _disown(self, obj: Kind) -> None:
        self._names.pop(obj.metadata.uid, None)
        controller = obj.metadata.controller
        if controller is not None:
            names = self._children.get(controller.uid, set())
            names.discard(obj.metadata.name)
            if not names:
                self._children.pop(controller.uid, None)


def _version(obj: HasMetadata) -> int:
    text = obj.metadata.resource_version
    return int(text) if text.isdecimal() else 0
