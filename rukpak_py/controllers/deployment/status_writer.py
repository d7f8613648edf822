"""Writes the status of deployments: at most once a second each, and never over what another client has written.

* The first change after a quiet second is written at once, later ones at the end of that second. The result of an
  installation waits up to a second for its first health, so that one write says both.
* No worker waits and no conclusion is kept: the answer names the pause after which the key must come back, and the
  conclusion is drawn again. What is written last is therefore what is true last.
* The secret values of the deployment are taken out of every message (`hide`), before anything cuts it.
* A write is based on the newest version that this process knows, and names it: when another client wrote the object
  meanwhile the server answers 409, nothing is lost, and the key comes back. So it does when a list that the conclusion
  was drawn from has changed while it was made.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from time import monotonic

from msgspec import UNSET
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionStatus, ConditionType, Reason
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.key_facts import key_facts
from rukpak_py.controllers.deployment.masks import Hide, as_it_is
from rukpak_py.controllers.deployment.state import StatusWrites
from rukpak_py.controllers.result.changes import Step, changed, recorded, shortened
from rukpak_py.controllers.result.conclusion import Clock, read_clock
from rukpak_py.controllers.result.progress import StatusChange
from rukpak_py.controllers.writes import WRITE_INTERVAL_SECONDS, is_too_large, write_status
from rukpak_py.core.errors import RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import InvalidError, NotFoundError, StaleError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

LOG = logging.getLogger(__name__)
FIRST_HEALTH_SECONDS = 1.0  # what an installation's result waits for health
STALE_SECONDS = 1.0  # the event that brings the newer version is usually faster


class WriteResult(Enum):
    UNCHANGED = auto()  # there was nothing to write
    WRITTEN = auto()
    POSTPONED = auto()  # too soon: conclude again after the pause
    STALE = auto()  # another client wrote the object meanwhile: read it again, and conclude again
    TOO_LARGE = auto()  # with it the object is larger than the server takes
    GONE = auto()  # the deployment was deleted, or is another one by now


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusWriteResult:
    """`pause`: seconds after which the key must come back, whatever else the reconcile has to say about that.

    `error`: why it is too large.
    """

    result: WriteResult
    pause: float | None = None
    error: RukPakError | None = None


class DeploymentStatusWriter:
    def __init__(
        self,
        *,
        client: Client,
        deployments: Cache[BundleDeployment],
        hide: Hide = as_it_is,
        clock: Callable[[], Clock] = read_clock,
        pace: Callable[[], float] = monotonic,
    ) -> None:
        self._hide = hide
        self._client = client
        self._deployments = deployments
        self._clock = clock
        self._pace = pace

    def latest(self, deployment: BundleDeployment) -> BundleDeployment | None:
        """As this process knows it now. None: it is gone, or another one by now."""
        latest = self._deployments.get(deployment.metadata.name)
        return latest if latest is not None and latest.metadata.uid == deployment.metadata.uid else None

    async def write(
        self, latest: BundleDeployment, status: BundleDeploymentStatus, writes: StatusWrites
    ) -> StatusWriteResult:
        """In the place of the status that `latest` has."""
        if status == latest.status:
            return StatusWriteResult(result=WriteResult.UNCHANGED)
        pause = self._pause(writes, latest.status, status)
        if pause > 0:
            return StatusWriteResult(result=WriteResult.POSTPONED, pause=pause)
        try:
            await self._patch(latest, status)
        except NotFoundError:
            return StatusWriteResult(result=WriteResult.GONE)
        except StaleError:
            return StatusWriteResult(result=WriteResult.STALE, pause=STALE_SECONDS)
        except InvalidError as error:
            if not is_too_large(error):
                raise
            LOG.warning("BundleDeployment/%s: the status is too large: %s", latest.metadata.name, error)
            return StatusWriteResult(result=WriteResult.TOO_LARGE, error=error)
        writes.written(self._pace())
        return StatusWriteResult(result=WriteResult.WRITTEN)

    async def record(
        self, deployment: BundleDeployment, change: StatusChange, *, ready: str, is_request_open: bool = False
    ) -> BundleDeployment:
        """The deployment with what must stand in its status before the next step; without it that step may not be.

        `ready`: what Ready says meanwhile. It does not count for the interval. NotFoundError, StaleError: the
        deployment is gone, or was changed.
        """
        latest = self.latest(deployment) or deployment  # the server has the last word
        step = Step(change=change, ready=ready, is_request_open=is_request_open)
        after = recorded(latest.status, step, key_facts(deployment), self._clock(), hide=self._masked(deployment))
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
            return await self._patch(latest, after)
        except InvalidError as error:
            if not is_too_large(error):
                raise
            LOG.warning("BundleDeployment/%s: the whole status is too large: %s", latest.metadata.name, error)
        return await self._patch(latest, replace(shortened(after), notes=after.notes))

    async def _patch(self, latest: BundleDeployment, status: BundleDeploymentStatus) -> BundleDeployment:
        metadata = await write_status(
            self._client, BUNDLE_DEPLOYMENTS, latest.metadata, latest.status, status, if_unchanged=True
        )
        written = replace(latest, metadata=metadata or latest.metadata, status=status)
        self._deployments.put(written)
        return written

    def _pause(self, writes: StatusWrites, before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> float:
        now, due = self._pace(), writes.written_at + WRITE_INTERVAL_SECONDS
        if awaits_first_health(before, after):
            due = max(due, writes.awaits_health(after.active_bundle, now) + FIRST_HEALTH_SECONDS)
        return due - now


def is_outdated(change: StatusChange, looked_at: BundleDeploymentStatus, latest: BundleDeploymentStatus) -> bool:
    """It would bring back a list as it was before another client wrote it: a former leader, for instance."""
    is_of_history = change.installed is not UNSET and looked_at.history != latest.history
    return is_of_history or (change.hooks is not UNSET and looked_at.hooks != latest.hooks)


def awaits_first_health(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> bool:
    """Content was just installed and its objects are on their way: most of them arrive in a moment."""
    healthy = find_condition(after.conditions, ConditionType.HEALTHY)
    ready = find_condition(after.conditions, ConditionType.READY)
    return (
        after.active_bundle != before.active_bundle
        and healthy is not None
        and healthy.reason == Reason.UNHEALTHY
        and ready is not None
        and ready.status == ConditionStatus.UNKNOWN
    )
