"""A watch's answer: one JSON event a line, cut from chunks that end anywhere."""

from collections.abc import AsyncGenerator, Iterator
from typing import TypeAlias

import aiohttp
import msgspec

from rukpak_py.core.nesting import cut
from rukpak_py.kube.calls import Call
from rukpak_py.kube.status_errors import error_of


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
            event = _event(line)
            if event.type == "ERROR":
                if events:
                    yield events
                status = bytes(event.object)
                code = _CODE.decode(status).code or 500
                raise error_of(call.subject, code, status, sensitive=call.is_sensitive)
            events.append(event)
        if events:
            yield events


def _event(line: bytes) -> WatchEvent:
    try:
        return _EVENT.decode(line)
    except RecursionError:
        return _EVENT.decode(cut(line))
