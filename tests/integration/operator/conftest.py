"""A control plane for the tests of this folder, and operators on it."""

import asyncio
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from tests.cluster import private_plane
from tests.integration.definitions import definitions, install
from tests.integration.operator.process import Operator, ended_cleanly
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Proxy, proxy_before

HERE = Path(__file__).parent
CONTROLLERS = "kube-controller-manager"
StartOperator = Callable[..., Operator]


class Kept:
    """The worker's control plane for this folder, from the first test that needs it to the last one in a row.

    It holds one of the places for private control planes, so it may not outlive the folder's tests.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._plane: ControlPlane | None = None

    def get(self, run_directory: Path, folder: Path) -> ControlPlane:
        if self._plane is None:
            self._plane = self._stack.enter_context(private_plane(run_directory, folder))
            asyncio.run(_install_kinds(self._plane))
            # The garbage collector looks for new kinds every 30 s; one that starts after them knows them at once.
            self._plane.processes.stop(CONTROLLERS, signal.SIGKILL)
            self._plane.processes.start_again(CONTROLLERS)
        return self._plane

    def end(self) -> None:
        self._plane = None
        self._stack.close()


KEPT = Kept()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    if nextitem is None or not nextitem.path.is_relative_to(HERE):
        KEPT.end()


@pytest.fixture
def plane(run_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> ControlPlane:
    """Private to the worker: tests may kill its API server, but leave it running."""
    return KEPT.get(run_directory, tmp_path_factory.getbasetemp() / f"plane-{uuid.uuid4().hex[:8]}")


@pytest.fixture
async def admin(plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(await load_connection(plane.kubeconfig)) as client:
        yield client


@pytest.fixture
async def tenant(admin: Client) -> AsyncIterator[Tenant]:
    tenant = Tenant(admin)
    await tenant.begin()
    yield tenant
    await tenant.end()


@pytest.fixture
def operators(plane: ControlPlane, tenant: Tenant, tmp_path: Path) -> Iterator[StartOperator]:
    """Make operators of the tenant. They end with the test, and none of them may have logged a traceback.

    `folder`: where store and log are, for one that goes on with what another has left.
    """
    made: list[Operator] = []

    def make(
        *,
        kubeconfig: Path | None = None,
        arguments: Sequence[str] = (),
        webhook: bool = False,
        module: str = "rukpak_py",
        tree: Path | None = None,
        folder: Path | None = None,
    ) -> Operator:
        operator = Operator(
            kubeconfig=kubeconfig or plane.kubeconfig,
            folder=folder or tmp_path / f"operator-{len(made)}",
            arguments=[f"--system-namespace={tenant.system}", *arguments],
            webhook=webhook,
            module=module,
            tree=tree,
        )
        made.append(operator)
        return operator

    with ended_cleanly(made):
        yield make


@pytest.fixture
async def proxy(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Proxy]:
    """Before the API server, for operators that are given its kubeconfig."""
    async with proxy_before(plane, tmp_path) as proxy:
        yield proxy


@pytest.fixture
async def operator(operators: StartOperator) -> Operator:
    """One that is ready."""
    operator = operators()
    await operator.start()
    return operator


async def _install_kinds(plane: ControlPlane) -> None:
    async with Client(await load_connection(plane.kubeconfig)) as client:
        await install(client, definitions())
