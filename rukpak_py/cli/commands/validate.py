"""`rukpakctl bundle validate`."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

import rukpak_py
from rukpak_py.cli.linting import baseline, fixing, repository
from rukpak_py.cli.linting.categories import categories_of
from rukpak_py.cli.linting.chosen_rules import ChosenRules
from rukpak_py.cli.linting.settings import NO_SETTINGS, LintSettings, SettingsFinder
from rukpak_py.cli.output_option import output_option
from rukpak_py.cli.render_flags import format_option
from rukpak_py.cli.reports import concise, github, json_document, sarif, text
from rukpak_py.cli.reports.report import CommandReport, counted
from rukpak_py.cli.terminal import Exit, Progress, Style, clean_text, epilog, print_json, print_lines, print_warning
from rukpak_py.cli.validation import PROFILES, SUITES, Checks, described_rules, reports_of
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.findings import Profile
from rukpak_py.core.limits import Limits
from rukpak_py.formats.detection import FormatName

_HUB = Profile.OPERATORHUB


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The options that say which bundles are checked, and for what."""

    paths: tuple[str, ...]
    format_name: str | None
    profiles: tuple[str, ...]
    categories: str
    strict: bool
    selected: tuple[str, ...]
    ignored: tuple[str, ...]
    levels: tuple[str, ...]
    recursive: bool
    changed_since: str
    reads_settings: bool

    def bundles(self) -> list[str]:
        found = repository.search(self.paths) if self.recursive or self.changed_since else [*self.paths]
        return repository.changed_since(self.changed_since, found) if self.changed_since else found

    def checks(self, settings: LintSettings) -> Checks:
        chosen = ChosenRules(
            selected=(*settings.select, *self.selected),
            ignored=(*settings.ignore, *self.ignored),
            levels=(*settings.levels, *self.levels),
        )
        profiles = tuple(SUITES.get(name, name) for name in (*settings.profiles, *self.profiles))
        return Checks(
            format_name=self.format_name,
            profiles=profiles,
            is_strict=self.strict or settings.strict,
            categories=categories_of(self.categories, settings.categories, Limits.from_environment())
            if _HUB in profiles
            else frozenset(),
            chosen=chosen,
        )


def _absolute(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if value and not value.startswith(("https://", "http://")):
        raise click.BadParameter(f"{value!r} does not begin with https:// or http://")
    return value


@click.command(epilog=epilog(no="a bundle has errors", failed="a bundle cannot be read"))
@click.argument("paths", nargs=-1, required=True, type=click.Path(), metavar="PATH...")
@format_option()
@output_option("text", "concise", "json", "sarif", "github")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Choice((*PROFILES, *SUITES)),
    help="What to check; may be repeated. `opm` asks whether opm accepts the bundle, instead of `default`: whether it "
    "can be installed. The others add rules.",
)
@click.option(
    "--categories",
    default="",
    type=click.Path(),
    metavar="FILE",
    help="The categories of your catalog, for the profile `operatorhub`. Default: those of OperatorHub.io.",
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
@click.option(
    "-W",
    "levels",
    multiple=True,
    metavar="LEVEL=RULE",
    help="Make findings of these rules errors or warnings: error=RV1-226, warning=OBJ.",
)
@click.option("-r", "--recursive", is_flag=True, help="Check all bundles below directories.")
@click.option(
    "--changed-since",
    default="",
    metavar="REVISION",
    help="Of the bundles below directories, check those with a file that has changed since this branch of git left "
    "REVISION.",
)
@click.option(
    "--baseline",
    "known",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Leave out the findings in this file.",
)
@click.option(
    "--write-baseline",
    "written",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the findings to this file, and exit with 0.",
)
@click.option(
    "--fix",
    "fixes",
    is_flag=True,
    help="Correct what needs no thought, as missing quotes: show the difference, and ask before it is written.",
)
@click.option("--yes", is_flag=True, help="With --fix: do not ask.")
@click.option("-q", "--quiet", is_flag=True, help="Tell errors only, and nothing of valid bundles.")
@click.option("--settings/--no-settings", "reads_settings", default=True, help="Read .rukpakctl.yaml. Default: yes.")
@click.option(
    "--rules-url",
    default="",
    envvar="RUKPAK_RULES_URL",
    show_envvar=True,
    metavar="URL",
    callback=_absolute,
    help="URL of docs/rules.md, where you serve it: SARIF links to it.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 although there are errors.")
@click.option("--jobs", type=click.IntRange(min=1), help="How many bundles are checked at once. Default: one per CPU.")
def validate(
    *,
    output: str,
    known: Path | None,
    written: Path | None,
    fixes: bool,
    yes: bool,
    quiet: bool,
    rules_url: str,
    exit_zero: bool,
    jobs: int | None,
    **asked: Any,
) -> int:
    """Check bundles: what is wrong, where, and what to do.

    PATH is a bundle's directory, a tar archive of it (.tar, .tgz), an OCI image layout, or an image in a registry.
    """
    if written is not None and (known is not None or fixes):
        raise click.UsageError("--write-baseline writes all findings: leave out --baseline and --fix")
    if yes and not fixes:
        raise click.UsageError("--yes answers the question of --fix, which is not given")
    if fixes and output not in {"text", "concise"}:
        raise click.UsageError("--fix shows people a difference: use -o text or concise")
    bundles = _with_checks(_Asked(**asked))
    told = _told(baseline.Baseline(known) if known is not None else None, only_errors=quiet)
    if fixes:
        fixing.correct(bundles, told, asks=not yes)
    with closing(reports_of(bundles, jobs=jobs)) as checking:
        found = _with_progress(checking, len(bundles))
        if written is not None:
            return _write_baseline(written, [*found])
        found = map(told, found)
        reports = _printed(output, found, is_alone=len(bundles) == 1, is_quiet=quiet, rules_url=rules_url)
    if not quiet and any(report.format == FormatName.HELM for report in reports):
        _warn_without_helm()
    if any(report.failure for report in reports):
        return Exit.FAILED
    return Exit.OK if exit_zero or all(report.is_valid for report in reports) else Exit.NO


def _warn_without_helm() -> None:
    from rukpak_py.formats.helm.process import HelmProgram  # noqa: PLC0415 - only charts need it

    try:
        HelmProgram.find()
    except UnavailableError as error:
        print_warning(f"templates are not checked: {error}")


def _with_checks(asked: _Asked) -> list[tuple[str, Checks]]:
    """Bundles with their settings; a wrong rule is told before the first is checked."""
    finder = SettingsFinder(limits=Limits.from_environment())
    checks: dict[LintSettings, Checks] = {}
    found = []
    for bundle in asked.bundles():
        settings = finder.of(bundle) if asked.reads_settings else NO_SETTINGS
        if settings not in checks:
            checks[settings] = asked.checks(settings)
        found.append((bundle, checks[settings]))
    _demand_known(asked, checks)
    if asked.categories and not any(one.categories for one in checks.values()):
        print_warning(f"--categories has an effect with --profile {_HUB} only")
    return found


def _demand_known(asked: _Asked, checks: Mapping[LintSettings, Checks]) -> None:
    given = ChosenRules(selected=asked.selected, ignored=asked.ignored, levels=asked.levels)
    files = [ChosenRules(selected=one.select, ignored=one.ignore, levels=one.levels) for one in checks]
    if not any((given.selected, given.ignored, given.levels, *(one.profiles for one in checks), *files)):
        return
    rules = described_rules()
    if wrong := given.wrong(rules):
        raise click.UsageError(wrong)
    for settings, chosen in zip(checks, files, strict=True):
        unknown = next((name for name in settings.profiles if name not in {*PROFILES, *SUITES}), None)
        if wrong := chosen.wrong(rules) or (f"there is no profile {unknown}" if unknown is not None else ""):
            raise ContentError(f"{settings.file}: {wrong}")


def _write_baseline(file: Path, reports: Sequence[CommandReport]) -> int:
    for report in reports:
        if report.failure:
            raise ContentError(f"{report.path}: {report.failure}")
    count = baseline.write(file, reports)
    click.echo(
        clean_text(f"wrote {counted(count, 'finding')} of {counted(len(reports), 'bundle')} to {file}"), err=True
    )
    return Exit.OK


def _printed(
    output: str, found: Iterable[CommandReport], *, is_alone: bool, is_quiet: bool, rules_url: str
) -> Sequence[CommandReport]:
    match output:
        case "text":
            return _as_text(found, is_alone=is_alone, is_quiet=is_quiet)
        case "github":
            return _as_lines(found, github.lines_of)
        case "concise":
            return _as_lines(found, concise.lines_of)
    reports = list(found)
    if output == "json":
        print_json(json_document.document(reports))
    else:
        rules = described_rules()
        print_json(sarif.document(reports, version=rukpak_py.__version__, rules=rules, rules_url=rules_url))
    return reports


def _told(former: baseline.Baseline | None, *, only_errors: bool) -> Callable[[CommandReport], CommandReport]:
    """The findings of a report that users are told: those that are not known, all of them or the errors."""

    def told(report: CommandReport) -> CommandReport:
        found = report if former is None else former.new_in(report)
        return replace(found, findings=[one for one in found.findings if one.is_error]) if only_errors else found

    return told


def _with_progress(found: Iterable[CommandReport], total: int) -> Iterator[CommandReport]:
    progress = Progress(total)
    for done, report in enumerate(found, start=1):
        progress.clear()
        yield report
        progress.show(done, report.path)
    progress.clear()


def _as_text(found: Iterable[CommandReport], *, is_alone: bool, is_quiet: bool) -> list[CommandReport]:
    style = Style(sys.stdout)
    reports = []
    for report in found:
        reports.append(report)
        if not is_quiet or not report.is_valid:
            print_lines(text.lines_of(report, style))
    if not is_alone and not (is_quiet and all(report.is_valid for report in reports)):
        if sum(len(report.findings) for report in reports) > text.MANY_FINDINGS:
            titles = {rule: described.title for rule, described in described_rules().items()}
            print_lines(text.counts_of_rules(reports, titles, style))
        click.echo(text.summary(reports, style, is_quiet=is_quiet))
    return reports


def _as_lines(
    found: Iterable[CommandReport], lines_of: Callable[[CommandReport], Iterable[str]]
) -> list[CommandReport]:
    reports = []
    for report in found:
        reports.append(report)
        print_lines(map(clean_text, lines_of(report)))
    return reports
