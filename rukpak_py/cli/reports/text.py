"""Findings for people: per bundle or catalog, its files in order, each finding with its place, rule, and advice.

A place is written as compilers write it, so that editors and terminals can open it. On a terminal lines are wrapped,
and a message that does not fit behind its place goes below it; anywhere else a finding is one line, its advice another.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rukpak_py.cli.reports.report import CommandReport, counted
from rukpak_py.cli.terminal import Style, clean, wrapped
from rukpak_py.core.findings import Finding, Severity

_INDENT = 6
MANY_FINDINGS = 20  # too many to be looked through: their rules are counted


def lines_of(report: CommandReport, style: Style) -> Iterator[str]:
    yield _heading(report, style)
    if report.failure:
        yield wrapped(clean(report.failure), width=style.width, first="  ", indent=4)
    yield from lines_of_findings(_openable(report), style, noun=report.noun)
    if report.failure or report.findings:
        yield ""


def _openable(report: CommandReport) -> Sequence[Finding]:
    """The findings with paths from the working directory, where the report has a directory of files."""
    if not report.root:
        return report.findings
    return [replace(one, file=report.file_of(one)) if one.file else one for one in report.findings]


def lines_of_findings(findings: Sequence[Finding], style: Style, *, noun: str = "bundle") -> Iterator[str]:
    for before, finding, after in zip([None, *findings], findings, [*findings[1:], None], strict=False):
        if before is not None and before.file != finding.file and not _shares_advice(before, finding):
            yield ""
        yield from _finding(finding, style, noun)
        if finding.hint and (after is None or not _shares_advice(finding, after)):
            yield style.paint(_below(f"hint: {clean(finding.hint)}", style, further=6), "cyan")


def _shares_advice(finding: Finding, after: Finding) -> bool:
    """Whether one line of advice, below the second of them, is enough. Several files may have the same defect."""
    return bool(finding.hint) and finding.hint == after.hint


def summary(reports: Sequence[CommandReport], style: Style, *, is_quiet: bool = False) -> str:
    """`is_quiet`: warnings were left out, so their number is not known."""
    if not reports:
        return style.paint("no bundle has a changed file", "green", "bold")
    bad = sum(not report.is_valid for report in reports)
    noun = reports[0].noun
    errors, warnings = (sum(getattr(report, name) for report in reports) for name in ("errors", "warnings"))
    found = ", ".join([counted(errors, "error"), *([] if is_quiet else [counted(warnings, "warning")])])
    if bad:
        verdict = style.paint(f"{bad} of {counted(len(reports), noun)} refused", "red", "bold")
    else:
        verdict = style.paint(f"{counted(len(reports), noun)} valid", "green", "bold")
    known = sum(report.known for report in reports)
    return f"{verdict}: {found}{f'; {known} known' if known else ''}"


def counts_of_rules(reports: Sequence[CommandReport], titles: Mapping[str, str], style: Style) -> Iterator[str]:
    """A line for each rule, the most frequent first."""
    counts = Counter(finding.rule for report in reports for finding in report.findings)
    digits = len(str(max(counts.values())))
    for rule, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield wrapped(f"{number:>{digits}} x {rule}  {titles[rule]}", width=style.width, indent=_INDENT)
    yield ""


def _heading(report: CommandReport, style: Style) -> str:
    name = style.paint(clean(report.path), "bold")
    if report.failure:
        return f"{name}: {style.paint('cannot be read', 'red')}"
    counts = [
        style.paint(counted(report.errors, "error"), "red") if report.errors else "",
        style.paint(counted(report.warnings, "warning"), "yellow") if report.warnings else "",
    ]
    valid = style.paint("valid", "green") + (f" ({report.contents})" if report.contents else "")
    said = ", ".join(filter(None, counts)) or valid
    said += f", {report.known} known" if report.known else ""
    said += f", {report.fixable} fixable with --fix" if report.fixable else ""
    return f"{name} ({report.format or report.noun}): {said}"


def _finding(finding: Finding, style: Style, noun: str) -> Iterator[str]:
    place, severity, message = clean(finding.location) or f"the {noun}", finding.severity.value, clean(finding.message)
    colour = "red" if finding.severity is Severity.ERROR else "yellow"
    head = f"  {style.paint(place, 'bold')}  {style.paint(severity, colour)}  {style.paint(finding.rule, 'dim')}"
    if len(f"  {place}  {severity}  {finding.rule}  {message}") <= style.width:
        yield f"{head}  {message}"
    else:
        yield head
        yield _below(message, style)
    if finding.path and finding.path not in finding.message:
        yield style.paint(_below(f"at {clean(finding.path)}", style), "dim")


def _below(text: str, style: Style, *, further: int = 0) -> str:
    return wrapped(text, width=style.width, first=" " * _INDENT, indent=_INDENT + further)
