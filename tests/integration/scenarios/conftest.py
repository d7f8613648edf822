"""Every scenario plays on the shared cluster, under the shared operator, with names of its own.

Numbers in names of tests count the scenarios of the original's end-to-end suite: what users know holds here, too. Those
of deployments play twice (`BOTH_IDENTITIES`): with the operator's own rights, and as a service account. The account is
allowed everything, so nothing but the identity differs. Where no deployment is served, they play once:

| scenarios | reason to play them once |
| --- | --- |
| 1-34 | a Bundle alone is fetched, unpacked and served by the operator; nothing is applied |
| 48, 49 | pods and archives of a Bundle alone |
"""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e.kubectl import Kubectl
from rukpak_py.kube.client import Client
from tests.integration.policies import until_policies_settle
from tests.integration.scenarios.stage import Document, Stage
from tests.integration.tenancy.accounts import EVERYTHING, create_account, grant_everywhere, revoke_everywhere
from tests.shared_operator import SharedOperator

HERE = Path(__file__).parent
COLLECTED = (HERE / "test_removal.py", HERE / "test_instance_removal.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that wait for the cluster's collector last: it takes 30 seconds to see that our kinds exist."""
    items.sort(key=lambda item: item.path in COLLECTED)


@pytest.fixture
async def identity(
    request: pytest.FixtureRequest, shared_operator: SharedOperator, client: Client, namespace: str
) -> AsyncIterator[Document]:
    """Fields of the spec that say with whose rights a deployment is served: by default, with the operator's own."""
    if getattr(request, "param", "own") == "own":
        yield {}
        return
    account = await create_account(client, namespace, rules=())
    await grant_everywhere(client, account, (EVERYTHING,))
    await until_policies_settle(client)
    yield {"installNamespace": namespace, "serviceAccountName": account.name}
    await revoke_everywhere(client, account)


@pytest.fixture
async def stage(
    shared_operator: SharedOperator, kubeconfig: Path, client: Client, namespace: str, identity: Document
) -> AsyncIterator[Stage]:
    stage = Stage(
        client=client,
        kubectl=Kubectl.on(kubeconfig),
        operator=shared_operator,
        name=f"s{uuid.uuid4().hex[:9]}",
        namespace=namespace,
        identity=identity,
    )
    yield stage
    await stage.leave()
