"""Ends a deployment whose deletion needs an order, or has a say of its owner in it.

The collector knows no order, and instances would wait for ever for a controller that went first; and what holds things
of others (Namespaces, CRDs, claims, volumes) has no owner reference, so it is deleted here or not at all. Only such
deployments have our finalizer. Each look deletes what can go now and says what it waits for; the watches bring it back.
A kind that is gone has no objects; one that cannot be seen is waited for. Hooks of a chart come before all that, and
after everything.

With an account, it is deleted with the rights of that account. Where the account or a right of it went first, the
condition says how to go on: give the rights back, or leave the rest to the collector, who needs none.

Instances of a CRD and contents of a Namespace that are not of the deployment go with them: that waits until they are
gone, or until an annotation of the deployment allows it.

Deployments that depend on this one go first, with their objects, where they are being deleted, too.

Nothing is deleted of a deployment whose finalizers ever showed `orphan`. The collector strips the references and
takes that finalizer away; of kinds younger than its last look for kinds (30 s) it knows nothing: the rest is ours to
strip. A process that did not see it knows by what the collector has stripped already, the Bundle among it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import ALLOW_DATA_LOSS_ANNOTATION, ORDERED_DELETION_FINALIZER
from rukpak_py.apply.deletions import FOREGROUND, ORPHAN
from rukpak_py.apply.instances import foreign_contents, instances_of
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.marks import holds_what_cannot_be_had_again
from rukpak_py.apply.namespace_deletion import deletion_failures
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.order import is_builtin
from rukpak_py.apply.prune import orphan, prune
from rukpak_py.apply.prune_policy import ForeignInstances, UnlistedInstances
from rukpak_py.apply.removed_objects import deletion_order
from rukpak_py.apply.results import ChangeSet, FailureKind
from rukpak_py.controllers.deployment.dependencies import Dependencies
from rukpak_py.controllers.deployment.facts import fact_of, look_again
from rukpak_py.controllers.deployment.hooks.release_hooks import DeletedContent, DeletionHooks
from rukpak_py.controllers.deployment.kinds import HiddenKinds, Kinds
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.template_bundle import Templates
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import (
    ORDER_NOT_KEPT,
    DataLoss,
    GoingObjects,
    NotDeletedInOrder,
    Orphaned,
)
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress
from rukpak_py.controllers.writes import remove_finalizer
from rukpak_py.core.text import with_finalizers
from rukpak_py.formats.hook import HookEvent
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, ForbiddenError, NotFoundError, StaleError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CRDS, NAMESPACES

STUCK_SECONDS = 10.0  # a Namespace without anything in it goes in less


class Uninstall:
    def __init__(
        self,
        client: Client,
        inventory: Inventory,
        kinds: Kinds,
        templates: Templates,
        hooks: DeletionHooks,
        *,
        dependencies: Dependencies,
    ) -> None:
        self._client = client
        self._inventory = inventory
        self._kinds = kinds
        self._templates = templates
        self._hooks = hooks
        self._dependencies = dependencies

    async def prepare(self, deployment: BundleDeployment) -> BundleDeployment:
        """Add the finalizer where others depend on the deployment or it on others: they may be deleted together."""
        is_prepared = ORDERED_DELETION_FINALIZER in deployment.metadata.finalizers
        if is_prepared or not self._dependencies.have_order(deployment):
            return deployment
        try:
            return await self._kinds.add_finalizer(deployment)
        except (NotFoundError, StaleError):
            return deployment  # an event brings it back as it is now

    async def proceed(self, deployment: BundleDeployment, state: DeploymentState) -> Progress:
        """NO_PROGRESS: nothing is left to be done here."""
        finalizers = deployment.metadata.finalizers
        if ORDERED_DELETION_FINALIZER not in finalizers or ORPHAN in finalizers:
            return NO_PROGRESS
        held = self._dependencies.deletion_waits(deployment)
        if held is not None and FOREGROUND not in finalizers:
            return Progress(facts=(held,))
        account = self._kinds.account_of(deployment)
        try:
            progress = await self._proceed(deployment, state)
        except ForbiddenError as error:
            if account is None:
                raise
            progress = self._not_deleted(deployment, account, Cause.DELETION_FAILED, [str(error)])
        if FOREGROUND not in finalizers:
            return progress
        return progress + Progress(facts=(Fact(cause=Cause.ORDER_NOT_KEPT, detail=ORDER_NOT_KEPT),))

    async def _proceed(self, deployment: BundleDeployment, state: DeploymentState) -> Progress:
        metadata = deployment.metadata
        hidden, unlisted = await self._hidden(deployment)
        if unlisted:  # what is orphaned might be among them
            return Progress(facts=(unlisted.fact(Cause.DELETING),))
        ours = [one for one in self._inventory.ours(metadata.uid, state.applied.fields).values() if not one.outlives]
        if ours or deployment.status.delete_hooks:
            missing = await self._kinds.missing_account(deployment)
            if missing is not None:
                return self._not_deleted(deployment, missing, Cause.ACCOUNT_MISSING, ["it does not exist"])
        if self._is_orphaning(deployment, state):
            state.deletion.is_orphaning = True
            return await self._orphan(deployment, state, ours, hidden)
        content = await self._hooks.content(deployment, state)
        if isinstance(content, Progress):
            return content
        unfinished = await self._delete_with_hooks(deployment, state, content, ours, hidden)
        unfinished = unfinished or await self._hooks.clean_up(deployment)
        return (unfinished or await self._end(deployment)) + Progress(facts=content.facts)

    def _is_orphaning(self, deployment: BundleDeployment, state: DeploymentState) -> bool:
        """Whether events prove that dependents are orphaned; without events, the deeds of the collector prove it."""
        if state.deletion.is_orphaning or state.deletion.is_collected:
            return state.deletion.is_orphaning
        metadata = deployment.metadata
        return self._templates.shows_orphaning(deployment, state) or self._inventory.shows_orphans_of(
            metadata.name, metadata.uid
        )

    async def _delete_with_hooks(
        self,
        deployment: BundleDeployment,
        state: DeploymentState,
        content: DeletedContent,
        ours: Sequence[ObservedObject],
        hidden: HiddenKinds,
    ) -> Progress | None:
        """None: what is left needs no order, and all hooks have ended well.

        What comes after everything is gone waits for everything, not only for what needs an order.
        """
        before = await self._hooks.run(content, HookEvent.PRE_DELETE)
        if isinstance(before, Progress):
            return before
        unfinished = await self._delete_in_order(deployment, ours, hidden)
        # Its owner has a say in that, also where a former release gave it an owner reference.
        has_lasting = any(holds_what_cannot_be_had_again(one.gvk.group_kind) for one in ours)
        deletes_rest = has_lasting or content.has(HookEvent.POST_DELETE) or deployment.spec.depends_on
        if unfinished is None and deletes_rest:
            unfinished = await self._delete_rest(deployment, state, ours, hidden)
        if unfinished is not None:
            return unfinished + Progress(facts=before.facts)
        after = await self._hooks.run(content, HookEvent.POST_DELETE)
        return after if isinstance(after, Progress) else None

    async def _hidden(self, deployment: BundleDeployment) -> tuple[HiddenKinds, HiddenKinds]:
        """Kinds whose objects must go first and cannot be seen; and built-in kinds that are not listed yet."""
        hidden = await self._kinds.watch_owned(deployment)
        builtin = frozenset(watched for watched in hidden.unlisted if is_builtin(watched.kind.group))
        unserved = frozenset(kind for kind in hidden.unserved if not is_builtin(kind.group))
        others = replace(hidden, unserved=unserved, unlisted=hidden.unlisted - builtin)
        return others, replace(hidden, unserved=frozenset(), unlisted=builtin)

    async def _delete_in_order(
        self, deployment: BundleDeployment, ours: Sequence[ObservedObject], hidden: HiddenKinds
    ) -> Progress | None:
        """None: what is left needs no order."""
        instances = [one for one in ours if not is_builtin(one.key.group)]
        if instances:
            return await self._delete(deployment, instances, "custom resource", hidden)
        if hidden:
            return Progress(facts=(hidden.fact(Cause.DELETING),))
        crds = [one for one in ours if one.gvk.group_kind == CRDS.group_kind]
        if not crds:
            return None
        if lost := await self._lost(deployment, crds):
            return lost
        return await self._delete(deployment, crds, "CRD", hidden, await self._left(deployment, crds))

    async def _delete_rest(
        self,
        deployment: BundleDeployment,
        state: DeploymentState,
        ours: Sequence[ObservedObject],
        hidden: HiddenKinds,
    ) -> Progress | None:
        """Namespaces last: what is in them then is not of the deployment. None: nothing is left."""
        namespaces = [one for one in ours if one.gvk.group_kind == NAMESPACES.group_kind]
        others = [one for one in ours if one not in namespaces]
        if others:
            return await self._delete(deployment, others, "object", hidden)
        if not namespaces:
            return None
        if lost := await self._lost(deployment, namespaces):
            return lost
        stuck = list[str]()
        if state.waited("deletion of Namespaces") > STUCK_SECONDS:
            client = self._kinds.client_of(deployment)
            stuck = [text for one in namespaces for text in await deletion_failures(client, one.key.name)]
        return await self._delete(deployment, namespaces, "Namespace", hidden, stuck)

    async def _lost(self, deployment: BundleDeployment, lives: Sequence[ObservedObject]) -> Progress | None:
        """Foreign instances of CRDs, or contents of Namespaces, which wait for the word of the deployment's owner."""
        if deployment.metadata.annotations.get(ALLOW_DATA_LOSS_ANNOTATION) == "true":
            return None
        target, losses = self._kinds.target_of(deployment), list[str]()
        for live in lives:
            if live.is_deleted:
                continue
            if live.gvk.group_kind == CRDS.group_kind:
                found = [await target.foreign_instances(live)]
            else:
                found = await foreign_contents(target.client, live.key.name, deployment.metadata.uid)
            texts = [one.why if isinstance(one, UnlistedInstances) else str(one) for one in found if _counts(one)]
            losses += [f"{live.key}: {', '.join(texts)}"] if texts else []
        if not losses:
            return None
        keys = tuple(one.key for one in lives)
        return Progress(facts=(Fact(cause=Cause.DATA_LOSS, detail=DataLoss(losses=tuple(losses)), objects=keys),))

    async def _end(self, deployment: BundleDeployment) -> Progress:
        await remove_finalizer(self._client, BUNDLE_DEPLOYMENTS, deployment.metadata, ORDERED_DELETION_FINALIZER)
        return NO_PROGRESS

    async def _orphan(
        self,
        deployment: BundleDeployment,
        state: DeploymentState,
        lives: Sequence[ObservedObject],
        hidden: HiddenKinds,
    ) -> Progress:
        if hidden:
            return Progress(facts=(hidden.fact(Cause.ORPHANING),))
        change_set, target = ChangeSet(), self._kinds.target_of(deployment)
        await run_bounded(lambda live: orphan(target, live, change_set), [one for one in lives if not one.is_annotated])
        if not change_set.failures:
            left = self._inventory.left_by(deployment.metadata.name, deployment.metadata.uid)
            if not left or state.deletion.is_told:
                return await self._end(deployment)
            state.deletion.is_told = True
            happened = Fact(cause=Cause.ORPHANED, detail=Orphaned(), objects=tuple(sorted(left)))
            return Progress(facts=(happened, look_again(0.0)))  # while the deployment is there
        return Progress(facts=(fact_of(Cause.ORPHANING_FAILED, change_set.failures),))

    async def _delete(
        self,
        deployment: BundleDeployment,
        lives: Sequence[ObservedObject],
        what: str,
        hidden: HiddenKinds,
        left: Sequence[str] = (),
    ) -> Progress:
        """`left`: what holds them up beside their finalizers, in words. A refused delete is told beside the wait."""
        change_set = ChangeSet()
        await prune(self._kinds.target_of(deployment), sorted(lives, key=deletion_order), change_set)
        going = GoingObjects(
            what=what,
            objects=tuple(f"{one.key}{with_finalizers(one.held_by)}" for one in lives),
            left=tuple(left),
            hidden=hidden.detail if hidden else None,
        )
        keys = tuple(one.key for one in lives)
        facts = [Fact(cause=Cause.DELETING, detail=going, objects=keys, wakes=hidden.wakes)]
        return Progress(facts=(*facts, *self._failures(deployment, change_set)))

    def _failures(self, deployment: BundleDeployment, change_set: ChangeSet) -> tuple[Fact, ...]:
        if not change_set.failures:
            return ()
        account, detail = self._kinds.account_of(deployment), None
        if account is not None and any(one.kind is FailureKind.ACCESS for one in change_set.failures):
            detail = partial(_not_deleted_in_order, deployment, account)
        return (fact_of(Cause.DELETION_FAILED, change_set.failures, detail),)

    def _not_deleted(
        self, deployment: BundleDeployment, account: Account, cause: Cause, why: Sequence[str]
    ) -> Progress:
        return Progress(facts=(Fact(cause=cause, detail=_not_deleted_in_order(deployment, account, why)),))

    async def _left(self, deployment: BundleDeployment, crds: Sequence[ObservedObject]) -> list[str]:
        """The instances, of any origin, that still hold a CRD that is being deleted."""
        found = []
        for crd in crds:
            versions = self._kinds.versions_of(crd.key.name)
            if not versions or not crd.is_deleted:
                continue
            try:
                instances = await instances_of(self._kinds.client_of(deployment), versions[0])
            except ApiError:
                continue
            if instances.count:
                found.append(f"{instances} left")
        return found


def _not_deleted_in_order(deployment: BundleDeployment, account: Account, why: Sequence[str]) -> NotDeletedInOrder:
    return NotDeletedInOrder(account=str(account), deployment=deployment.metadata.name, why=tuple(why))


def _counts(found: ForeignInstances) -> bool:
    return isinstance(found, UnlistedInstances) or bool(found.count)
