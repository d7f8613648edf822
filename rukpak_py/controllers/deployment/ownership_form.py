"""Conversion of objects that the collector must not delete, though a former release gave them an owner reference.

It happens once for each deployment. The finalizer comes first: without it, nothing would delete objects without an
owner reference. Suspended deployments are converted, too, because they can be deleted like others. What was as it had
been applied still is.
"""

import logging

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER, Reason
from rukpak_py.apply.annotated_ownership import annotate, has_former_form
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.marks import holds_what_cannot_be_had_again
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.kinds import Kinds, recorded_kinds
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.core.errors import AccessError
from rukpak_py.core.logs import LASTING
from rukpak_py.kube.errors import InvalidError, KindNotServedError, NotFoundError, StaleError
from rukpak_py.kube.pace import run_bounded

LOG = logging.getLogger(__name__)


class OwnershipForm:
    def __init__(self, inventory: Inventory, kinds: Kinds) -> None:
        self._inventory = inventory
        self._kinds = kinds

    async def convert(self, deployment: BundleDeployment, state: DeploymentState) -> None:
        """Convert the objects. One that cannot be seen yet, or has changed since it was seen, is left to the next look.

        An object whose change is denied keeps its owner reference until the next start; nothing else waits for it.
        """
        uid = deployment.metadata.uid
        lives = [
            one
            for one in self._inventory.owned_by(uid).values()
            if holds_what_cannot_be_had_again(one.gvk.group_kind) and one.is_proven_of(uid) and not one.outlives
        ]
        try:
            if lives and ORDERED_DELETION_FINALIZER not in deployment.metadata.finalizers:
                await self._kinds.add_finalizer(deployment)  # also where a client has replaced the deployment without
            if not state.is_converted and await self._is_seen(deployment):
                await run_bounded(
                    lambda live: self._convert(deployment, state, live),
                    [one for one in lives if has_former_form(one, uid)],
                )
                state.is_converted = True
        except (NotFoundError, StaleError):
            return

    async def _is_seen(self, deployment: BundleDeployment) -> bool:
        lasting = set(filter(holds_what_cannot_be_had_again, recorded_kinds(deployment)))
        if lasting:
            await self._kinds.watch_owned(deployment)
        return all(map(self._inventory.is_listed, lasting))

    async def _convert(self, deployment: BundleDeployment, state: DeploymentState, live: ObservedObject) -> None:
        applied = state.applied
        try:
            metadata = await annotate(self._kinds.target_of(deployment, applied), live)
            converted = self._inventory.observe(live.gvk, metadata)
        except (NotFoundError, KindNotServedError):
            return
        except (AccessError, InvalidError) as error:
            said = f"{live.key} keeps its owner reference, and goes with its deployment unasked: {error}"
            LASTING.tell(LOG, logging.WARNING, Reason.ACCESS_DENIED, said)
            return
        if applied.fields.get(live.key) == live.fields and converted.is_annotated:
            applied.applied(converted)
