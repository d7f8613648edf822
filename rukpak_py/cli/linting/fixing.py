"""`--fix`: corrections of bundles are shown as a difference, and written when the user agrees."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import click

from rukpak_py.cli.linting.fixes import FixedFile, fixed_files
from rukpak_py.cli.reports.report import CommandReport, counted
from rukpak_py.cli.terminal import Progress, Style, clean_text, print_lines
from rukpak_py.cli.validation import Checks, opened_bundle, report_of_opened
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.findings import Finding
from rukpak_py.library.opened import OpenedBundle

_COLOURS = {"-": "red", "+": "green", "@": "cyan"}
Told: TypeAlias = Callable[[CommandReport], CommandReport]


def correct(bundles: Sequence[tuple[str, Checks]], told: Told, *, asks: bool) -> None:
    """Bundles that cannot be read are left to the report that follows. `told`: a report with what users see of it."""
    bundles = [*{Path(path).resolve(): (path, checks) for path, checks in bundles}.values()]  # each of them once
    for path, _ in bundles:
        if not Path(path).exists():
            raise ContentError(f"{path}: there is no such directory; --fix corrects files on this machine")
        if not Path(path).is_dir():
            raise _not_a_directory(path, "this is none")
    files = [file for one in _found(bundles, told) for file in one]
    if not files:
        click.echo("There is nothing to correct.", err=True)
        return
    style = Style(sys.stdout)
    for file in files:
        print_lines(_painted(clean_text(line), style) for line in file.difference())
    what = f"{counted(sum(file.corrections for file in files), 'correction')} in {counted(len(files), 'file')}"
    if asks and not sys.stdin.isatty():
        verb = "is" if what.startswith("1 ") else "are"
        click.echo(f"{what} {verb} not written: there is no terminal to ask at. Add --yes to write them.", err=True)
    elif not asks or click.confirm(f"Write {what}?", err=True):
        for file in files:
            file.demand_unchanged()
        for file in files:
            file.write()
        click.echo(f"Wrote {what}.", err=True)


def _not_a_directory(path: str, why: str) -> ContentError:
    return ContentError(f"{path}: --fix corrects files of a directory, and {why}: unpack it")


def _found(bundles: Sequence[tuple[str, Checks]], told: Told) -> Iterator[list[FixedFile]]:
    progress = Progress(len(bundles))
    for done, (path, checks) in enumerate(bundles, start=1):
        progress.show(done, path)
        try:
            opened = opened_bundle(path, checks)
        except RukPakError:
            continue
        if opened.image is not None:
            progress.clear()
            raise _not_a_directory(path, "this is one with an image in it")
        try:
            yield _of(path, opened, checks, told)
        except RukPakError:
            continue
    progress.clear()


def _of(path: str, bundle: OpenedBundle, checks: Checks, told: Told) -> list[FixedFile]:
    def findings(opened: OpenedBundle) -> Sequence[Finding]:
        return told(report_of_opened(path, opened, checks)).findings

    return fixed_files(bundle, Path(path), findings)


def _painted(line: str, style: Style) -> str:
    return style.paint(line, _COLOURS.get(line[:1], "")) if line[:1] in _COLOURS else line
