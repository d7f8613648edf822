"""Ordered deletion: what goes now, what is waited for, and what must not be deleted."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.deployment_spec import Dependency
from rukpak_py.api.names import (
    ALLOW_DATA_LOSS_ANNOTATION,
    APPLIED_ANNOTATION,
    DELETION_POLICY_ANNOTATION,
    ORDERED_DELETION_FINALIZER,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
)
from rukpak_py.apply.deletions import FOREGROUND, ORPHAN
from rukpak_py.apply.marks import applied_value, identity
from rukpak_py.apply.results import kind_wakes
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.dependencies import Dependencies
from rukpak_py.controllers.deployment.hooks.facts import HOOKS_SKIPPED, HooksOver
from rukpak_py.controllers.deployment.hooks.release_hooks import DeletedContent
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.uninstall import Uninstall
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import Conclusion, KeyFacts
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Words
from rukpak_py.core.objects import GroupVersionKind, Object
from rukpak_py.formats.hook import Hook, HookEvent
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError, ServerUnavailableError
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, Resource
from tests.manifests import config_map
from tests.unit.apply.lives import OUR_LABELS, OWNER, key
from tests.unit.apply.watches import Watches, watches_of
from tests.unit.apply.watches import ours as shown
from tests.unit.controllers.deployment.parts import (
    BASKET,
    BASKETS,
    WIDGET,
    FakeCluster,
    crd_facts,
    kinds,
)
from tests.unit.controllers.fakes import NOW, FakeClient, refusal
from tests.unit.controllers.result.concluding import at
from tests.unit.controllers.values import UID, deployment

MAP = Object.from_manifest(config_map())
CRD_NAME = "baskets.shop.example.org"
KINDS = (CONFIG_MAPS.gvk, CRDS.gvk, BASKET)


@dataclass
class Hooks:
    """Hooks of a chart; each is unfinished as often as it says. `lost`: it is unknown which hooks it has.

    `left`: what keeps those that have run from going.
    """

    rest: dict[HookEvent, int] = field(default_factory=dict)
    lost: Progress | None = None
    left: Progress | None = None
    notes: tuple[Fact, ...] = ()

    async def content(self, _deployment: BundleDeployment, _state: DeploymentState) -> "DeletedContent | Progress":
        hooks = tuple(Hook(object=MAP, events=frozenset({event})) for event in self.rest)
        return self.lost or DeletedContent(hooks=hooks, facts=self.notes)

    async def run(self, content: DeletedContent, event: HookEvent) -> HooksOver | Progress:
        left = self.rest.get(event, 0)
        if not left:
            return HooksOver(facts=(_said(Cause.FORMER_HOOK_LEFT, event),) if content.has(event) else ())
        self.rest[event] = left - 1
        return Progress(facts=(_said(Cause.HOOK_RUNNING, event),))

    async def clean_up(self, _deployment: BundleDeployment) -> Progress | None:
        return self.left


def _said(cause: Cause, text: str) -> Fact:
    return Fact(cause=cause, detail=Words(words=text))


@dataclass
class Bench:
    watches: Watches
    cluster: FakeCluster
    client: FakeClient
    hooks: Hooks = field(default_factory=Hooks)
    state: DeploymentState = field(default_factory=DeploymentState)
    bundle_is_orphaned: bool = False
    deployments: Cache[BundleDeployment] = field(default_factory=lambda: Cache(clock=monotonic))

    def __post_init__(self) -> None:
        kinds = self.cluster.as_kinds(self.watches.inventory, self.client)
        hooks: Any = self.hooks
        templates: Any = self
        self.dependencies = Dependencies(self.deployments)
        self.uninstall = Uninstall(
            self.client.as_client(),
            self.watches.inventory,
            kinds,
            templates,
            hooks,
            dependencies=self.dependencies,
        )

    def shows_orphaning(self, _deployment: BundleDeployment, _state: DeploymentState) -> bool:
        """Whether the Bundle of the installed content shows orphaning."""
        return self.bundle_is_orphaned

    def deleted(
        self, *finalizers: str, recorded: tuple[GroupVersionKind, ...] = KINDS, account: str = ""
    ) -> BundleDeployment:
        found = deployment(
            install_namespace="ns" if account else "",
            service_account_name=account,
            status=BundleDeploymentStatus(kinds=kinds(*recorded)),
            finalizers=finalizers or (ORDERED_DELETION_FINALIZER,),
            deletion_timestamp=NOW,
        )
        metadata = {"name": "shop", "uid": UID, "finalizers": list(found.metadata.finalizers)}
        self.client.put("BundleDeployment", {"metadata": metadata})
        self.client.objects["BundleDeployment", "shop"]["metadata"]["resourceVersion"] = "1"
        return found

    def has(self, resource: Resource, name: str, **fields: Any) -> None:
        """Put the object in the cluster, and in the watch."""
        live = shown(name=name, **fields)
        place = key(name, resource.gvk, "ns" if resource.namespaced else "")
        self.watches.shows(LiveObject(key=place, metadata=live.metadata), resource=resource)
        self.client.put(resource.gvk.kind, {"metadata": {"name": name, "uid": live.metadata.uid}})

    def lists(self, *resources: Resource) -> None:
        self.watches.inventory.watch(resources)
        self.watches.listed(*resources)

    async def proceed(self, of: BundleDeployment) -> Progress:
        self.seen(of)
        return await self.uninstall.proceed(of, self.state)

    def seen(self, of: BundleDeployment) -> None:
        self.state.deletion.seen(of.metadata, listed=False)

    @property
    def writes(self) -> list[str]:
        return [call for call in self.client.calls if not call.startswith(("get", "list"))]


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    watches = watches_of(monkeypatch)
    cluster = FakeCluster(resources=[CONFIG_MAPS, CRDS, NAMESPACES, BASKETS], crds=crd_facts(BASKETS))
    found = Bench(watches=watches, cluster=cluster, client=FakeClient())
    found.lists(CONFIG_MAPS, CRDS, BASKETS)
    yield found
    await watches.inventory.close()


def text(progress: Progress) -> str:
    """Text of the first fact."""
    return progress.facts[0].text


def causes(progress: Progress) -> list[Cause]:
    return [fact.cause for fact in progress.facts]


def concluded(progress: Progress) -> Conclusion[BundleDeploymentStatus]:
    key = KeyFacts(generation=1, is_deleted=True)
    return conclude(BundleDeploymentStatus(), progress, NO_PROGRESS, key, at(100.0))


def ready(progress: Progress) -> tuple[str, str, str]:
    (found,) = (one for one in concluded(progress).status.conditions if one.type == "Ready")
    return found.status, found.reason, found.message


ANNOTATED = {OWNER_UID_ANNOTATION: OWNER.uid, DELETION_POLICY_ANNOTATION: "Delete"}
FINALIZER_GOES = ["patch BundleDeployment shop"]


# The order


async def test_custom_resources_go_first_then_crds_then_the_finalizer(bench: Bench) -> None:
    bench.has(CONFIG_MAPS, "m")
    bench.has(CRDS, CRD_NAME)
    bench.has(BASKETS, "x")
    of = bench.deleted()
    result = await bench.proceed(of)
    assert bench.writes == ["delete Basket x"]
    going = "Deleting: waiting for 1 custom resource to be deleted: Basket.shop.example.org/ns/x"
    assert ready(result) == ("Unknown", "Deleting", going)
    assert concluded(result).schedule.attempt_at == 105.0, "instances of other origin are not in our watches"
    bench.watches.informer(BASKETS).say(key("x", BASKET), shown(name="x"), None)
    result = await bench.proceed(of)
    assert bench.writes[1:] == [f"delete CustomResourceDefinition {CRD_NAME}"]
    assert text(result) == f"waiting for 1 CRD to be deleted: CustomResourceDefinition.apiextensions.k8s.io/{CRD_NAME}"
    bench.watches.informer(CRDS).say(key(CRD_NAME, CRDS.gvk, ""), shown(name=CRD_NAME), None)
    assert await bench.proceed(of) == NO_PROGRESS
    assert bench.writes[2:] == FINALIZER_GOES
    assert bench.client.objects["BundleDeployment", "shop"]["metadata"]["finalizers"] == []
    assert ("ConfigMap", "m") in bench.client.objects, "the collector's work"


async def test_dependent_deletes_all_of_its_objects_before_its_finalizer_goes(bench: Bench) -> None:
    bench.has(CONFIG_MAPS, "m")
    of = bench.deleted()
    of = replace(of, spec=replace(of.spec, depends_on=(Dependency(name="base"),)))
    assert text(await bench.proceed(of)) == "waiting for 1 object to be deleted: ConfigMap ns/m"
    assert bench.writes == ["delete ConfigMap m"]


async def test_dependents_that_are_deleted_too_go_first(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    of = bench.deleted()
    of = replace(of, metadata=replace(of.metadata, deletion_timestamp=datetime.now(UTC).isoformat()))
    dependent = deployment("dependent", uid="d", depends_on=(Dependency(name="shop"),), deletion_timestamp=NOW)
    bench.deployments.put(dependent)
    bench.dependencies.seen(dependent)
    result = await bench.proceed(of)
    waits = "Deleting: waiting for dependent to be deleted, which depends on it; at most five minutes"
    assert ready(result) == ("Unknown", "Deleting", waits)
    assert bench.writes == []
    bench.deployments.drop("dependent", "d")
    bench.dependencies.gone(dependent)
    await bench.proceed(of)
    assert bench.writes == ["delete Basket x"]


async def test_finalizer_is_there_before_deployments_that_depend_on_each_other_can_be_deleted(bench: Bench) -> None:
    dependent = deployment("dependent", uid="d", depends_on=(Dependency(name="shop"),))
    alone = deployment("shop")
    bench.client.put("BundleDeployment", {"metadata": {"name": "shop", "uid": UID}})
    bench.client.objects["BundleDeployment", "shop"]["metadata"]["resourceVersion"] = "1"
    assert await bench.uninstall.prepare(alone) == alone
    assert bench.writes == []
    bench.dependencies.seen(dependent)
    prepared = await bench.uninstall.prepare(alone)
    assert prepared.metadata.finalizers == (ORDERED_DELETION_FINALIZER,)
    assert bench.writes == FINALIZER_GOES
    assert await bench.uninstall.prepare(prepared) == prepared
    assert bench.writes == FINALIZER_GOES


async def test_an_object_that_is_being_deleted_is_waited_for_and_not_deleted_again(bench: Bench) -> None:
    bench.has(BASKETS, "x", deletionTimestamp=NOW, finalizers=["example.com/hold"])
    bench.has(BASKETS, "y", deletionTimestamp=NOW, finalizers=["example.com/hold", "other"])
    bench.has(BASKETS, "z", deletionTimestamp=NOW)
    result = await bench.proceed(bench.deleted())
    assert bench.writes == []
    assert text(result) == (
        "waiting for 3 custom resources to be deleted: Basket.shop.example.org/ns/x (finalizer example.com/hold), "
        "Basket.shop.example.org/ns/y (finalizers example.com/hold, other), Basket.shop.example.org/ns/z"
    )


async def test_a_delete_that_is_refused_is_told(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.client.failing["delete"] = refusal(ForbiddenError, "a policy says no")
    result = await bench.proceed(bench.deleted())
    assert causes(result) == [Cause.DELETING, Cause.DELETION_FAILED]
    assert ready(result)[:2] == ("False", "Deleting")
    assert ready(result)[2].startswith("Deleting: Basket.shop.example.org/ns/x: a policy says no")
    found = concluded(result)
    assert [(event.type, event.reason) for event in found.events] == [("Warning", "Deleting")]
    assert found.schedule.failures == 1


async def test_a_server_that_says_when_to_come_back_is_not_asked_before(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    answer = ErrorAnswer(subject="test", status=429, message="slow down", retry_after=60.0)
    bench.client.failing["delete"] = ServerUnavailableError(answer)
    _, failed = (await bench.proceed(bench.deleted())).facts
    assert failed.at is not None
    assert round(failed.at - asyncio.get_running_loop().time()) == 60


async def test_many_are_counted_and_some_are_named(bench: Bench) -> None:
    for number in range(7):
        bench.has(BASKETS, f"x{number}")
    said = text(await bench.proceed(bench.deleted()))
    assert said.startswith("waiting for 7 custom resources to be deleted: Basket.shop.example.org/ns/x0, ")
    assert "x5" not in said


async def test_an_object_that_outlives_the_deployment_stays(bench: Bench) -> None:
    marks = {OWNER_UID_ANNOTATION: OWNER.uid, PRUNE_ANNOTATION: "false"}
    bench.has(BASKETS, "x", ownerReferences=[], labels=OUR_LABELS, annotations=marks)
    await bench.proceed(bench.deleted())
    assert bench.writes == FINALIZER_GOES


# Hooks of a chart


async def test_hooks_come_before_everything_and_after_everything_is_gone(bench: Bench) -> None:
    bench.hooks.rest = {HookEvent.PRE_DELETE: 1, HookEvent.POST_DELETE: 1}
    bench.has(CONFIG_MAPS, "m")
    bench.has(BASKETS, "x")
    of = bench.deleted()
    result = await bench.proceed(of)
    assert (causes(result), text(result)) == ([Cause.HOOK_RUNNING], "pre-delete")
    assert bench.writes == []
    result = await bench.proceed(of)
    assert causes(result) == [Cause.DELETING, Cause.FORMER_HOOK_LEFT], "what hooks tell beside is told, too"
    assert bench.writes == ["delete Basket x"]
    bench.watches.informer(BASKETS).say(key("x", BASKET), shown(name="x"), None)
    assert text(await bench.proceed(of)) == "waiting for 1 object to be deleted: ConfigMap ns/m"
    assert bench.writes[1:] == ["delete ConfigMap m"]
    bench.watches.informer(CONFIG_MAPS).say(key("m"), shown(name="m"), None)
    result = await bench.proceed(of)
    assert (causes(result), text(result)) == ([Cause.HOOK_RUNNING], "post-delete")
    assert bench.writes[2:] == []
    assert await bench.proceed(of) == NO_PROGRESS
    assert bench.writes[2:] == FINALIZER_GOES


async def test_without_hooks_for_afterwards_the_collector_does_the_rest(bench: Bench) -> None:
    bench.hooks.rest = {HookEvent.PRE_DELETE: 0}
    bench.has(CONFIG_MAPS, "m")
    await bench.proceed(bench.deleted())
    assert bench.writes == FINALIZER_GOES


@pytest.mark.parametrize("rest", [{}, {HookEvent.PRE_DELETE: 0}])
async def test_the_deployment_waits_for_what_is_left_of_its_hooks(bench: Bench, rest: dict[HookEvent, int]) -> None:
    """The same holds when they are skipped by now."""
    bench.hooks.rest, bench.hooks.left = rest, Progress(facts=(_said(Cause.DELETION_FAILED, "left"),))
    assert await bench.proceed(bench.deleted()) == bench.hooks.left
    assert bench.writes == []


async def test_nothing_is_deleted_while_the_hooks_are_unknown(bench: Bench) -> None:
    bench.hooks.lost = Progress(facts=(_said(Cause.HOOKS_UNKNOWN, "lost"),))
    bench.has(BASKETS, "x")
    assert await bench.proceed(bench.deleted()) == bench.hooks.lost
    assert bench.writes == []


async def test_skipped_hooks_are_reported_at_each_look(bench: Bench) -> None:
    bench.hooks.notes = (HOOKS_SKIPPED,)
    bench.has(BASKETS, "x")
    assert causes(await bench.proceed(bench.deleted())) == [Cause.DELETING, Cause.HOOKS_SKIPPED]
    bench.watches.informer(BASKETS).say(key("x", BASKET), shown(name="x"), None)
    assert causes(await bench.proceed(bench.deleted())) == [Cause.HOOKS_SKIPPED]
    assert bench.writes[1:] == FINALIZER_GOES


# Who has nothing to do here


@pytest.mark.parametrize("finalizers", [("somebody.else/finalizer",), (ORDERED_DELETION_FINALIZER, ORPHAN)])
async def test_nothing_is_done_without_our_finalizer_or_while_the_collector_orphans(
    bench: Bench, finalizers: tuple[str, ...]
) -> None:
    bench.has(BASKETS, "x")
    assert await bench.proceed(bench.deleted(*finalizers)) == NO_PROGRESS
    assert bench.client.calls == []


async def test_foreground_deletion_is_warned_of(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    result = await bench.proceed(bench.deleted(ORDERED_DELETION_FINALIZER, FOREGROUND))
    assert causes(result) == [Cause.DELETING, Cause.ORDER_NOT_KEPT]
    assert [(event.type, event.reason) for event in concluded(result).events] == [("Warning", "OrderNotKept")]
    assert bench.writes == ["delete Basket x"]


# Kinds that cannot be seen


async def test_custom_kinds_that_cannot_be_seen_are_waited_for_and_said(bench: Bench) -> None:
    bench.cluster.hides(BASKETS)
    bench.has(CRDS, CRD_NAME)
    result = await bench.proceed(bench.deleted())
    assert bench.writes == []
    assert text(result) == (
        "the API server does not serve Basket.shop.example.org at the moment: "
        "objects of these kinds are left as they are until it does"
    )
    assert concluded(result).wakes == kind_wakes([BASKET.group_kind])


async def test_visible_objects_go_while_a_kind_is_hidden(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.cluster.resources.append(Resource(gvk=WIDGET, plural="widgets", namespaced=True))
    result = await bench.proceed(bench.deleted(recorded=(*KINDS, WIDGET)))
    assert bench.writes == ["delete Basket x"]
    assert "the API server cannot list Widget.shop.example.org at the moment" in text(result)
    assert concluded(result).wakes == kind_wakes([WIDGET.group_kind])


async def test_built_in_kinds_that_were_not_listed_yet_are_waited_for(bench: Bench) -> None:
    """Objects that the collector has orphaned might be among them."""
    bench.has(BASKETS, "x")
    bench.watches.informer(CONFIG_MAPS).synced.clear()
    bench.watches.informer(CRDS).synced.clear()
    result = await bench.proceed(bench.deleted())
    assert concluded(result).wakes == kind_wakes([CONFIG_MAPS.group_kind, CRDS.group_kind])
    assert bench.writes == []


async def test_kinds_that_are_gone_are_not_waited_for(bench: Bench) -> None:
    bench.cluster.hides(BASKETS)
    bench.cluster.crds.clear()
    assert await bench.proceed(bench.deleted()) == NO_PROGRESS
    assert bench.writes == FINALIZER_GOES


# Orphans


async def test_nothing_is_deleted_of_a_deployment_that_was_ever_orphaning(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.has(CRDS, CRD_NAME)
    bench.client.put("Basket", {"metadata": {"name": "x", "uid": "u", "ownerReferences": [OWNER.reference]}})
    bench.seen(bench.deleted(ORDERED_DELETION_FINALIZER, ORPHAN))
    result = await bench.proceed(bench.deleted())
    assert causes(result) == [Cause.ORPHANED, Cause.LOOK_AGAIN]
    assert await bench.proceed(bench.deleted()) == NO_PROGRESS
    assert text(result) == (
        "left 2 objects in the cluster, as a deletion that orphans asks: "
        f"CustomResourceDefinition.apiextensions.k8s.io/{CRD_NAME}, "
        "Basket.shop.example.org/ns/x; a BundleDeployment of the same name takes them again"
    )
    assert not any("delete" in call for call in bench.client.calls)
    assert not bench.client.objects["Basket", "x"]["metadata"].get("ownerReferences")
    assert bench.writes[-1:] == FINALIZER_GOES


async def test_a_bundle_without_its_owner_says_so_where_nothing_has_a_reference(bench: Bench) -> None:
    bench.has(CRDS, CRD_NAME, ownerReferences=[], annotations=ANNOTATED)
    bench.bundle_is_orphaned = True
    assert causes(await bench.proceed(bench.deleted())) == [Cause.ORPHANED, Cause.LOOK_AGAIN]
    assert bench.writes == []
    assert await bench.proceed(bench.deleted()) == NO_PROGRESS
    assert bench.writes == FINALIZER_GOES


async def test_objects_that_a_former_deployment_of_the_name_left_prove_no_orphaning(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.has(CONFIG_MAPS, "left", ownerReferences=[])
    assert causes(await bench.proceed(bench.deleted())) == [Cause.DELETING]


async def test_a_deletion_whose_events_prove_that_it_does_not_orphan_needs_no_witness(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.bundle_is_orphaned = True
    bench.seen(deployment(finalizers=(ORDERED_DELETION_FINALIZER,)))
    assert causes(await bench.proceed(bench.deleted())) == [Cause.DELETING]


async def test_a_namespace_that_a_former_release_gave_an_owner_reference_goes_by_the_policy(bench: Bench) -> None:
    bench.lists(NAMESPACES)
    bench.has(NAMESPACES, "n")
    bench.client.put("ConfigMap", {"metadata": {"name": "theirs", "namespace": "n", "uid": "v"}})
    result = await bench.proceed(bench.deleted(recorded=(*KINDS, NAMESPACES.gvk)))
    assert causes(result) == [Cause.DATA_LOSS]
    assert bench.writes == []


async def test_labels_alone_prove_no_orphaning(bench: Bench) -> None:
    """Kubernetes copies those of a Service to its Endpoints."""
    bench.has(BASKETS, "x")
    bench.has(CONFIG_MAPS, "copied", ownerReferences=[], managedFields=[], annotations={APPLIED_ANNOTATION: ""})
    assert causes(await bench.proceed(bench.deleted())) == [Cause.DELETING]


async def test_an_object_without_an_owner_reference_is_deleted_by_us_before_namespaces(bench: Bench) -> None:
    bench.lists(NAMESPACES)
    bench.has(NAMESPACES, "n", ownerReferences=[], annotations=ANNOTATED)
    bench.has(CONFIG_MAPS, "m")
    of = bench.deleted(recorded=(*KINDS, NAMESPACES.gvk))
    await bench.proceed(of)
    assert bench.writes == ["delete ConfigMap m"]
    bench.watches.informer(CONFIG_MAPS).say(key("m", CONFIG_MAPS.gvk), shown(name="m"), None)
    await bench.proceed(of)
    assert bench.writes == ["delete ConfigMap m", "delete Namespace n"]


async def test_instances_of_others_of_a_crd_hold_the_deletion_until_it_is_allowed(bench: Bench) -> None:
    bench.has(CRDS, CRD_NAME, ownerReferences=[], annotations=ANNOTATED)
    bench.client.put("Basket", {"metadata": {"name": "theirs", "namespace": "shop", "uid": "v"}})
    of = bench.deleted()
    result = await bench.proceed(of)
    assert bench.writes == []
    assert causes(result) == [Cause.DATA_LOSS]
    assert text(result) == (
        "the deletion waits, because it would delete what others have: "
        f"CustomResourceDefinition.apiextensions.k8s.io/{CRD_NAME}: 1 Basket object (shop/theirs). "
        'Delete or move that, or set the annotation core.rukpak.io/allow-data-loss: "true" on the BundleDeployment'
    )
    allowed = replace(of, metadata=replace(of.metadata, annotations={ALLOW_DATA_LOSS_ANNOTATION: "true"}))
    await bench.proceed(allowed)
    assert bench.writes == [f"delete CustomResourceDefinition {CRD_NAME}"]


async def test_an_orphan_of_the_collector_proves_orphaning_to_a_process_that_did_not_see_it(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.client.put("Basket", {"metadata": {"name": "x", "uid": "u", "ownerReferences": [OWNER.reference]}})
    place = key("stripped", CONFIG_MAPS.gvk)
    applied = applied_value(identity(OWNER.uid, place), "sha256:1")
    bench.has(CONFIG_MAPS, "stripped", ownerReferences=[], annotations={APPLIED_ANNOTATION: applied})
    assert causes(await bench.proceed(bench.deleted())) == [Cause.ORPHANED, Cause.LOOK_AGAIN]
    assert not any("delete" in call for call in bench.client.calls)
    assert not bench.client.objects["Basket", "x"]["metadata"].get("ownerReferences")


async def test_orphaning_waits_for_kinds_that_cannot_be_seen(bench: Bench) -> None:
    bench.cluster.hides(BASKETS)
    bench.seen(bench.deleted(ORDERED_DELETION_FINALIZER, ORPHAN))
    result = await bench.proceed(bench.deleted())
    assert bench.writes == []
    assert ready(result)[2].startswith("Orphaning: the API server does not serve Basket.shop.example.org")


async def test_an_object_that_cannot_be_orphaned_is_reported_and_tried_again(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.client.failing["patch"] = refusal(ForbiddenError, "no")
    bench.seen(bench.deleted(ORDERED_DELETION_FINALIZER, ORPHAN))
    result = await bench.proceed(bench.deleted())
    assert ready(result)[:2] == ("False", "Deleting")
    assert ready(result)[2].startswith("Orphaning: Basket.shop.example.org/ns/x: no")
    assert concluded(result).schedule.failures == 1


async def test_the_next_deployment_of_the_name_is_not_taken_for_an_orphaning_one(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    orphaning = bench.deleted(ORDERED_DELETION_FINALIZER, ORPHAN)
    bench.seen(orphaning)
    bench.state = DeploymentState()
    await bench.proceed(bench.deleted())
    assert bench.writes == ["delete Basket x"]


# The account of the deployment


def with_account(bench: Bench) -> BundleDeployment:
    bench.client.put("ServiceAccount", {"metadata": {"name": "installer"}})
    return bench.deleted(account="installer")


WAY_OUT = (
    "waiting for rights of service account ns/installer: give them back, or run kubectl rukpak release shop, which "
    "leaves the rest to the garbage collector: "
)


async def test_nothing_is_deleted_with_the_rights_of_an_account_that_is_gone(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    of = bench.deleted(account="installer")
    result = await bench.proceed(of)
    assert (causes(result), bench.writes) == ([Cause.ACCOUNT_MISSING], [])
    assert text(result) == f"{WAY_OUT}it does not exist"
    with_account(bench)
    assert causes(await bench.proceed(of)) == [Cause.DELETING]
    assert bench.writes == ["delete Basket x"]


async def test_a_deletion_without_objects_needs_no_account(bench: Bench) -> None:
    await bench.proceed(bench.deleted(account="installer"))
    assert bench.writes == FINALIZER_GOES
    assert "get ServiceAccount installer" not in bench.client.calls


async def test_account_that_lacks_the_right_to_delete_is_named_with_the_way_out(bench: Bench) -> None:
    of = with_account(bench)
    bench.has(BASKETS, "x")
    bench.client.failing["delete"] = refusal(ForbiddenError)
    deleting, failed = (await bench.proceed(of)).facts
    assert (deleting.cause, failed.cause) == (Cause.DELETING, Cause.DELETION_FAILED)
    assert failed.text.startswith(WAY_OUT)
    bench.client.failing.clear()
    assert causes(await bench.proceed(of)) == [Cause.DELETING]


async def test_without_an_account_a_refused_delete_names_no_way_out(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.client.failing["delete"] = refusal(ForbiddenError)
    _, failed = (await bench.proceed(bench.deleted())).facts
    assert "release" not in failed.text
