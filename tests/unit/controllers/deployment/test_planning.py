"""Plans from wanted and existing objects: those that can be written, those held, and those that come later."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.conditions import Note
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.inventory import Watched
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.ownership import SharedObject
from rukpak_py.apply.plan import Action
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kinds import HiddenKinds
from rukpak_py.controllers.deployment.planning import Planned, Planner
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.formats.format import RenderedContent
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, SECRETS
from tests.manifests import config_map
from tests.unit.apply.lives import OTHER, OWNER, desired, key, live_object, owned
from tests.unit.apply.watches import Watches, watches_of
from tests.unit.apply.watches import ours as shown
from tests.unit.controllers.deployment.parts import (
    BASKET,
    BASKETS,
    FakeCluster,
    attempt,
    basket,
    crd,
    settled,
)
from tests.unit.controllers.fakes import FakeClient
from tests.unit.controllers.values import deployment

STATES = {
    CONFIG_MAPS.gvk: KindState.SERVED,
    SECRETS.gvk: KindState.SERVED,
    NAMESPACES.gvk: KindState.SERVED,
    CRDS.gvk: KindState.SERVED,
}
KNOWN = {one.gvk: one for one in (CONFIG_MAPS, SECRETS, NAMESPACES, CRDS, BASKETS)}


OTHERS = SharedObject(key=key("a"), owner=OTHER, digests=frozenset())


@dataclass
class Bench:
    watches: Watches
    client: FakeClient = field(default_factory=FakeClient)

    async def plan(
        self,
        *wanted: dict[str, Any],
        of: Attempt | None = None,
        hidden: HiddenKinds | None = None,
        states: dict[GroupVersionKind, KindState] | None = None,
    ) -> Planned:
        resolution = Resolution(states=STATES | (states or {}), resources=KNOWN)
        rendered = Rendered(
            desired=tuple(desired(manifest) for manifest in wanted),
            resolution=resolution,
            content=RenderedContent(objects=()),
        )
        return await self.planner.plan(of or attempt(), rendered, hidden or HiddenKinds())

    @property
    def planner(self) -> Planner:
        kinds = FakeCluster(resources=[CONFIG_MAPS, SECRETS, NAMESPACES, CRDS]).as_kinds(client=self.client)
        return Planner(self.client.as_client(), self.watches.inventory, kinds)


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    watches = watches_of(monkeypatch, CONFIG_MAPS, SECRETS, BASKETS)
    yield Bench(watches=watches)
    await watches.inventory.close()


def actions(planned: Planned) -> dict[str, Action]:
    return {change.key.name: change.action for change in planned.plan.changes}


def of_basket(name: str = "x") -> ObjectKey:
    return desired(basket(name)).key


def shown_basket(name: str = "x") -> LiveObject:
    return LiveObject(key=of_basket(name), metadata=shown(name=name).metadata)


def secret(name: str = "s") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


async def test_free_names_are_looked_for_and_what_the_watches_show_is_not(bench: Bench) -> None:
    bench.watches.shows(shown(name="a"), shown(name="left"))
    planned = await bench.plan(config_map("a"), config_map("b"))
    assert bench.client.calls == ["get ConfigMap b"]
    assert actions(planned) == {"a": Action.UPDATE, "b": Action.CREATE}
    assert [live.key for live in planned.plan.prune] == [key("left")]
    assert (planned.held, planned.later, planned.is_whole) == ((), (), True)


async def test_an_object_that_is_as_it_was_applied_costs_no_call(bench: Bench) -> None:
    wanted = desired(config_map("a"))
    bench.watches.shows(shown(name="a", annotations={"core.rukpak.io/applied": wanted.payload.digest}))
    live = bench.watches.inventory.get(key("a"))
    assert live is not None
    planned = await bench.plan(config_map("a"), of=settled(attempt(), live))
    assert actions(planned) == {"a": Action.LEAVE}
    assert bench.client.calls == []


@pytest.mark.parametrize(
    ("hidden", "states"),
    [
        (HiddenKinds(unlisted=frozenset({Watched(BASKET.group_kind)})), {BASKET: KindState.SERVED}),
        (HiddenKinds(unserved=frozenset({BASKET.group_kind})), {BASKET: KindState.UNSERVED}),
        (HiddenKinds(unserved=frozenset({BASKET.group_kind})), {BASKET: KindState.GONE}),
        (HiddenKinds(unserved=frozenset({BASKET.group_kind})), {BASKET: KindState.MISSING}),
    ],
)
async def test_objects_of_a_kind_that_cannot_be_seen_are_held_and_not_looked_for(
    bench: Bench, hidden: HiddenKinds, states: dict[GroupVersionKind, KindState]
) -> None:
    bench.watches.shows(shown_basket("left"), resource=BASKETS)
    planned = await bench.plan(basket("x"), config_map("a"), hidden=hidden, states=states)
    assert planned.held == (of_basket(),)
    assert actions(planned) == {"a": Action.CREATE}
    assert planned.plan.prune == (), "of a hidden kind nothing is pruned either"
    assert bench.client.calls == ["get ConfigMap a"]
    assert not planned.is_whole


async def test_an_object_that_left_is_not_pruned_while_its_kind_is_hidden_and_the_rest_is(bench: Bench) -> None:
    bench.watches.shows(shown(name="left"))
    bench.watches.shows(shown_basket("left too"), resource=BASKETS)
    planned = await bench.plan(hidden=HiddenKinds(unserved=frozenset({BASKET.group_kind})))
    assert [live.key for live in planned.plan.prune] == [key("left")]
    assert not planned.is_whole, "nor is anything deleted before all is seen"


async def test_instances_of_a_kind_that_the_content_brings_come_later(bench: Bench) -> None:
    planned = await bench.plan(crd(), basket(), states={BASKET: KindState.NEW})
    assert [one.key for one in planned.later] == [of_basket()]
    assert planned.held == ()
    assert actions(planned) == {"baskets.shop.example.org": Action.CREATE}
    assert bench.client.calls == ["get CustomResourceDefinition baskets.shop.example.org"]
    assert not planned.is_whole


async def test_an_object_of_a_kind_to_come_is_not_pruned_although_it_is_there(bench: Bench) -> None:
    bench.watches.shows(shown_basket(), resource=BASKETS)
    planned = await bench.plan(crd(), basket(), states={BASKET: KindState.NEW})
    assert planned.plan.prune == ()


async def test_an_object_of_a_deployment_that_does_not_exist_is_asked_for_by_its_name(bench: Bench) -> None:
    labels = {"core.rukpak.io/owner-kind": "BundleDeployment", "core.rukpak.io/owner-name": "renamed"}
    bench.client.put("ConfigMap", {"metadata": {"name": "a", "namespace": "ns", "labels": labels}})
    planned = await bench.plan(config_map("a"))
    assert bench.client.calls == ["get ConfigMap a", "get BundleDeployment renamed"]
    assert [change.reason for change in planned.plan.refused] == [
        (
            "ConfigMap ns/a was installed by BundleDeployment renamed, which does not exist; "
            "delete the object, or set spec.adopt to IfUnowned to take it over"
        )
    ]


async def test_a_kind_is_used_in_the_version_of_the_content(bench: Bench) -> None:
    planned = await bench.plan(basket(), states={BASKET: KindState.SERVED})
    assert planned.target.resource_of(of_basket()) == BASKETS
    assert planned.target.resource_of(key()) == CONFIG_MAPS


async def test_many_objects_are_set_apart_without_comparing_them_with_each_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    def equal(_one: Desired, _other: object) -> bool:
        nonlocal compared
        compared += 1
        return False

    monkeypatch.setattr(Desired, "__eq__", equal)
    hidden = HiddenKinds(unlisted=frozenset({Watched(CONFIG_MAPS.group_kind)}))
    planned = await bench.plan(*(secret(f"s{number}") for number in range(50)), config_map("a"), hidden=hidden)
    assert planned.held == (key("a"),)
    assert compared == 0


@pytest.mark.parametrize(
    ("known", "told", "by", "expected"),
    [
        ((), "", None, True),
        ((OTHERS,), "", OTHER, True),
        ((OTHERS,), "", None, False),
        ((OTHERS,), "", OWNER, False),
        (None, "", OTHER, True),
        (None, "Kept", OTHER, True),
        (None, "Shared", OTHER, False),
        (None, "SharedDiffers", OTHER, False),
        (None, "SharedUnowned", None, False),
    ],
    ids=[
        "none",
        "theirs",
        "gone",
        "another's",
        "never told",
        "told otherwise",
        "told before",
        "told before, too",
        "let go",
    ],
)
async def test_shared_objects_are_looked_for_where_they_are_unknown_or_not_as_they_were(
    bench: Bench, known: tuple[SharedObject, ...] | None, told: str, by: Owner | None, *, expected: bool
) -> None:
    notes = (Note(reason=told, since="2026-01-01T00:00:00Z", id="1"),) if told else ()
    of = attempt(of=deployment(status=BundleDeploymentStatus(notes=notes)))
    of.state.shared = known
    if by is not None:
        bench.watches.shows(live_object(**owned(by=by)))
    assert bench.planner.shows_shared(of) is expected
