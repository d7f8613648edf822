"""The clusters of a test run.

The shared one is what `RUKPAK_TEST_KUBECONFIG` names, else one that the first test to need it brings up, once for all
workers. It belongs to a keeper, a process that ends it together with the run, however the run ends.

Tests that count calls, break the server or register what counts for a whole cluster use the control plane of their
worker, `plane`. It is theirs alone while they run, and made once for many tests: they leave its API server running and
nothing of a fixed name behind. All of them stand together in the order of the run, so that few planes are made.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.files import locked, write_private
from e2e.cluster.state import StateDir
from e2e.waiting import eventually
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from tests.integration.definitions import definitions, install

SHARED = "RUKPAK_TEST_KUBECONFIG"
KEEPER = "keeper.json"
PLANE = "plane"  # the fixture
CONTROLLERS = "kube-controller-manager"


@pytest.fixture(scope="session")
def kubeconfig(run_directory: Path) -> Path:
    """The admin's kubeconfig of the shared cluster."""
    named = os.environ.get(SHARED)
    return Path(named) if named else _kept(run_directory)


def is_foreign_cluster(kubeconfig: Path) -> bool:
    """Not made by `e2e.cluster`, which takes a cluster down with all that tests have left in it."""
    state = StateDir(kubeconfig.parent)
    return not state.exists or state.read().get("provider") == "kubeconfig"


class WorkersPlane:
    """From the first test that needs it to the last one in a row. It has our kinds."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._plane: ControlPlane | None = None

    def get(self, folder: Path) -> ControlPlane:
        if self._plane is None:
            self._plane = self._stack.enter_context(ControlPlane.start(folder, tied_to_caller=True, audit=True))
            asyncio.run(_install_kinds(self._plane))
            # The garbage collector looks for new kinds every 30 s; one that starts after them knows them at once.
            self._plane.processes.stop(CONTROLLERS, signal.SIGKILL)
            self._plane.processes.start_again(CONTROLLERS)
        return self._plane

    def end(self) -> None:
        self._plane = None
        self._stack.close()


WORKERS_PLANE = WorkersPlane()


@pytest.fixture
def plane(tmp_path_factory: pytest.TempPathFactory) -> ControlPlane:
    return WORKERS_PLANE.get(tmp_path_factory.getbasetemp() / f"plane-{uuid.uuid4().hex[:8]}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not _uses_plane(item))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    if nextitem is None or not _uses_plane(nextitem):
        WORKERS_PLANE.end()


def _uses_plane(item: pytest.Item) -> bool:
    return PLANE in getattr(item, "fixturenames", ())


async def _install_kinds(plane: ControlPlane) -> None:
    async with Client(await load_connection(plane.kubeconfig)) as client:
        await install(client, definitions())


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the keeper and wait for it: nothing of the run is left when the run says it is over."""
    directory = os.environ.get("RUKPAK_TEST_RUN", "")
    record = Path(directory) / KEEPER
    if hasattr(config, "workerinput") or not directory or not record.exists():
        return
    end_keeper(record, seconds=20)


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


def end_keeper(record: Path, *, seconds: float) -> None:
    keeper = json.loads(record.read_text())["keeper"]
    os.kill(keeper, signal.SIGTERM)
    with suppress(TimeoutError):
        eventually(lambda: not is_alive(keeper), what="the keeper ends", seconds=seconds)


def until_the_end() -> Callable[[], bool]:
    """For a keeper: what waits for SIGTERM, or until the run is gone; whether it was asked to end."""
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: asked.append(received))
    runner = int(os.environ["RUKPAK_TEST_PID"])

    def wait() -> bool:
        while not asked and is_alive(runner):
            time.sleep(0.2)
        return bool(asked)

    return wait


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes() if Path("/proc").is_dir() else True
    except OSError:
        return False


def keep(directory: Path, record: Path) -> None:
    """Bring a control plane up and keep it until SIGTERM, or until the run is gone."""
    wait_for_end = until_the_end()
    with ControlPlane.start(directory / "shared", tied_to_caller=True) as plane:
        write_private(record, json.dumps({"keeper": os.getpid(), "kubeconfig": str(plane.kubeconfig)}))
        was_asked = wait_for_end()
    if not was_asked:  # the run was killed and cannot clean up
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
