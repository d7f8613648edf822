"""Whether a deployment still exists. An object with the uid of one that is gone is collected at once, for ever."""

from collections.abc import Callable
from time import monotonic

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.kinds import BUNDLE_DEPLOYMENTS
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError

UNHEARD_OF_SECONDS = 600.0  # without an event a deployment is looked at before anything is created for it


class Existence:
    def __init__(
        self, client: Client, deployments: Cache[BundleDeployment], *, on_gone: Callable[[BundleDeployment], None]
    ) -> None:
        """`on_gone`: the API server says that it is gone, and no watch had."""
        self._client = client
        self._deployments = deployments
        self._on_gone = on_gone

    async def still_exists(self, deployment: BundleDeployment, *, is_doubtful: bool) -> bool:
        metadata = deployment.metadata
        if not is_doubtful and monotonic() - self._deployments.seen_at(metadata.name) < UNHEARD_OF_SECONDS:
            return True
        try:
            live = await self._client.get_metadata(BUNDLE_DEPLOYMENTS, "", metadata.name)
        except NotFoundError:
            live = None
        if live is None or live.uid != metadata.uid:
            self._on_gone(deployment)
            return False
        self._deployments.confirm(metadata.name)
        return not live.is_deleted
