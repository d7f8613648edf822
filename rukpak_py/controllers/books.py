"""What is written down and asked about a deployment: its status, the kinds it uses, whether it still exists."""

from collections.abc import Callable
from time import monotonic

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, InstalledKind
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER, Reason
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment_status import Report, status_of
from rukpak_py.controllers.finalizers import add_finalizer
from rukpak_py.controllers.kinds import BUNDLE_DEPLOYMENTS
from rukpak_py.controllers.rendering import Wanted
from rukpak_py.controllers.status_write import write_status
from rukpak_py.controllers.uninstall import needs_order
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError

SILENCE = 600.0  # seconds without an event after which a deployment is looked at before anything is created for it


class Books:
    def __init__(
        self,
        *,
        client: Client,
        deployments: Cache[BundleDeployment],
        want_content: Callable[[Bundle], None],
        forget: Callable[[BundleDeployment], None],
        now: Callable[[], str],
    ) -> None:
        self._client = client
        self._deployments = deployments
        self._forget = forget
        self._now = now
        self.want_content = want_content

    async def still_exists(self, deployment: BundleDeployment, *, is_suspicious: bool) -> bool:
        """An object with a stale owner uid would be collected at once, and created again, for ever."""
        metadata = deployment.metadata
        if not is_suspicious and monotonic() - self._deployments.seen_at(metadata.name) < SILENCE:
            return True
        try:
            live = await self._client.get_metadata(BUNDLE_DEPLOYMENTS, "", metadata.name)
        except NotFoundError:
            live = None
        if live is None or live.uid != metadata.uid:
            self._forget(deployment)
            return False
        self._deployments.confirm(metadata.name)
        return not live.is_deleted

    async def record_kinds(self, deployment: BundleDeployment, wanted: Wanted) -> BundleDeployment:
        """Before the first write: the kinds that are about to be used, and the finalizer where deletion needs order."""
        if needs_order(wanted.desired) and ORDERED_DELETION_FINALIZER not in deployment.metadata.finalizers:
            deployment = await self._add_finalizer(deployment)
        known = {(kind.group, kind.kind): kind for kind in deployment.status.kinds}
        used = {one.head.gvk.group_kind: one.head.gvk for one in wanted.desired}
        if used.keys() <= known.keys():
            return deployment
        kinds = {
            (gvk.group, gvk.kind): InstalledKind(group=gvk.group, version=gvk.version, kind=gvk.kind)
            for gvk in used.values()
        } | known
        report = Report(
            summary=Summary.PROGRESSING,
            reason=Reason.PROGRESSING,
            message=f"Applying {len(wanted.desired)} object(s)",
            fields={"kinds": tuple(kind for _, kind in sorted(kinds.items()))},
        )
        await self._write(deployment, report)  # a deployment that is gone ends it here: nothing may be created for it
        return self._deployments.get(deployment.metadata.name) or deployment

    async def write(self, deployment: BundleDeployment, report: Report) -> BundleDeploymentStatus | None:
        """The status after the report; None when it is as it was, or the deployment is gone."""
        try:
            return await self._write(deployment, report)
        except (NotFoundError, StaleError):
            return None  # its event is on the way

    async def _write(self, deployment: BundleDeployment, report: Report) -> BundleDeploymentStatus | None:
        status = status_of(deployment, report, self._now())
        metadata = await write_status(self._client, BUNDLE_DEPLOYMENTS, deployment.metadata, deployment.status, status)
        if metadata is None:
            return None
        if metadata.generation == deployment.metadata.generation:
            self._deployments.put(replace(deployment, metadata=metadata, status=status))
        return status

    async def _add_finalizer(self, deployment: BundleDeployment) -> BundleDeployment:
        metadata = await add_finalizer(
            self._client, BUNDLE_DEPLOYMENTS, deployment.metadata, ORDERED_DELETION_FINALIZER
        )
        changed = replace(deployment, metadata=metadata)
        if metadata.generation == deployment.metadata.generation:
            self._deployments.put(changed)
        return changed
