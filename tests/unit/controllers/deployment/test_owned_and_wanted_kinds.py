"""The kinds of a deployment: of its content, and of what its status says it may own."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rukpak_py.apply.inventory import Watched
from rukpak_py.apply.kinds import KindState
from rukpak_py.controllers.deployment.kinds import HiddenKinds
from rukpak_py.kube.errors import KindNotServedError
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, Resource
from tests.manifests import config_map
from tests.unit.apply.lives import desired, key
from tests.unit.apply.watches import Watches, watches_of
from tests.unit.controllers.deployment.parts import (
    BASKET,
    BASKETS,
    OLD_CRON_JOB,
    WIDGET,
    WIDGETS,
    FakeCluster,
    attempt,
    basket,
    crd,
    crd_facts,
    objects,
    recording,
)
from tests.unit.controllers.values import deployment


@pytest.fixture
async def watches(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watches]:
    found = watches_of(monkeypatch)
    yield found
    await found.inventory.close()


# Owned


async def test_recorded_kind_is_watched_hidden_or_gone(watches: Watches) -> None:
    cluster = FakeCluster(crds=crd_facts(BASKETS), hidden={OLD_CRON_JOB.group_kind})
    kinds = cluster.as_kinds(watches.inventory)
    hidden = await kinds.watch_owned(recording(CONFIG_MAPS.gvk, BASKET, WIDGET, OLD_CRON_JOB))
    assert hidden == HiddenKinds(
        unlisted=frozenset({Watched(CONFIG_MAPS.group_kind)}),
        unserved=frozenset({BASKET.group_kind, OLD_CRON_JOB.group_kind}),
    )
    assert set(watches.inventory.informers()) == {Watched(CONFIG_MAPS.group_kind)}
    assert cluster.refreshes == 0


async def test_recorded_version_that_is_no_longer_served_is_watched_in_the_one_that_is(watches: Watches) -> None:
    newer = Resource(gvk=BASKET._replace(version="v2"), plural="baskets", namespaced=True)
    kinds = FakeCluster(resources=[newer]).as_kinds(watches.inventory)
    assert not (await kinds.watch_owned(recording(BASKET))).unserved
    assert watches.informer(newer).resource == newer


async def test_deployment_without_a_record_owns_no_kinds(watches: Watches) -> None:
    assert await FakeCluster().as_kinds(watches.inventory).watch_owned(deployment()) == HiddenKinds()
    assert not watches.inventory.informers()


# Wanted


async def test_a_kind_that_the_server_learnt_meanwhile_is_found_at_once() -> None:
    cluster = FakeCluster(coming=[BASKETS])
    found = await cluster.as_kinds().resolve(objects(basket()), deployment())
    assert not found.missing
    assert found.resources[BASKET] == BASKETS
    assert cluster.refreshes == 1


async def test_the_server_is_asked_again_only_for_an_unknown_kind() -> None:
    cluster = FakeCluster()
    await cluster.as_kinds().resolve(objects(crd(), basket(), config_map()), deployment())
    assert cluster.refreshes == 0
    found = await cluster.as_kinds().resolve(objects(basket("x"), basket("y")), deployment())
    assert [head.name for head in found.missing] == ["x", "y"]
    assert cluster.refreshes == 1


@pytest.mark.parametrize(("scope", "namespaced"), [("Namespaced", True), ("Cluster", False)])
async def test_a_kind_that_the_content_brings_is_new_and_its_scope_is_known(scope: str, *, namespaced: bool) -> None:
    found = await FakeCluster().as_kinds().resolve(objects(crd(scope=scope), basket()), deployment())
    assert found.states[BASKET] is KindState.NEW
    assert found.missing == ()
    assert found.resources[BASKET] == Resource(gvk=BASKET, plural="baskets", namespaced=namespaced)


async def test_a_version_that_the_content_does_not_serve_is_not_brought() -> None:
    versions = [{"name": "v1", "served": False}, {"name": "v2", "served": True}]
    found = await FakeCluster().as_kinds().resolve(objects(crd(versions=versions), basket()), deployment())
    assert found.states[BASKET] is KindState.MISSING


async def test_a_version_that_comes_with_the_content_is_new_although_its_crd_is_there() -> None:
    newer = BASKET._replace(version="v2")
    cluster = FakeCluster(resources=[CRDS, BASKETS], crds=crd_facts(BASKETS))
    versions = [{"name": "v1", "served": True}, {"name": "v2", "served": True}]
    found = await cluster.as_kinds().resolve(objects(crd(versions=versions), basket(gvk=newer)), recording(BASKET))
    assert found.states[newer] is KindState.NEW
    assert found.resources[newer].gvk == newer


@pytest.mark.parametrize(
    "spec", [{"versions": None}, {"names": []}, {"group": None}, {"versions": [{}]}, {"versions": "v1"}, {"names": {}}]
)
async def test_a_crd_that_is_not_usable_brings_nothing(spec: dict[str, Any]) -> None:
    found = await FakeCluster().as_kinds().resolve(objects(crd(**spec), basket()), deployment())
    assert [head.name for head in found.missing] == ["x"]


async def test_a_served_resource_counts_more_than_the_crd_of_the_content() -> None:
    served = Resource(gvk=BASKET, plural="baskets", namespaced=False)
    found = await FakeCluster(resources=[CRDS, served]).as_kinds().resolve(objects(crd(), basket()), deployment())
    assert found.resources[BASKET] == served
    assert found.states[BASKET] is KindState.SERVED


async def test_a_version_that_is_not_served_is_missing() -> None:
    cluster = FakeCluster(resources=[CRDS, BASKETS], crds=crd_facts(BASKETS))
    old = basket(gvk=BASKET._replace(version="v1alpha1"))
    found = await cluster.as_kinds().resolve(objects(old), deployment())
    assert len(found.missing) == 1


async def test_a_kind_that_discovery_lost_for_a_moment_is_unserved_and_its_crd_says_where_it_lives() -> None:
    found = await FakeCluster(crds=crd_facts(BASKETS)).as_kinds().resolve(objects(basket()), recording(BASKET))
    assert found.states[BASKET] is KindState.UNSERVED
    assert found.resources[BASKET] == BASKETS
    assert found.missing == ()


async def test_a_recorded_kind_whose_crd_is_gone_is_new_when_the_content_brings_it_back() -> None:
    cluster = FakeCluster()
    found = await cluster.as_kinds().resolve(objects(crd(), basket()), recording(BASKET))
    assert found.states[BASKET] is KindState.NEW
    cluster.hidden = {BASKET.group_kind}
    found = await cluster.as_kinds().resolve(objects(crd(), basket()), recording(BASKET))
    assert found.states[BASKET] is KindState.UNSERVED, "an aggregated API may still have it"


# Again


async def test_the_states_are_found_again_for_what_was_served_once() -> None:
    cluster = FakeCluster(resources=[CONFIG_MAPS, BASKETS, WIDGETS], crds=crd_facts(BASKETS))
    kinds, of = cluster.as_kinds(), recording(BASKET, WIDGET)
    manifests = [config_map(), basket(), basket("w", gvk=WIDGET)]
    before = await kinds.resolve(objects(*manifests), of)
    wanted = [desired(one) for one in manifests]
    assert await kinds.resolve_again(before, wanted, of) == before
    cluster.hides(BASKETS)
    cluster.hides(WIDGETS)
    again = await kinds.resolve_again(before, wanted, of)
    assert again.states == {
        CONFIG_MAPS.gvk: KindState.SERVED,
        BASKET: KindState.UNSERVED,
        WIDGET: KindState.GONE,
    }
    assert [head.name for head in again.missing] == ["w"]
    assert again.resources == before.resources


async def test_a_crd_that_was_deleted_is_brought_again_by_its_content() -> None:
    cluster = FakeCluster(resources=[CRDS, BASKETS])
    kinds, of = cluster.as_kinds(), recording(CRDS.gvk, BASKET)
    before = await kinds.resolve(objects(crd(), basket()), of)
    cluster.hides(BASKETS)
    again = await kinds.resolve_again(before, [desired(crd()), desired(basket())], of)
    assert again.states[BASKET] is KindState.NEW


# Resources


async def test_a_kind_is_used_in_the_version_of_the_content_else_in_the_preferred_one() -> None:
    newer = Resource(gvk=BASKET._replace(version="v2"), plural="baskets", namespaced=True)
    cluster = FakeCluster(resources=[newer, BASKETS, CONFIG_MAPS])
    kinds = cluster.as_kinds()
    resolution = await kinds.resolve(objects(basket()), attempt().deployment)
    assert kinds.resource_of(resolution)(key(gvk=BASKET)) == BASKETS
    assert kinds.resource_of()(key(gvk=BASKET)) == newer
    assert kinds.resource_of(resolution)(key()) == CONFIG_MAPS


def test_a_kind_that_is_not_served_has_no_resource() -> None:
    with pytest.raises(KindNotServedError, match=r"does not serve the kind Basket\.shop\.example\.org"):
        FakeCluster().as_kinds().resource_of()(key(gvk=BASKET))
