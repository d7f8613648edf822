"""Ordered deletion: custom resources, then the CRDs, then the rest by owner references.

It is needed where content has CRDs together with the workloads that serve them, or custom resources: the collector
knows no order, and instances would wait for ever for a controller that went first. Only such deployments have our
finalizer. Each look deletes what can go now and says what it waits for; the watches bring it back. A kind that is
gone has no objects; one that cannot be seen is waited for. Hooks of a chart come before all that, and after everything.

Nothing is deleted of a deployment whose finalizers ever showed `orphan`. The collector strips the references and
takes that finalizer away; of kinds younger than its last look for kinds (30 s) it knows nothing: the rest is ours to
strip. A process that did not see it knows by what the collector has stripped already.
"""

from collections.abc import Sequence

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, ORDERED_DELETION_FINALIZER, EventReason, Reason
from rukpak_py.apply.deletions import FOREGROUND, ORPHAN
from rukpak_py.apply.instances import instances_of, versions_of
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.last_applied import LastApplied
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.order import is_builtin
from rukpak_py.apply.owner import Owner
from rukpak_py.apply.prune import orphan, prune
from rukpak_py.apply.removed_objects import deletion_phase
from rukpak_py.apply.results import ChangeSet
from rukpak_py.apply.target import Target, run_bounded
from rukpak_py.controllers.deployment.hooks.deletion import DeletedContent, DeletionHooks
from rukpak_py.controllers.deployment.kind_visibility import HiddenKinds
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.stage import StageResult
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status import Report
from rukpak_py.controllers.outcome import DONE, again, retry
from rukpak_py.controllers.ports import Recorder
from rukpak_py.controllers.writes import remove_finalizer
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.wording import counted, joined, named
from rukpak_py.formats.hook import HookEvent
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CRDS

LOOK_AGAIN_SECONDS = 5.0  # instances of other origin are not in our watches
NAMED = 5  # objects that a message names


class Uninstall:
    def __init__(
        self, client: Client, inventory: Inventory, kinds: Kinds, events: Recorder, hooks: DeletionHooks
    ) -> None:
        self._client = client
        self._inventory = inventory
        self._kinds = kinds
        self._events = events
        self._hooks = hooks

    async def proceed(self, deployment: BundleDeployment, state: DeploymentState) -> StageResult:
        metadata = deployment.metadata
        if ORDERED_DELETION_FINALIZER not in metadata.finalizers or ORPHAN in metadata.finalizers:
            return StageResult(outcome=DONE)
        if FOREGROUND in metadata.finalizers:
            text = (
                "with foreground deletion the garbage collector deletes at once: the order of deletion cannot be kept"
            )
            reason = EventReason.ORDER_NOT_KEPT
            self._events.warning(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, reason, text)
        hidden, unlisted = await self._hidden(deployment)
        if unlisted:  # what is orphaned might be among them
            return _waiting(f"Deleting: {unlisted.text()}", unlisted)
        ours = [one for one in self._inventory.owned_by(metadata.uid).values() if not one.outlives]
        if state.deletion.is_orphaning or self._inventory.shows_orphans_of(metadata.name):
            state.deletion.is_orphaning = True
            return await self._orphan(deployment, ours, hidden)
        content = await self._hooks.content(deployment, state)
        if isinstance(content, StageResult):
            return content
        if content is None:
            unfinished = await self._delete_in_order(deployment, ours, hidden)
            return unfinished or await self._hooks.clean_up(deployment, state) or await self._end(deployment)
        return await self._delete_with_hooks(deployment, state, content, ours, hidden)

    async def _delete_with_hooks(
        self,
        deployment: BundleDeployment,
        state: DeploymentState,
        content: DeletedContent,
        ours: Sequence[ObservedObject],
        hidden: HiddenKinds,
    ) -> StageResult:
        """What comes after everything is gone waits for everything, not only for what needs an order."""
        unfinished = await self._hooks.run(content, HookEvent.PRE_DELETE)
        unfinished = unfinished or await self._delete_in_order(deployment, ours, hidden)
        if unfinished is None and ours and content.has(HookEvent.POST_DELETE):
            unfinished = await self._delete(deployment, ours, "object", hidden)
        unfinished = unfinished or await self._hooks.run(content, HookEvent.POST_DELETE)
        return unfinished or await self._hooks.clean_up(deployment, state) or await self._end(deployment)

    async def _hidden(self, deployment: BundleDeployment) -> tuple[HiddenKinds, HiddenKinds]:
        """Kinds whose objects must go first and cannot be seen; and built-in kinds that are not listed yet."""
        owned = await self._kinds.owned(deployment)
        self._inventory.watch(owned.served)
        unlisted = self._inventory.unsynced(resource.group_kind for resource in owned.served)
        builtin = frozenset(kind for kind in unlisted if is_builtin(kind.group))
        unserved = frozenset(kind for kind in owned.unserved if not is_builtin(kind.group))
        return HiddenKinds(unserved=unserved, unlisted=frozenset(unlisted) - builtin), HiddenKinds(unlisted=builtin)

    async def _delete_in_order(
        self, deployment: BundleDeployment, ours: Sequence[ObservedObject], hidden: HiddenKinds
    ) -> StageResult | None:
        """None: what is left needs no order."""
        instances = [one for one in ours if not is_builtin(one.key.group)]
        if instances:
            return await self._delete(deployment, instances, "custom resource", hidden)
        if hidden:
            return _waiting(f"Deleting: {hidden.text()}", hidden)
        crds = [one for one in ours if one.gvk.group_kind == CRDS.group_kind]
        if crds:
            return await self._delete(deployment, crds, "CRD", hidden, await self._left(crds))
        return None

    async def _end(self, deployment: BundleDeployment) -> StageResult:
        await remove_finalizer(self._client, BUNDLE_DEPLOYMENTS, deployment.metadata, ORDERED_DELETION_FINALIZER)
        return StageResult(outcome=DONE)

    async def _orphan(
        self, deployment: BundleDeployment, lives: Sequence[ObservedObject], hidden: HiddenKinds
    ) -> StageResult:
        if hidden:
            return _waiting(f"Orphaning: {hidden.text()}", hidden)
        change_set, target = ChangeSet(), self._target(deployment)
        await run_bounded(lambda live: orphan(target, live, change_set), lives)
        if not change_set.failures:
            return await self._end(deployment)
        text = "Orphaning: " + joined(failure.message for failure in change_set.failures)
        return StageResult(outcome=retry(), report=_report(text))

    async def _delete(
        self,
        deployment: BundleDeployment,
        lives: Sequence[ObservedObject],
        what: str,
        hidden: HiddenKinds,
        detail: str = "",
    ) -> StageResult:
        change_set = ChangeSet()
        await prune(self._target(deployment), sorted(lives, key=_deletion_order), change_set)
        waiting = named(map(_with_finalizers, lives), NAMED)
        text = f"Deleting: waiting for {counted(len(lives), what)} to be deleted: {waiting}{detail}"
        if hidden:
            text += f"; {hidden.text()}"
        if change_set.failures:
            text += "; " + joined(failure.message for failure in change_set.failures)
        return _waiting(text, hidden)

    async def _left(self, crds: Sequence[ObservedObject]) -> str:
        """The instances, of any origin, that still hold a CRD that is being deleted."""
        text = ""
        for crd in crds:
            versions = versions_of(self._kinds.cluster.discovery.served, crd.key.name)
            if not versions or not crd.is_deleted:
                continue
            try:
                instances = await instances_of(self._client, versions[0])
            except ApiError:
                continue
            if instances.count:
                text += f"; {instances.count} {instances.kind} left: {', '.join(map(str, instances.first))}"
        return text

    def _target(self, deployment: BundleDeployment) -> Target:
        owner = Owner.of(deployment)
        return Target(
            owner=owner, last_applied=LastApplied(), resource_of=self._kinds.resource_of(), client=self._client
        )


def _deletion_order(live: ObservedObject) -> tuple[int, ObjectKey]:
    return -deletion_phase(live), live.key


def _with_finalizers(live: ObservedObject) -> str:
    if not live.held_by:
        return str(live.key)
    return f"{live.key} ({'finalizer' if len(live.held_by) == 1 else 'finalizers'} {', '.join(live.held_by)})"


def _waiting(text: str, hidden: HiddenKinds) -> StageResult:
    return StageResult(outcome=again(LOOK_AGAIN_SECONDS), report=_report(text), waits_for=hidden.waits_for)


def _report(text: str) -> Report:
    return Report(summary=Summary.PROGRESSING, reason=Reason.DELETING, message=text)
