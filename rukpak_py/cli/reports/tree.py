"""A BundleDeployment as a tree: its Bundles, its objects, and pods and waiting claims of those that are not healthy.

Healthy objects of a kind are one line with their number, unless everything is shown; the others stand first, the worst
at the top. A part that could not be read is a line, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from rukpak_py.api.conditions import first_line
from rukpak_py.cli.reports.columns import Cell, columns
from rukpak_py.cli.reports.deployments import deployment_document, message_of
from rukpak_py.cli.reports.keys import key_document
from rukpak_py.cli.reports.states import colours_of
from rukpak_py.cli.terminal import Style, clean, wrapped
from rukpak_py.diagnosis.ages import age_of
from rukpak_py.diagnosis.model import BundleView, DeploymentView, ObjectView, State

Json = dict[str, Any]
_NARROWEST = 40  # lines of a message deep in the tree


@dataclass(frozen=True, kw_only=True)
class _Node:
    name: str
    state: str = ""
    colours: tuple[str, ...] = ()
    created: str = ""
    message: str = ""
    below: Sequence["_Node"] = ()


def lines_of(view: DeploymentView, style: Style, *, everything: bool = False, now: datetime | None = None) -> list[str]:
    """The message of a node stands in lines of its own below it, as long as they have to be."""
    branches = list(_branches(_root(view, everything=everything), "", ""))
    rows = (
        (f"{one.first}{one.node.name}", Cell(one.node.state, one.node.colours), age_of(one.node.created, now))
        for one in branches
    )
    table = columns(("OBJECT", "STATE", "AGE"), rows, width=style.room, style=style)
    lines = [next(table)]
    for one, line in zip(branches, table, strict=True):
        lines.append(line)
        if one.node.message:
            message = wrapped(clean(one.node.message), width=max(_NARROWEST, style.width - len(one.further)))
            lines += [f"{one.further}{style.paint(part, 'dim')}" for part in message.splitlines()]
    return lines


def document(view: DeploymentView) -> Json:
    return {
        "deployment": deployment_document(view.summary),
        "bundles": [_bundle_document(one) for one in view.bundles],
        "objects": [object_document(one) for one in view.objects],
        "unread": [{"part": one.part, "why": one.why} for one in view.unread],
    }


def object_document(one: ObjectView) -> Json:
    return {
        **key_document(one.key),
        "state": one.state.value,
        "reason": one.reason or None,
        "message": one.message or None,
        "created": one.created or None,
        "kept": one.is_kept,
        "pods": [object_document(pod) for pod in one.children],
        "claims": [object_document(claim) for claim in one.claims],
    }


def _bundle_document(one: BundleView) -> Json:
    return {
        "name": one.bundle.metadata.name,
        "state": one.verdict.state.value,
        "reason": one.verdict.reason or None,
        "message": one.verdict.message or None,
        "created": one.bundle.metadata.creation_timestamp or None,
        "digest": one.bundle.status.digest or None,
        "installed": one.is_active,
        "wanted": one.is_wanted,
    }


@dataclass(frozen=True, kw_only=True)
class _Branch:
    """A node with what is drawn before it, and before the lines of its message."""

    node: _Node
    first: str
    further: str


def _branches(node: _Node, first: str, further: str) -> Iterator[_Branch]:
    yield _Branch(node=node, first=first, further=f"{further}{'│  ' if node.below else '   '}")
    for at, one in enumerate(node.below):
        is_last = at == len(node.below) - 1
        yield from _branches(one, f"{further}{'└─ ' if is_last else '├─ '}", f"{further}{'   ' if is_last else '│  '}")


def _root(view: DeploymentView, *, everything: bool) -> _Node:
    verdict = view.summary.verdict
    return _Node(
        name=f"BundleDeployment {view.summary.name}",
        state=verdict.state.value,
        colours=colours_of(verdict.state),
        created=view.summary.created,
        message=_said(verdict.reason, message_of(view.summary)),
        below=[
            *map(_bundle, view.bundles),
            *_objects(view.objects, everything=everything),
            *(_Node(name=one.part, state="not read", colours=("yellow",), message=one.why) for one in view.unread),
        ],
    )


def _bundle(one: BundleView) -> _Node:
    words = [word for word, is_so in (("installed", one.is_active), ("wanted", one.is_wanted)) if is_so]
    if words == ["installed", "wanted"]:
        words = ["installed"]
    verdict = one.verdict
    return _Node(
        name=f"Bundle {one.bundle.metadata.name}{f' ({words[0]})' if words else ' (former)'}",
        state=verdict.state.value,
        colours=colours_of(verdict.state),
        created=one.bundle.metadata.creation_timestamp or "",
        message="" if verdict.state is State.READY else _said(verdict.reason, first_line(verdict.message)),
    )


def _objects(objects: Iterable[ObjectView], *, everything: bool) -> Iterator[_Node]:
    objects = list(objects)
    folded = [one for one in objects if one.state is State.READY and not one.is_kept]
    shown = sorted((one for one in objects if one not in folded), key=lambda one: (one.state.rank, one.key))
    yield from map(_object, shown)
    for kind, of_kind in groupby(folded, key=lambda one: one.key.group_kind):
        alike = list(of_kind)
        if everything or len(alike) == 1:
            yield from map(_object, alike)
        else:
            yield _Node(name=f"{kind}: {len(alike)} objects", state=State.READY.value, colours=colours_of(State.READY))


def _object(one: ObjectView) -> _Node:
    return _Node(
        name=f"{one.key}{' (kept)' if one.is_kept else ''}",
        state=one.state.value,
        colours=colours_of(one.state),
        created=one.created,
        message="" if one.state is State.READY else first_line(one.message),
        below=[_object(below) for below in (*one.claims, *one.children)],
    )


def _said(reason: str, message: str) -> str:
    return f"{reason}: {message}" if reason and message else reason or message
