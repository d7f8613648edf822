"""A control plane with our kinds, and operators on it that are started and stopped one by one."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.ports import free_ports
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import NAMESPACES
from tests.integration.definitions import definitions, install
from tests.integration.operator.process import Operator, ended_cleanly
from tests.integration.server.traffic import Traffic

StartOperator = Callable[..., Operator]


@pytest.fixture
async def cluster(private_client: Client) -> Client:
    """The admin of a control plane with our kinds and the system namespace."""
    await install(private_client, definitions())
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": DEFAULT_SYSTEM_NAMESPACE}}
    await private_client.create(NAMESPACES, "", orjson.dumps(body))
    return private_client


@pytest.fixture
def operators(cluster: Client, private_control_plane: ControlPlane, tmp_path: Path) -> Iterator[StartOperator]:
    """Make operators. They end with the test, and none of them may have logged a traceback."""
    made: list[Operator] = []

    def make(*arguments: str, kubeconfig: Path | None = None) -> Operator:
        operator = Operator(
            kubeconfig=kubeconfig or private_control_plane.kubeconfig,
            folder=tmp_path / f"operator-{len(made)}",
            arguments=[f"--system-namespace={DEFAULT_SYSTEM_NAMESPACE}", "--log-format=text", *arguments],
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
async def traffic(cluster: Client, called_operator: Operator) -> AsyncIterator[Traffic]:
    """Twenty admission requests a second, for as long as the test runs."""
    traffic = Traffic(cluster)
    async with traffic.running():
        yield traffic
