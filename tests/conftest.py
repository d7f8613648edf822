"""Fixtures of all tests. One run of the suite has one folder, shared by its workers: see `run_directory`."""

import asyncio
import gc
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import hypothesis
import pytest

from rukpak_py.runtime import loop

RUN_DIRECTORY = "RUKPAK_TEST_RUN"
RUN_PROCESS = "RUKPAK_TEST_PID"
# Timings never decide a test. Each run tries other examples: with fewer of them it finds the same in a few more runs.
hypothesis.settings.register_profile("suite", deadline=None, max_examples=50)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)  # --hypothesis-profile=thorough
hypothesis.settings.load_profile("suite")

pytest_plugins = [
    "tests.cluster",
    "tests.git_fetching",
    "tests.helm_program",
    "tests.shared_operator",
    "tests.unpack_tool",
]


def pytest_configure(config: pytest.Config) -> None:
    """The controller (or the only process) names the run's folder; workers inherit the environment."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in the background of a shell: all that the tests start, and interrupt, would ignore it, too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        os.environ[RUN_DIRECTORY] = tempfile.mkdtemp(prefix="rukpak-test-")
        os.environ[RUN_PROCESS] = str(os.getpid())


class Loop(loop.Loop):
    """uvloop waits for ever when it is closed while a server listens: a test that fails would hang the whole run.

    It closes what is still open, and warns of it. As an error such a warning would interrupt it: what is left open then
    makes it fail, or wait for ever, so they are raised afterwards. A TLS connection may be open when a test has passed,
    because a peer that is busy, or gone in the middle of the handshake, answers late or never.
    """

    def __init__(self) -> None:
        super().__init__()
        self._servers: list[asyncio.Server] = []
        self._has_tls = False

    async def create_connection(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        self._has_tls |= kwargs.get("ssl") is not None
        return await super().create_connection(*args, **kwargs)

    async def create_server(self, *args: Any, **kwargs: Any) -> asyncio.Server:
        self._has_tls |= kwargs.get("ssl") is not None
        server = cast("asyncio.Server", await super().create_server(*args, **kwargs))
        self._servers.append(server)
        return server

    def close(self) -> None:
        for server in self._servers:
            server.close()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            super().close()
        for warning in found:
            if not (self._has_tls and "TCPTransport" in str(warning.message)):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test runs on the operator's loop."""
    return {"uvloop": Loop}


def pytest_collection_finish() -> None:
    """Thousands of tests were collected, which stay to the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and RUN_DIRECTORY in os.environ:
        shutil.rmtree(os.environ.pop(RUN_DIRECTORY), ignore_errors=True)


@pytest.fixture(scope="session")
def run_directory() -> Path:
    return Path(os.environ[RUN_DIRECTORY])
