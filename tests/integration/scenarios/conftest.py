"""Every scenario plays on the shared cluster, under the shared operator, with names of its own."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e.kubectl import Kubectl
from rukpak_py.kube.client import Client
from tests.integration.scenarios.stage import Stage
from tests.shared_operator import SharedOperator


@pytest.fixture
async def stage(
    shared_operator: SharedOperator, kubeconfig: Path, client: Client, namespace: str
) -> AsyncIterator[Stage]:
    stage = Stage(
        client=client,
        kubectl=Kubectl.on(kubeconfig),
        operator=shared_operator,
        name=f"s{uuid.uuid4().hex[:9]}",
        namespace=namespace,
    )
    yield stage
    await stage.leave()
