"""The kinds of a deployment: of its content, and of what its status says it may own. Each is in one of a few states.

Objects of kinds that are not served are never asked for, created or pruned; the state says what is done instead.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import NOT_THERE, KindFacts, KindState, Resolution, kind_state
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Object, ObjectKey
from rukpak_py.kube.errors import ErrorAnswer, KindNotServedError
from rukpak_py.kube.resources import CRDS, Resource


@dataclass(frozen=True, kw_only=True)
class OwnedKinds:
    """The kinds of which the deployment may own objects, by its status."""

    served: tuple[Resource, ...] = ()
    unserved: frozenset[GroupKind] = frozenset()
    gone: frozenset[GroupKind] = frozenset()


class Kinds:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def owned(self, deployment: BundleDeployment) -> OwnedKinds:
        served: list[Resource] = []
        unserved: set[GroupKind] = set()
        gone: set[GroupKind] = set()
        for kind in deployment.status.kinds:
            gvk = GroupVersionKind(kind.group, kind.version, kind.kind)
            resource = self.find(gvk)
            if resource is not None:
                served.append(resource)
            elif self.cluster.crd_of(gvk.group_kind) is not None or await self.cluster.may_be_hidden(gvk):
                unserved.add(gvk.group_kind)
            else:
                gone.add(gvk.group_kind)
        return OwnedKinds(served=tuple(served), unserved=frozenset(unserved), gone=frozenset(gone))

    async def resolve(self, objects: Iterable[Object], deployment: BundleDeployment) -> Resolution:
        """Asks the server again only when a kind is unknown to everybody."""
        objects = list(objects)
        brought = {gvk: resource for obj in objects for gvk, resource in _brought_by(obj).items()}
        found = await self._resolve(objects, brought, deployment)
        if found.missing:
            await self.cluster.refresh()
            found = await self._resolve(objects, brought, deployment)
        return found

    async def look_for(self, gvks: Iterable[GroupVersionKind]) -> None:
        """Ask the server again when it has not shown one of these kinds yet."""
        if not all(map(self.cluster.discovery.find, gvks)):
            await self.cluster.refresh()

    async def states_again(
        self, resolution: Resolution, desired: Iterable[Desired], deployment: BundleDeployment
    ) -> Resolution:
        """Kinds that were all served once, as they are now."""
        desired = tuple(desired)
        recorded = {GroupKind(kind.group, kind.kind) for kind in deployment.status.kinds}
        brought = {kind for one in desired for kind in one.defines}
        states = {
            gvk: await self._state(gvk, is_brought=gvk.group_kind in brought, is_recorded=gvk.group_kind in recorded)
            for gvk in resolution.states
        }
        missing = tuple(one.head for one in desired if states[one.head.gvk] in NOT_THERE)
        return replace(resolution, states=states, missing=missing)

    def find(self, gvk: GroupVersionKind) -> Resource | None:
        """The resource in this version, else in the version that the server prefers."""
        return self.cluster.discovery.find(gvk) or self.cluster.discovery.preferred(gvk.group, gvk.kind)

    def resource_of(self, resolution: Resolution | None = None) -> "ResourceOf":
        """A kind has one resource; where the content names a version that is served, it is used in that version."""
        known = {one.group_kind: one for one in resolution.served} if resolution is not None else {}
        return ResourceOf(self, known)

    async def _resolve(
        self, objects: list[Object], brought: Mapping[GroupVersionKind, Resource], deployment: BundleDeployment
    ) -> Resolution:
        recorded = {GroupKind(kind.group, kind.kind) for kind in deployment.status.kinds}
        states: dict[GroupVersionKind, KindState] = {}
        resources: dict[GroupVersionKind, Resource] = {}
        for gvk in dict.fromkeys(obj.head.gvk for obj in objects):
            states[gvk] = await self._state(gvk, is_brought=gvk in brought, is_recorded=gvk.group_kind in recorded)
            crd = self.cluster.crd_of(gvk.group_kind)
            resource = (
                self.cluster.discovery.find(gvk)
                or brought.get(gvk)
                or (crd.resource(gvk.version) if crd is not None else None)
            )
            if resource is not None:
                resources[gvk] = resource
        missing = tuple(obj.head for obj in objects if states[obj.head.gvk] in NOT_THERE)
        return Resolution(states=states, resources=resources, missing=missing)

    async def _state(self, gvk: GroupVersionKind, *, is_brought: bool, is_recorded: bool) -> KindState:
        is_served = self.cluster.discovery.find(gvk) is not None
        crd = self.cluster.crd_of(gvk.group_kind)
        may_be_hidden = False
        if not is_served and crd is None and is_recorded:
            may_be_hidden = await self.cluster.may_be_hidden(gvk)
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


class ResourceOf:
    def __init__(self, kinds: Kinds, known: Mapping[GroupKind, Resource]) -> None:
        self._kinds = kinds
        self._known = known

    def __call__(self, key: ObjectKey) -> Resource:
        resource = self._known.get(key.group_kind) or self._kinds.cluster.discovery.preferred(key.group, key.kind)
        if resource is None:
            text = f"the cluster does not serve the kind {key.group_kind}"
            raise KindNotServedError(ErrorAnswer(subject=str(key), status=404, message=text))
        return resource


def _brought_by(obj: Object) -> dict[GroupVersionKind, Resource]:
    if obj.head.gvk.group_kind != CRDS.group_kind:
        return {}
    try:
        spec = _CRD.decode(obj.json).spec
    except msgspec.ValidationError:
        return {}  # not a usable CRD: the server will say what is wrong with it
    gvks = [GroupVersionKind(spec.group, version.name, spec.names.kind) for version in spec.versions if version.served]
    namespaced = spec.scope == "Namespaced"
    return {gvk: Resource(gvk=gvk, plural=spec.names.plural, namespaced=namespaced) for gvk in gvks}


class _CrdNames(msgspec.Struct):
    kind: str
    plural: str


class _CrdVersion(msgspec.Struct):
    name: str
    served: bool = True


class _CrdSpec(msgspec.Struct):
    group: str
    names: _CrdNames
    scope: str
    versions: list[_CrdVersion]


class _Crd(msgspec.Struct):
    """Without its schemas, which may be megabytes."""

    spec: _CrdSpec


_CRD = msgspec.json.Decoder(_Crd)
