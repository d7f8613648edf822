"""Events, in both forms that the API server has: the older one counts in itself, the newer one in a series."""

import msgspec

from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.text import excerpt
from rukpak_py.diagnosis.model import MESSAGE_CHARACTERS, EventView


class _Series(msgspec.Struct, rename="camel"):
    count: int = 0
    last_observed_time: str | None = None


class _Event(msgspec.Struct, rename="camel"):
    type: str | None = None
    reason: str | None = None
    message: str | None = None
    count: int | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    series: _Series | None = None


def event_view(json: bytes, about: ObjectKey) -> EventView:
    event = msgspec.json.decode(json, type=_Event)
    series = event.series or _Series()
    last = series.last_observed_time or event.last_timestamp or event.event_time or event.first_timestamp or ""
    return EventView(
        type=event.type or "",
        reason=event.reason or "",
        message=excerpt(event.message or "", MESSAGE_CHARACTERS),
        count=series.count or event.count or 1,
        last=last,
        about=about,
    )
