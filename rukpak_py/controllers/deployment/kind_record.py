"""What stands in the status before the first write of a rendering: the kinds that are about to be used, and whether it
has hooks for its deletion.

Whatever happens to this process, the next one knows where to look for what the deployment owns. Where deletion needs an
order, the finalizer is written first, too.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, InstalledKind
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.order import ApplyPhase
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.result.progress import StatusChange
from rukpak_py.controllers.writes import add_finalizer
from rukpak_py.formats.hook import Hook, has_delete_hooks
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS


def needs_order(desired: Iterable[Desired], hooks: Iterable[Hook] = ()) -> bool:
    """Instances would wait for ever for a controller that went before them; hooks of the deletion are to be run; and
    what has no owner reference is deleted by us alone.
    """
    desired = tuple(desired)
    phases = {one.phase for one in desired}
    return (
        ApplyPhase.CUSTOM_RESOURCES in phases
        or {ApplyPhase.CRDS, ApplyPhase.WORKLOADS} <= phases
        or has_delete_hooks(hooks)
        or any(one.payload != one.payload_when_taken for one in desired)
    )


class KindRecord:
    def __init__(self, client: Client, deployments: Cache[BundleDeployment], writer: DeploymentStatusWriter) -> None:
        self._client = client
        self._deployments = deployments
        self._writer = writer

    async def record(
        self, deployment: BundleDeployment, desired: tuple[Desired, ...], hooks: tuple[Hook, ...] = ()
    ) -> None:
        """NotFoundError, StaleError: the deployment went or was changed, and nothing may be written for it."""
        if needs_order(desired, hooks) and ORDERED_DELETION_FINALIZER not in deployment.metadata.finalizers:
            deployment = await self.add_finalizer(deployment)
        known = {(kind.group, kind.kind): kind for kind in deployment.status.kinds}
        used = {one.head.gvk.group_kind: one.head.gvk for one in desired}
        delete_hooks = deployment.status.delete_hooks or has_delete_hooks(hooks)
        if used.keys() <= known.keys() and delete_hooks == deployment.status.delete_hooks:
            return
        kinds = {
            (gvk.group, gvk.kind): InstalledKind(group=gvk.group, version=gvk.version, kind=gvk.kind)
            for gvk in used.values()
        } | known
        change = StatusChange(kinds=tuple(kind for _, kind in sorted(kinds.items())), delete_hooks=delete_hooks)
        await self._writer.record(deployment, change, ready=messages.applying(len(desired)))

    async def add_finalizer(self, deployment: BundleDeployment) -> BundleDeployment:
        metadata = await add_finalizer(
            self._client, BUNDLE_DEPLOYMENTS, deployment.metadata, ORDERED_DELETION_FINALIZER
        )
        changed = replace(deployment, metadata=metadata)
        if metadata.generation == deployment.metadata.generation:
            self._deployments.put(changed)
        return changed
