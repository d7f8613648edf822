"""Rows in columns, left aligned, two blanks between them; the last column may be of any width."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rukpak_py.cli.terminal import clean

_GAP: Final = 2
_NARROWEST: Final = 12
_PADDED: Final = 120  # one very long cell must not make every line as long


def columns(titles: Sequence[str], rows: Iterable[Sequence[str]], *, width: int = 0) -> Iterator[str]:
    """A line for the titles, and one for each row; an empty cell is a dash.

    `width`: lines have at most this length, if they can: long cells lose their middle. 0: no limit.
    """
    cells = [tuple(titles), *(tuple(clean(cell) or "-" for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    widest = _widest(widths, width - _GAP * (len(widths) - 1)) if width else max(widths)
    widths = [min(one, widest, _PADDED) for one in widths]
    for row in ([_cut(cell, widest) for cell in row] for row in cells):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _widest(widths: Sequence[int], room: int) -> int:
    """The length to which cells are cut so that all columns fit: narrow columns keep theirs."""
    left = len(widths)
    for width in sorted(widths):
        if width * left > room:
            return max(_NARROWEST, room // left)
        room -= width
        left -= 1
    return max(widths)


def _cut(cell: str, width: int) -> str:
    """The middle goes: names end with a version, and images with a tag or digest."""
    if len(cell) <= width:
        return cell
    end = (width - 1) // 2
    return f"{cell[: width - 1 - end]}…{cell[-end:]}"
