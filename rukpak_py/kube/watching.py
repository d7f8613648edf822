"""A watch's answer, one JSON event a line cut from chunks that end anywhere; and how a watch is doing.

The status of a watch is a value that its owner replaces and probes and the watchdog read. A server that does not answer
is not the watch's fault: only answers count as refusals, and while there are none the clock of a refusal does not run.
`active_at` moves whenever the owner of the watch does anything at all (a request, an answer, an event, the end of a
watch), so a value that stands still means that the owner hangs.
"""

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import aiohttp
import msgspec

from rukpak_py.core.metrics import WATCH_LAST_EVENT
from rukpak_py.core.nesting import decoded
from rukpak_py.kube.calls import Call
from rukpak_py.kube.errors import ApiError, ForbiddenError, KindNotServedError
from rukpak_py.kube.resources import Resource
from rukpak_py.kube.status_errors import error_of

NOT_REFUSED: dict[str, Any] = {"refused_since": None, "absent_since": None, "refusal": "", "is_denied": False}


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchStatus:
    """All times are of the monotonic clock."""

    resource: Resource
    reader: str  # whose watch it is
    active_at: float
    answered_at: float  # the server, with whatever
    refused_since: float | None = None  # the server answers, but with a refusal
    absent_since: float | None = None  # the server does not serve the kind
    refusal: str = ""
    is_denied: bool = False  # a right is missing; the refusal says which, and who lacks it

    @property
    def problem(self) -> str | None:
        """The current problem in words; None when there is none."""
        gvk = self.resource.gvk
        if self.absent_since is not None:
            return f"the API server does not serve {gvk.kind} ({gvk.api_version})"
        if self.refused_since is not None:
            return f"cannot watch {self.resource.plural}: {self.refusal}"
        return None


class WatchTracker:
    """Its owner says what happens to the watch; `status` may be read from any thread."""

    def __init__(
        self, resource: Resource, *, reader: str, selector: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._labels = (resource.gvk.group, resource.plural, reader, selector)
        self.status = WatchStatus(resource=resource, reader=reader, active_at=clock(), answered_at=clock())

    def active(self) -> None:
        self.status = replace(self.status, active_at=self._clock())

    def answered(self) -> None:
        """The server does what was asked."""
        now = self._clock()
        self.status = replace(self.status, active_at=now, answered_at=now, **NOT_REFUSED)

    def unanswered(self) -> None:
        """Note that the server did not answer, which is no refusal: how long it is away is the lease's business."""
        self.status = replace(self.status, active_at=self._clock(), **NOT_REFUSED)

    def delivered(self) -> float:
        """An event or a bookmark came; the wall clock, as the metric has it."""
        self.answered()
        now = time.time()
        WATCH_LAST_EVENT.labels(*self._labels).set(now)
        return now

    def ended(self) -> None:
        """It is not opened again."""
        with suppress(KeyError):
            WATCH_LAST_EVENT.remove(*self._labels)

    def refused(self, error: ApiError) -> None:
        """The server answered, and not with what was asked for; an error without an answer stops the clock."""
        if not error.status:
            self.unanswered()
            return
        now, before = self._clock(), self.status
        absent = isinstance(error, KindNotServedError)
        self.status = replace(
            before,
            active_at=now,
            answered_at=now,
            refused_since=now if before.refused_since is None else before.refused_since,
            absent_since=(now if before.absent_since is None else before.absent_since) if absent else None,
            refusal=str(error),
            is_denied=isinstance(error, ForbiddenError),
        )


class WatchEvent(msgspec.Struct, gc=False, kw_only=True):
    type: str  # ADDED, MODIFIED, DELETED, BOOKMARK
    object: msgspec.Raw  # a view on the line; copy it to keep it


Batch: TypeAlias = list[WatchEvent]


class _Code(msgspec.Struct, gc=False, kw_only=True):
    code: int | None = None


_EVENT = msgspec.json.Decoder(WatchEvent)
_CODE = msgspec.json.Decoder(_Code)


class Lines:
    """The whole lines in what has arrived so far. Each byte is looked at once, however long a line grows."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        searched = len(self._rest)
        self._rest += chunk
        begin = 0
        while (end := self._rest.find(b"\n", max(begin, searched))) >= 0:
            if end > begin:
                yield bytes(memoryview(self._rest)[begin:end])
            begin = end + 1
        if begin:
            del self._rest[:begin]


async def events_of(content: aiohttp.StreamReader, call: Call) -> AsyncGenerator[Batch, None]:
    """The events, all that arrived together at once; an ERROR event ends the watch by raising what it means."""
    lines = Lines()
    async for chunk in content.iter_any():
        events: Batch = []
        for line in lines.feed(chunk):
            event = decoded(_EVENT, line)
            if event.type == "ERROR":
                if events:
                    yield events
                status = bytes(event.object)
                code = _CODE.decode(status).code or 500
                raise error_of(call.subject, code, status, sensitive=call.is_sensitive)
            events.append(event)
        if events:
            yield events
