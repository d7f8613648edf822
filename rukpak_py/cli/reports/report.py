"""Report of one checked bundle or catalog, and descriptions of rules, as every output format takes them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rukpak_py.core.findings import Finding, Profile, Severity


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandReport:
    path: str  # as it was given
    noun: str = "bundle"
    format: str = ""  # registry+v1, plain+v0; empty when it could not be read, and for a catalog
    root: str = ""  # the directory of its files, where that is not the path
    findings: Sequence[Finding] = ()  # by file, line and column
    contents: str = ""  # what a catalog has: 2 packages, 5 bundles
    known: int = 0  # findings that a baseline has, which are not among these
    failure: str = ""  # why it could not be read at all

    @property
    def errors(self) -> int:
        return self._count(Severity.ERROR)

    @property
    def warnings(self) -> int:
        return self._count(Severity.WARNING)

    @property
    def fixable(self) -> int:
        """Findings that `--fix` corrects, which it does for bundles alone."""
        return sum(finding.fix is not None for finding in self.findings) if self.noun == "bundle" else 0

    @property
    def is_valid(self) -> bool:
        return not self.failure and not self.errors

    @property
    def is_of_archive(self) -> bool:
        return not Path(self.root or self.path).is_dir()

    def file_of(self, finding: Finding) -> str:
        """The file relative to the working directory. One inside an archive has no path of its own: the archive."""
        root = self.root or self.path
        file = Path(root, finding.file) if finding.file and not self.is_of_archive else Path(self.path)
        return Path(os.path.relpath(file)).as_posix()

    def _count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings)


@dataclass(frozen=True, kw_only=True, slots=True)
class Described:
    """Description of a rule, apart from its findings."""

    title: str
    hint: str
    severity: Severity
    former_ids: tuple[str, ...] = ()
    may_be_error: bool = False  # where a single finding is worse than the rule
    error_only_in: Profile | None = None  # DEFAULT or OPM, where the other accepts it
    profile: str = ""  # that asks for it; empty: every validation does
    origin: str = ""


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
