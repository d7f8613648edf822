"""The kinds of a deployment: which it has recorded, owns, sees or not, and in which resources its content is written.

The status records kinds before the first object of them is written, so whatever happens to this process, the next one
knows where to look for what the deployment owns. Objects of kinds that are not served are never asked for, created or
pruned. What cannot be listed (its conversion webhook is down, a right is missing) holds back the objects of that kind,
and nothing else; of a kind that is watched by namespace, those of that namespace. Nothing here waits: the end of a
first list brings the key back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from msgspec import structs

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.instances import foreign_instances_of, versions_of
from rukpak_py.apply.inventory import Inventory, Watched
from rukpak_py.apply.kinds import NOT_THERE, KindFacts, KindState, Resolution, kind_state
from rukpak_py.apply.order import ApplyPhase
from rukpak_py.apply.results import Wakes, kind_wakes
from rukpak_py.apply.target import LastApplied, Target
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.cluster import Cluster, crd_resource
from rukpak_py.controllers.deployment.facts import look_again
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.recorded_kinds import are_recorded, kinds_of, union, watches_of
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.deployment.watch_rights import how_to_grant
from rukpak_py.controllers.result import deployment_details as details
from rukpak_py.controllers.result.cause_table import WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress, StatusChange
from rukpak_py.controllers.writes import add_finalizer
from rukpak_py.core.crds import crd_facts
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Object, ObjectKey
from rukpak_py.formats.hook import Hook, has_delete_hooks
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery_documents import Served
from rukpak_py.kube.errors import ErrorAnswer, KindNotServedError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CRDS, Resource


@dataclass(frozen=True, kw_only=True, slots=True)
class HiddenKinds:
    """Kinds whose objects are held back: neither looked at nor created, corrected or pruned."""

    unserved: frozenset[GroupKind] = frozenset()
    unlisted: frozenset[Watched] = frozenset()
    denied: Mapping[Watched, str] = field(default_factory=dict)  # of those: the refusal, in the server's words
    grants: Mapping[Watched, str] = field(default_factory=dict)  # of the denied: what to do, where that is not obvious
    broken: Mapping[GroupKind, str] = field(default_factory=dict)  # of all: the API service that is not available

    def __bool__(self) -> bool:
        return bool(self.unserved or self.unlisted)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, ObjectKey):
            return False
        kind = key.group_kind
        return kind in self.unserved or not self.unlisted.isdisjoint({Watched(kind), Watched(kind, key.namespace)})

    @property
    def kinds(self) -> frozenset[GroupKind]:
        return self.unserved | {watched.kind for watched in self.unlisted}

    @property
    def unexplained(self) -> frozenset[GroupKind]:
        """Kinds that nothing is known to hide: usually they appear in a moment."""
        unlisted = {watched.kind for watched in self.unlisted if watched not in self.denied}
        return (self.unserved | unlisted) - self.broken.keys()

    @property
    def wakes(self) -> Wakes:
        return kind_wakes(self.kinds)

    @property
    def detail(self) -> details.HiddenKinds:
        return details.HiddenKinds(unserved=names_of(self.unserved), unlisted=names_of(self.unlisted))

    def fact(self, cause: Cause) -> Fact:
        denied = {watched: refusal for watched, refusal in self.denied.items() if watched in self.unlisted}
        if not denied and not self.broken:
            return Fact(cause=cause, detail=self.detail, wakes=self.wakes)
        unexplained = {one for one in self.unlisted if one not in denied and one.kind not in self.broken}
        rest = HiddenKinds(unserved=self.unserved - self.broken.keys(), unlisted=frozenset(unexplained))
        detail = details.ExplainedKinds(
            denied=tuple(sorted(denied.values())),
            broken=tuple(sorted(set(self.broken.values()))),
            kinds=tuple(sorted({*names_of(denied), *names_of(self.broken)})),
            rest=rest.detail if rest else None,
        )
        if self.grants and denied:
            rights = sorted((refusal, self.grants[watched]) for watched, refusal in denied.items())
            detail = details.MissingWatchRights(rights=tuple(rights), **structs.asdict(detail))
        return Fact(cause=_DENIED.get(cause, cause) if denied else cause, detail=detail, wakes=self.wakes)


class Kinds:
    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        inventory: Inventory,
        *,
        deployments: Cache[BundleDeployment],
        writer: DeploymentStatusWriter,
        identities: Identities,
    ) -> None:
        self._client = client
        self._identities = identities
        self._cluster = cluster
        self._inventory = inventory
        self._deployments = deployments
        self._writer = writer

    @property
    def served(self) -> Served:
        """Kinds in the last answer of the server; another snapshot when anything of it has changed."""
        return self._cluster.discovery.served

    async def record(
        self, deployment: BundleDeployment, desired: tuple[Desired, ...], hooks: tuple[Hook, ...] = ()
    ) -> None:
        """Record the kinds before the first write. Where deletion needs an order, the finalizer is written first.

        NotFoundError, StaleError: the deployment went or was changed, and nothing may be written for it.
        """
        if needs_order(desired, hooks) and ORDERED_DELETION_FINALIZER not in deployment.metadata.finalizers:
            deployment = await self.add_finalizer(deployment)
        known = deployment.status.kinds
        used = kinds_of(((one.head.gvk, one.key.namespace) for one in desired), self._inventory.by_namespace)
        delete_hooks = deployment.status.delete_hooks or has_delete_hooks(hooks)
        if are_recorded(used, known) and delete_hooks == deployment.status.delete_hooks:
            return
        change = StatusChange(kinds=union(used, known), delete_hooks=delete_hooks)
        await self._writer.record(deployment, change, ready=details.Applying(number=len(desired)).text(()))

    async def add_finalizer(self, deployment: BundleDeployment) -> BundleDeployment:
        metadata = await add_finalizer(
            self._client, BUNDLE_DEPLOYMENTS, deployment.metadata, ORDERED_DELETION_FINALIZER
        )
        changed = structs.replace(deployment, metadata=metadata)
        if metadata.generation == deployment.metadata.generation:
            self._deployments.put(changed)
        return changed

    async def watch_owned(self, deployment: BundleDeployment) -> HiddenKinds:
        """Watch the kinds that the status records. Those of them that cannot be seen now; a kind that is gone is not
        among them, because it has no objects.
        """
        served: list[tuple[Resource, Watched]] = []
        unserved: set[GroupKind] = set()
        for kind in deployment.status.kinds:
            gvk = GroupVersionKind(kind.group, kind.version, kind.kind)
            resource = self._cluster.discovery.find(gvk) or self._cluster.discovery.preferred(gvk.group, gvk.kind)
            if resource is not None:
                served += [(resource, watched) for watched in watches_of((kind,), self._inventory.by_namespace)]
            elif self._cluster.crd_of(gvk.group_kind) is not None or await self._cluster.may_be_hidden(gvk):
                unserved.add(gvk.group_kind)
        hidden = self._watch(served, frozenset(unserved))
        return self._explained(hidden) if self._inventory.by_namespace else hidden

    async def hidden_of_owned(self, deployment: BundleDeployment, state: DeploymentState) -> HiddenKinds | Progress:
        """A Progress: wait for the first list of kinds that the status records, which usually takes no time."""
        return self._after_first_list(state, "lists of owned kinds", await self.watch_owned(deployment))

    def hidden_of_content(
        self, state: DeploymentState, resolution: Resolution, desired: Iterable[Desired], owned: HiddenKinds
    ) -> HiddenKinds | Progress:
        """The kinds of what is wanted, and those that the status records besides."""
        unserved = resolution.of(KindState.UNSERVED, KindState.GONE, KindState.MISSING) | owned.unserved
        used = kinds_of(((one.head.gvk, one.key.namespace) for one in desired), self._inventory.by_namespace)
        namespaces = {kind.group_kind: kind.namespaces for kind in used}
        rest: list[tuple[Resource, Watched]] = []
        for resource in resolution.served:
            is_everywhere = resource.group_kind not in self._inventory.by_namespace
            places = ("",) if is_everywhere else namespaces.get(resource.group_kind, ())
            rest += [(resource, Watched(resource.group_kind, namespace)) for namespace in places]
        rest = [one for one in rest if one[1] not in owned.unlisted]  # they were waited for
        hidden = self._after_first_list(state, "lists of wanted kinds", self._watch(rest, unserved))
        if isinstance(hidden, Progress):
            return hidden
        return self._explained(replace(hidden, unlisted=hidden.unlisted | owned.unlisted))

    async def resolve(self, objects: Iterable[Object], deployment: BundleDeployment) -> Resolution:
        """Asks the server again only when a kind is unknown to the cluster and to the content."""
        objects = list(objects)
        brought = {gvk: resource for obj in objects for gvk, resource in _brought_by(obj).items()}
        found = await self._resolve(objects, brought, deployment)
        if found.missing:
            await self._cluster.refresh()
            found = await self._resolve(objects, brought, deployment)
        return found

    async def look_for(self, gvks: Iterable[GroupVersionKind]) -> None:
        """Ask the server again when it has not shown one of these kinds yet."""
        if not all(map(self._cluster.discovery.find, gvks)):
            await self._cluster.refresh()

    async def resolve_again(
        self, resolution: Resolution, desired: Iterable[Desired], deployment: BundleDeployment
    ) -> Resolution:
        """Kinds that were all served once, as they are now: discovery may not show some of them at the moment."""
        if all(self._cluster.discovery.find(gvk) is not None for gvk in resolution.states):
            return resolution
        desired = tuple(desired)
        brought = {kind for one in desired for kind in one.defines}
        states = {
            gvk: await self._state(gvk, deployment, is_brought=gvk.group_kind in brought) for gvk in resolution.states
        }
        missing = tuple(one.head for one in desired if states[one.head.gvk] in NOT_THERE)
        return replace(resolution, states=states, missing=missing)

    def account_of(self, deployment: BundleDeployment) -> Account | None:
        """None: the operator acts with its own rights."""
        return self._identities.account_of(deployment)

    async def missing_account(self, deployment: BundleDeployment) -> Account | None:
        """The account of the deployment, where it does not exist: nothing may be written then."""
        return await self._identities.missing_account(deployment)

    def client_of(self, deployment: BundleDeployment) -> Client:
        """The client of everything that is read, listed, dry-run, written or deleted in the cluster for a deployment.

        It has the identity that the live spec asks for. Requests about our own kinds, watches and discovery are the
        operator's own, and do not ask here.
        """
        return self._identities.client_of(deployment)

    def target_of(
        self, deployment: BundleDeployment, applied: LastApplied | None = None, resolution: Resolution | None = None
    ) -> Target:
        """Identity and versions with which the objects of a deployment are written and deleted."""
        client, owner = self.client_of(deployment), self._identities.owner_of(deployment)
        return Target(
            owner=owner,
            last_applied=applied or LastApplied(),
            resource_of=self.resource_of(resolution),
            foreign_instances=partial(foreign_instances_of, client, versions_of=self.versions_of, owner_uid=owner.uid),
            client=client,
        )

    def resource_of(self, resolution: Resolution | None = None) -> Callable[[ObjectKey], Resource]:
        """A kind has one resource; where the content names a version that is served, it is used in that version."""
        known = {one.group_kind: one for one in resolution.served} if resolution is not None else {}

        def resource_of(key: ObjectKey) -> Resource:
            resource = known.get(key.group_kind) or self._cluster.discovery.preferred(key.group, key.kind)
            if resource is None:
                text = f"the cluster does not serve the kind {key.group_kind}"
                raise KindNotServedError(ErrorAnswer(subject=str(key), status=404, message=text))
            return resource

        return resource_of

    def versions_of(self, crd: str) -> list[Resource]:
        """Resources as which the instances of the CRD with this name are served."""
        return versions_of(self.served, crd)

    def _watch(self, served: Sequence[tuple[Resource, Watched]], unserved: frozenset[GroupKind]) -> HiddenKinds:
        """A namespace that does not exist has no objects, and no right to see them can be given in it."""
        there = [one for one in served if not one[1].namespace or self._cluster.has_namespace(one[1].namespace)]
        for resource, watched in there:
            self._inventory.watch([resource], watched.namespace)
        unlisted = self._inventory.unsynced(watched for _, watched in there)
        return HiddenKinds(unserved=unserved, unlisted=frozenset(unlisted))

    def _after_first_list(self, state: DeploymentState, what: str, hidden: HiddenKinds) -> HiddenKinds | Progress:
        if not hidden.unlisted:
            state.waits.over(what)
        elif (left := WAIT_QUIET_SECONDS - state.waited(what)) > 0:
            return Progress(facts=(replace(look_again(left), wakes=replace(hidden, unserved=frozenset()).wakes),))
        return self._explained(hidden)

    def _explained(self, hidden: HiddenKinds) -> HiddenKinds:
        """Hidden kinds with the known reasons."""
        broken = {kind: self._cluster.broken_service(kind.group) for kind in hidden.kinds}
        denied, grants = dict[Watched, str](), dict[Watched, str]()
        for watched in hidden.unlisted:
            informer = self._inventory.informer_of(*watched)
            if informer is not None and informer.status is not None and informer.status.is_denied:
                denied[watched] = informer.status.refusal
                if self._inventory.by_namespace:
                    grants[watched] = how_to_grant(informer.resource, watched.namespace)
        broken = {kind: why for kind, why in broken.items() if why}
        return replace(hidden, denied=denied, grants=grants, broken=broken)

    async def _resolve(
        self, objects: list[Object], brought: Mapping[GroupVersionKind, Resource], deployment: BundleDeployment
    ) -> Resolution:
        states: dict[GroupVersionKind, KindState] = {}
        resources: dict[GroupVersionKind, Resource] = {}
        for gvk in dict.fromkeys(obj.head.gvk for obj in objects):
            states[gvk] = await self._state(gvk, deployment, is_brought=gvk in brought)
            crd = self._cluster.crd_of(gvk.group_kind)
            resource = (
                self._cluster.discovery.find(gvk)
                or brought.get(gvk)
                or (crd_resource(crd, gvk.version) if crd is not None else None)
            )
            if resource is not None:
                resources[gvk] = resource
        missing = tuple(obj.head for obj in objects if states[obj.head.gvk] in NOT_THERE)
        return Resolution(states=states, resources=resources, missing=missing)

    async def _state(self, gvk: GroupVersionKind, deployment: BundleDeployment, *, is_brought: bool) -> KindState:
        is_served = self._cluster.discovery.find(gvk) is not None
        crd = self._cluster.crd_of(gvk.group_kind)
        is_recorded = gvk.group_kind in recorded_kinds(deployment)
        may_be_hidden = False
        if not is_served and crd is None and is_recorded:
            may_be_hidden = await self._cluster.may_be_hidden(gvk)
        return kind_state(
            KindFacts(
                is_served=is_served,
                is_brought=is_brought,
                is_recorded=is_recorded,
                is_defined=crd is not None,
                is_version_defined=crd is not None and gvk.version in crd.versions,
                may_be_hidden=may_be_hidden,
            )
        )


def recorded_kinds(deployment: BundleDeployment) -> frozenset[GroupKind]:
    """Kinds of which the deployment may own objects, by its status."""
    return frozenset(GroupKind(kind.group, kind.kind) for kind in deployment.status.kinds)


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


def names_of(kinds: Iterable[GroupKind | Watched]) -> tuple[str, ...]:
    return tuple(sorted(map(str, kinds)))


def _brought_by(obj: Object) -> Mapping[GroupVersionKind, Resource]:
    """An unusable CRD brings none: the server will say what is wrong with it."""
    crd = crd_facts(obj.json) if obj.head.gvk.group_kind == CRDS.group_kind else None
    resources = [crd_resource(crd, version) for version in crd.versions] if crd is not None else []
    return {resource.gvk: resource for resource in resources}


_DENIED = {Cause.KINDS_HELD_BACK: Cause.KINDS_HELD_BACK_DENIED, Cause.KINDS_HIDDEN: Cause.KINDS_HIDDEN_DENIED}
