"""Rows in columns, left aligned, two blanks between them; the last column may be of any width."""

from collections.abc import Iterable, Iterator, Sequence

from rukpak_py.cli.terminal import clean


def columns(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A line for the titles, and one for each row; an empty cell is a dash."""
    cells = [tuple(titles), *(tuple(clean(cell) or "-" for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
