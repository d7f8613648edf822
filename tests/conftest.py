"""What every test may use. One run of the suite has one folder, shared by its workers: see `run_directory`."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

RUN_DIRECTORY = "RUKPAK_TEST_RUN"
RUN_PROCESS = "RUKPAK_TEST_PID"
pytest_plugins = ["tests.cluster", "tests.shared_operator"]


def pytest_configure(config: pytest.Config) -> None:
    """The controller (or the only process) names the run's folder; workers inherit the environment."""
    if not hasattr(config, "workerinput"):
        os.environ[RUN_DIRECTORY] = tempfile.mkdtemp(prefix="rukpak-test-")
        os.environ[RUN_PROCESS] = str(os.getpid())


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test runs on the operator's loop."""
    return {"uvloop": uvloop.new_event_loop}


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and RUN_DIRECTORY in os.environ:
        shutil.rmtree(os.environ.pop(RUN_DIRECTORY), ignore_errors=True)


@pytest.fixture(scope="session")
def run_directory() -> Path:
    return Path(os.environ[RUN_DIRECTORY])
