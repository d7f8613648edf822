"""The list: all deployments that fit what is asked for, the worst first, a hundred on each page.

Everything is asked for by query parameters, so it works without the script. Rows are small; the deployments that they
are made of are read page by page and dropped.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import quote, urlencode

from rukpak_py.core.text import counted
from rukpak_py.diagnosis.model import DeploymentSummary, State
from rukpak_py.diagnosis.verdicts import selected
from rukpak_py.server.page.elements import NONE, code, message, moment, short_class, state_chip, table
from rukpak_py.server.page.layout import Frame, page
from rukpak_py.server.page.markup import Child, Element, element

ROWS = 100  # on a page
READ_AT_MOST = 10_000  # deployments: what is behind them is not shown
SEARCH_CHARACTERS = 253
_TITLES = ("Deployment", "State", "Version", "Source", "Namespace", "Class", "Age")


@dataclass(frozen=True, kw_only=True)
class Query:
    search: str = ""
    namespace: str = ""
    class_name: str = ""
    state: State | None = None
    page: int = 1

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "Query":
        """Invalid values count as not given."""
        state, page = parameters.get("state", ""), parameters.get("page", "")
        return cls(
            search=parameters.get("search", "").strip()[:SEARCH_CHARACTERS],
            namespace=parameters.get("namespace", "")[:SEARCH_CHARACTERS],
            class_name=parameters.get("class", "")[:SEARCH_CHARACTERS],
            state=State(state) if state in set(State) else None,
            page=int(page) if page.isdecimal() and len(page) < 4 and int(page) else 1,
        )

    @property
    def is_filtered(self) -> bool:
        return replace(self, page=1, state=None) != Query()

    def address(self) -> str:
        given = {
            "search": self.search,
            "namespace": self.namespace,
            "class": self.class_name,
            "state": str(self.state or ""),
            "page": str(self.page) if self.page > 1 else "",
        }
        asked = urlencode({name: value for name, value in given.items() if value}, errors="replace")
        return f"./?{asked}" if asked else "./"


@dataclass(kw_only=True)
class Listed:
    """Rows that were read. `is_cut`: there are more deployments."""

    rows: list[DeploymentSummary] = field(default_factory=list)
    is_cut: bool = False

    @classmethod
    async def read(cls, summaries: AsyncIterator[DeploymentSummary]) -> "Listed":
        listed = cls()
        async for row in summaries:
            if len(listed.rows) == READ_AT_MOST:
                listed.is_cut = True
                break
            listed.rows.append(row)
        return listed


def list_page(frame: Frame, listed: Listed, query: Query, now: datetime) -> bytes:
    any_state = selected(
        listed.rows, search=query.search, namespace=query.namespace, class_name=query.class_name, states=()
    )
    counts = Counter(row.verdict.state for row in any_state)
    rows = [row for row in any_state if query.state in {None, row.verdict.state}]
    rows.sort(key=lambda row: (row.verdict.state.rank, row.name))
    first = min((query.page - 1) * ROWS, max(0, len(rows) - 1) // ROWS * ROWS)
    shown = rows[first : first + ROWS]
    summary = _summary(len(any_state), counts)
    return page(
        frame,
        "Deployments",
        element("p", summary, id="summary"),
        _states(counts, query),
        _cut() if listed.is_cut else None,
        _rows(shown, now) if shown else _nothing(listed, query),
        _pager(query, first, len(shown), len(rows)),
        fixed=element("div", element("h1", "Deployments"), _filters(listed.rows, query)),
        news=summary,
    )


def _summary(number: int, counts: Counter[State]) -> str:
    states = ", ".join(f"{counts[state]} {state}" for state in State if counts[state])
    return f"{counted(number, 'deployment')}{f': {states}' if states else ''}"


def _states(counts: Counter[State], query: Query) -> Element:
    """One link for each state that there is."""
    every = replace(query, state=None, page=1)
    links = [_state_link("all", sum(counts.values()), every, is_current=query.state is None)]
    for state in State:
        if counts[state] or query.state is state:
            wanted = replace(every, state=state)
            links.append(_state_link(state_chip(state), counts[state], wanted, is_current=query.state is state))
    return element("nav", element("ul", [element("li", link) for link in links]), aria_label="States", class_="states")


def _state_link(name: Child, number: int, query: Query, *, is_current: bool) -> Element:
    count = element("span", str(number), class_="count")
    current = "true" if is_current else None
    where = f"state-{query.state.name.lower() if query.state is not None else 'all'}"
    return element("a", name, " ", count, href=query.address(), aria_current=current, id=where)


def _filters(rows: Sequence[DeploymentSummary], query: Query) -> Element:
    namespaces = {row.namespace for row in rows} - {""}
    classes = {row.class_name for row in rows}
    return element(
        "form",
        _labelled(
            "Search",
            element(
                "input",
                type="search",
                id="search",
                name="search",
                value=query.search,
                placeholder="Name, source, version, message",
                aria_keyshortcuts="/",
                maxlength=SEARCH_CHARACTERS,
                autocomplete="off",
            ),
            "search",
        ),
        _labelled("Namespace", _choice("namespace", namespaces, query.namespace), "namespace"),
        _labelled("Class", _choice("class", classes, query.class_name), "class"),
        element("input", type="hidden", name="state", value=str(query.state)) if query.state is not None else None,
        element("button", "Filter", type="submit"),
        element("a", "Clear", href="./", class_="clear") if query.is_filtered else None,
        method="get",
        action="./",
        role="search",
        aria_label="Deployments",
        class_="filters",
    )


def _labelled(text: str, control: Element, name: str) -> Element:
    return element("div", element("label", text, for_=name), control, class_="field")


def _choice(name: str, values: set[str], chosen: str) -> Element:
    return element(
        "select",
        element("option", "All", value="", selected=not chosen),
        [
            element("option", value, value=value, selected=value == chosen)
            for value in sorted(values | ({chosen} if chosen else set()))
        ],
        id=name,
        name=name,
    )


def _rows(rows: Sequence[DeploymentSummary], now: datetime) -> Element:
    return table("Deployments", _TITLES, (_cells(row, now) for row in rows), class_="list")


def _cells(row: DeploymentSummary, now: datetime) -> Sequence[Child]:
    return (
        element("span", list(_name(row)), class_="name"),
        state_chip(row.verdict.state),
        element("span", row.version or NONE, list(_pending(row)), class_="version"),
        element("span", element("span", row.source, class_="kind"), " ", code(row.reference), class_="source"),
        row.namespace or NONE,
        element("span", short_class(row.class_name), title=row.class_name),
        moment(row.created, now),
    )


def _name(row: DeploymentSummary) -> Iterator[Element | None]:
    yield element("a", row.name, href=f"./deployments/{quote(row.name, safe='')}", id=f"row-{row.name}")
    if row.verdict.state is not State.READY or row.pending:
        yield message(row.verdict.message)


def _pending(row: DeploymentSummary) -> Iterator[Child]:
    if row.pending:
        yield element("span", f" → {row.pending} waits", class_="pending")


def _nothing(listed: Listed, query: Query) -> Element:
    if listed.rows and query != Query():
        return element("p", "No deployment fits. ", element("a", "Show all", href="./"), class_="nothing")
    return element("p", "There are no BundleDeployments in this cluster.", class_="nothing")


def _cut() -> Element:
    text = f"There are more than {READ_AT_MOST} deployments: the others are not shown. Use kubectl for them."
    return element("p", text, class_="notice")


def _pager(query: Query, first: int, shown: int, number: int) -> Element | None:
    if number <= ROWS:
        return None
    at = first // ROWS + 1
    return element(
        "nav",
        element("a", "Previous", href=replace(query, page=at - 1).address(), rel="prev") if at > 1 else None,
        element("span", f"{first + 1} to {first + shown} of {number}"),
        element("a", "Next", href=replace(query, page=at + 1).address(), rel="next")
        if first + shown < number
        else None,
        aria_label="Pages of the list",
        class_="pager",
    )
