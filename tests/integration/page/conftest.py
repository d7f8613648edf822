"""Three hundred deployments on the control plane of the worker, and the page over them as `rukpakctl ui` serves it."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from e2e import browser
from e2e.browser import Browser, Tab
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import CONTENT_SERVICE, DEFAULT_SYSTEM_NAMESPACE, SecretName
from rukpak_py.cli.cluster.page_server import LoopbackPage
from rukpak_py.cli.cluster.session import ClusterSession, OperatorAt
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import NAMESPACES
from tests.cluster import WORKERS_PLANE
from tests.integration.page.owned import Owned, with_objects
from tests.integration.page.populated import many, remove

DEPLOYMENTS = 300
AT = OperatorAt(namespace=DEFAULT_SYSTEM_NAMESPACE, service=CONTENT_SERVICE, ca_secret=str(SecretName.CA))


@dataclass(frozen=True, kw_only=True)
class Population:
    names: list[str]
    failing: Owned


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Population]:
    """Made once for the tests of a module, all of which use `plane`; its names are gone afterwards."""
    plane = WORKERS_PLANE.get(tmp_path_factory.getbasetemp() / f"plane-{uuid.uuid4().hex[:8]}")
    found = asyncio.run(_populate(plane.kubeconfig))
    yield found
    asyncio.run(_clear(plane.kubeconfig, found))


async def _populate(kubeconfig: Path) -> Population:
    mark = uuid.uuid4().hex[:4]
    async with Client(await load_connection(kubeconfig)) as client:
        namespace = f"page-{mark}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await client.create(NAMESPACES, "", orjson.dumps(body))
        names = await many(client, DEPLOYMENTS - 1, prefix=f"{mark}-")
        failing = await with_objects(client, f"{mark}-shop", namespace)
        return Population(names=[*names, failing.name], failing=failing)


async def _clear(kubeconfig: Path, population: Population) -> None:
    async with Client(await load_connection(kubeconfig)) as client:
        await remove(client, population.names)
        await client.delete(NAMESPACES, "", population.failing.namespace)


@pytest.fixture
async def loopback(plane: ControlPlane, population: Population) -> AsyncIterator[LoopbackPage]:
    async with page_of(plane.kubeconfig) as page:
        yield page


@asynccontextmanager
async def page_of(kubeconfig: Path) -> AsyncIterator[LoopbackPage]:
    """The page with the rights of a kubeconfig."""
    connection = await load_connection(kubeconfig)
    async with Client(connection) as client:
        page = LoopbackPage(ClusterSession(client, connection, AT), port=0, troubleshooting="", limits=DEFAULT_LIMITS)
        async with page.served():
            yield page


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    if browser.program() is None:
        pytest.skip("there is no Chromium: .ci/run installs it as root on Debian (package chromium)")
    async with browser.chromium() as found:
        yield found


@pytest.fixture
async def tab(chromium: Browser) -> AsyncIterator[Tab]:
    async with chromium.tab() as tab:
        yield tab
