"""Reports of checked catalogs, printed as those of bundles are."""

import sys
from collections.abc import Collection, Iterable
from dataclasses import replace

import click

import rukpak_py
from rukpak_py.catalog.similar_names import near
from rukpak_py.cli.reports import github, json_document, sarif, text
from rukpak_py.cli.reports.report import CommandReport
from rukpak_py.cli.terminal import Exit, Style, clean_text, print_json, print_lines
from rukpak_py.core.findings import Severity


def check_rules(ignored: Iterable[str]) -> None:
    """UsageError for a rule that does not exist: ignoring it would have no effect."""
    from rukpak_py.cli.catalogs.rules import described_rules  # noqa: PLC0415 - few options name rules

    known = described_rules()
    for rule in ignored:
        if rule not in known:
            meant = near(rule, known)
            advice = f"; did you mean {meant}?" if meant else ""
            raise click.UsageError(f"--ignore {rule!r}: there is no such rule{advice}")


def without_rules(report: CommandReport, ignored: Collection[str], *, is_strict: bool) -> CommandReport:
    """The report without findings of some rules. `is_strict`: warnings are errors."""
    findings = [finding for finding in report.findings if finding.rule not in ignored]
    if is_strict:
        findings = [replace(finding, severity=Severity.ERROR) for finding in findings]
    return replace(report, findings=findings)


def print_reports(found: Iterable[CommandReport], total: int, output: str) -> int:
    """Print them as they come where the output allows it; returns the exit status."""
    style = Style(sys.stdout)
    reports = []
    for report in found:
        reports.append(report)
        if output == "text":
            print_lines(text.lines_of(report, style))
        elif output == "github":
            print_lines(map(clean_text, github.lines_of(report)))
    if output == "text":
        if sum(len(report.findings) for report in reports) > text.MANY_FINDINGS:
            from rukpak_py.cli.catalogs.rules import described_rules  # noqa: PLC0415 - few outputs show them

            titles = {rule: described.title for rule, described in described_rules().items()}
            print_lines(text.counts_of_rules(reports, titles, style))
        if total > 1:
            click.echo(text.summary(reports, style))
    elif output == "json":
        print_json(json_document.document(reports, key="catalogs"))
    elif output == "sarif":
        from rukpak_py.cli.catalogs.rules import described_rules  # noqa: PLC0415 - only this output shows them

        print_json(sarif.document(reports, version=rukpak_py.__version__, rules=described_rules()))
    if any(report.failure for report in reports):
        return Exit.FAILED
    return Exit.OK if all(report.is_valid for report in reports) else Exit.NO
