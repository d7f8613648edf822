"""Commands in a cluster that does not have the kinds of the operator."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, cast

import pytest

from rukpak_py.cli.cluster.deployments import DeploymentCommandError, find_deployment, read_deployment
from rukpak_py.cli.cluster.outdated_packages import list_deployments
from rukpak_py.kube.answers import Page
from rukpak_py.kube.errors import ErrorAnswer, KindNotServedError

if TYPE_CHECKING:
    from rukpak_py.kube.client import Client


class WithoutKinds:
    async def get(self, *_: object) -> bytes:
        raise KindNotServedError(ErrorAnswer(subject="get BundleDeployment web", message="404 page not found"))

    async def list_by_page(self, *_: object, **__: object) -> AsyncIterator[Page]:
        await self.get()
        yield Page(items=[], resource_version="1", token="")


@pytest.mark.parametrize(
    "read",
    [lambda client: find_deployment(client, "web"), lambda client: read_deployment(client, "web"), list_deployments],
)
async def test_cluster_without_the_kinds_is_said_to_lack_the_operator(
    read: Callable[["Client"], Awaitable[object]],
) -> None:
    with pytest.raises(DeploymentCommandError, match="install the operator, or check that KUBECONFIG"):
        await read(cast("Client", WithoutKinds()))
