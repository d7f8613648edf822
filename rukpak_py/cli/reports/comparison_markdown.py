"""A comparison of two bundles as Markdown, for a comment on a pull request.

It has the sections of the text in their order. The objects stand behind a click where they are many. A comment has a
limit: the first sections get room first, and a sentence says how much of the others is left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Final

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
from rukpak_py.cli.reports.report import counted
from rukpak_py.core.text import excerpt
from rukpak_py.library.diffs.comparison import RenderingComparison

MOST_CHARACTERS: Final = 64_000  # GitHub takes 65,536 for a comment; a workflow may add a heading of its own
_LONGEST_LINE: Final = 1_000  # characters of a permission with many names, say
_SENTENCE: Final = 200  # characters that a sentence about what is left out may have
_OPEN_UP_TO: Final = 20  # objects that are shown without a click
_SIGNS: Final = {FieldChange.ADDED: "+", FieldChange.REMOVED: "-", FieldChange.CHANGED: "~"}


@dataclass(frozen=True, kw_only=True)
class _Section:
    noun: str  # of a row
    head: Sequence[str] = ()
    rows: Sequence[str] = ()
    tail: Sequence[str] = ("",)
    headings: frozenset[int] = frozenset()  # the rows that are objects, where the others are their fields

    @property
    def frame(self) -> int:
        return _length((*self.head, *self.tail)) + _SENTENCE if self.rows else 0

    def fitting(self, room: int) -> int:
        """How many of the rows have room."""
        return sum(1 for _ in takewhile(lambda end: end <= room, accumulate(len(row) + 1 for row in self.rows)))

    def lines(self, shown: int) -> Iterator[str]:
        if not self.rows:
            return
        yield from (*self.head, *self.rows[:shown], *self.tail)
        if left := len(self.rows) - shown:
            objects = sum(row >= shown for row in self.headings)
            counts = [(objects, "object"), (left - objects, self.noun)] if objects else [(left, self.noun)]
            text = " and ".join(counted(number, noun) for number, noun in counts if number)
            yield f"{text} left out to fit a comment on GitHub. `rukpakctl bundle diff` without `-o` prints all."
            yield ""


def lines_of(found: RenderingComparison) -> Iterator[str]:
    yield "### Bundle differences"
    yield ""
    if found.is_empty:
        yield "No differences."
    else:
        yield from _sections(found)
        yield f"{count_line(found)}."
    for line in left_out_lines(found):
        yield ""
        yield f"{line}."


def _sections(found: RenderingComparison) -> Iterator[str]:
    sections = (
        _summary(found),
        _list("Permissions gained", gained_lines(found)),
        _list("CRD upgrade safety", definition_lines(found)),
        _list("Permissions lost", lost_lines(found)),
        _objects(found),
    )
    room = MOST_CHARACTERS - 2 * _SENTENCE  # the heading, and the lines at the end
    room -= sum(section.frame for section in sections)
    for section in sections:
        shown = section.fitting(room)
        room -= _length(section.rows[:shown])
        yield from section.lines(shown)


def _length(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _summary(found: RenderingComparison) -> _Section:
    head = ("| | Summary | Old | New |", "| --- | --- | --- | --- |")
    return _Section(noun="line", head=head, rows=[*map(_row, found.summary)])


def _row(difference: Difference) -> str:
    old, new = values_of(difference)
    path = excerpt(difference.path, _LONGEST_LINE)
    return f"| {code(_SIGNS[difference.change])} | {code(path)} | {code(old)} | {code(new)} |"


def _list(title: str, lines: Iterable[str]) -> _Section:
    rows = [f"* {code(excerpt(line, _LONGEST_LINE))}" for line in lines]
    return _Section(noun="line", head=(f"#### {title}", ""), rows=rows)


def _objects(found: RenderingComparison) -> _Section:
    rows: list[str] = []
    headings: set[int] = set()
    titles = [("~", move_text(found.move))] if found.move else []
    titles += [("-", str(key)) for key in found.removed]
    titles += [("+", str(key)) for key in found.added]
    titles += [("~", f"{old} is now {new.name}") for old, new in found.renamed]
    for sign, title, differences in (
        *((sign, title, ()) for sign, title in titles),
        *(("~", str(changed.key), changed.differences) for changed in found.changed),
    ):
        headings.add(len(rows))
        rows.append(f"| {code(sign)} | {code(title)} | | |")
        rows += map(_row, differences)
    is_open = len(headings) <= _OPEN_UP_TO
    return _Section(
        noun="field",
        head=(
            f"<details{' open' if is_open else ''}><summary>Objects</summary>",
            "",
            "| | Object or field | Old | New |",
            "| --- | --- | --- | --- |",
        ),
        rows=rows,
        tail=("", "</details>", ""),
        headings=frozenset(headings),
    )
