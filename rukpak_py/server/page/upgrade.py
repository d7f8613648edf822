"""An upgrade that waits, in short, as the status has it; and a whole plan, as the operator makes it."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rukpak_py.api.upgrades import PLAN_LINES_AT_MOST, PLAN_NAMES_AT_MOST, PendingUpgrade, Verdict, counts_text
from rukpak_py.apply.upgrade_document import PlannedField, PlannedObject, UpgradeDocument
from rukpak_py.core.text import counted
from rukpak_py.diagnosis import planned
from rukpak_py.server.page.elements import NONE, code, facts, moment, section, table
from rukpak_py.server.page.layout import Frame, page
from rukpak_py.server.page.markup import Child, Element, element

PLAN_PATH = "plan"
_SIGNS = {"created": "+", "changed": "~", "pruned": "-"}
_OPEN_UP_TO = 20  # objects that are shown without a click


def pending_upgrade(name: str, pending: PendingUpgrade, now: datetime) -> Element:
    pairs: list[tuple[str, Child]] = [
        ("To", f"{pending.version or pending.bundle}"),
        ("Waits for", _REASONS.get(pending.reason, pending.reason)),
        ("Since", moment(pending.since, now)),
        ("Verdict", _verdict(pending.verdict)),
        ("Changes", counts_text(pending.counts)),
        ("Plan", code(pending.digest)),
        ("Approved", "yes" if pending.approved else ""),
    ]
    return section(
        "Pending upgrade",
        facts(pairs),
        list(_short_lists(pending)),
        element("p", "To let it go on: ", code(f"rukpakctl approve {name}")) if not pending.approved else None,
        id_="upgrade",
        note=plan_link(name),
    )


_REASONS = {
    "NotApproved": "an approval",
    "OutsideWindow": "an upgrade window",
    "DependencyNotReady": "a dependency that is not ready",
}


def plan_link(name: str) -> Element:
    return element("a", "Whole plan", href=f"./{name}/{PLAN_PATH}", id="plan-link")


def _short_lists(pending: PendingUpgrade) -> Iterator[Element]:
    for title, lines, most in (
        ("Rights gained", pending.rights_gained, PLAN_LINES_AT_MOST),
        ("CustomResourceDefinitions", pending.crds, PLAN_LINES_AT_MOST),
        ("Hooks that run", pending.hooks, PLAN_LINES_AT_MOST),
        ("Objects", pending.names, PLAN_NAMES_AT_MOST),
    ):
        if lines:
            more = f", the first {most}" if len(lines) >= most else ""
            yield element("h3", f"{title}{more}")
            yield _lines(lines)


def _lines(lines: Sequence[str]) -> Element:
    return element("ul", [element("li", line) for line in lines], class_="lines")


def _verdict(verdict: str) -> Element:
    is_safe = verdict == Verdict.SAFE
    return element("span", "safe" if is_safe else "needs a review", class_=f"state {'ready' if is_safe else 'unknown'}")


def plan_page(frame: Frame, name: str, plan: UpgradeDocument) -> bytes:
    title = planned.title(plan)
    crumbs = element("nav", element("a", name, href=f"../{name}"), aria_label="Deployment", class_="crumbs")
    if planned.is_empty(plan):
        nothing = element("p", f"{planned.NOTHING_TO_DO.capitalize()}.")
        return page(frame, title, crumbs, element("h1", title), nothing, refreshes=False)
    return page(
        frame,
        title,
        crumbs,
        element("h1", title),
        element("section", facts(planned.summary(plan)), aria_label="Summary"),
        [
            section(heading, _lines(lines), _more(plan.left_out.get(key, 0)), id_=f"plan-{at}")
            for at, (heading, lines, key) in enumerate(planned.sections(plan))
        ],
        _objects(plan),
        refreshes=False,
    )


def _objects(plan: UpgradeDocument) -> Element | None:
    if not plan.objects:
        return None
    is_open = len(plan.objects) <= _OPEN_UP_TO
    changes = [_object(one, is_open=is_open) for one in plan.objects]
    return section("Objects", changes, _more(plan.left_out.get("objects", 0)), id_="objects")


def _object(one: PlannedObject, *, is_open: bool) -> Element:
    how = planned.HOW.get(one.action, one.action)
    notes = [element("p", note, class_="message") for note in planned.notes_of(one)]
    head = (
        element("span", _SIGNS.get(one.action, "!"), class_=f"sign {one.action}", aria_hidden="true"),
        " ",
        element("span", planned.object_title(one.object), class_="name"),
        " ",
        element("span", how, class_="mark"),
    )
    if not one.fields and not notes:
        return element("p", *head, class_="change")
    rows = [_field(field) for field in one.fields]
    return element(
        "details",
        element("summary", *head),
        notes,
        table(f"Fields of {planned.object_title(one.object)}", ("Field", "Old", "New"), rows, class_="fields")
        if rows
        else None,
        _more(one.left_out, "field"),
        open=is_open,
        class_="change",
    )


def _field(field: PlannedField) -> Sequence[Child]:
    values = planned.values_of(field)
    old, new = (values[0] if field.old is not None else "", values[-1] if field.new is not None else "")
    if field.old is None and field.new is None:
        old = values[0]
    return (
        code(field.path),
        element("del", old) if old else NONE,
        element("ins", new) if new else NONE,
    )


def _more(left_out: int, noun: str = "line") -> Element | None:
    return element("p", f"and {counted(left_out, noun)} more", class_="mark") if left_out else None
