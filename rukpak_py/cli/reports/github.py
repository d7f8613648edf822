"""Findings as workflow commands of GitHub Actions, which shows them beside the lines of a pull request.

Values are escaped as its runner reads them: a line end would end the command, and a bundle's text could then be one
of its own.
"""

from collections.abc import Iterator, Mapping

from rukpak_py.cli.reports.report import CommandReport
from rukpak_py.core.findings import Finding, Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def lines_of(report: CommandReport) -> Iterator[str]:
    if report.failure:
        nowhere = Finding(rule="", severity=Severity.ERROR, message="")
        properties = f"file={_property(report.file_of(nowhere))},title=cannot be read"
        yield f"::error {properties}::{_message(report.failure)}"
    for finding in report.findings:
        properties = ",".join(f"{key}={_property(value)}" for key, value in _properties(report, finding))
        text = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
        if report.is_of_archive and finding.location:
            text = f"{finding.location}: {text}"
        yield f"::{_COMMANDS[finding.severity]} {properties}::{_message(text)}"


def command(name: str, properties: Mapping[str, str], message: str) -> str:
    return f"::{name} {','.join(f'{key}={_property(value)}' for key, value in properties.items())}::{_message(message)}"


def _properties(report: CommandReport, finding: Finding) -> Iterator[tuple[str, str]]:
    yield "file", report.file_of(finding)
    if finding.line and not report.is_of_archive:
        yield "line", str(finding.line)
        if finding.column:
            yield "col", str(finding.column)
    yield "title", finding.rule


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
