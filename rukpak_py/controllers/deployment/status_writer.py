"""The status writer of deployments: what must stand in a status before the next step is recorded through it, too.

* The secret values of the deployment are taken out of every message (`hide`), before anything cuts it.
* A write is based on the newest version that this process knows, and names it. The key comes back, too, when a list
  that the conclusion was drawn from has changed while it was made.
* The result of an installation awaits its first health.
"""

import logging
from collections.abc import Callable
from time import monotonic

from msgspec import UNSET
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionStatus, ConditionType, Reason
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.facts import key_facts
from rukpak_py.controllers.deployment.secret_mask import Hide, as_it_is
from rukpak_py.controllers.result.changes import changed, recorded, shortened
from rukpak_py.controllers.result.conclusion import Clock, read_clock
from rukpak_py.controllers.result.progress import StatusChange
from rukpak_py.controllers.writes import StatusWriter, is_too_large
from rukpak_py.core.logs import LASTING
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import InvalidError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

LOG = logging.getLogger(__name__)


class DeploymentStatusWriter(StatusWriter[BundleDeployment]):
    def __init__(
        self,
        *,
        client: Client,
        deployments: Cache[BundleDeployment],
        hide: Hide = as_it_is,
        clock: Callable[[], Clock] = read_clock,
        pace: Callable[[], float] = monotonic,
    ) -> None:
        awaits = awaits_first_health
        super().__init__(client, BUNDLE_DEPLOYMENTS, deployments, if_unchanged=True, awaits=awaits, pace=pace)
        self._hide = hide
        self._clock = clock

    async def record(
        self, deployment: BundleDeployment, change: StatusChange, *, ready: str, is_request_open: bool = False
    ) -> BundleDeployment:
        """The deployment with what must stand in its status before the next step; without it that step may not be.

        `ready`: what Ready says meanwhile. It does not count for the interval. NotFoundError, StaleError: the
        deployment is gone, or was changed.
        """
        latest = self.latest(deployment) or deployment  # the server has the last word
        after = recorded(
            latest.status,
            change,
            key_facts(deployment),
            self._clock(),
            ready=ready,
            is_request_open=is_request_open,
            hide=self._masked(deployment),
        )
        return await self._recorded(latest, after)

    async def record_fields(self, deployment: BundleDeployment, change: StatusChange) -> None:
        """The same for what no condition tells."""
        latest = self.latest(deployment) or deployment
        await self._recorded(latest, changed(latest.status, change, self._masked(deployment)))

    def _masked(self, deployment: BundleDeployment) -> Callable[[str], str]:
        return lambda text: self._hide(deployment.metadata.uid, text)

    async def _recorded(self, latest: BundleDeployment, after: BundleDeploymentStatus) -> BundleDeployment:
        """A short one where the whole status is too large for its object; what the next step needs is in it."""
        if after == latest.status:
            return latest
        try:
            return await self.patch(latest, after)
        except InvalidError as error:
            if not is_too_large(error):
                raise
            text = f"the whole status is too large: {error}"
            LASTING.tell(LOG, logging.WARNING, Reason.STATUS_TOO_LARGE, text)
        return await self.patch(latest, replace(shortened(after), notes=after.notes))


def is_outdated(change: StatusChange, looked_at: BundleDeploymentStatus, latest: BundleDeploymentStatus) -> bool:
    """Whether the change would undo the write of a list by another client: a former leader, for instance."""
    is_of_history = change.installed is not UNSET and looked_at.history != latest.history
    return is_of_history or (change.hooks is not UNSET and looked_at.hooks != latest.hooks)


def awaits_first_health(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> str:
    """The Bundle whose content was just installed: its objects are on their way, and most arrive in a moment."""
    healthy = find_condition(after.conditions, ConditionType.HEALTHY)
    ready = find_condition(after.conditions, ConditionType.READY)
    is_awaited = (
        after.active_bundle != before.active_bundle
        and healthy is not None
        and healthy.reason == Reason.UNHEALTHY
        and ready is not None
        and ready.status == ConditionStatus.UNKNOWN
    )
    return after.active_bundle if is_awaited else ""
