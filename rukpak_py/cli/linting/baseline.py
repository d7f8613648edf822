"""Findings that are known: a file of them, one line each, so that a check tells what is new.

A line has no number of a line of the manifest: edits elsewhere in the file must not bring known findings back. The same
finding twice is two lines. Paths are relative to the directory of the file, so it can be used from anywhere. A former
id of a rule stands for the rule that tells the same now.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import orjson

from rukpak_py.cli.reports.fingerprints import line_of
from rukpak_py.cli.reports.report import CommandReport
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.former_ids import FORMER_IDS

_VERSION: Final = 1
_MOST_BYTES: Final = 64 * 1024 * 1024


class Baseline:
    def __init__(self, path: Path) -> None:
        self._directory = path.parent
        self._known = {bundle: Counter(map(_of_today, lines)) for bundle, lines in _read(path).items()}

    def new_in(self, report: CommandReport) -> CommandReport:
        """The report with the findings that are not known. Where there are several alike, the first ones are."""
        left = Counter(self._known.get(_name(report.path, self._directory), ()))
        new = []
        for finding in report.findings:
            line = line_of(finding)
            left[line] -= 1
            if left[line] < 0:
                new.append(finding)
        return replace(report, findings=new, known=len(report.findings) - len(new))


def write(path: Path, reports: Iterable[CommandReport]) -> int:
    """Write the findings of all reports; return how many there are."""
    bundles = {
        _name(report.path, path.parent): sorted(map(line_of, report.findings)) for report in reports if report.findings
    }
    document = {"version": _VERSION, "bundles": bundles}
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")
    return sum(map(len, bundles.values()))


def _of_today(line: str) -> str:
    rule, blank, rest = line.partition(" ")
    return f"{FORMER_IDS.get(rule, rule)}{blank}{rest}"


def _name(bundle: str, directory: Path) -> str:
    if not Path(bundle).exists():  # an image
        return bundle
    return Path(os.path.relpath(bundle, directory)).as_posix()


def _read(path: Path) -> Mapping[str, list[str]]:
    if path.stat().st_size > _MOST_BYTES:
        raise ContentError(f"{path} is larger than {_MOST_BYTES} bytes")
    try:
        document = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ContentError(f"{path} is no baseline: {error}") from error
    bundles = document.get("bundles") if isinstance(document, dict) and document.get("version") == _VERSION else None
    if not isinstance(bundles, dict) or not all(
        isinstance(lines, list) and all(isinstance(line, str) for line in lines) for lines in bundles.values()
    ):
        raise ContentError(f"{path} is no baseline of this version: write it again with --write-baseline")
    return bundles
