"""`rukpakctl permissions`: what the account of a BundleDeployment needs, as the operator says."""

import msgspec

from rukpak_py.api.accounts import Account
from rukpak_py.apply.permissions.permission import Json
from rukpak_py.cli.cluster.session import ClusterSession
from rukpak_py.core.errors import UnavailableError


class NeededPermissions(msgspec.Struct, frozen=True, kw_only=True):
    """Rules are by namespace; the empty one is the whole cluster.

    `namespaces`: those that the content brings. `watched`: the operator's own needs, to see what is installed, and
    `unwatched`: those of them that it lacks; an operator with wide rights has none. `is_complete`: else more is needed
    once values and lookups can be read.
    """

    account: Account | None
    namespaces: list[str]
    rules: dict[str, list[Json]]
    missing: dict[str, list[Json]]
    operator: Account | None = None  # of a release that does not say, there is nothing to watch by
    watched: dict[str, list[Json]] = {}
    unwatched: dict[str, list[Json]] = {}
    is_complete: bool = True


async def needed_permissions(cluster: ClusterSession, deployment: str) -> NeededPermissions:
    async with cluster.content_server() as server:
        answer = await server.permissions_of(deployment)
    try:
        return msgspec.json.decode(answer, type=NeededPermissions)
    except msgspec.DecodeError as error:
        raise UnavailableError(f"the operator answers what this program does not understand: {error}") from error
