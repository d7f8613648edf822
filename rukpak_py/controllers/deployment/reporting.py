"""Conclusion of a reconcile: the status, the Events, what brings the key back, and when."""

import dataclasses
from collections.abc import Callable

from msgspec import UNSET

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.names import REFRESH_AT_ANNOTATION
from rukpak_py.api.template_hash import bundle_name
from rukpak_py.controllers.deployment.facts import key_facts
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter, is_outdated
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.events import Recorder
from rukpak_py.controllers.queue import SETTLED, Schedule, Turn
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import Clock, Conclusion, read_clock
from rukpak_py.controllers.result.deployment_details import STATUS_TOO_LARGE
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Reached, StatusChange
from rukpak_py.controllers.writes import STALE_SECONDS, WriteResult

_TOO_LARGE = Progress(facts=(Fact(cause=Cause.STATUS_TOO_LARGE, detail=STATUS_TOO_LARGE),))


Conclude = Callable[[Progress], Conclusion[BundleDeploymentStatus]]  # with these facts about the installed content


class Reporting:
    def __init__(
        self,
        writer: DeploymentStatusWriter,
        waiting: WaitingDeployments,
        events: Recorder,
        *,
        clock: Callable[[], Clock] = read_clock,
    ) -> None:
        self._writer = writer
        self._waiting = waiting
        self._events = events
        self._clock = clock

    async def report(
        self,
        deployment: BundleDeployment,
        state: DeploymentState,
        turn: Turn,
        *,
        wanted: Progress = NO_PROGRESS,
        installed: Progress = NO_PROGRESS,
    ) -> Schedule:
        """Write the status when it says something new, and emit what has happened and its transitions as Events."""
        latest = self._writer.latest(deployment)
        if latest is None or Reached.GONE in {wanted.reached, installed.reached}:
            return SETTLED
        wanted += state.verdict.progress
        name = bundle_name(deployment.metadata.name, state.template_hash(deployment))
        wanted += _without_pending(latest.status, name, wanted)
        clock = self._clock()
        state.quiet.found((*wanted.facts, *installed.facts), clock.loop)
        key = key_facts(deployment, bundle=name, turn=turn)
        timed, before = (_timed(wanted, state), _timed(installed, state)), latest.status

        def concluded(also: Progress) -> Conclusion[BundleDeploymentStatus]:
            return conclude(before, timed[0], timed[1] + also, key, clock, hide=state.mask.hide)

        conclusion = concluded(NO_PROGRESS)
        if not state.has_ended:
            self._waiting.note(deployment.metadata.uid, deployment.metadata.name, conclusion.wakes)
        self._events.about(deployment).emit(conclusion.happened)
        changes = (wanted.change, installed.change)
        if any(is_outdated(change, deployment.status, latest.status) for change in changes):
            return _soon(conclusion.schedule, clock, STALE_SECONDS)
        return await self._written(latest, state, concluded, conclusion, clock)

    async def with_refresh(self, deployment: BundleDeployment) -> BundleDeployment:
        """Record a requested refresh in the status: after that another Bundle is wanted, whatever happens."""
        asked = deployment.metadata.annotations.get(REFRESH_AT_ANNOTATION, "")
        if asked in {"", deployment.status.last_handled_refresh_at}:
            return deployment
        change = StatusChange(last_handled_refresh_at=asked)
        return await self._writer.record(
            deployment, change, ready="Fetching what the source has now, in another Bundle", is_request_open=True
        )

    async def _written(
        self,
        latest: BundleDeployment,
        state: DeploymentState,
        concluded: Conclude,
        conclusion: Conclusion[BundleDeploymentStatus],
        clock: Clock,
    ) -> Schedule:
        """A short status in the place of one that is too large for its object, until it says something else, or another
        client has changed the object.
        """
        writes = state.status_writes
        if latest.metadata.resource_version == writes.refused_in:
            short = concluded(_TOO_LARGE)
            if short.status == latest.status:
                return short.schedule
        written = await self._writer.write(latest, conclusion.status, writes)
        is_too_large = written.result is WriteResult.TOO_LARGE
        if is_too_large:
            conclusion = concluded(_TOO_LARGE)
            written = await self._writer.write(latest, conclusion.status, writes)
            if written.error is not None:
                raise written.error  # there is no room for that either
        match written.result:
            case WriteResult.GONE:
                return SETTLED
            case WriteResult.POSTPONED | WriteResult.STALE:
                return _soon(conclusion.schedule, clock, written.pause or 0.0)
            case WriteResult.WRITTEN:
                self._events.about(latest).emit(conclusion.events)
            case WriteResult.UNCHANGED | WriteResult.TOO_LARGE:
                pass
        now = self._writer.latest(latest)
        writes.refused_in = now.metadata.resource_version if is_too_large and now is not None else ""
        return conclusion.schedule


def _without_pending(status: BundleDeploymentStatus, bundle: str, wanted: Progress) -> Progress:
    """Drop the upgrade that waits where the template asks for another Bundle: an approval of it counts no more."""
    pending = status.pending_upgrade
    if pending is None or pending.bundle == bundle or wanted.change.pending_upgrade is not UNSET:
        return NO_PROGRESS
    return Progress(change=StatusChange(pending_upgrade=None))


def _timed(progress: Progress, state: DeploymentState) -> Progress:
    """Facts that are quiet at first are in no status yet: this process counts since when they last."""
    facts = (
        dataclasses.replace(fact, since=state.quiet.since(fact.cause))
        if fact.row.quiet and fact.since is None
        else fact
        for fact in progress.facts
    )
    return dataclasses.replace(progress, facts=tuple(facts))


def _soon(schedule: Schedule, clock: Clock, pause: float) -> Schedule:
    """Schedule with a look after the pause: the conclusion is drawn anew then."""
    due = clock.loop + pause
    return dataclasses.replace(schedule, report_at=min(due, schedule.report_at or due))
