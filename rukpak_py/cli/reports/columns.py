"""Rows in columns, left aligned, two blanks between them; the last column may be of any width."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rukpak_py.cli.terminal import Style, clean

_GAP: Final = 2
_NARROWEST: Final = 12
_PADDED: Final = 120  # one very long cell must not make every line as long
_LEAST_PROSE: Final = 24  # of a message in the last column, before other columns are cut for it


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell in colours."""

    text: str
    colours: tuple[str, ...] = ()


def columns(
    titles: Sequence[str],
    rows: Iterable[Sequence[str | Cell]],
    *,
    width: int = 0,
    style: Style | None = None,
    ends_in_prose: bool = False,
) -> Iterator[str]:
    """A line for the titles, and one for each row; an empty cell is a dash.

    `width`: lines have at most this length, if they can: long cells lose their middle. 0: no limit.
    `ends_in_prose`: the last column has sentences: it gets the room that is left, and they lose their end.
    """
    given = [tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows]
    cells = [tuple(titles), *(tuple(clean(cell.text) or "-" for cell in row) for row in given)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = width - _GAP * (len(widths) - 1)
    widest = max(widths)
    if width and ends_in_prose:
        prose = min(widths[-1], _LEAST_PROSE)
        widest = _widest(widths[:-1], room - prose)
    elif width:
        widest = _widest(widths, room)
    widths = [min(one, widest, _PADDED) for one in widths]
    if width and ends_in_prose:
        widths[-1] = max(_NARROWEST, room - sum(widths[:-1]))
    for at, row in enumerate(cells):
        texts = [_cut(cell, widest) for cell in (row[:-1] if ends_in_prose else row)]
        if ends_in_prose:
            texts.append(_cut_end(row[-1], widths[-1]) if width else row[-1])
        yield _line(texts, widths, given[at - 1] if at else (), style)


def _line(texts: Sequence[str], widths: Sequence[int], given: Sequence[Cell], style: Style | None) -> str:
    padded = [text.ljust(width) for text, width in zip(texts, widths, strict=True)]
    line = (" " * _GAP).join(padded).rstrip()
    if style is None or not any(cell.colours for cell in given):
        return line
    blanks = (" " * max(0, len(one) - len(text)) for one, text in zip(padded, texts, strict=True))
    painted = (
        style.paint(text, *cell.colours) if cell.colours else text for text, cell in zip(texts, given, strict=True)
    )
    return (" " * _GAP).join(f"{text}{blank}" for text, blank in zip(painted, blanks, strict=True)).rstrip()


def _widest(widths: Sequence[int], room: int) -> int:
    """The length to which cells are cut so that all columns fit: narrow columns keep theirs."""
    left = len(widths)
    for width in sorted(widths):
        if width * left > room:
            return max(_NARROWEST, room // left)
        room -= width
        left -= 1
    return max(widths, default=0)


def _cut(cell: str, width: int) -> str:
    """The middle goes: names end with a version, and images with a tag or digest."""
    if len(cell) <= width:
        return cell
    end = (width - 1) // 2
    return f"{cell[: width - 1 - end]}…{cell[-end:]}"


def _cut_end(cell: str, width: int) -> str:
    return cell if len(cell) <= width else f"{cell[: width - 1].rstrip()}…"
