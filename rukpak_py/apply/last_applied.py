"""What this process remembers of one deployment between two looks at it. Losing it costs calls, never correctness.

`fields`: for each object, the hash of the fields that we owned right after our last apply; a live object with another
hash was changed by somebody. It is empty for what belongs to the content and was not seen by this process yet.
`uids`: the object that we applied, so that one whose label was stripped is told from one that somebody else put in its
place. `absent`: names that a GET of the current attempt found free, so that an attempt that has to wait between two
phases does not ask again. `again`: objects that are to be applied once more, whatever they look like.
`deleted_to_replace`: objects that are created again as soon as they are gone, and why.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.core.objects import ObjectKey


@dataclass(slots=True)
class LastApplied:
    fields: dict[ObjectKey, str] = field(default_factory=dict)
    uids: dict[ObjectKey, str] = field(default_factory=dict)
    absent: set[ObjectKey] = field(default_factory=set)
    again: set[ObjectKey] = field(default_factory=set)
    deleted_to_replace: dict[ObjectKey, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """This process has applied nothing of the deployment yet, and cannot tell drift from what it should be."""
        return not self.fields

    def applied(self, live: ObservedObject) -> None:
        self.fields[live.key] = live.fields
        self.uids[live.key] = live.uid
        self.absent.discard(live.key)
        self.again.discard(live.key)

    def apply_again(self) -> None:
        self.again = set(self.fields)

    def trust(self, lives: Iterable[ObservedObject]) -> None:
        """What the cluster shows is what was applied: the digest in the status proves it."""
        for live in lives:
            self.applied(live)

    def expect(self, keys: Iterable[ObjectKey]) -> None:
        """These belong to what was applied and cannot be seen: when they can, they are looked at, there or not."""
        for key in keys:
            self.fields.setdefault(key, "")

    def look_again(self, key: ObjectKey) -> None:
        """What was assumed of the name turned out wrong: the next look asks the server."""
        self.absent.discard(key)
        self.uids.pop(key, None)

    def forget(self, key: ObjectKey) -> None:
        self.fields.pop(key, None)
        self.uids.pop(key, None)
        self.again.discard(key)
