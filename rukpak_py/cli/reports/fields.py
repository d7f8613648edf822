"""Objects that change, with their fields, as lines: what a plan names, and what a comparison with the cluster finds."""

from collections.abc import Iterable, Iterator, Mapping

from rukpak_py.apply.field_differences import FieldChange
from rukpak_py.apply.upgrade_document import Basis, ObjectName, PlannedAction, PlannedField, PlannedObject
from rukpak_py.cli.terminal import Style, clean, wrapped
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.text import counted

REFUSED = "refused"  # an action beside those of a plan: nothing is written, and `why` says why
SIGNS: Mapping[str, tuple[str, str, str]] = {
    REFUSED: ("!", "red", "refused"),
    PlannedAction.CREATED: ("+", "green", ""),
    PlannedAction.CHANGED: ("~", "yellow", ""),
    PlannedAction.PRUNED: ("-", "red", "deleted"),
    PlannedAction.REPLACED: ("!", "red", "deleted and created again"),
    PlannedAction.TAKEN: ("!", "yellow", "taken over"),
    PlannedAction.KEPT: ("!", "yellow", "dropped by the content, and kept"),
}
_FIELD_SIGNS = {
    FieldChange.ADDED: ("+", "green"),
    FieldChange.REMOVED: ("-", "red"),
    FieldChange.CHANGED: ("~", "yellow"),
}
_UNKNOWN = ("?", "yellow", "")
NOTHING_ELSE = "no field that can be seen"


def lines_of(objects: Iterable[PlannedObject], style: Style) -> Iterator[str]:
    for one in objects:
        sign, colour, how = sign_of(one.action)
        about = f"{title(one.object)}{f': {how}' if how else ''}"
        yield style.paint(wrapped(clean(about), width=style.width, first=f"  {sign} ", indent=8), colour, "bold")
        for note in notes_of(one):
            yield wrapped(clean(note), width=style.width, first="      ", indent=8)
        for field in one.fields:
            yield from _field(field, style)
        if one.left_out:
            yield f"      and {counted(one.left_out, 'field')} more"


def title(name: ObjectName) -> str:
    return str(ObjectKey(name.group, name.kind, name.namespace, name.name))


def sign_of(action: str) -> tuple[str, str, str]:
    """The sign, its colour, and the words for it; of a later release neither is known."""
    return SIGNS.get(action, (*_UNKNOWN[:2], action))


def notes_of(one: PlannedObject) -> Iterator[str]:
    if one.basis == Basis.CONTENT:
        yield f"compared with the installed content{f': {one.why}' if one.why else ''}"
    elif one.why:
        yield f"not compared: {one.why}" if one.action == PlannedAction.CHANGED else one.why
    elif one.action == PlannedAction.CHANGED and not one.fields and not one.left_out:
        yield NOTHING_ELSE


def _field(field: PlannedField, style: Style) -> Iterator[str]:
    sign, colour = next((signs for change, signs in _FIELD_SIGNS.items() if change == field.change), _UNKNOWN[:2])
    head = f"      {sign} {clean(field.path)}"
    values = values_of(field)
    line = f"{head}: {' → '.join(values)}"
    if len(line) <= style.width:
        yield style.paint(line, colour)
        return
    yield style.paint(wrapped(f"{clean(field.path)}:", width=style.width, first=f"      {sign} ", indent=10), colour)
    marks = ("- ", "+ ") if len(values) == 2 else ("",)
    for mark, value in zip(marks, values, strict=True):
        yield style.paint(wrapped(value, width=style.width, first=f"          {mark}", indent=12), colour)


def values_of(field: PlannedField) -> list[str]:
    values = [clean(_short(value) if field.secret else value) for value in (field.old, field.new) if value is not None]
    return values or ["(not shown: content of a Secret)"]


def _short(digest: str) -> str:
    """The digest of a Secret's value, short: it only tells two values apart."""
    head, _, digits = digest.rpartition(":")
    return f"{head.partition(':')[0]}:{digits[:12]}…"
