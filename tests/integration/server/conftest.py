"""Operators on the control plane of the worker that are started and stopped one by one."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.ports import free_ports
from rukpak_py.api.names import WEBHOOK_CONFIGURATION
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from tests.integration.claims import claim
from tests.integration.operator.process import Operator, ended_cleanly
from tests.integration.server.traffic import Traffic, until_unguarded

StartOperator = Callable[..., Operator]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    client: Client
    system: str  # the system namespace


@pytest.fixture
async def cluster(admin: Client, namespace_there: str) -> AsyncIterator[Cluster]:
    """The cluster with a system namespace of its own. There is one webhook configuration, and it is gone afterwards."""
    await claim(admin, None)
    yield Cluster(client=admin, system=namespace_there)
    with suppress(NotFoundError):
        await admin.delete(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)
    await until_unguarded(admin)


@pytest.fixture
def operators(cluster: Cluster, plane: ControlPlane, tmp_path: Path) -> Iterator[StartOperator]:
    """Make operators. They end with the test, and none of them may have logged a traceback."""
    made: list[Operator] = []

    def make(*arguments: str, kubeconfig: Path | None = None) -> Operator:
        operator = Operator(
            kubeconfig=kubeconfig or plane.kubeconfig,
            folder=tmp_path / f"operator-{len(made)}",
            arguments=[f"--system-namespace={cluster.system}", "--log-format=text", *arguments],
        )
        made.append(operator)
        return operator

    with ended_cleanly(made):
        yield make


@pytest.fixture
async def called_operator(operators: StartOperator) -> Operator:
    """One that is ready, and whose webhook the API server calls."""
    port = free_ports(["webhook"], "127.0.0.1")["webhook"]
    address = f"127.0.0.1:{port}"
    operator = operators(f"--webhook-bind-address={address}", f"--webhook-url=https://{address}")
    await operator.start()
    return operator


@pytest.fixture
async def traffic(cluster: Cluster, called_operator: Operator) -> AsyncIterator[Traffic]:
    """Twenty admission requests a second, for as long as the test runs."""
    traffic = Traffic(cluster.client)
    async with traffic.running():
        yield traffic
