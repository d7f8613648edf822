"""Events as lines for people, and as documents for programs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from rukpak_py.cli.reports.columns import Cell, columns
from rukpak_py.cli.reports.keys import key_document
from rukpak_py.cli.terminal import Style
from rukpak_py.diagnosis.ages import age_of
from rukpak_py.diagnosis.model import EventView

Json = dict[str, Any]
TITLES = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")


def lines_of(
    events: Sequence[EventView], style: Style, *, indent: int = 0, now: datetime | None = None
) -> Iterator[str]:
    """A table. Where all are about one object, which the caller names, and it is indented, without that object."""
    is_about_one = bool(indent) and len({one.about for one in events}) == 1
    titles = [title for title in TITLES if not (is_about_one and title == "OBJECT")]
    rows = ([cell for title, cell in zip(TITLES, _cells(one, now), strict=True) if title in titles] for one in events)
    width = max(0, style.room - indent)
    for line in columns(titles, rows, width=width, style=style, ends_in_prose=True):
        yield f"{' ' * indent}{line}"


def _cells(one: EventView, now: datetime | None) -> tuple[str | Cell, ...]:
    return (
        age_of(one.last, now),
        Cell(one.type, ("yellow",) if one.type == "Warning" else ()),
        one.reason,
        str(one.about),
        f"{one.message} (x{one.count})" if one.count > 1 else one.message,
    )


def event_document(one: EventView) -> Json:
    return {
        "type": one.type,
        "reason": one.reason,
        "message": one.message,
        "count": one.count,
        "last": one.last or None,
        "object": key_document(one.about),
    }
