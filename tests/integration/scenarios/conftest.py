"""Every scenario plays on the shared cluster, under the shared operator, with names of its own.

Numbers in names of tests count the scenarios of the original's end-to-end suite: what users know holds here, too.
"""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e.kubectl import Kubectl
from rukpak_py.kube.client import Client
from tests.integration.scenarios.stage import Stage
from tests.shared_operator import SharedOperator

HERE = Path(__file__).parent
COLLECTED = (HERE / "test_removal.py", HERE / "test_instance_removal.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that wait for the cluster's collector last: it takes 30 seconds to see that our kinds exist."""
    items.sort(key=lambda item: item.path in COLLECTED)


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
