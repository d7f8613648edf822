"""Once for each deployment: what a former release gave an owner reference, though the collector must not take it.

The finalizer comes first: without it, nothing would delete what has no owner reference. Suspended deployments are
converted, too, because they can be deleted like others. What was as it had been applied still is.
"""

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER
from rukpak_py.apply.annotated_ownership import annotate, has_former_form
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.lasting_kinds import holds_what_cannot_be_had_again
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.owner import Owner
from rukpak_py.apply.target import Target, run_bounded
from rukpak_py.controllers.deployment.kind_record import KindRecord
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.core.objects import GroupKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import KindNotServedError, NotFoundError, StaleError


class OwnershipForm:
    def __init__(self, client: Client, inventory: Inventory, kinds: Kinds, record: KindRecord) -> None:
        self._client = client
        self._inventory = inventory
        self._kinds = kinds
        self._record = record

    async def convert(self, deployment: BundleDeployment, state: DeploymentState) -> None:
        """What cannot be seen yet, or has changed since it was seen, is left to the next look."""
        if state.is_converted:
            return
        kinds = {GroupKind(kind.group, kind.kind) for kind in deployment.status.kinds}
        lasting = set(filter(holds_what_cannot_be_had_again, kinds))
        if lasting:
            self._inventory.watch((await self._kinds.owned(deployment)).served)
        if not all(map(self._inventory.is_listed, lasting)):
            return
        uid = deployment.metadata.uid
        former = [live for live in self._inventory.owned_by(uid).values() if has_former_form(live, uid)]
        try:
            if former and ORDERED_DELETION_FINALIZER not in deployment.metadata.finalizers:
                await self._record.add_finalizer(deployment)
            await run_bounded(lambda live: self._convert(deployment, state, live), former)
        except (NotFoundError, StaleError):
            return
        state.is_converted = True

    async def _convert(self, deployment: BundleDeployment, state: DeploymentState, live: ObservedObject) -> None:
        applied = state.applied
        target = Target(
            owner=Owner.of(deployment), last_applied=applied, resource_of=self._kinds.resource_of(), client=self._client
        )
        try:
            converted = self._inventory.observe(live.gvk, await annotate(target, live))
        except (NotFoundError, KindNotServedError):
            return
        if applied.fields.get(live.key) == live.fields and converted.is_annotated:
            applied.applied(converted)
