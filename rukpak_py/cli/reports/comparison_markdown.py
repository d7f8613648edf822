"""A comparison of two bundles as Markdown, for a comment on a pull request.

It has the sections of the text in their order. The objects stand behind a click where they are many.
"""

from collections.abc import Iterator

from rukpak_py.apply.field_differences import Difference, FieldChange
from rukpak_py.cli.reports.comparison import (
    count_line,
    definition_lines,
    gained_lines,
    left_out_lines,
    lost_lines,
    move_text,
    values_of,
)
from rukpak_py.cli.reports.plan_markdown import code
from rukpak_py.library.diffs.comparison import RenderingComparison

_OPEN_UP_TO = 20  # objects that are shown without a click
_SIGNS = {FieldChange.ADDED: "+", FieldChange.REMOVED: "-", FieldChange.CHANGED: "~"}


def lines_of(found: RenderingComparison) -> Iterator[str]:
    yield "### Bundle differences"
    yield ""
    if found.is_empty:
        yield "No differences."
    else:
        yield from _summary(found)
        yield from _list("Permissions gained", gained_lines(found))
        yield from _list("Permissions lost", lost_lines(found))
        yield from _list("CRD upgrade safety", definition_lines(found))
        yield from _objects(found)
        yield f"{count_line(found)}."
    for line in left_out_lines(found):
        yield ""
        yield f"{line}."


def _summary(found: RenderingComparison) -> Iterator[str]:
    if not found.summary:
        return
    yield "| | Summary | Old | New |"
    yield "| --- | --- | --- | --- |"
    yield from map(_row, found.summary)
    yield ""


def _row(difference: Difference) -> str:
    old, new = values_of(difference)
    return f"| {code(_SIGNS[difference.change])} | {code(difference.path)} | {code(old)} | {code(new)} |"


def _list(title: str, lines: Iterator[str]) -> Iterator[str]:
    items = [f"* {code(line)}" for line in lines]
    if items:
        yield from (f"#### {title}", "", *items, "")


def _objects(found: RenderingComparison) -> Iterator[str]:
    count = len(found.removed) + len(found.added) + len(found.renamed) + len(found.changed)
    if not count and not found.move:
        return
    yield f"<details{' open' if count <= _OPEN_UP_TO else ''}><summary>Objects</summary>"
    yield ""
    yield "| | Object or field | Old | New |"
    yield "| --- | --- | --- | --- |"
    if found.move:
        yield f"| {code('~')} | {code(move_text(found.move))} | | |"
    for key in found.removed:
        yield f"| {code('-')} | {code(str(key))} | | |"
    for key in found.added:
        yield f"| {code('+')} | {code(str(key))} | | |"
    for old, new in found.renamed:
        yield f"| {code('~')} | {code(f'{old} is now {new.name}')} | | |"
    for changed in found.changed:
        yield f"| {code('~')} | {code(str(changed.key))} | | |"
        yield from map(_row, changed.differences)
    yield ""
    yield "</details>"
    yield ""
