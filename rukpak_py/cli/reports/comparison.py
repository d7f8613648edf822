"""A comparison for people and for programs."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import orjson

from rukpak_py.apply.crd_safety.verdicts import Verdict
from rukpak_py.apply.field_differences import Difference, FieldChange
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.apply.permissions.grants import RoleReference, RoleSubject
from rukpak_py.apply.permissions.permission import Permission, rule_text, rules_of, scope_text
from rukpak_py.cli.reports.report import counted
from rukpak_py.cli.terminal import Style, clean, table, wrapped
from rukpak_py.core.objects import ObjectKey
from rukpak_py.library.diffs.comparison import RenderingComparison
from rukpak_py.library.diffs.moved_namespace import NamespaceMove

_LONGEST_VALUE = 160
_BEFORE = 40  # characters before the first difference of long texts
_REMOVED = "the CRD was removed: deleted, unless it has instances that are not of the bundle"
_MASK = "(not shown: content of a Secret)"
_VERDICT_COLOURS = {Verdict.WARN: "yellow", Verdict.BREAKS: "red", Verdict.LOSES: "red"}
_SIGNS = {FieldChange.ADDED: ("+", "green"), FieldChange.REMOVED: ("-", "red"), FieldChange.CHANGED: ("~", "yellow")}


def lines_of(found: RenderingComparison, style: Style) -> Iterator[str]:
    """The summary and risks come first: reviewers decide by them, and objects can be many."""
    if found.is_empty:
        yield "no differences"
        yield from left_out_lines(found)
        return
    sections = (_summary, _gained, _definitions, _lost, _objects)
    for section in sections:
        lines = list(section(found, style))
        if lines:
            yield from lines
            yield ""
    yield count_line(found)
    yield from left_out_lines(found)


def count_line(found: RenderingComparison) -> str:
    gained, lost = (
        sum(len(getattr(change, name)) + len(getattr(change, f"{name}_references")) for change in found.permissions)
        for name in ("gained", "lost")
    )
    objects = [
        f"{len(found.removed)} removed",
        f"{len(found.added)} added",
        f"{len(found.renamed)} renamed",
        f"{len(found.changed)} changed",
    ]
    return f"objects: {', '.join(objects)}; {counted(gained, 'permission')} gained, {lost} lost"


def move_text(move: NamespaceMove) -> str:
    return clean(f"namespace: {move.old} → {move.new}, {counted(move.objects, 'object')}")


def left_out_lines(found: RenderingComparison) -> Iterator[str]:
    if found.left_out:
        number = counted(found.left_out, "difference")
        yield f"left out: {number} of descriptions and copied annotations (--all shows them)"


def _summary(found: RenderingComparison, style: Style) -> Iterator[str]:
    if found.summary:
        yield style.paint("Summary", "bold")
    for difference in found.summary:
        yield from _difference(difference, style, indent=2)


def _objects(found: RenderingComparison, style: Style) -> Iterator[str]:
    if found.move or found.removed or found.added or found.renamed or found.changed:
        yield style.paint("Objects", "bold")
    if found.move:
        yield _heading(FieldChange.CHANGED, move_text(found.move), style)
    for key in found.removed:
        yield _heading(FieldChange.REMOVED, _name(key), style)
    for key in found.added:
        yield _heading(FieldChange.ADDED, _name(key), style)
    for old, new in found.renamed:
        yield _heading(FieldChange.CHANGED, f"{_name(old)} is now {clean(new.name)}", style)
    for changed in found.changed:
        yield _heading(FieldChange.CHANGED, _name(changed.key), style)
        for difference in changed.differences:
            yield from _difference(difference, style, indent=6)


def _heading(change: FieldChange, text: str, style: Style) -> str:
    sign, colour = _SIGNS[change]
    if max(map(len, text.split())) + len("  + ") > style.width:  # a name can be copied when it has a line of its own
        text = "/ ".join(text.rsplit("/", 1))
    line = wrapped(text, width=style.width, first=f"  {sign} ", indent=8, break_words=True)
    return style.paint(line, colour, "bold")


def _name(key: ObjectKey) -> str:
    return clean(str(key))


def _difference(found: Difference, style: Style, *, indent: int) -> Iterator[str]:
    sign, colour = _SIGNS[found.change]
    head = f"{' ' * indent}{sign} {clean(found.path)}"
    if found.is_secret:
        values = [("", _MASK)]
    elif found.change is FieldChange.CHANGED:
        start = _common_start(_text(found.old), _text(found.new))
        values = [("- ", _shown(_text(found.old), start)), ("+ ", _shown(_text(found.new), start))]
    else:
        values = [("", _shown(_text(found.new if found.change is FieldChange.ADDED else found.old), 0))]
    line = f"{head}: {' → '.join(value for _, value in values)}"
    if len(line) <= style.width:
        yield style.paint(line, colour)
        return
    first = f"{' ' * indent}{sign} "
    for part in _parts_of_path(f"{clean(found.path)}:", style.width - indent - 4):
        line = wrapped(part, width=style.width, first=first, indent=indent + 4, break_words=True)
        yield style.paint(line, colour)
        first = " " * (indent + 4)
    for mark, value in values:
        first = f"{' ' * (indent + 4)}{mark}"
        line = wrapped(value, width=style.width, first=first, indent=indent + 6, break_words=True)
        yield style.paint(line, colour)


def _parts_of_path(path: str, width: int) -> Iterator[str]:
    """The path in lines that end before a field, where that is possible."""
    while len(path) > width and (end := max(path.rfind(mark, 1, width) for mark in ".[")) > 0:
        yield path[:end]
        path = path[end:]
    yield path


def values_of(found: Difference) -> tuple[str, str]:
    """The old and the new value as texts, empty where there is none."""
    if found.is_secret:
        return _MASK, _MASK
    old = "" if found.change is FieldChange.ADDED else _text(found.old)
    new = "" if found.change is FieldChange.REMOVED else _text(found.new)
    start = _common_start(old, new) if old and new else 0
    return _shown(old, start), _shown(new, start)


def _text(value: Any) -> str:
    return clean(orjson.dumps(value).decode())


def _shown(text: str, start: int) -> str:
    """All of a short text; of a long one the part where it begins to differ."""
    if len(text) <= _LONGEST_VALUE:
        return text
    begin = max(0, start - _BEFORE)
    part = f"{'…' if begin else ''}{text[begin : begin + _LONGEST_VALUE]}"
    return part if begin + _LONGEST_VALUE >= len(text) else f"{part}… ({len(text)} characters)"


def _common_start(old: str, new: str) -> int:
    return next((place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)


def _definitions(found: RenderingComparison, style: Style) -> Iterator[str]:
    removed = [*map(_name, _removed_definitions(found))]
    if found.definitions or removed:
        yield style.paint("CRD upgrade safety", "bold")
    for name in removed:
        yield wrapped(name, width=style.width, first="  ", indent=8)
        yield style.paint(wrapped(_REMOVED, width=style.width, first="    ", indent=8), "red")
    for definition in found.definitions:
        yield wrapped(_name(definition.key), width=style.width, first="  ", indent=8)
        if definition.unreadable:
            yield wrapped(
                clean(f"cannot be compared: {definition.unreadable}"), width=style.width, first="    ", indent=8
            )
        for change in definition.changes:
            text = clean(f"{change}: {change.consequence}")
            colour = _VERDICT_COLOURS.get(change.verdict)
            line = wrapped(text, width=style.width, first="    ", indent=8)
            yield style.paint(line, colour) if colour else line


def _removed_definitions(found: RenderingComparison) -> list[ObjectKey]:
    return [key for key in found.removed if (key.group, key.kind) == CRD_KIND]


def _gained(found: RenderingComparison, style: Style) -> Iterator[str]:
    changes = [(one.holder, one.gained, one.gained_references) for one in found.permissions]
    return _permissions("Permissions gained", changes, "green", style)


def _lost(found: RenderingComparison, style: Style) -> Iterator[str]:
    changes = [(one.holder, one.lost, one.lost_references) for one in found.permissions]
    return _permissions("Permissions lost", changes, "red", style)


def _permissions(
    title: str,
    changes: Iterable[tuple[RoleSubject, Collection[Permission], Sequence[RoleReference]]],
    colour: str,
    style: Style,
) -> Iterator[str]:
    changes = [change for change in changes if change[1] or change[2]]
    if changes:
        yield style.paint(title, "bold")
    for holder, permissions, references in changes:
        for reference in references:
            text = clean(f"{holder} {scope_text(reference.scope)}: {reference}")
            yield style.paint(wrapped(text, width=style.width, first="  ", indent=8), colour)
        for scope in sorted({permission.scope for permission in permissions}):
            yield wrapped(clean(f"{holder} {scope_text(scope)}"), width=style.width, first="  ", indent=8)
            rules = rules_of(permission for permission in permissions if permission.scope == scope)
            rows = [(clean(verbs), clean(about)) for verbs, about in map(rule_text, rules)]
            yield from (style.paint(line, colour) for line in table(rows, width=style.width, indent=4))


def gained_lines(found: RenderingComparison) -> Iterator[str]:
    """A line for each rule, for reports without colours and width."""
    for one in found.permissions:
        yield from _permission_lines(one.holder, one.gained, one.gained_references)


def lost_lines(found: RenderingComparison) -> Iterator[str]:
    for one in found.permissions:
        yield from _permission_lines(one.holder, one.lost, one.lost_references)


def _permission_lines(
    holder: RoleSubject, permissions: Collection[Permission], references: Sequence[RoleReference]
) -> Iterator[str]:
    yield from (f"{holder} {scope_text(reference.scope)}: {reference}" for reference in references)
    for scope in sorted({permission.scope for permission in permissions}):
        rules = rules_of(permission for permission in permissions if permission.scope == scope)
        yield from (f"{holder} {scope_text(scope)}: {' '.join(rule_text(rule))}" for rule in rules)


def definition_lines(found: RenderingComparison, *, least: Verdict = Verdict.NOTE) -> Iterator[str]:
    yield from (f"{key.name}: {_REMOVED}" for key in _removed_definitions(found))
    for one in found.definitions:
        if one.unreadable:
            yield f"{one.key.name}: cannot be compared: {one.unreadable}"
        yield from (f"{one.key.name}: {it}: {it.consequence}" for it in one.changes if it.verdict >= least)
