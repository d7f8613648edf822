"""Objects that change, with their fields, as lines: what a plan names, and what a comparison with the cluster finds."""

from collections.abc import Iterable, Iterator, Mapping

from rukpak_py.apply.field_differences import FieldChange
from rukpak_py.apply.upgrade_document import PlannedAction, PlannedField, PlannedObject
from rukpak_py.cli.terminal import Style, clean, wrapped
from rukpak_py.core.text import counted
from rukpak_py.diagnosis.planned import HOW, notes_of, object_title, values_of

REFUSED = "refused"  # an action beside those of a plan: nothing is written, and `why` says why
SIGNS: Mapping[str, tuple[str, str, str]] = {
    REFUSED: ("!", "red", "refused"),
    PlannedAction.CREATED: ("+", "green", ""),
    PlannedAction.CHANGED: ("~", "yellow", ""),
    PlannedAction.PRUNED: ("-", "red", HOW[PlannedAction.PRUNED]),
    PlannedAction.REPLACED: ("!", "red", HOW[PlannedAction.REPLACED]),
    PlannedAction.TAKEN: ("!", "yellow", HOW[PlannedAction.TAKEN]),
    PlannedAction.KEPT: ("!", "yellow", HOW[PlannedAction.KEPT]),
}
_FIELD_SIGNS = {
    FieldChange.ADDED: ("+", "green"),
    FieldChange.REMOVED: ("-", "red"),
    FieldChange.CHANGED: ("~", "yellow"),
}
_UNKNOWN = ("?", "yellow", "")


def lines_of(objects: Iterable[PlannedObject], style: Style) -> Iterator[str]:
    for one in objects:
        sign, colour, how = sign_of(one.action)
        about = f"{object_title(one.object)}{f': {how}' if how else ''}"
        yield style.paint(wrapped(clean(about), width=style.width, first=f"  {sign} ", indent=8), colour, "bold")
        for note in notes_of(one):
            yield wrapped(clean(note), width=style.width, first="      ", indent=8)
        for field in one.fields:
            yield from _field(field, style)
        if one.left_out:
            yield f"      and {counted(one.left_out, 'field')} more"


def sign_of(action: str) -> tuple[str, str, str]:
    """The sign, its colour, and the words for it; of a later release neither is known."""
    return SIGNS.get(action, (*_UNKNOWN[:2], action))


def _field(field: PlannedField, style: Style) -> Iterator[str]:
    sign, colour = next((signs for change, signs in _FIELD_SIGNS.items() if change == field.change), _UNKNOWN[:2])
    head = f"      {sign} {clean(field.path)}"
    values = [clean(value) for value in values_of(field)]
    line = f"{head}: {' → '.join(values)}"
    if len(line) <= style.width:
        yield style.paint(line, colour)
        return
    yield style.paint(wrapped(f"{clean(field.path)}:", width=style.width, first=f"      {sign} ", indent=10), colour)
    marks = ("- ", "+ ") if len(values) == 2 else ("",)
    for mark, value in zip(marks, values, strict=True):
        yield style.paint(wrapped(value, width=style.width, first=f"          {mark}", indent=12), colour)
