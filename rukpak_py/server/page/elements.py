"""Elements that several pages share: a state, a time, a list of facts, a table, a message."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rukpak_py.api.names import canonical_class
from rukpak_py.diagnosis.model import State
from rukpak_py.formats.by_class import CLASSES
from rukpak_py.server.page.markup import Child, Element, element

OURS = "core-rukpak-io-"
NONE = "-"  # in a cell without a value
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400


def state_chip(state: State) -> Element:
    """The state in words; its colour only repeats them."""
    return element("span", str(state), class_=f"state {state.name.lower()}")


def moment(time: str, now: datetime) -> Element | None:
    """A time as the age that it has; the script keeps it current."""
    try:
        seconds = int((now - datetime.fromisoformat(time)).total_seconds())
    except (ValueError, TypeError):  # none, or without a zone
        return element("span", time) if time else None
    return element("time", age(seconds), datetime=time, title=time)


def age(seconds: int) -> str:
    """As kubectl has it, with one unit: `5s`, `12m`, `3h`, `4d`, `2y`."""
    seconds = max(0, seconds)
    for unit, sign in ((YEAR, "y"), (DAY, "d"), (HOUR, "h"), (MINUTE, "m")):
        if seconds >= unit:
            return f"{seconds // unit}{sign}"
    return f"{seconds}s"


def clock(now: datetime) -> str:
    return now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def facts(pairs: Iterable[tuple[str, Child]]) -> Element:
    """Names and values; a value that is empty is left out."""
    return element(
        "dl",
        [
            element("div", element("dt", name), element("dd", value))
            for name, value in pairs
            if value is not None and value != ""
        ],
        class_="facts",
    )


def table(caption: str, titles: Sequence[str], rows: Iterable[Sequence[Child]], *, class_: str = "") -> Element:
    """The roles stand for what the style takes away on a narrow screen. The first cell of a row names it."""
    head = element("tr", [element("th", title, scope="col", role="columnheader") for title in titles], role="row")
    return element(
        "table",
        element("caption", caption, class_="unseen"),
        element("thead", head, role="rowgroup"),
        element("tbody", [_row(titles, row) for row in rows], role="rowgroup"),
        role="table",
        class_=class_ or None,
    )


def _row(titles: Sequence[str], cells: Sequence[Child]) -> Element:
    first, *others = cells
    named = zip(titles[1:], others, strict=True)
    return element(
        "tr",
        element("th", first, scope="row", role="rowheader"),
        [element("td", cell, role="cell", data_title=title) for title, cell in named],
        role="row",
    )


def short_class(name: str) -> str:
    """Ours by their last word; a class of others in full."""
    canonical = canonical_class(name)
    return canonical.removeprefix(OURS) if canonical in CLASSES else name


def message(text: str) -> Element | None:
    return element("span", text, class_="message") if text else None


def code(text: str) -> Element:
    return element("code", text)


def section(title: str, *content: Child | Iterable[Child], id_: str, note: Child = None) -> Element:
    heading = element("div", element("h2", title, id=f"{id_}-title"), note, class_="heading")
    return element("section", heading, *content, id=id_, aria_labelledby=f"{id_}-title")
