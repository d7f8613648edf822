"""`rukpakctl bundle validate`."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

import click

import rukpak_py
from rukpak_py.cli.chosen_rules import ChosenRules
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.render_flags import format_option
from rukpak_py.cli.reports import concise, github, json_document, sarif, text
from rukpak_py.cli.reports.report import CommandReport
from rukpak_py.cli.terminal import Exit, Progress, Style, clean_text, epilog, print_json, print_lines
from rukpak_py.cli.validation import PROFILES, Checks, described_rules, reports_of


@click.command(epilog=epilog(no="a bundle has errors", failed="a bundle cannot be read"))
@click.argument("paths", nargs=-1, required=True, type=click.Path(), metavar="PATH...")
@format_option()
@output_option("text", "concise", "json", "sarif", "github")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Choice(PROFILES),
    help="What to check; may be repeated. `opm` asks whether opm accepts the bundle, instead of `default`: whether it "
    "can be installed. The others add rules.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--select",
    "selected",
    multiple=True,
    metavar="RULE",
    help="Tell only findings of these rules: an id, the beginning of one, a pattern for the file, or RULE:PATTERN. May "
    "be repeated.",
)
@click.option("--ignore", "ignored", multiple=True, metavar="RULE", help="Tell no findings of these rules.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although there are errors.")
@click.option("--jobs", type=click.IntRange(min=1), help="How many bundles are checked at once. Default: one per CPU.")
def validate(
    *,
    paths: tuple[str, ...],
    format_name: str | None,
    output: str,
    profiles: tuple[str, ...],
    strict: bool,
    selected: tuple[str, ...],
    ignored: tuple[str, ...],
    exit_zero: bool,
    jobs: int | None,
) -> int:
    """Check bundles: what is wrong, where, and what to do.

    PATH is a bundle's directory, a tar archive of it (.tar, .tgz), an OCI image layout, or an image in a registry.
    """
    chosen = ChosenRules(selected=selected, ignored=ignored)
    if problem := chosen.unknown(described_rules()) if selected or ignored else "":
        raise click.UsageError(problem)
    checks = Checks(format_name=format_name, profiles=profiles, is_strict=strict, chosen=chosen)
    with closing(reports_of(paths, checks, jobs=jobs)) as checking:
        found = _with_progress(checking, len(paths))
        match output:
            case "text":
                reports = _as_text(found, is_alone=len(paths) == 1)
            case "github":
                reports = _as_lines(found, github.lines_of)
            case "concise":
                reports = _as_lines(found, concise.lines_of)
            case _:
                reports = list(found)
                if output == "json":
                    print_json(json_document.document(reports))
                else:
                    print_json(sarif.document(reports, version=rukpak_py.__version__, rules=described_rules()))
    if any(report.failure for report in reports):
        return Exit.FAILED
    return Exit.OK if exit_zero or all(report.is_valid for report in reports) else Exit.NO


def _with_progress(found: Iterable[CommandReport], total: int) -> Iterator[CommandReport]:
    progress = Progress(total)
    for done, report in enumerate(found, start=1):
        progress.clear()
        yield report
        progress.show(done, report.path)
    progress.clear()


def _as_text(found: Iterable[CommandReport], *, is_alone: bool) -> list[CommandReport]:
    style = Style(sys.stdout)
    reports = []
    for report in found:
        reports.append(report)
        print_lines(text.lines_of(report, style))
    if not is_alone:
        click.echo(text.summary(reports, style))
    return reports


def _as_lines(
    found: Iterable[CommandReport], lines_of: Callable[[CommandReport], Iterable[str]]
) -> list[CommandReport]:
    reports = []
    for report in found:
        reports.append(report)
        print_lines(map(clean_text, lines_of(report)))
    return reports
