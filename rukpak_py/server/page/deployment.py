"""One deployment: why it is not ready on top, then what belongs to it."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rukpak_py.api.conditions import Condition
from rukpak_py.diagnosis.documentation import TROUBLESHOOTING, troubleshooting_page
from rukpak_py.diagnosis.explaining import explain
from rukpak_py.diagnosis.model import DeploymentView, EventView, Explanation, State
from rukpak_py.diagnosis.revisions import Revision, RevisionState, revisions_of
from rukpak_py.server.page.elements import NONE, code, facts, message, moment, section, state_chip, table
from rukpak_py.server.page.layout import Frame, page
from rukpak_py.server.page.markup import Child, Element, element
from rukpak_py.server.page.tree import DIGITS, tree, unread
from rukpak_py.server.page.upgrade import pending_upgrade, plan_link

_EVENTS = 50


def deployment_page(frame: Frame, view: DeploymentView, now: datetime) -> bytes:
    summary, status = view.summary, view.deployment.status
    found = explain(view)
    state = summary.verdict.state
    return page(
        frame,
        f"{summary.name}: {state}",
        element("nav", element("a", "Deployments", href=frame.root), aria_label="List", class_="crumbs"),
        element("div", element("h1", summary.name), state_chip(state), class_="heading"),
        _why(frame, found, now),
        facts(_facts(view, now)),
        pending_upgrade(summary.name, status.pending_upgrade, now) if status.pending_upgrade is not None else None,
        section(
            "Content and objects",
            tree(view, now),
            unread(view.unread),
            id_="tree",
            note=plan_link(summary.name) if status.pending_upgrade is None else None,
        ),
        _conditions(status.conditions, now),
        _events(view.events, now),
        _history(revisions_of(view.deployment), now),
        news=f"{summary.name} is {state}: {found.sentence}",
    )


def _facts(view: DeploymentView, now: datetime) -> Iterator[tuple[str, Child]]:
    summary = view.summary
    yield "Version", summary.version
    yield "Class", summary.class_name
    yield "Namespace", summary.namespace
    yield "Service account", summary.account
    yield "Owned by BundleInstance", summary.instance
    yield "Age", moment(summary.created, now)


# why


def _why(frame: Frame, found: Explanation, now: datetime) -> Element:
    tone = "fine" if found.state.is_at_rest else found.state.name.lower()
    return element(
        "section",
        element("h2", _question(found.state), id="why-title"),
        element("p", found.sentence, class_="sentence"),
        element("p", element("strong", "What to do: "), _with_code(found.to_do), class_="to-do")
        if found.to_do
        else None,
        _troubleshooting(frame, found),
        element("ul", [element("li", line) for line in found.others], class_="others") if found.others else None,
        _events_table("Events of the object that fails", found.events, now) if found.events else None,
        id="why",
        aria_labelledby="why-title",
        class_=f"why {tone}",
    )


def _with_code(text: str) -> list[Child]:
    """Commands stand between backticks."""
    return [code(part) if at % 2 else part for at, part in enumerate(text.split("`"))]


def _question(state: State) -> str:
    return "State" if state.is_at_rest else "Why it is not ready"


def _troubleshooting(frame: Frame, found: Explanation) -> Element | None:
    if not found.anchor or found.state is State.READY:
        return None
    page = troubleshooting_page(frame.troubleshooting)
    address = f"{page}#{found.anchor}"
    if page == TROUBLESHOOTING:  # a path in the repository leads nowhere from here
        return element("p", "More: ", code(address), class_="more")
    link = element("a", f"Troubleshooting: {found.reason}", href=address, rel="noreferrer", id="troubleshooting")
    return element("p", link, class_="more")


# tables


def _conditions(conditions: Sequence[Condition], now: datetime) -> Element | None:
    if not conditions:
        return None
    rows = [
        (
            one.type,
            element("span", one.status, class_=f"status {one.status.lower()}"),
            one.reason,
            moment(one.last_transition_time, now),
            message(one.message) or NONE,
        )
        for one in conditions
    ]
    titles = ("Type", "Status", "Reason", "Since", "Message")
    return section("Conditions", table("Conditions", titles, rows, class_="conditions"), id_="conditions")


def _events(events: Sequence[EventView], now: datetime) -> Element:
    shown = _events_table("Events", events[:_EVENTS], now) if events else element("p", "There are no Events.")
    return section("Events", shown, id_="events")


def _events_table(caption: str, events: Sequence[EventView], now: datetime) -> Element:
    rows = [
        (
            moment(one.last, now) or NONE,
            element("span", one.type, class_=f"event {'warning' if one.type == 'Warning' else 'normal'}"),
            one.reason,
            f"{one.about}",
            element("span", one.message, f" ({one.count} times)" if one.count > 1 else "", class_="message"),
        )
        for one in events
    ]
    return table(caption, ("Last", "Type", "Reason", "Object", "Message"), rows, class_="events")


_REVISION_STATES = {
    RevisionState.WAITS: "waits",
    RevisionState.BEGUN: "has begun",
    RevisionState.INSTALLED: "installed",
    RevisionState.FORMER: "former",
}


def _history(revisions: Sequence[Revision], now: datetime) -> Element | None:
    if not revisions:
        return None
    rows = [
        (
            str(one.revision),
            _REVISION_STATES[one.state],
            one.outcome or NONE,
            one.version or NONE,
            moment(one.time, now) or NONE,
            code(one.bundle),
            code(one.digest.removeprefix("sha256:")[:DIGITS]) if one.digest else NONE,
        )
        for one in revisions
    ]
    titles = ("Revision", "State", "Outcome", "Version", "Age", "Bundle", "Content")
    return section("History", table("History", titles, rows, class_="history"), id_="history")
