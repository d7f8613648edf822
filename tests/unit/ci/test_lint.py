"""`make lint` runs every check whatever the others say, and an import that points up is one that fails."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
CHECKS = ("import contracts", "ruff check", "ruff format", "mypy", "prose", "generated files")


def lint(folder: Path, *, failing: str) -> subprocess.CompletedProcess[str]:
    """The script on tools that only say whether they fail."""
    (folder / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci/lint", folder / ".ci/lint")
    tools = folder / ".venv/bin"
    tools.mkdir(parents=True)
    for name in ("lint-imports", "ruff", "mypy", "python"):
        tool = tools / name
        tool.write_text(f"#!/bin/sh\nexit {int(name == failing)}\n")
        tool.chmod(0o755)
    return subprocess.run([script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("failing", "failed"),
    [
        ("lint-imports", ["import contracts"]),
        ("ruff", ["ruff check", "ruff format"]),
        ("mypy", ["mypy"]),
        ("python", ["prose", "generated files"]),
    ],
)
def test_every_check_runs_after_one_failed(tmp_path: Path, failing: str, failed: list[str]) -> None:
    done = lint(tmp_path, failing=failing)
    assert done.returncode == 1
    assert [line.removeprefix("--- ") for line in done.stdout.splitlines() if line.startswith("--- ")] == list(CHECKS)
    assert done.stdout.splitlines()[-1] == f"lint: {len(failed)} failed:" + "".join(f" [{name}]" for name in failed)


def test_all_passed_is_said(tmp_path: Path) -> None:
    done = lint(tmp_path, failing="")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "lint: all checks passed")


@pytest.mark.parametrize(
    ("room", "line", "contract"),
    [
        ("core/errors.py", "import rukpak_py.operator.settings", "Rooms import one way"),
        ("apply/order.py", "import rukpak_py.sources.config_maps", "Rooms import one way"),
        ("formats/plain.py", "import asyncio", "The pure rooms wait for nothing and reach nothing"),
        ("controllers/queue.py", "import kopf", "Only the composition root knows Kopf"),
        ("sources/config_maps.py", "import rukpak_py.kube.client", "Sources ask for what they need through ports"),
    ],
)
def test_a_planted_import_breaks_its_contract(tmp_path: Path, room: str, line: str, contract: str) -> None:
    shutil.copytree(ROOT / "rukpak_py", tmp_path / "rukpak_py", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "rukpak_py" / room).open("a") as module:
        module.write(f"\n{line}\n")
    done = subprocess.run([LINT_IMPORTS, "--no-cache"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{contract} BROKEN" in done.stdout
