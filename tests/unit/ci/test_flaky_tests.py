"""`.ci/pytest` with a suite of its own: one or two failed tests run once more, alone, and the flaky ones are named."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / ".ci/pytest"
# Each test fails as often as its parameter says, counted over both runs.
SUITE = """
from pathlib import Path
import pytest

@pytest.mark.parametrize(("name", "failures"), {cases})
def test_of(name, failures):
    runs = Path(__file__).with_name(name)
    count = len(runs.read_text()) if runs.exists() else 0
    runs.write_text("." * (count + 1))
    assert count >= failures
"""
ALWAYS = 99


@pytest.mark.parametrize(
    ("failures", "code", "flaky", "runs"),
    [
        pytest.param([0, 0], 0, [], [1, 1], id="all pass"),
        pytest.param([0, 1], 0, [1], [1, 2], id="one passes alone"),
        pytest.param([1, 1, 0], 0, [0, 1], [2, 2, 1], id="two pass alone"),
        pytest.param([0, ALWAYS], 1, [], [1, 2], id="one fails alone too"),
        pytest.param([1, ALWAYS], 1, [], [2, 2], id="one of two fails alone too"),
        pytest.param([1, 1, 1], 1, [], [1, 1, 1], id="three are no accident"),
    ],
)
def test_failed_tests_are_run_once_more_alone(
    tmp_path: Path, failures: list[int], code: int, flaky: list[int], runs: list[int]
) -> None:
    noted = tmp_path / "flaky"
    noted.touch()
    assert run(tmp_path, failures, {"RUKPAK_FLAKY_TESTS": str(noted)}) == code
    assert noted.read_text().splitlines() == [f"test_suite.py::test_of[t{one}-{failures[one]}]" for one in flaky]
    assert [len((tmp_path / f"t{one}").read_text()) for one in range(len(failures))] == runs
    assert not list((tmp_path / "tmp").iterdir())


def test_a_failed_test_fails_where_nothing_notes_flaky_ones(tmp_path: Path) -> None:
    assert run(tmp_path, [1], {}) == 1
    assert len((tmp_path / "t0").read_text()) == 1


def run(folder: Path, failures: list[int], environment: dict[str, str]) -> int:
    (folder / ".ci").mkdir()
    shutil.copy(SCRIPT, folder / ".ci")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").symlink_to(sys.executable)
    (folder / "tmp").mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_suite.py").write_text(SUITE.format(cases=[(f"t{n}", count) for n, count in enumerate(failures)]))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "RUKPAK"))}
    used = {"TMPDIR": str(folder / "tmp"), "PYTEST_WORKERS": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [folder / ".ci/pytest", "test_suite.py"],
        env=kept | used | environment,
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=120,
    ).returncode
