"""The workflows of the hosted CI and of the documents, which run nowhere else: the linter for them finds nothing."""

import re
import subprocess
from pathlib import Path

from e2e.cluster import binaries

ROOT = Path(__file__).parents[3]
WORKFLOWS = ROOT / ".github/workflows"


def linted(file: Path) -> subprocess.CompletedProcess[str]:
    command = [str(binaries.path("actionlint")), "-shellcheck=", "-pyflakes=", str(file)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_workflows_are_valid() -> None:
    files = sorted(WORKFLOWS.glob("*.yaml"))
    assert files
    for file in files:
        done = linted(file)
        assert (done.returncode, done.stdout) == (0, "")


def test_workflow_of_the_catalog_page_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs/cli/catalog.md").read_text(encoding="utf-8")
    workflows = re.findall(r"^```yaml\n(name: .*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(workflows) == 1
    file = tmp_path / "catalogs.yaml"
    file.write_text(workflows[0], encoding="utf-8")
    done = linted(file)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_sees_a_misspelt_key(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text((WORKFLOWS / "ci.yaml").read_text().replace("runs-on:", "run-on:"))
    assert 'unexpected key "run-on"' in linted(broken).stdout
