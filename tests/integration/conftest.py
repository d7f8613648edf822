"""Fixtures for tests on a real API server. A test makes its own namespace and, where it needs kinds, its own group."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import NAMESPACES, Resource
from tests.cluster import is_foreign_cluster

HERE = Path(__file__).parent
NODES = Resource(gvk=GroupVersionKind("", "v1", "Node"), plural="nodes", namespaced=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.integration)


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    """The shared cluster's admin."""
    async with Client(await load_connection(kubeconfig)) as client:
        yield client


@pytest.fixture
async def admin(plane: ControlPlane) -> AsyncIterator[Client]:
    """The admin of the worker's control plane."""
    async with Client(await load_connection(plane.kubeconfig)) as client:
        yield client


@pytest.fixture
async def namespace(client: Client, kubeconfig: Path, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A namespace of one's own on the shared cluster; it stays where nothing runs in it and the cluster will go."""
    may_have_pods = request.node.get_closest_marker("node") is not None
    async with a_namespace(client, stays=not may_have_pods and not is_foreign_cluster(kubeconfig)) as name:
        yield name


@pytest.fixture
async def namespace_there(admin: Client) -> AsyncIterator[str]:
    """A namespace of one's own on the worker's control plane."""
    async with a_namespace(admin, stays=True) as name:
        yield name


@asynccontextmanager
async def a_namespace(client: Client, *, stays: bool = False) -> AsyncIterator[str]:
    """Its deletion, which takes the control plane a third of a second, is asked for and not waited for."""
    name = f"t-{uuid.uuid4().hex[:10]}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.create(NAMESPACES, "", orjson.dumps(body))
    yield name
    if not stays:
        await client.delete(NAMESPACES, "", name)


@pytest.fixture(autouse=True)
async def node(request: pytest.FixtureRequest) -> None:
    """Tests marked `node` are skipped where no node is, with that reason."""
    if request.node.get_closest_marker("node") is None:
        return
    async with Client(await load_connection(request.getfixturevalue("kubeconfig"))) as client:
        if not (await client.list_metadata(NODES)).items:
            pytest.skip("the cluster has no node (make test brings one up as root on Linux)")
