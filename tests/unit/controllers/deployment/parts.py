"""Parts that the stages of a reconcile need; values that a test does not name are ordinary."""

from dataclasses import dataclass, field
from dataclasses import replace as replace_value
from typing import Any, cast

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, InstalledKind
from rukpak_py.api.install_options import InstallOptions, options_of
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.target import Target
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment import facts as facts_module
from rukpak_py.controllers.deployment import state as state_module
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.facts import key_facts
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.kept_renderings import ChartReleases
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.lookups import LookupPolicy
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.state_parts import ContentKey
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.events import EventNote
from rukpak_py.controllers.queue import Turn
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import Conclusion
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress
from rukpak_py.core.crds import CrdFacts
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Object, ObjectKey, canonical_json
from rukpak_py.formats.format import Release
from rukpak_py.formats.helm.cluster_view import ClusterView
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery_documents import GroupVersion, Served, serve
from rukpak_py.kube.events import EventSubject
from rukpak_py.kube.metadata import LiveObject, decode_metadata
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, Resource
from tests.unit.apply.lives import OWNER, key, live, owned
from tests.unit.controllers.fakes import Clock, FakeClient, FakeEvents
from tests.unit.controllers.result.concluding import at
from tests.unit.controllers.values import deployment, unpacked

BASKET = GroupVersionKind("shop.example.org", "v1", "Basket")
BASKETS = Resource(gvk=BASKET, plural="baskets", namespaced=True)
WIDGET = GroupVersionKind("shop.example.org", "v1", "Widget")
WIDGETS = Resource(gvk=WIDGET, plural="widgets", namespaced=True)
VIEW = ClusterView(version=b"{}", served=())
SYSTEM_NAMESPACE = "rukpak-system"
OLD_CRON_JOB = GroupVersionKind("batch", "v1beta1", "CronJob")


def identities(client: Client | None = None) -> Identities:
    return Identities(client or FakeClient().as_client(), system_namespace=SYSTEM_NAMESPACE)


@dataclass
class FakeCluster:
    """Serves these resources; `coming` are served after the next refresh. `hidden`: not proven to be gone."""

    resources: list[Resource] = field(default_factory=lambda: [CONFIG_MAPS, NAMESPACES, CRDS])
    crds: dict[GroupKind, CrdFacts] = field(default_factory=dict)
    hidden: set[GroupKind] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=lambda: {"ns"})
    coming: list[Resource] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)  # by group
    refreshes: int = 0
    _snapshot: Served = field(default_factory=Served)

    def as_cluster(self) -> Cluster:
        return cast("Cluster", self)

    def as_kinds(self, inventory: Inventory | None = None, client: FakeClient | None = None) -> Kinds:
        api, deployments = (client or FakeClient()).as_client(), Cache[BundleDeployment](clock=Clock())
        return Kinds(
            api,
            self.as_cluster(),
            inventory or cast("Inventory", None),
            deployments=deployments,
            writer=DeploymentStatusWriter(client=api, deployments=deployments),
            identities=identities(api),
        )

    @property
    def discovery(self) -> "FakeCluster":
        return self

    @property
    def served(self) -> Served:
        """The same snapshot until something changes."""
        versions = [
            GroupVersion(group=one.gvk.group, version=one.gvk.version, resources=(one,)) for one in self.resources
        ]
        served = serve(versions)
        self._snapshot = self._snapshot if self._snapshot == served else served
        return self._snapshot

    def find(self, gvk: GroupVersionKind) -> Resource | None:
        return self.served.resources.get(gvk)

    def resource_of(self, gvk: GroupVersionKind) -> Resource | None:
        return self.find(gvk)

    def preferred(self, group: str, kind: str) -> Resource | None:
        return self.served.preferred.get(GroupKind(group, kind))

    def broken_service(self, group: str) -> str:
        return self.broken.get(group, "")

    def crd_of(self, kind: GroupKind) -> CrdFacts | None:
        return self.crds.get(kind)

    def has_namespace(self, name: str) -> bool:
        return name in self.namespaces

    async def may_be_hidden(self, gvk: GroupVersionKind) -> bool:
        return gvk.group_kind in self.hidden

    async def offline(self, name: str, *, is_upgrade: bool) -> Release:
        return Release(
            name=name,
            is_upgrade=is_upgrade,
            has_settings=False,
            kube_version="v1.35.0",
            api_versions=("v1", "v1/ConfigMap"),
        )

    async def view(self) -> ClusterView:
        return VIEW

    async def refresh(self) -> None:
        self.refreshes += 1
        self.resources, self.coming = [*self.resources, *self.coming], []

    def hides(self, resource: Resource) -> None:
        """Discovery shows it no longer, as right after a restart of the API server."""
        self.resources.remove(resource)


def releases(cluster: FakeCluster, client: FakeClient | None = None) -> ChartReleases:
    return ChartReleases(
        client_of=lambda _: (client or FakeClient()).as_client(),
        capabilities=cast("Any", cluster),
        discovery=cast("Any", cluster),
        policy=LookupPolicy(system_namespace="ns"),
        limits=DEFAULT_LIMITS,
    )


def crd_facts(resource: Resource, *versions: str) -> dict[GroupKind, CrdFacts]:
    facts = CrdFacts(
        kind=resource.group_kind,
        plural=resource.plural,
        namespaced=resource.namespaced,
        versions=versions or (resource.gvk.version,),
        is_established=True,
    )
    return {resource.group_kind: facts}


def crd(**spec: Any) -> dict[str, Any]:
    """CRD of baskets."""
    full = {
        "group": BASKET.group,
        "names": {"plural": "baskets", "kind": BASKET.kind},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True}],
        **spec,
    }
    return {
        "apiVersion": CRDS.gvk.api_version,
        "kind": CRDS.gvk.kind,
        "metadata": {"name": "baskets.shop.example.org"},
        "spec": full,
    }


def basket(name: str = "x", gvk: GroupVersionKind = BASKET) -> dict[str, Any]:
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": {"name": name}}


def objects(*manifests: dict[str, Any]) -> list[Object]:
    return [Object.from_manifest(manifest) for manifest in manifests]


def kinds(*gvks: GroupVersionKind) -> tuple[InstalledKind, ...]:
    return tuple(InstalledKind(group=gvk.group, version=gvk.version, kind=gvk.kind) for gvk in gvks)


def recording(*gvks: GroupVersionKind) -> BundleDeployment:
    """A deployment whose status says that it may own objects of these kinds."""
    return deployment(status=BundleDeploymentStatus(kinds=kinds(*gvks)))


def attempt(
    *,
    of: BundleDeployment | None = None,
    bundle: Bundle | None = None,
    state: DeploymentState | None = None,
    options: InstallOptions | None = None,
    makes_namespace: bool = False,
    is_wanted: bool = False,
    **spec: Any,
) -> Attempt:
    """`spec`: of the deployment, as in `values.deployment`."""
    of = of or deployment(**spec)
    return Attempt(
        deployment=of,
        bundle=bundle or unpacked(),
        options=options or options_of(of.spec),
        install_namespace="ns",
        makes_namespace=makes_namespace,
        state=state if state is not None else DeploymentState(),
        is_wanted=is_wanted,
    )


def with_status(one: Attempt, **fields: Any) -> Attempt:
    """The next attempt, after the status was written."""
    status = replace(one.deployment.status, **fields)
    return attempt(of=replace(one.deployment, status=status), bundle=one.bundle, state=one.state, options=one.options)


def content_key(digest: str = "sha256:1", **other: Any) -> ContentKey:
    return ContentKey(deployment="uid-of-shop", digest=digest, **{"install_namespace": "ns", **other})


FORMER = content_key("sha256:former")


def settled(one: Attempt, *lives: ObservedObject) -> Attempt:
    """The same, after all of its content was applied, and this is what came of it."""
    one.state.applied.trust(lives)
    one.state.content = one.content
    return one


def ours(*names: str, by: Owner = OWNER, **fields: Any) -> dict[ObjectKey, ObservedObject]:
    lives = [live(**owned(name, by=by, **fields)) for name in names]
    return {one.key: one for one in lives}


@dataclass
class ToldEvents(FakeEvents):
    """Events with their texts."""

    texts: list[tuple[str, str]] = field(default_factory=list)

    def record(self, subject: EventSubject, note: EventNote) -> None:
        super().record(subject, note)
        self.texts.append((note.reason, note.message))


def controlled_clock(monkeypatch: pytest.MonkeyPatch, *modules: object) -> Clock:
    """Replace the clock of the state, and of these modules."""
    clock = Clock()
    for module in (state_module, *modules):
        monkeypatch.setattr(module, "monotonic", clock)
    return clock


CLAIMS = Resource(
    gvk=GroupVersionKind("", "v1", "PersistentVolumeClaim"), plural="persistentvolumeclaims", namespaced=True
)


def claim(name: str = "c", *, phase: str = "Bound", version: int = 1, **fields: Any) -> LiveObject:
    """A claim of ours as a watch shows it: healthy when it is bound."""
    metadata = {**owned(name, **fields), "namespace": "ns", "uid": "u", "resourceVersion": str(version)}
    body = canonical_json(
        {"metadata": metadata, "status": {"phase": phase}, "apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    )
    return LiveObject(key=key(name, CLAIMS.gvk), metadata=decode_metadata(body), json=body)


def target_of(one: Attempt, client: FakeClient, cluster: FakeCluster | None = None) -> Target:
    kinds_of_cluster = (cluster or FakeCluster(resources=[CONFIG_MAPS, NAMESPACES, CRDS, CLAIMS])).as_kinds()
    return Target(
        owner=one.owner,
        last_applied=one.state.applied,
        resource_of=kinds_of_cluster.resource_of(),
        client=client.as_client(),
    )


def counting_from_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of facts are seconds from now on: the loop's own time stands still at 0."""
    monkeypatch.setattr(facts_module, "in_seconds", float)


def causes_of(progress: Progress) -> list[Cause]:
    return [fact.cause for fact in progress.facts]


def found(cause: Cause, progress: Progress) -> Fact:
    """The one fact of this cause."""
    (fact,) = [fact for fact in progress.facts if fact.cause is cause]
    return fact


def concluded(
    one: Attempt,
    *,
    wanted: Progress = NO_PROGRESS,
    installed: Progress = NO_PROGRESS,
    lasted: float = 0.0,
    turn: Turn | None = None,
) -> Conclusion[BundleDeploymentStatus]:
    """Conclusion for users and the queue, at the time 0 of the loop. `lasted`: seconds for causes quiet at first."""
    key_of_attempt = key_facts(one.deployment, bundle=one.bundle.metadata.name, turn=turn)
    wanted, installed = _lasting(wanted, lasted), _lasting(installed, lasted)
    return conclude(one.deployment.status, wanted, installed, key_of_attempt, at(0.0))


def _lasting(progress: Progress, seconds: float) -> Progress:
    facts = (replace_value(fact, since=-seconds) if fact.row.quiet else fact for fact in progress.facts)
    return replace_value(progress, facts=tuple(facts))
