"""The workflows of the hosted CI, which run nowhere else: the linter for them finds nothing."""

import subprocess
from pathlib import Path

from e2e.cluster import binaries

WORKFLOWS = Path(__file__).parents[3] / ".github/workflows"


def linted(file: Path) -> subprocess.CompletedProcess[str]:
    command = [str(binaries.path("actionlint")), "-shellcheck=", "-pyflakes=", str(file)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_workflows_are_valid() -> None:
    files = sorted(WORKFLOWS.glob("*.yaml"))
    assert files
    for file in files:
        done = linted(file)
        assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_sees_a_misspelt_key(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text((WORKFLOWS / "ci.yaml").read_text().replace("runs-on:", "run-on:"))
    assert 'unexpected key "run-on"' in linted(broken).stdout
