"""What a reconcile has to say: the status, the Events of its transitions, and what brings the key back."""

from collections.abc import Collection
from dataclasses import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, ConditionStatus
from rukpak_py.controllers.deployment.stage import StageResult
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status import ConditionValue, not_served, validity
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter, WriteResult
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.events import emit
from rukpak_py.controllers.outcome import DONE, Outcome, again
from rukpak_py.controllers.ports import Recorder


class Reporting:
    def __init__(
        self,
        writer: DeploymentStatusWriter,
        waiting: WaitingDeployments,
        events: Recorder,
        *,
        classes: Collection[str],
    ) -> None:
        self._writer = writer
        self._waiting = waiting
        self._events = events
        self._classes = classes

    def serves(self, deployment: BundleDeployment) -> bool:
        return deployment.spec.provisioner_class in self._classes

    def validity(self, bundle: Bundle) -> ConditionValue:
        """Whether the wanted Bundle is there; a class that nobody here unpacks is named."""
        valid = validity(bundle)
        if valid.status is not ConditionStatus.UNKNOWN or bundle.spec.provisioner_class in self._classes:
            return valid
        text = f'{valid.message}; this operator does not serve its class "{bundle.spec.provisioner_class_name}"'
        return replace(valid, message=text)

    async def not_served(self, deployment: BundleDeployment, state: DeploymentState) -> Outcome:
        """Its class is somebody else's by now: said once."""
        report = not_served(deployment, self._classes)
        return await self.report(deployment, state, StageResult(outcome=DONE, report=report))

    async def report(
        self,
        deployment: BundleDeployment,
        state: DeploymentState,
        result: StageResult,
        *,
        valid: ConditionValue | None = None,
    ) -> Outcome:
        """Write the status when it says something new, and emit its transitions as Events."""
        if not state.has_ended:
            self._waiting.note(deployment.metadata.uid, deployment.metadata.name, result.waits_for)
        report = result.report
        if report is None or result.is_gone:
            return result.outcome
        if report.valid is None:
            report = replace(report, valid=valid)
        written = await self._writer.write(deployment, report, state.status_writes)
        emit(self._events, BUNDLE_DEPLOYMENT_KIND, deployment.metadata, written.events)
        if written.result is WriteResult.GONE:
            return DONE
        if written.pause is None:
            return result.outcome
        # Soon, whatever the back-off says: the report is made anew then.
        return again(min(written.pause, result.outcome.after or written.pause))
