"""Findings for programs: one object whose shape is documented in docs/cli/validate.md, and only grows."""

from collections.abc import Sequence
from typing import Any

from rukpak_py.cli.reports.report import CommandReport


def document(reports: Sequence[CommandReport], *, key: str = "bundles") -> dict[str, Any]:
    """`key`: the name of the list of what was checked."""
    return {
        key: [
            {
                "path": report.path,
                "format": report.format or None,
                "valid": report.is_valid,
                "failure": report.failure or None,
                "errors": report.errors,
                "warnings": report.warnings,
                "findings": [
                    {
                        "rule": finding.rule,
                        "severity": finding.severity.value,
                        "message": finding.message,
                        "hint": finding.hint or None,
                        "file": finding.file or None,
                        "line": finding.line or None,
                        "column": finding.column or None,
                        "path": finding.path or None,
                        **({"fixable": finding.fix is not None} if report.noun == "bundle" else {}),
                    }
                    for finding in report.findings
                ],
            }
            for report in reports
        ],
        "errors": sum(report.errors for report in reports),
        "warnings": sum(report.warnings for report in reports),
    }
