"""What every test may use. One run of the suite has one folder, shared by its workers: see `run_directory`."""

import asyncio
import gc
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
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
        self.tls_connections: set[asyncio.BaseProtocol] = set()

    async def create_connection(
        self, protocol_factory: Callable[[], Any], *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        if kwargs.get("ssl") is None:
            return await super().create_connection(protocol_factory, *args, **kwargs)
        kwargs.setdefault("ssl_shutdown_timeout", TLS_CLOSING_SECONDS)
        return await super().create_connection(partial(self._noted, protocol_factory), *args, **kwargs)

    @staticmethod
    def _noted(protocol_factory: Callable[[], Any]) -> Any:
        """A connection is open until its protocol is told that it is lost: a closed one still waits for its peer."""
        protocol = protocol_factory()
        kind: Any = type(protocol)
        protocol.__class__ = _noting(kind)  # setting its methods would not do: some have slots
        return protocol

    async def create_server(self, protocol_factory: Callable[[], Any], *args: Any, **kwargs: Any) -> asyncio.Server:
        factory = protocol_factory
        if kwargs.get("ssl") is not None:
            kwargs.setdefault("ssl_shutdown_timeout", TLS_CLOSING_SECONDS)
            factory = partial(self._noted, protocol_factory)
        server = cast("asyncio.Server", await super().create_server(factory, *args, **kwargs))
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
            await until(lambda: not self.tls_connections, seconds=20 * TLS_CLOSING_SECONDS)


@cache
def _noting(kind: Any) -> Any:
    class Noting(kind):  # type: ignore[misc]  # whose protocol it is is not known before
        __slots__ = ()

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            cast("Loop", asyncio.get_running_loop()).tls_connections.add(self)
            super().connection_made(transport)

        def connection_lost(self, error: Exception | None) -> None:
            cast("Loop", asyncio.get_running_loop()).tls_connections.discard(self)
            super().connection_lost(error)

    return Noting


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
