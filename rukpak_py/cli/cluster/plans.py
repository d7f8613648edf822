"""`rukpakctl plan`: what a BundleDeployment would do by its template now, as the operator says."""

import msgspec

from rukpak_py.apply.upgrade_document import UpgradeDocument
from rukpak_py.cli.cluster.session import ClusterSession
from rukpak_py.core.errors import UnavailableError


async def planned_upgrade(cluster: ClusterSession, deployment: str) -> UpgradeDocument:
    async with cluster.content_server() as server:
        answer = await server.plan_of(deployment)
    try:
        return msgspec.json.decode(answer, type=UpgradeDocument)
    except msgspec.DecodeError as error:
        raise UnavailableError(f"the operator answers what this program does not understand: {error}") from error
