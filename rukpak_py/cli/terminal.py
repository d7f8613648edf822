"""The needs of every command: exit statuses, clean texts for the terminal, colours, width and progress line.

Every text that may come from a bundle passes `clean`: nothing in content may move the cursor, set colours or turn the
direction of writing around. Colours and the progress line are for terminals only, and NO_COLOR switches them off.
"""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from enum import IntEnum
from importlib import import_module
from typing import IO, Any

import click

from rukpak_py.core import visible


class Exit(IntEnum):
    OK = 0
    NO = 1  # the question was answered with no
    USAGE = 2  # click's own
    FAILED = 3
    DEFECT = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


def epilog(*, no: str = "", failed: str = "", others: str = "") -> str:
    """The end of a command's help: only what this command can give, and what it means there."""
    statuses = [(Exit.OK, "success"), (Exit.NO, no), (Exit.USAGE, "wrong usage"), (Exit.FAILED, failed)]
    return f"Exit status: {'; '.join(f'{status.value} {meaning}' for status, meaning in statuses if meaning)}{others}."


_WIDEST = 10_000  # of lines for files and pipes, which are not wrapped
_NARROWEST = 40
_LEAST_ROOM = 30  # for lines of a second column
_CODES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}
clean, clean_text = visible.clean, visible.clean_text


class Style:
    """Colours of one stream, or none; and its width, which is `piped` where it is no terminal."""

    def __init__(self, stream: IO[str], *, piped: int = _WIDEST) -> None:
        self._piped = piped
        self.is_terminal = stream.isatty()
        self._has_colours = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def paint(self, text: str, *styles: str) -> str:
        if not self._has_colours or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    @property
    def width(self) -> int:
        if not self.is_terminal and "COLUMNS" not in os.environ:
            return self._piped
        return max(_NARROWEST, shutil.get_terminal_size().columns)

    @property
    def room(self) -> int:
        """The width of a table: that of the terminal; elsewhere 0, as nothing is cut there."""
        return self.width if self.is_terminal else 0


def wrapped(text: str, *, width: int, first: str = "", indent: int = 0, break_words: bool = False) -> str:
    """The text behind `first`, its further lines indented; words longer than a line stay whole unless asked."""
    lines = textwrap.wrap(
        text,
        width=width,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=break_words,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return "\n".join(lines or [first.rstrip()])


def table(rows: Iterable[tuple[str, str]], *, width: int, indent: int, most: int = 44) -> list[str]:
    """Two columns; the first is as wide as its widest text of at most that length.

    Where the second does not fit behind the first, it stands below, where the next reader looks for it: not far right.
    """
    rows = list(rows)
    column = max((len(first) for first, _ in rows if len(first) <= most), default=0)
    lines = []
    for first, second in rows:
        start = f"{' ' * indent}{first.ljust(column)}  "
        if _fits(second, width - len(start), is_aligned=len(first) <= column, width=width):
            lines.append(wrapped(second, width=width, first=start, indent=len(start)))
        else:
            lines.append(wrapped(first, width=width, first=" " * indent, indent=indent + 4))
            lines.append(wrapped(second, width=width, first=" " * (indent + 4), indent=indent + 4))
    return lines


def _fits(text: str, room: int, *, is_aligned: bool, width: int) -> bool:
    """On one line; or, in its column, on several of them that are not too narrow."""
    if len(text) <= room:
        return True
    longest = max(map(len, text.split()), default=0)
    return is_aligned and room >= max(longest, min(_LEAST_ROOM, width // 3))


class Progress:
    """One line on the terminal's standard error that says how far it is; nothing anywhere else."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._is_shown = total > 1 and sys.stderr.isatty()

    def show(self, done: int, name: str) -> None:
        if self._is_shown:
            room = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{f'{done}/{self._total}  {clean(name)}'[:room]}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class StatusLine:
    """One line of standard output with a state: rewritten on a terminal, elsewhere a new line for each other state."""

    def __init__(self) -> None:
        self._shown = ""
        self._is_terminal = sys.stdout.isatty()

    def show(self, text: str) -> None:
        text = clean(text)
        if text == self._shown:
            return
        self._shown = text
        if self._is_terminal:
            room = shutil.get_terminal_size().columns - 1
            sys.stdout.write(f"\r\x1b[K{text[:room]}")
            sys.stdout.flush()
        else:
            click.echo(text)

    def end(self) -> None:
        """Leave the last state where it is: other output follows below it."""
        if self._shown and self._is_terminal:
            click.echo()
        self._shown = ""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used: a start pays for one command only.

    `commands_at` maps the name of a command to `module:attribute`; commands can be added as usual, too.
    """

    def __init__(self, *args: Any, commands_at: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, epilog=epilog(others="; others: see the command"), **kwargs)
        self._commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._commands_at})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._commands_at:
            module, _, attribute = self._commands_at[cmd_name].partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name.startswith("-") or ctx.resilient_parsing or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays for it

        near = get_close_matches(name, self.list_commands(ctx), n=1) or self._below(ctx, name)
        advice = f" Did you mean {clean(f'{ctx.command_path} {near[0]}')}?" if near else ""
        raise click.UsageError(f"No such command {name!r}.{advice}", ctx)

    def _below(self, ctx: click.Context, name: str) -> list[str]:
        """Commands of this name in the groups of the group, with the name of theirs in front."""
        groups = ((one, self.get_command(ctx, one)) for one in self.list_commands(ctx))
        return [
            f"{one} {name}"
            for one, group in groups
            if isinstance(group, click.Group) and name in group.list_commands(ctx)
        ]


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def print_json(document: Any) -> None:
    click.echo(clean_text(json.dumps(document, indent=2, ensure_ascii=False)))


def print_yaml(documents: Iterable[Any]) -> None:
    from rukpak_py.content.yaml_dump import dump_all  # noqa: PLC0415 - only this output needs the writer

    for text in dump_all(documents):
        click.echo(text, nl=False)


def print_list(objects: list[Any]) -> None:
    print_json({"apiVersion": "v1", "kind": "List", "items": objects})


def print_warning(text: str) -> None:
    click.echo(f"{Style(sys.stderr).paint('Warning:', 'yellow', 'bold')} {clean(text)}", err=True)


def print_error(text: str) -> None:
    click.echo(f"{Style(sys.stderr).paint('Error:', 'red', 'bold')} {clean_text(text)}", err=True)


def print_hint(text: str) -> None:
    if text:
        click.echo(f"hint: {clean(text)}", err=True)


def warn_of_nothing(objects: Sequence[Any], path: str) -> None:
    """Nothing is printed for it, which looks like a failure."""
    if not objects:
        print_warning(f"{path}: the bundle has no objects")
