"""`.ci/run` with programs that note their calls: it says what failed, and takes down what it brought up, no more."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.waiting import eventually

CI = Path(__file__).parents[3] / ".ci"
# One program under several names. FAILS says which calls of it fail, HANGS which one waits until it is interrupted.
PROGRAM = """#!/bin/sh
call="$(basename "$0") $*"
matches() { [ -n "$1" ] && echo "$call" | grep -qE "$1"; }
if matches "$HANGS"; then
    trap 'echo "interrupted $call" >> calls; exit 130' INT
    echo "$call" >> calls
    while :; do sleep 0.05; done
fi
echo "$call" >> calls
if matches "$FAILS"; then exit 1; fi
"""
NO_ENGINE = "docker info|podman info"
AS_ROOT = os.geteuid() == 0
STEPS = (
    *("make lint", "make docs", "pytest tests", "make test", "make image", "make e2e-kind", "e2e.cluster.traces"),
    *("e2e.cluster.binaries helm",),
    *(("make e2e TESTS",) if AS_ROOT else ()),
)


needs_flock = pytest.mark.skipif(shutil.which("flock") is None, reason="without flock there is no lock")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    programs = [".ci/pytest", ".venv/bin/python", "bin/make", "bin/docker", "bin/podman"]
    for program in programs:
        (folder / program).parent.mkdir(parents=True, exist_ok=True)
        (folder / program).write_text(PROGRAM)
        (folder / program).chmod(0o755)
    for script in ("run", "cluster.sh"):
        shutil.copy(CI / script, folder / ".ci")
    (folder / "tmp").mkdir()
    return folder


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(checkout: Path) -> Iterator[Start]:
    runs: list[subprocess.Popen[str]] = []
    environment = {
        "PATH": f"{checkout}/bin:/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": str(checkout / "tmp"),
        "RUKPAK_CLUSTER_STATE": ".cluster",
    }

    def begin(*, fails: str = NO_ENGINE, hangs: str = "") -> subprocess.Popen[str]:
        run = subprocess.Popen(
            [checkout / ".ci/run"],
            cwd=checkout,
            env=environment | {"FAILS": fails, "HANGS": hangs},
            start_new_session=True,  # the tests interrupt its group
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        runs.append(run)
        return run

    yield begin
    for run in runs:
        if run.poll() is None:  # the test has failed
            os.killpg(run.pid, signal.SIGTERM)
            run.communicate(timeout=60)


def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
    printed, _ = run.communicate(timeout=60)
    return run.returncode, printed


def calls(checkout: Path) -> list[str]:
    noted = checkout / "calls"
    return noted.read_text().splitlines() if noted.exists() else []


def test_a_run_whose_steps_pass_passes_and_leaves_nothing(checkout: Path, start: Start) -> None:
    code, printed = ended(start())
    assert (code, printed.count("FAILED")) == (0, 0)
    assert not list((checkout / "tmp").iterdir())
    assert calls(checkout)[-1].startswith("python -m e2e.cluster down")
    for step in STEPS:
        assert any(step in call for call in calls(checkout)), step


@pytest.mark.parametrize("step", STEPS)
def test_a_failed_step_fails_the_run_and_the_others_are_run(checkout: Path, start: Start, step: str) -> None:
    code, printed = ended(start(fails=f"{NO_ENGINE}|{step}"))
    assert code == 1
    assert " FAILED in " in printed
    for other in STEPS:
        assert any(other in call for call in calls(checkout)), other


def test_without_an_environment_nothing_is_begun(checkout: Path, start: Start) -> None:
    code, _ = ended(start(fails=f"{NO_ENGINE}|make env"))
    assert code == 1
    assert calls(checkout) == ["make env"]


@pytest.mark.parametrize("folder", [".cluster", "$PWD/.kind"])
def test_a_cluster_that_is_there_stays(checkout: Path, start: Start, folder: str) -> None:
    script = f'RUKPAK_CLUSTER_STATE={folder}; . .ci/cluster.sh >&2; echo -n "$state"'  # elsewhere if its path is long
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(checkout / "tmp")}
    found = subprocess.run(["bash", "-c", script], cwd=checkout, env=environment, check=True, capture_output=True)
    state = checkout / found.stdout.decode()
    state.mkdir()
    (state / "cluster.json").touch()
    code, printed = ended(start())
    assert code == 1
    assert "error: there is a cluster in " in printed
    assert "take it down first" in printed
    assert calls(checkout) == ["make env"]


@needs_flock
def test_two_at_once_do_not_share_a_cluster(checkout: Path, start: Start) -> None:
    first = start(hangs="make lint")
    eventually(lambda: "make lint" in calls(checkout), what="the first is at work")
    (checkout / ".cluster").mkdir()  # as `cluster up` leaves it
    (checkout / ".cluster/cluster.json").touch()
    code, printed = ended(start())
    assert code == 1
    assert "another command uses the cluster in .cluster" in printed
    assert not any("cluster down" in call for call in calls(checkout))
    os.killpg(first.pid, signal.SIGINT)
    assert ended(first)[0] == 130


def test_an_interrupted_run_takes_the_cluster_down(checkout: Path, start: Start) -> None:
    run = start(hangs="make test")
    eventually(lambda: any("make test" in call for call in calls(checkout)), what="the tests run")
    os.killpg(run.pid, signal.SIGINT)
    code, _ = ended(run)
    assert code == 130
    assert any("interrupted make test" in call for call in calls(checkout))
    assert calls(checkout)[-1].startswith("python -m e2e.cluster down")
    assert not list((checkout / "tmp").iterdir())


@needs_flock
def test_programs_of_a_killed_cluster_hold_no_lock(checkout: Path) -> None:
    """After `kill -9` its programs go on; a lock that they had inherited would be held for ever."""
    (checkout / ".venv/bin/python").write_text("#!/bin/sh\nsleep 60 >/dev/null 2>&1 &\necho $! >> pids\n")
    script = '. .ci/cluster.sh; use_cluster --exclusive; cluster up; echo "held by no other"; kill -9 $$'
    command = ["env", "-u", "RUKPAK_CLUSTER_HELD", "RUKPAK_CLUSTER_STATE=.cluster", "bash", "-c", script]
    try:
        for _ in range(2):
            done = subprocess.run(command, cwd=checkout, check=False, capture_output=True, text=True, timeout=30)
            assert (done.returncode, done.stdout) == (-signal.SIGKILL, "held by no other\n"), done.stderr
    finally:
        for pid in (checkout / "pids").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
