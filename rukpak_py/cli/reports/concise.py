"""Findings as one line each, with the path from the working directory: for editors, and programs that read lines."""

from collections.abc import Iterator

from rukpak_py.cli.reports.report import CommandReport


def lines_of(report: CommandReport) -> Iterator[str]:
    if report.failure:
        yield f"{report.path}: error: cannot be read: {report.failure}"
    for finding in report.findings:
        place = f":{finding.line}:{finding.column}" if finding.line and not report.is_of_archive else ""
        inside = f"{finding.location}: " if report.is_of_archive and finding.location else ""
        message = " ".join(finding.message.split())
        yield f"{report.file_of(finding)}{place}: {finding.severity} {finding.rule} {inside}{message}"
