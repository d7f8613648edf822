"""Kubernetes Events, best effort: they inform people and never delay or fail the work they tell about.

* `record` only puts into a bounded queue; a few writers drain it. What does not fit is dropped and counted.
* The same text about the same object within ten minutes raises the count of the Event that is there.
* Each object has a budget of new Events that refills slowly, so that nothing can flood the cluster.
* Events about cluster-scoped objects go to the namespace `default`, where `kubectl describe` looks for them.
"""

import asyncio
import logging
import re
import sys
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from rukpak_py.core.errors import RukPakError
from rukpak_py.core.metrics import EVENTS_DROPPED
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import EVENTS

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
    """Events that wait to be written: bounded by bytes, in order per object, for several writers.

    Everything about one object goes through one lane and each lane has one writer, so that repeats are seen as repeats.
    A thousand deployments that are created at once fit; a note that does not fit is refused, and the caller counts it.
    """

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


__all__ = ["EventRecorder", "EventSubject"]

CLUSTER_SCOPED_NAMESPACE = "default"
MESSAGE_CHARACTERS = 1024  # the API's limit
NAME_CHARACTERS = 253
WRITERS = 4  # each waits for one answer at a time
REMEMBERED = 4096  # Events and budgets
SAME_WITHIN_SECONDS = 600.0
BURST = 25  # new Events about one object ...
REFILL_SECONDS = 300.0  # ... and one more each
REPEAT_BURST = 10  # counts written for one Event; what exceeds it goes with a later one ...
REPEAT_REFILL_SECONDS = 30.0  # ... of which there is one more each
log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class _Budget:
    burst: float
    refill_seconds: float
    left: float
    at: float

    def is_full(self, now: float) -> bool:
        return self._left_at(now) >= self.burst

    def _left_at(self, now: float) -> float:
        return min(self.burst, self.left + (now - self.at) / self.refill_seconds)

    def spend(self, now: float) -> bool:
        self.left, self.at = self._left_at(now), now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(kw_only=True, slots=True)
class _Written:
    name: str
    count: int
    at: float
    repeats: _Budget


class EventRecorder:
    def __init__(
        self, client: Client, *, component: str, instance: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._component = component
        self._instance = instance
        self._clock = clock
        self._queue = EventQueue(WRITERS)
        self._written: OrderedDict[Hashable, _Written] = OrderedDict()
        self._budgets: OrderedDict[Hashable, _Budget] = OrderedDict()
        self._writers: list[asyncio.Task[None]] = []

    @property
    def unfinished(self) -> int:
        """How many Events wait to be written."""
        return self._queue.unfinished

    def record(self, about: EventSubject, *, reason: str, message: str, type: str = "Normal") -> None:  # noqa: A002 - the API's word
        """Tell about an object; never waits or fails. `reason`: CamelCase and stable; `message`: without secrets."""
        text = message if len(message) <= MESSAGE_CHARACTERS else message[: MESSAGE_CHARACTERS - 1] + "…"
        if not self._queue.add(Note(about=about, type=type, reason=reason, message=text, at=datetime.now(UTC))):
            EVENTS_DROPPED.labels("full").inc()

    def start(self) -> None:
        if not self._writers:
            self._writers = [
                asyncio.create_task(self._drain(lane), name=f"event recorder {lane}") for lane in range(WRITERS)
            ]

    async def close(self, seconds: float = 5.0) -> None:
        """Write what is queued, for at most `seconds`, and end."""
        if not self._writers:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._queue.join()
        for writer in self._writers:
            writer.cancel()
        await asyncio.gather(*self._writers, return_exceptions=True)
        self._writers = []

    async def _drain(self, lane: int) -> None:
        while True:
            note = await self._queue.get(lane)
            try:
                await self._write(note)
            except RukPakError as error:
                EVENTS_DROPPED.labels("failed").inc()
                log.warning("an Event (%s) was not written: %s", note.reason, error)
            except Exception:
                EVENTS_DROPPED.labels("failed").inc()
                log.exception("an Event (%s) was not written", note.reason)
            finally:
                self._queue.done(lane, note)

    async def _write(self, note: Note) -> None:
        now = self._clock()
        self._forget(now)
        written = self._written.get(note.sameness)
        if written is not None and now - written.at < SAME_WITHIN_SECONDS:
            with suppress(NotFoundError):  # it has expired or was deleted: write a new one
                written.count += 1
                if written.repeats.spend(now):
                    patch = orjson.dumps({"count": written.count, "lastTimestamp": _stamp(note.at)})
                    await self._client.patch(EVENTS, _namespace(note.about), written.name, patch)
                return
        if not self._may_write(note.about, now):
            EVENTS_DROPPED.labels("limited").inc()
            return
        body = self._event(note)
        await self._client.create(EVENTS, _namespace(note.about), orjson.dumps(body))
        repeats = _Budget(burst=REPEAT_BURST, refill_seconds=REPEAT_REFILL_SECONDS, left=REPEAT_BURST, at=now)
        self._written[note.sameness] = _Written(name=body["metadata"]["name"], count=1, at=now, repeats=repeats)
        self._written.move_to_end(note.sameness)

    def _forget(self, now: float) -> None:
        """Drop the oldest that decide nothing any more: a new one would be the same."""
        while self._written:
            written = next(iter(self._written.values()))
            if len(self._written) <= REMEMBERED and now - written.at < SAME_WITHIN_SECONDS:
                break
            self._written.popitem(last=False)
        while self._budgets:
            budget = next(iter(self._budgets.values()))
            if len(self._budgets) <= REMEMBERED and not budget.is_full(now):
                break
            self._budgets.popitem(last=False)

    def _may_write(self, about: EventSubject, now: float) -> bool:
        budget = self._budgets.get(about.identity)
        if budget is None:
            budget = self._budgets[about.identity] = _Budget(
                burst=BURST, refill_seconds=REFILL_SECONDS, left=BURST, at=now
            )
        self._budgets.move_to_end(about.identity)
        return budget.spend(now)

    def _event(self, note: Note) -> dict[str, Any]:
        about, stamp, namespace = note.about, _stamp(note.at), _namespace(note.about)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": _event_name(about.name), "namespace": namespace},
            "involvedObject": {
                "apiVersion": about.gvk.api_version,
                "kind": about.gvk.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
                "resourceVersion": about.resource_version,
            },
            "type": note.type,
            "reason": note.reason,
            "message": note.message,
            "source": {"component": self._component, "host": self._instance},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }


def _namespace(about: EventSubject) -> str:
    return about.namespace or CLUSTER_SCOPED_NAMESPACE


def _event_name(name: str) -> str:
    """A name of its own, beginning like the object's: RBAC objects may have names that an Event may not."""
    suffix = uuid.uuid4().hex[:16]
    start = re.sub(r"[^a-z0-9.-]+", "-", name.lower())[: NAME_CHARACTERS - len(suffix) - 1].strip(".-")
    return f"{start or 'event'}.{suffix}"


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
