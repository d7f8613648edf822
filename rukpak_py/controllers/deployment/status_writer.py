"""Writes the status of deployments: at most once a second each, and never over what somebody else has written.

* The first change after a quiet second is written at once, later ones at the end of that second. The result of an
  installation waits up to a second for its first health, so that one write says both.
* No worker waits and no report is kept: the answer names the pause after which the key must come back, and the report
  is computed again. What is written last is therefore what is true last.
* The secret values of the deployment are taken out of every message (`hide`), before anything cuts it.
* A write is based on the newest version that this process knows, and names it: when somebody wrote the object meanwhile
  the server answers 409, nothing is lost, and the key comes back. So it does when a list that the report was made from
  has changed while it was made.
* A status that the server refuses for its size is replaced by the minimal one. The whole one is tried again when it
  says something else, or when somebody has changed the object.
"""

import dataclasses
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from time import monotonic
from typing import Any

from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionStatus, ConditionType, Reason
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.masks import Hide, as_it_is
from rukpak_py.controllers.deployment.minimal_status import minimal_status
from rukpak_py.controllers.deployment.state import StatusWrites
from rukpak_py.controllers.deployment.status import Report, status_of
from rukpak_py.controllers.deployment.transitions import transitions
from rukpak_py.controllers.events import EventNote
from rukpak_py.controllers.writes import WRITE_INTERVAL_SECONDS, is_too_large, write_status
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import InvalidError, NotFoundError, StaleError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

LOG = logging.getLogger(__name__)
FIRST_HEALTH_SECONDS = 1.0  # what an installation's result waits for health
STALE_SECONDS = 1.0  # the event that brings the newer version is usually faster
_MADE_FROM_THEMSELVES = ("history", "hooks")  # fields of a report; no writer of this process changes them meanwhile


class WriteResult(Enum):
    UNCHANGED = auto()  # there was nothing to write
    WRITTEN = auto()
    POSTPONED = auto()  # too soon: report again after the pause
    STALE = auto()  # somebody wrote the object meanwhile: read it again, and report again
    GONE = auto()  # the deployment was deleted, or is another one by now


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusWriteResult:
    """`pause`: seconds after which the key must come back, whatever else the reconcile has to say about that."""

    result: WriteResult
    events: tuple[EventNote, ...] = ()
    status: BundleDeploymentStatus | None = None  # after the write
    pause: float | None = None


class DeploymentStatusWriter:
    def __init__(
        self,
        *,
        client: Client,
        deployments: Cache[BundleDeployment],
        now: Callable[[], str],
        hide: Hide = as_it_is,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._hide = hide
        self._client = client
        self._deployments = deployments
        self._now = now
        self._clock = clock

    async def write(self, deployment: BundleDeployment, report: Report, writes: StatusWrites) -> StatusWriteResult:
        """Report on `deployment`, as it was looked at. `writes`: those of its status before."""
        latest = self._latest(deployment)
        if latest is None:
            return StatusWriteResult(result=WriteResult.GONE)
        if _is_outdated(report, deployment.status, latest.status):
            return StatusWriteResult(result=WriteResult.STALE, pause=STALE_SECONDS)
        before, after = latest.status, self._status(deployment, latest, report)
        if after == before or self._is_known_as_too_large(latest, after, writes):
            return StatusWriteResult(result=WriteResult.UNCHANGED)
        pause = self._pause(writes, before, after)
        if pause > 0:
            return StatusWriteResult(result=WriteResult.POSTPONED, pause=pause)
        try:
            written = await self._write(latest, after, deployment.metadata.generation)
        except NotFoundError:
            return StatusWriteResult(result=WriteResult.GONE)
        except StaleError:
            return StatusWriteResult(result=WriteResult.STALE, pause=STALE_SECONDS)
        writes.refused_in = written.metadata.resource_version if written.status != after else ""
        if written is latest:
            return StatusWriteResult(result=WriteResult.UNCHANGED)
        writes.written(self._clock())
        events = tuple(transitions(before, written.status))
        return StatusWriteResult(result=WriteResult.WRITTEN, events=events, status=written.status)

    async def record(self, deployment: BundleDeployment, report: Report) -> BundleDeployment:
        """The deployment with what must stand in its status before the next step; without it that step may not be.

        It does not count for the interval. NotFoundError, StaleError: the deployment is gone, or was changed.
        """
        latest = self._latest(deployment)
        if latest is None:
            latest = deployment  # the server has the last word
        after = self._status(deployment, latest, report)
        if after == latest.status:
            return latest
        return await self._write(latest, after, deployment.metadata.generation)

    async def record_fields(self, deployment: BundleDeployment, **fields: Any) -> None:
        """The same for what no condition tells."""
        latest = self._latest(deployment) or deployment
        after = replace(latest.status, **self._shown(deployment, fields))
        if after != latest.status:
            await self._write(latest, after, deployment.metadata.generation)

    def _latest(self, deployment: BundleDeployment) -> BundleDeployment | None:
        latest = self._deployments.get(deployment.metadata.name)
        return latest if latest is not None and latest.metadata.uid == deployment.metadata.uid else None

    def _status(self, looked_at: BundleDeployment, latest: BundleDeployment, report: Report) -> BundleDeploymentStatus:
        """About the spec that was looked at; based on the status as it is now."""
        uid = looked_at.metadata.uid
        shown = report.with_texts(lambda text: self._hide(uid, text))
        if report.fields is not None:
            shown = dataclasses.replace(shown, fields=self._shown(looked_at, report.fields))
        return status_of(replace(looked_at, status=latest.status), shown, self._now())

    def _shown(self, deployment: BundleDeployment, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Of the other fields only hooks hold text: why one failed. Names are what they are."""
        uid, hooks = deployment.metadata.uid, fields.get("hooks")
        if not hooks:
            return dict(fields)
        return {**fields, "hooks": tuple(replace(one, message=self._hide(uid, one.message)) for one in hooks)}

    def _is_known_as_too_large(
        self, latest: BundleDeployment, wanted: BundleDeploymentStatus, writes: StatusWrites
    ) -> bool:
        """The whole status was refused for its size; neither the object nor the minimal status has changed since."""
        if writes.refused_in != latest.metadata.resource_version:
            return False
        return self._minimal(latest, wanted, wanted.observed_generation) == latest.status

    async def _write(
        self, latest: BundleDeployment, wanted: BundleDeploymentStatus, generation: int
    ) -> BundleDeployment:
        """With the minimal status where the whole one is too large; `latest` itself when it has that already."""
        try:
            return await self._patch(latest, wanted)
        except InvalidError as error:
            if not is_too_large(error):
                raise
            LOG.warning("BundleDeployment/%s: the whole status is too large: %s", latest.metadata.name, error)
        small = self._minimal(latest, wanted, generation)
        return await self._patch(latest, small) if small != latest.status else latest

    def _minimal(
        self, latest: BundleDeployment, wanted: BundleDeploymentStatus, generation: int
    ) -> BundleDeploymentStatus:
        return minimal_status(latest.status, wanted, generation=generation, now=self._now())

    async def _patch(self, latest: BundleDeployment, status: BundleDeploymentStatus) -> BundleDeployment:
        metadata = await write_status(
            self._client, BUNDLE_DEPLOYMENTS, latest.metadata, latest.status, status, if_unchanged=True
        )
        written = replace(latest, metadata=metadata or latest.metadata, status=status)
        self._deployments.put(written)
        return written

    def _pause(self, writes: StatusWrites, before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> float:
        now, due = self._clock(), writes.written_at + WRITE_INTERVAL_SECONDS
        if awaits_first_health(before, after):
            due = max(due, writes.awaits_health(after.active_bundle, now) + FIRST_HEALTH_SECONDS)
        return due - now


def _is_outdated(report: Report, looked_at: BundleDeploymentStatus, latest: BundleDeploymentStatus) -> bool:
    """It would bring back a list as it was before somebody else wrote it: a former leader, for instance."""
    made = [name for name in _MADE_FROM_THEMSELVES if name in (report.fields or {})]
    return any(getattr(looked_at, name) != getattr(latest, name) for name in made)


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
