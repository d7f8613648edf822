"""Output that changes while the user looks at it (`--watch`).

On a terminal each version takes the place of the one before, cut to the height of the screen. Elsewhere versions stand
one below the other, each only where it says something else than the last one.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_TOP, _CLEAR, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[2J", "\x1b[K", "\x1b[J"


class Screen:
    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._shown: Sequence[str] | None = None

    def show(self, lines: Sequence[str], *, is_news: bool = True) -> None:
        """`is_news`: more has changed than ages."""
        lines = [part for line in lines for part in line.split("\n")]
        if self._is_terminal:
            self._draw(lines)
        elif is_news:
            if self._shown is not None:
                click.echo()
            click.echo("\n".join(lines))
        self._shown = lines

    def _draw(self, lines: Sequence[str]) -> None:
        room = max(2, shutil.get_terminal_size().lines - 1)
        if len(lines) > room:
            lines = [*lines[: room - 1], f"… {len(lines) - room + 1} more lines"]
        drawn = "".join(f"{line}{_REST_OF_LINE}\n" for line in lines)
        start = _TOP if self._shown is not None else f"{_CLEAR}{_TOP}"
        sys.stdout.write(f"{start}{drawn}{_REST_OF_SCREEN}")
        sys.stdout.flush()


def watch_option(text: str = "Go on, and show what changes, until Ctrl-C.") -> Callable[[F], F]:
    return click.option("--watch", "-w", "watches", is_flag=True, help=text)
