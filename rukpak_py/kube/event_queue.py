"""A queue of Events that wait to be written: bounded by bytes, in order per object, for several writers.

Everything about one object goes through one lane and each lane has one writer, so that repeats are seen as repeats. A
thousand deployments that are created at once fit; what does not fit is refused, and the caller counts that.
"""

import asyncio
import sys
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime

from rukpak_py.core.objects import GroupVersionKind

QUEUE_BYTES = 16 * 1024 * 1024
NOTE_BYTES = 1024  # one without its message


@dataclass(frozen=True, kw_only=True, slots=True)
class EventSubject:
    """The object that an Event is about."""

    gvk: GroupVersionKind
    namespace: str = ""
    name: str
    uid: str = ""
    resource_version: str = ""

    @property
    def identity(self) -> Hashable:
        return self.uid, self.gvk.kind, self.namespace, self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    about: EventSubject
    type: str
    reason: str
    message: str
    at: datetime

    @property
    def sameness(self) -> Hashable:
        """Equal for notes that are one Event with a count."""
        return self.about.identity, self.type, self.reason, self.message

    @property
    def bytes(self) -> int:
        return NOTE_BYTES + sys.getsizeof(self.message)


class EventQueue:
    def __init__(self, lanes: int) -> None:
        self._lanes: list[asyncio.Queue[Note]] = [asyncio.Queue() for _ in range(lanes)]
        self._bytes = 0
        self._unfinished = 0

    @property
    def unfinished(self) -> int:
        """How many were added and are not done."""
        return self._unfinished

    def add(self, note: Note) -> bool:
        """Whether there is room for it."""
        if self._bytes + note.bytes > QUEUE_BYTES:
            return False
        self._bytes += note.bytes
        self._unfinished += 1
        self._lanes[hash(note.about.identity) % len(self._lanes)].put_nowait(note)
        return True

    async def get(self, lane: int) -> Note:
        """The next one of a lane; each `get` needs its `done`."""
        return await self._lanes[lane].get()

    def done(self, lane: int, note: Note) -> None:
        self._bytes -= note.bytes
        self._unfinished -= 1
        self._lanes[lane].task_done()

    async def join(self) -> None:
        """Until all that was added is done."""
        for lane in self._lanes:
            await lane.join()
