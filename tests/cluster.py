"""The clusters of a test run.

The shared one is what `RUKPAK_TEST_KUBECONFIG` names, else one that the first test to need it brings up, once for all
workers. It belongs to a keeper, a process that ends it together with the run, however the run ends. Tests that break
the server get a private one; at most three of those are alive at once.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.files import locked, write_private

SHARED = "RUKPAK_TEST_KUBECONFIG"
PRIVATE_PLANES = 3
PATIENCE_SECONDS = 170.0
KEEPER = "keeper.json"


@pytest.fixture(scope="session")
def kubeconfig(run_directory: Path) -> Path:
    """The admin's kubeconfig of the shared cluster."""
    named = os.environ.get(SHARED)
    return Path(named) if named else _kept(run_directory)


@pytest.fixture
def private_control_plane(run_directory: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    """A control plane of one's own, about 3 s, to restart and to break."""
    with private_plane(run_directory, tmp_path / "plane") as plane:
        yield plane


@contextmanager
def private_plane(run_directory: Path, folder: Path) -> Iterator[ControlPlane]:
    """For fixtures of a wider scope. A module that has one must not ask for a second: there are only three places."""
    with _place(run_directory), ControlPlane.start(folder, tied_to_caller=True) as plane:
        yield plane


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the keeper and wait for it: nothing of the run is left when the run says it is over."""
    directory = os.environ.get("RUKPAK_TEST_RUN", "")
    record = Path(directory) / KEEPER
    if hasattr(config, "workerinput") or not directory or not record.exists():
        return
    keeper = json.loads(record.read_text())["keeper"]
    os.kill(keeper, signal.SIGTERM)
    deadline = time.monotonic() + 20
    while is_alive(keeper) and time.monotonic() < deadline:
        time.sleep(0.05)


def _kept(directory: Path) -> Path:
    record = directory / KEEPER
    with locked(directory / "shared.lock"):
        if not record.exists():
            start_keeper(
                directory / "keeper.log",
                record,
                "tests.cluster",
                str(directory),
                str(record),
                what="the shared cluster",
            )
    return Path(json.loads(record.read_text())["kubeconfig"])


def start_keeper(log: Path, record: Path, *command: str, what: str) -> None:
    """Start a process that outlives this worker, and wait until it has written its record."""
    with log.open("wb") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    while not record.exists():
        if keeper.poll() is not None:
            pytest.fail(f"{what} did not start:\n{log.read_text()}", pytrace=False)
        time.sleep(0.05)
    keeper.returncode = 0  # it outlives this worker on purpose: no ResourceWarning for a process still running


@contextmanager
def _place(directory: Path) -> Iterator[None]:
    """One of the places for private control planes, of all workers together."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    files = [(directory / f"private-{number}.lock").open("wb") for number in range(PRIVATE_PLANES)]
    try:
        while not any(_lock(file.fileno()) for file in files):
            if time.monotonic() > deadline:
                pytest.fail("no place for a private control plane became free")
            time.sleep(0.1)
        yield
    finally:
        for file in files:
            file.close()


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes() if Path("/proc").is_dir() else True
    except OSError:
        return False


def keep(directory: Path, record: Path) -> None:
    """Bring a control plane up and keep it until SIGTERM, or until the run is gone."""
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: asked.append(received))
    runner = int(os.environ["RUKPAK_TEST_PID"])
    with ControlPlane.start(directory / "shared", tied_to_caller=True) as plane:
        write_private(record, json.dumps({"keeper": os.getpid(), "kubeconfig": str(plane.kubeconfig)}))
        while not asked and is_alive(runner):
            time.sleep(0.2)
    if not asked:  # the run was killed and cannot clean up
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
