"""The tree of a deployment: source, Bundles, and the objects of the installed one by kind. The unhealthy is open."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from rukpak_py.core.objects import GroupKind
from rukpak_py.core.text import counted
from rukpak_py.diagnosis.model import BundleView, DeploymentView, ObjectView, State, UnreadPart
from rukpak_py.server.page.elements import NONE, code, message, moment, state_chip
from rukpak_py.server.page.markup import Child, Element, element

SHOWN = 200  # objects of a kind; the worst first
DIGITS = 12  # of a digest


def tree(view: DeploymentView, now: datetime) -> Element:
    source = _node(
        element("span", view.summary.source, class_="kind"),
        code(view.summary.reference or NONE),
        below=_list(_bundle(one, view, now) for one in view.bundles) if view.bundles else _objects(view, now),
    )
    return _list([source], class_="tree")


def _bundle(one: BundleView, view: DeploymentView, now: datetime) -> Element:
    parts = [word for word, is_so in (("installed", one.is_active), ("wanted", one.is_wanted)) if is_so]
    digest = one.bundle.status.digest.removeprefix("sha256:")[:DIGITS]
    return _node(
        element("span", "Bundle", class_="kind"),
        element("span", one.key.name, class_="name"),
        state_chip(one.verdict.state),
        element("span", ", ".join(parts), class_="mark") if parts else None,
        code(digest) if digest else None,
        moment(one.bundle.metadata.creation_timestamp or "", now),
        message(one.verdict.message) if not one.verdict.state.is_at_rest else None,
        below=_objects(view, now) if one.is_active or (one.is_wanted and view.active is None) else None,
    )


def _objects(view: DeploymentView, now: datetime) -> Element | None:
    kinds: dict[GroupKind, list[ObjectView]] = defaultdict(list)
    for one in view.objects:
        kinds[one.key.group_kind].append(one)
    in_order = sorted(kinds.items(), key=lambda item: (min(one.state.rank for one in item[1]), item[0]))
    return _list(_kind(kind, objects, now) for kind, objects in in_order) if kinds else None


def _kind(kind: GroupKind, objects: Sequence[ObjectView], now: datetime) -> Element:
    """Folded while nothing of it is unhealthy."""
    worst_first = sorted(objects, key=lambda one: (one.state.rank, one.key))
    counts = Counter(one.state for one in objects)
    bad = sum(not one.state.is_at_rest for one in objects)
    unhealthy = [state for state in State if counts[state] and not state.is_at_rest]
    head = element(
        "summary",
        element("span", str(kind), class_="kind"),
        [state_chip(state) for state in (unhealthy or [worst_first[0].state])],
        element("span", f"{bad} of {len(objects)}" if bad else str(len(objects)), class_="count"),
    )
    rows = _list((_object(one, now) for one in worst_first[:SHOWN]), class_="objects")
    more = len(objects) - SHOWN
    left_out = element("p", f"and {counted(more, 'object')} more", class_="mark") if more > 0 else None
    return element("li", element("details", head, rows, left_out, id=f"kind-{kind}", open=bool(unhealthy)))


def _object(one: ObjectView, now: datetime) -> Element:
    below = (*one.claims, *one.children)
    place = f"{one.key.namespace}/{one.key.name}" if one.key.namespace else one.key.name
    return _node(
        element("span", place, class_="name"),
        state_chip(one.state),
        element("span", "kept, no longer in the content", class_="mark") if one.is_kept else None,
        moment(one.created, now),
        message(one.message),
        below=_list(_below(part, now) for part in below) if below else None,
    )


def _below(one: ObjectView, now: datetime) -> Element:
    """A pod of a workload, or a claim that its pods wait for."""
    container = one.container.name if one.container is not None else ""
    return _node(
        element("span", str(one.key.group_kind), class_="kind"),
        element("span", one.key.name, class_="name"),
        state_chip(one.state),
        element("span", one.reason, class_="mark") if one.reason else None,
        element("span", f"container {container}", class_="mark") if container else None,
        moment(one.created, now),
        message(one.message),
    )


def _node(*parts: Child, below: Element | None = None) -> Element:
    return element("li", element("div", list(_spaced(parts)), class_="node"), below)


def _spaced(parts: Iterable[Child]) -> Iterator[Child]:
    """Blanks between them: for who copies or hears them."""
    for at, part in enumerate(part for part in parts if part is not None):
        if at:
            yield " "
        yield part


def _list(items: Iterable[Element], *, class_: str = "") -> Element:
    return element("ul", items, class_=class_ or None)


def unread(parts: Sequence[UnreadPart]) -> Element | None:
    """The parts that are missing: without it, readers would take the rest for the whole."""
    if not parts:
        return None
    return element(
        "details",
        element("summary", f"{counted(len(parts), 'part')} could not be read"),
        element("ul", [element("li", element("strong", one.part), ": ", message(one.why)) for one in parts]),
        id="unread",
        class_="notice",
    )
