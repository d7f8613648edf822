"""A client of a control plane of one's own."""

from collections.abc import AsyncIterator

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection


@pytest.fixture
async def private_client(private_control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(await load_connection(private_control_plane.kubeconfig)) as client:
        yield client
