"""Ordered deletion: what goes now, what is waited for, and what nobody may delete."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER, OWNER_UID_ANNOTATION, PRUNE_ANNOTATION
from rukpak_py.apply.deletions import FOREGROUND, ORPHAN
from rukpak_py.apply.preflight.refusal import WaitsFor
from rukpak_py.controllers.deployment.stage import StageResult
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.uninstall import LOOK_AGAIN_SECONDS, Uninstall
from rukpak_py.controllers.outcome import DONE, WAIT
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.hook import HookEvent
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, Resource
from tests.unit.apply.lives import OUR_LABELS, OWNER, key
from tests.unit.apply.watches import Watches, watches_of
from tests.unit.apply.watches import ours as shown
from tests.unit.controllers.deployment.parts import (
    BASKET,
    BASKETS,
    WIDGET,
    FakeCluster,
    ToldEvents,
    crd_facts,
    kinds,
)
from tests.unit.controllers.fakes import NOW, FakeClient, refusal
from tests.unit.controllers.values import UID, deployment

CRD_NAME = "baskets.shop.example.org"
KINDS = (CONFIG_MAPS.gvk, CRDS.gvk, BASKET)


@dataclass
class Hooks:
    """Of a chart that has these; each is unfinished as often as it says. `lost`: nobody knows which it has.

    `left`: what keeps those that have run from going.
    """

    rest: dict[HookEvent, int] = field(default_factory=dict)
    lost: StageResult | None = None
    left: StageResult | None = None

    async def content(self, _deployment: BundleDeployment, _state: DeploymentState) -> "Hooks | StageResult | None":
        return self.lost or (self if self.rest else None)

    def has(self, event: HookEvent) -> bool:
        return event in self.rest

    async def run(self, _content: "Hooks", event: HookEvent) -> StageResult | None:
        left = self.rest.get(event, 0)
        if not left:
            return None
        self.rest[event] = left - 1
        return StageResult(outcome=WAIT, not_corrected=event)

    async def clean_up(self, _deployment: BundleDeployment, _state: DeploymentState) -> StageResult | None:
        return self.left


@dataclass
class Bench:
    watches: Watches
    cluster: FakeCluster
    client: FakeClient
    events: ToldEvents = field(default_factory=ToldEvents)
    hooks: Hooks = field(default_factory=Hooks)
    state: DeploymentState = field(default_factory=DeploymentState)

    def __post_init__(self) -> None:
        kinds = self.cluster.as_kinds()
        hooks: Any = self.hooks
        self.uninstall = Uninstall(self.client.as_client(), self.watches.inventory, kinds, self.events, hooks)

    def deleted(self, *finalizers: str, recorded: tuple[GroupVersionKind, ...] = KINDS) -> BundleDeployment:
        found = deployment(
            status=BundleDeploymentStatus(kinds=kinds(*recorded)),
            finalizers=finalizers or (ORDERED_DELETION_FINALIZER,),
            deletion_timestamp=NOW,
        )
        metadata = {"name": "shop", "uid": UID, "finalizers": list(found.metadata.finalizers)}
        self.client.put("BundleDeployment", {"metadata": metadata})
        self.client.objects["BundleDeployment", "shop"]["metadata"]["resourceVersion"] = "1"
        return found

    def has(self, resource: Resource, name: str, **fields: Any) -> None:
        """In the cluster, and in the watch."""
        live = shown(name=name, **fields)
        place = key(name, resource.gvk, "ns" if resource.namespaced else "")
        self.watches.shows(LiveObject(key=place, metadata=live.metadata), resource=resource)
        self.client.put(resource.gvk.kind, {"metadata": {"name": name, "uid": live.metadata.uid}})

    def lists(self, *resources: Resource) -> None:
        self.watches.inventory.watch(resources)
        self.watches.listed(*resources)

    async def proceed(self, of: BundleDeployment) -> StageResult:
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
    cluster = FakeCluster(resources=[CONFIG_MAPS, CRDS, BASKETS], crds=crd_facts(BASKETS))
    found = Bench(watches=watches, cluster=cluster, client=FakeClient())
    found.lists(CONFIG_MAPS, CRDS, BASKETS)
    yield found
    await watches.inventory.close()


def message(result: StageResult) -> str:
    assert result.report is not None
    return result.report.message


FINALIZER_GOES = ["patch BundleDeployment shop"]


# The order


async def test_custom_resources_go_first_then_crds_then_the_finalizer(bench: Bench) -> None:
    bench.has(CONFIG_MAPS, "m")
    bench.has(CRDS, CRD_NAME)
    bench.has(BASKETS, "x")
    of = bench.deleted()
    result = await bench.proceed(of)
    assert bench.writes == ["delete Basket x"]
    assert message(result) == "Deleting: waiting for 1 custom resource to be deleted: Basket ns/x"
    assert result.outcome.after == LOOK_AGAIN_SECONDS
    bench.watches.informer(BASKETS).say(key("x", BASKET), shown(name="x"), None)
    result = await bench.proceed(of)
    assert bench.writes[1:] == [f"delete CustomResourceDefinition {CRD_NAME}"]
    assert message(result) == f"Deleting: waiting for 1 CRD to be deleted: CustomResourceDefinition {CRD_NAME}"
    bench.watches.informer(CRDS).say(key(CRD_NAME, CRDS.gvk, ""), shown(name=CRD_NAME), None)
    assert await bench.proceed(of) == StageResult(outcome=DONE)
    assert bench.writes[2:] == FINALIZER_GOES
    assert bench.client.objects["BundleDeployment", "shop"]["metadata"]["finalizers"] == []
    assert ("ConfigMap", "m") in bench.client.objects, "the collector's work"


async def test_what_is_going_already_is_waited_for_and_not_deleted_again(bench: Bench) -> None:
    bench.has(BASKETS, "x", deletionTimestamp=NOW, finalizers=["example.com/hold"])
    bench.has(BASKETS, "y", deletionTimestamp=NOW, finalizers=["example.com/hold", "other"])
    bench.has(BASKETS, "z", deletionTimestamp=NOW)
    result = await bench.proceed(bench.deleted())
    assert bench.writes == []
    assert message(result) == (
        "Deleting: waiting for 3 custom resources to be deleted: Basket ns/x (finalizer example.com/hold), "
        "Basket ns/y (finalizers example.com/hold, other), Basket ns/z"
    )


async def test_a_delete_that_is_refused_is_told(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.client.failing["delete"] = refusal(ForbiddenError, "a policy says no")
    result = await bench.proceed(bench.deleted())
    assert message(result).endswith("; Basket ns/x: a policy says no")


async def test_many_are_counted_and_some_are_named(bench: Bench) -> None:
    for number in range(7):
        bench.has(BASKETS, f"x{number}")
    text = message(await bench.proceed(bench.deleted()))
    assert "waiting for 7 custom resources to be deleted: Basket ns/x0, " in text
    assert "x5" not in text


async def test_what_outlives_the_deployment_stays(bench: Bench) -> None:
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
    assert (await bench.proceed(of)).not_corrected == "pre-delete"
    assert bench.writes == []
    await bench.proceed(of)
    assert bench.writes == ["delete Basket x"]
    bench.watches.informer(BASKETS).say(key("x", BASKET), shown(name="x"), None)
    assert message(await bench.proceed(of)) == "Deleting: waiting for 1 object to be deleted: ConfigMap ns/m"
    assert bench.writes[1:] == ["delete ConfigMap m"]
    bench.watches.informer(CONFIG_MAPS).say(key("m"), shown(name="m"), None)
    assert (await bench.proceed(of)).not_corrected == "post-delete"
    assert bench.writes[2:] == []
    assert await bench.proceed(of) == StageResult(outcome=DONE)
    assert bench.writes[2:] == FINALIZER_GOES


async def test_without_hooks_for_afterwards_the_collector_does_the_rest(bench: Bench) -> None:
    bench.hooks.rest = {HookEvent.PRE_DELETE: 0}
    bench.has(CONFIG_MAPS, "m")
    await bench.proceed(bench.deleted())
    assert bench.writes == FINALIZER_GOES


@pytest.mark.parametrize("rest", [{}, {HookEvent.PRE_DELETE: 0}])
async def test_the_deployment_waits_for_what_is_left_of_its_hooks(bench: Bench, rest: dict[HookEvent, int]) -> None:
    """Also when they are skipped by now."""
    bench.hooks.rest, bench.hooks.left = rest, StageResult(outcome=WAIT, not_corrected="left")
    assert await bench.proceed(bench.deleted()) == bench.hooks.left
    assert bench.writes == []


async def test_nothing_is_deleted_while_nobody_knows_the_hooks(bench: Bench) -> None:
    bench.hooks.lost = StageResult(outcome=WAIT, not_corrected="lost")
    bench.has(BASKETS, "x")
    assert await bench.proceed(bench.deleted()) == bench.hooks.lost
    assert bench.writes == []


# Who has nothing to do here


@pytest.mark.parametrize("finalizers", [("somebody.else/finalizer",), (ORDERED_DELETION_FINALIZER, ORPHAN)])
async def test_nothing_is_done_without_our_finalizer_or_while_the_collector_orphans(
    bench: Bench, finalizers: tuple[str, ...]
) -> None:
    bench.has(BASKETS, "x")
    assert await bench.proceed(bench.deleted(*finalizers)) == StageResult(outcome=DONE)
    assert bench.client.calls == []


async def test_foreground_deletion_is_warned_of(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    await bench.proceed(bench.deleted(ORDERED_DELETION_FINALIZER, FOREGROUND))
    assert bench.events.told == [("Warning", "shop", "OrderNotKept")]
    assert bench.writes == ["delete Basket x"]


# Kinds that cannot be seen


async def test_custom_kinds_that_cannot_be_seen_are_waited_for_and_said(bench: Bench) -> None:
    bench.cluster.hides(BASKETS)
    bench.has(CRDS, CRD_NAME)
    result = await bench.proceed(bench.deleted())
    assert bench.writes == []
    assert message(result) == (
        "Deleting: the API server does not serve Basket.shop.example.org at the moment: "
        "objects of these kinds are left as they are until it does"
    )
    assert result.waits_for == WaitsFor(kinds=frozenset({BASKET.group_kind}))


async def test_what_can_be_seen_goes_meanwhile(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.cluster.resources.append(Resource(gvk=WIDGET, plural="widgets", namespaced=True))
    result = await bench.proceed(bench.deleted(recorded=(*KINDS, WIDGET)))
    assert bench.writes == ["delete Basket x"]
    assert "the API server cannot list Widget.shop.example.org at the moment" in message(result)
    assert result.waits_for == WaitsFor(kinds=frozenset({WIDGET.group_kind}))


async def test_built_in_kinds_that_were_not_listed_yet_are_waited_for(bench: Bench) -> None:
    """What the collector has orphaned might be among them."""
    bench.has(BASKETS, "x")
    bench.watches.informer(CONFIG_MAPS).synced.clear()
    bench.watches.informer(CRDS).synced.clear()
    result = await bench.proceed(bench.deleted())
    assert result.waits_for == WaitsFor(kinds=frozenset({CONFIG_MAPS.group_kind, CRDS.group_kind}))
    assert bench.writes == []


async def test_kinds_that_are_gone_are_not_waited_for(bench: Bench) -> None:
    bench.cluster.hides(BASKETS)
    bench.cluster.crds.clear()
    assert await bench.proceed(bench.deleted()) == StageResult(outcome=DONE)
    assert bench.writes == FINALIZER_GOES


# Orphans


async def test_nothing_is_deleted_of_a_deployment_that_was_ever_orphaning(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.has(CRDS, CRD_NAME)
    bench.client.put("Basket", {"metadata": {"name": "x", "uid": "u", "ownerReferences": [OWNER.reference]}})
    bench.seen(bench.deleted(ORDERED_DELETION_FINALIZER, ORPHAN))
    assert await bench.proceed(bench.deleted()) == StageResult(outcome=DONE)
    assert not any("delete" in call for call in bench.client.calls)
    assert not bench.client.objects["Basket", "x"]["metadata"].get("ownerReferences")
    assert bench.writes[-1:] == FINALIZER_GOES


async def test_what_the_collector_has_orphaned_says_so_to_a_process_that_did_not_see_it(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.client.put("Basket", {"metadata": {"name": "x", "uid": "u", "ownerReferences": [OWNER.reference]}})
    bench.has(CONFIG_MAPS, "stripped", ownerReferences=[])
    assert await bench.proceed(bench.deleted()) == StageResult(outcome=DONE)
    assert not any("delete" in call for call in bench.client.calls)
    assert not bench.client.objects["Basket", "x"]["metadata"].get("ownerReferences")


async def test_orphaning_waits_for_kinds_that_cannot_be_seen(bench: Bench) -> None:
    bench.cluster.hides(BASKETS)
    bench.seen(bench.deleted(ORDERED_DELETION_FINALIZER, ORPHAN))
    result = await bench.proceed(bench.deleted())
    assert bench.writes == []
    assert message(result).startswith("Orphaning: the API server does not serve Basket.shop.example.org")


async def test_what_cannot_be_orphaned_is_told_and_tried_again(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    bench.client.failing["patch"] = refusal(ForbiddenError, "no")
    bench.seen(bench.deleted(ORDERED_DELETION_FINALIZER, ORPHAN))
    result = await bench.proceed(bench.deleted())
    assert result.outcome.retry
    assert message(result) == "Orphaning: Basket ns/x: no"


async def test_the_next_deployment_of_the_name_is_not_taken_for_an_orphaning_one(bench: Bench) -> None:
    bench.has(BASKETS, "x")
    orphaning = bench.deleted(ORDERED_DELETION_FINALIZER, ORPHAN)
    bench.seen(orphaning)
    bench.state = DeploymentState()
    await bench.proceed(bench.deleted())
    assert bench.writes == ["delete Basket x"]
