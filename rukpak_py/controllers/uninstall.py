"""Ordered deletion: custom resources, then the definitions, then the rest by owner references.

It is needed where content has definitions together with the workloads that serve them, or custom resources: the
collector knows no order, and instances would wait for ever for a controller that went first. Only such deployments have
our finalizer. Each look deletes what can go now and says what it waits for; the watches bring it back.

Nothing is deleted of a deployment whose finalizers ever showed `orphan`. The collector strips the references and takes
that finalizer away; of kinds younger than its last look for kinds (30 s) it knows nothing: the rest is ours to strip.
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
from rukpak_py.apply.prune import orphan, prune
from rukpak_py.apply.results import Carried
from rukpak_py.apply.target import at_once
from rukpak_py.controllers.deployment_status import Report
from rukpak_py.controllers.finalizers import remove_finalizer
from rukpak_py.controllers.kinds import BUNDLE_DEPLOYMENTS
from rukpak_py.controllers.outcome import DONE, again, retry
from rukpak_py.controllers.ports import Recorder
from rukpak_py.controllers.step import Step
from rukpak_py.controllers.targets import Targets
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import CRDS

LOOK_AGAIN = 5.0  # seconds; instances of other origin are not in our watches
SYNC = 5.0
ORPHAN = "orphan"  # the collector's finalizer
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
        self._orphaning: set[str] = set()  # uids

    def seen(self, deployment: BundleDeployment) -> None:
        """Every event of every deployment: the collector may need less time than we do."""
        if deployment.metadata.is_deleted and ORPHAN in deployment.metadata.finalizers:
            self._orphaning.add(deployment.metadata.uid)

    def gone(self, deployment: BundleDeployment) -> None:
        self._orphaning.discard(deployment.metadata.uid)

    async def carry_on(self, deployment: BundleDeployment) -> Step:
        metadata = deployment.metadata
        if ORDERED_DELETION_FINALIZER not in metadata.finalizers or ORPHAN in metadata.finalizers:
            return Step(outcome=DONE)
        resources = self._targets.resources(deployment)
        self._inventory.watch(resources)
        if not await self._inventory.wait_synced((resource.group_kind for resource in resources), SYNC):
            return Step(outcome=again(1.0))
        if "foregroundDeletion" in metadata.finalizers:
            text = "foreground deletion lets the collector act at once: the order of deletion cannot be kept"
            self._events.warning(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, "OrderNotKept", text)
        ours = [one for one in self._inventory.owned_by(metadata.uid).values() if not one.outlives]
        if metadata.uid in self._orphaning:
            return await self._orphan(deployment, ours)
        instances = [one for one in ours if not is_builtin(one.key.group)]
        if instances:
            return await self._delete(deployment, instances, "custom resources")
        definitions = [one for one in ours if one.gvk.group_kind == CRDS.group_kind]
        if definitions:
            return await self._delete(deployment, definitions, "definitions", await self._left(definitions))
        return await self._end(deployment)

    async def _end(self, deployment: BundleDeployment) -> Step:
        await remove_finalizer(self._client, BUNDLE_DEPLOYMENTS, deployment.metadata, ORDERED_DELETION_FINALIZER)
        return Step(outcome=DONE)

    async def _orphan(self, deployment: BundleDeployment, lives: Sequence[Live]) -> Step:
        carried = Carried()
        target = self._targets.target(deployment, Memory())
        await at_once(lambda live: orphan(self._client, target, live, carried), lives)
        if not carried.failures:
            return await self._end(deployment)
        text = "Orphaning: " + " && ".join(failure.message for failure in carried.failures)
        report = Report(summary=Summary.PROGRESSING, reason=Reason.DELETING, message=text)
        return Step(outcome=retry(), report=report)

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
