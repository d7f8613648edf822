"""The life of a BundleInstance: a BundleDeployment of its name that it owns, and what that says as its own status.

* Whatever is installed, corrected and pruned is the BundleDeployment's work; nothing of it is repeated here.
* Deletion is the collector's: the BundleDeployment goes by its owner reference, and stays with `--cascade=orphan`.
* A class that changes away is mirrored too: the BundleDeployment then says that nobody serves it.
"""

from collections.abc import Collection

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance, BundleInstanceStatus
from rukpak_py.api.conditions import summary_of
from rukpak_py.api.names import BUNDLE_INSTANCE_KIND
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.events import emit
from rukpak_py.controllers.instance import status as statuses
from rukpak_py.controllers.instance.child_deployment import ChildDeployment
from rukpak_py.controllers.instance.ownership import is_ours
from rukpak_py.controllers.instance.status_writer import InstanceStatusWriter
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, again, retry, retry_unless_stalled
from rukpak_py.controllers.ports import Recorder
from rukpak_py.core.errors import RukPakError
from rukpak_py.kube.errors import StaleError


class InstanceReconciler:
    def __init__(
        self,
        *,
        instances: Cache[BundleInstance],
        deployments: Cache[BundleDeployment],
        child: ChildDeployment,
        writer: InstanceStatusWriter,
        events: Recorder,
        classes: Collection[str],
    ) -> None:
        self._instances = instances
        self._deployments = deployments
        self._child = child
        self._writer = writer
        self._events = events
        self._classes = classes

    async def reconcile(self, name: str) -> Outcome:
        instance = self._instances.get(name)
        if instance is None:
            return DONE
        known = self._deployments.get(name)
        if instance.metadata.is_deleted:
            return await self._copy(instance, known) if known is not None and is_ours(known, instance) else DONE
        if instance.spec.provisioner_class not in self._classes and not is_ours(known, instance):
            return DONE
        try:
            deployment = await self._child.deployment_of(instance)
        except StaleError:
            return retry()
        except RukPakError as error:
            return await self._report(instance, error)
        return await self._copy(instance, deployment) if deployment is not None else WAIT

    def gone(self, instance: BundleInstance) -> None:
        self._writer.forget(instance.metadata.uid)
        self._child.forget(instance.metadata.uid)

    async def _copy(self, instance: BundleInstance, deployment: BundleDeployment) -> Outcome:
        status = statuses.copied(instance, deployment)
        return await self._write(instance, status, DONE) if status is not None else WAIT

    async def _report(self, instance: BundleInstance, error: RukPakError) -> Outcome:
        summary, _ = summary_of(error)
        outcome = retry_unless_stalled(summary, error.retry_after)
        return await self._write(instance, statuses.failed(instance, error, self._writer.now()), outcome)

    async def _write(self, instance: BundleInstance, status: BundleInstanceStatus, outcome: Outcome) -> Outcome:
        pause = await self._writer.write(instance, status)
        if pause is not None:
            return again(min(pause, outcome.after or pause))
        emit(
            self._events,
            BUNDLE_INSTANCE_KIND,
            instance.metadata,
            statuses.conflict_event(instance.status, status),
        )
        return outcome
