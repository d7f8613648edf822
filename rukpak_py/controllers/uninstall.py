"""Ordered deletion: custom resources, then the definitions, then the rest by owner references.

It is needed where content has definitions together with the workloads that serve them, or custom resources: the
collector knows no order, and instances would wait for ever for a controller that went first. Only such deployments have
our finalizer. While `orphan` stands in the finalizers nothing is deleted: the collector is stripping the references.
Each look deletes what can go now and says what it waits for; the watches bring it back.
"""

from collections.abc import Iterable, Sequence

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, ORDERED_DELETION_FINALIZER, Reason
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.live import Live
from rukpak_py.apply.memory import Memory
from rukpak_py.apply.order import Phase, is_builtin
from rukpak_py.apply.prune import prune
from rukpak_py.apply.results import Carried
from rukpak_py.controllers.deployment_status import Report
from rukpak_py.controllers.finalizers import remove_finalizer
from rukpak_py.controllers.kinds import BUNDLE_DEPLOYMENTS
from rukpak_py.controllers.outcome import DONE, again
from rukpak_py.controllers.ports import Recorder
from rukpak_py.controllers.step import Step
from rukpak_py.controllers.targets import Targets
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import CRDS

LOOK_AGAIN = 5.0  # seconds; instances of other origin are not in our watches
SYNC = 5.0
NAMED = 5  # instances that a message names


def needs_order(desired: Iterable[Desired]) -> bool:
    phases = {one.phase for one in desired}
    return Phase.CUSTOM_RESOURCES in phases or {Phase.CRDS, Phase.WORKLOADS} <= phases


class Uninstall:
    def __init__(
        self, *, client: Client, inventory: Inventory, discovery: Discovery, targets: Targets, events: Recorder
    ) -> None:
        self._client = client
        self._inventory = inventory
        self._discovery = discovery
        self._targets = targets
        self._events = events

    async def carry_on(self, deployment: BundleDeployment) -> Step:
        metadata = deployment.metadata
        if ORDERED_DELETION_FINALIZER not in metadata.finalizers or "orphan" in metadata.finalizers:
            return Step(outcome=DONE)
        resources = self._targets.resources(deployment)
        self._inventory.watch(resources)
        if not await self._inventory.wait_synced((resource.group_kind for resource in resources), SYNC):
            return Step(outcome=again(1.0))
        if "foregroundDeletion" in metadata.finalizers:
            text = "foreground deletion lets the collector act at once: the order of deletion cannot be kept"
            self._events.warning(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, "OrderNotKept", text)
        ours = [one for one in self._inventory.owned_by(metadata.uid).values() if not one.outlives]
        instances = [one for one in ours if not is_builtin(one.key.group)]
        if instances:
            return await self._delete(deployment, instances, "custom resources")
        definitions = [one for one in ours if one.gvk.group_kind == CRDS.group_kind]
        if definitions:
            return await self._delete(deployment, definitions, "definitions", await self._left(definitions))
        await remove_finalizer(self._client, BUNDLE_DEPLOYMENTS, metadata, ORDERED_DELETION_FINALIZER)
        return Step(outcome=DONE)

    async def _delete(self, deployment: BundleDeployment, lives: Sequence[Live], what: str, detail: str = "") -> Step:
        carried = Carried()
        target = self._targets.target(deployment, Memory())
        await prune(self._client, target, sorted(lives, key=lambda live: live.key), carried)
        waiting = ", ".join(str(live.key) for live in lives[:NAMED])
        text = f"Deleting: waiting for {len(lives)} {what} to go: {waiting}{detail}"
        if carried.failures:
            text += "; " + " && ".join(failure.message for failure in carried.failures)
        report = Report(summary=Summary.PROGRESSING, reason=Reason.DELETING, message=text)
        return Step(outcome=again(LOOK_AGAIN), report=report)

    async def _left(self, definitions: Sequence[Live]) -> str:
        """The instances, of any origin, that still hold a definition that is being deleted."""
        text = ""
        for definition in definitions:
            found = [
                resource
                for resource in self._discovery.served.resources.values()
                if f"{resource.plural}.{resource.gvk.group}" == definition.key.name
            ]
            if not found or not definition.is_deleted:
                continue
            try:
                instances = (await self._client.list_metadata(found[0])).items
            except ApiError:
                continue
            if instances:
                names = ", ".join(str(one.key) for one in instances[:NAMED])
                text += f"; {len(instances)} {found[0].gvk.kind} left: {names}"
        return text
