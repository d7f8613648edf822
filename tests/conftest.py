"""What every test may use. One run of the suite has one folder, shared by its workers: see `run_directory`."""

import asyncio
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import hypothesis
import pytest

from rukpak_py.operator import event_loop
from tests.waiting import until

RUN_DIRECTORY = "RUKPAK_TEST_RUN"
RUN_PROCESS = "RUKPAK_TEST_PID"
TLS_CLOSING_SECONDS = 0.05
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
    if not hasattr(config, "workerinput"):
        os.environ[RUN_DIRECTORY] = tempfile.mkdtemp(prefix="rukpak-test-")
        os.environ[RUN_PROCESS] = str(os.getpid())


class Loop(event_loop.Loop):
    """uvloop waits for ever when it is closed while a server listens: a test that fails would hang the whole run.

    A TLS connection that is being closed waits for its peer, and a busy API server takes its time: what it says while
    the loop is closed is an error of a test that has passed. Such a connection is cut off after a moment.
    """

    def __init__(self) -> None:
        super().__init__()
        self._servers: list[asyncio.Server] = []
        self._serves_tls = False
        self._tls_clients: weakref.WeakSet[Any] = weakref.WeakSet()

    async def create_connection(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if kwargs.get("ssl") is None:
            return await super().create_connection(*args, **kwargs)
        kwargs.setdefault("ssl_shutdown_timeout", TLS_CLOSING_SECONDS)
        transport, protocol = await super().create_connection(*args, **kwargs)
        self._tls_clients.add(protocol)
        return transport, protocol

    async def create_server(self, *args: Any, **kwargs: Any) -> asyncio.Server:
        if kwargs.get("ssl") is not None:
            self._serves_tls = True
            kwargs.setdefault("ssl_shutdown_timeout", TLS_CLOSING_SECONDS)
        server = cast("asyncio.Server", await super().create_server(*args, **kwargs))
        self._servers.append(server)
        return server

    def close(self) -> None:
        for server in self._servers:
            server.close()
        if not self.is_closed():
            self.run_until_complete(self._wait_for_tls())
        super().close()

    async def _wait_for_tls(self) -> None:
        with suppress(TimeoutError):
            await until(
                lambda: not self._serves_tls and not any(map(_may_be_open, self._tls_clients)),
                seconds=2 * TLS_CLOSING_SECONDS,
            )


def _may_be_open(protocol: object) -> bool:
    """The protocols of aiohttp forget a transport that is closed."""
    return getattr(protocol, "transport", protocol) is not None


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test runs on the operator's loop."""
    return {"uvloop": Loop}


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and RUN_DIRECTORY in os.environ:
        shutil.rmtree(os.environ.pop(RUN_DIRECTORY), ignore_errors=True)


@pytest.fixture(scope="session")
def run_directory() -> Path:
    return Path(os.environ[RUN_DIRECTORY])
