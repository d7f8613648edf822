"""The list of BundleDeployments as it changes: as a whole on a terminal, else a line or an object for each change."""

import json
import sys
from collections.abc import Callable, Collection, Iterable

import click

from rukpak_py.cli.reports import deployments as report
from rukpak_py.cli.screen import Screen
from rukpak_py.cli.terminal import Style, clean, clean_text
from rukpak_py.diagnosis.model import DeploymentSummary

Show = Callable[[Collection[DeploymentSummary], Collection[str]], None]


class ChangingRows:
    def __init__(
        self, choose: Callable[[Iterable[DeploymentSummary]], list[DeploymentSummary]], *, output: str
    ) -> None:
        self._choose = choose
        self._output = output
        self._screen = Screen()
        self._style = Style(sys.stdout)
        self._shown = frozenset[str]()
        self._has_titles = False

    def show(self, rows: Collection[DeploymentSummary], changed: Collection[str]) -> None:
        """`changed`: names of rows that are new, other than before, or gone."""
        chosen = self._choose(rows)
        gone = sorted(self._shown & set(changed) - {row.name for row in chosen})
        self._shown = frozenset(row.name for row in chosen)
        if self._output == "json":
            documents = [report.deployment_document(row) for row in chosen if row.name in changed]
            documents += [{"name": name, "gone": True} for name in gone]
            for one in documents:
                click.echo(clean_text(json.dumps(one, ensure_ascii=False)))
        elif self._style.is_terminal:
            lines = report.lines_of(chosen, self._style, wide=self._output == "wide")
            self._screen.show([*lines, report.summary_line(chosen)])
        else:
            self._show_changes(chosen, changed, gone)
        sys.stdout.flush()

    def _show_changes(self, chosen: list[DeploymentSummary], changed: Collection[str], gone: Iterable[str]) -> None:
        titles, *lines = report.lines_of(chosen, self._style, wide=self._output == "wide") or [""]
        if titles and not self._has_titles:
            self._has_titles = True
            click.echo(titles)
        for row, line in zip(chosen, lines, strict=True):
            if row.name in changed:
                click.echo(line)
        for name in gone:
            click.echo(clean(f"{name}  gone from this list"))
