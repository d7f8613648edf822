"""Findings' files as others look for them: relative to the folder in which the command runs."""

import os
from pathlib import Path

from rukpak_py.cli.reports.report import CommandReport
from rukpak_py.core.findings import Finding


def file_of(report: CommandReport, finding: Finding) -> str:
    """A file inside an archive has no path of its own: then it is the archive."""
    root = Path(report.path)
    return relative(root / finding.file if finding.file and root.is_dir() else root)


def is_inside_archive(report: CommandReport) -> bool:
    return not Path(report.path).is_dir()


def relative(path: Path) -> str:
    return Path(os.path.relpath(path)).as_posix()
