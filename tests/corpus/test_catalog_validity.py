"""Catalogs of the corpus: ours accepts and refuses what `opm validate` does, by the rule that it is about."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.cli.catalogs.loading import LoadOptions, report_of
from rukpak_py.core.limits import Limits
from tests.corpus.place import CORPUS, needs_corpus

CATALOGS = CORPUS / "catalogs"
OPTIONS = LoadOptions(limits=Limits(), is_cached=False)
# The golden names another rule than ours, which tells the cause.
OTHER_RULES = {
    "L10": "L03",  # a separator line with content is a syntax error of the file
    "s122-l04-truncated": "L03",  # as YAML it fails first: the file may be either
    "s123-l04-second-bad": "L03",
    "s127-l04-json-then-bad-yaml": "L05",  # the second document is YAML, `schema: y` a boolean
}

pytestmark = needs_corpus


def cases() -> list[dict[str, Any]]:
    found = []
    for file in sorted((CATALOGS / "goldens").glob("synthetic-*.json")):
        found += json.loads(file.read_text())
    return found


def copied(name: str, target: Path) -> Path:
    """The catalog with its links, which a copy of the corpus may hold as files that name their targets."""
    shutil.copytree(CATALOGS / "synthetic" / name, target / name, symlinks=True)
    if "symlink" in name:
        for file in (target / name).iterdir():
            if file.suffix == ".link" or file.name in {"e", "gone.json"}:
                text = file.readlink() if file.is_symlink() else Path(file.read_text().strip())
                file.unlink()
                file.symlink_to(text)
    return target / name


@pytest.mark.parametrize("case", cases() if CATALOGS.exists() else [], ids=lambda case: case["name"])
def test_validity_of_synthetic_catalogs(case: dict[str, Any], tmp_path: Path) -> None:
    name, golden = case["name"], case["runs"][0]
    if name.startswith("s004"):
        (tmp_path / name).mkdir()
    path = copied(name, tmp_path) if not name.startswith("s004") else tmp_path / name
    report = report_of(str(path), OPTIONS)
    assert report.failure == ""
    assert report.is_valid == (golden["exit"] == 0), [str(finding) for finding in report.findings]
    wanted = case["rule"].partition("+")[0]
    if golden["exit"] and wanted[0] in "LCDM" and wanted[1:].isdigit():
        rules = {finding.rule for finding in report.findings if finding.is_error}
        assert f"FBC-{OTHER_RULES.get(name, OTHER_RULES.get(wanted, wanted))}" in rules


def test_real_catalogs_are_valid() -> None:
    paths = [CATALOGS / "real", *sorted((CATALOGS / "real").iterdir())]
    assert len(paths) == 13
    for path in paths:
        report = report_of(str(path), OPTIONS)
        assert report.is_valid, [str(finding) for finding in report.findings]
