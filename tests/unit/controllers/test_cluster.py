"""Namespaces and CRDs of the cluster, and the kinds that came, went or may be hidden."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest

from rukpak_py.controllers import cluster as module
from rukpak_py.controllers.cluster import (
    AUTOMANAGED_LABEL,
    FRESH_SECONDS,
    GONE_AFTER_SECONDS,
    LAG_SECONDS,
    Cluster,
    crd_resource,
)
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.kube.discovery_documents import GroupVersion, Served, serve
from rukpak_py.kube.errors import ServerUnavailableError
from rukpak_py.kube.metadata import LiveObject, decode_metadata
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, Resource
from tests.unit.controllers.fakes import Clock, FakeClient, refusal
from tests.waiting import until

if TYPE_CHECKING:
    from rukpak_py.kube.discovery import Discovery

BASKET = GroupVersionKind("shop.example.org", "v1", "Basket")
BASKETS = Resource(gvk=BASKET, plural="baskets", namespaced=True)
CRON_JOB = GroupVersionKind("batch", "v1beta1", "CronJob")
CRON_JOBS = Resource(gvk=CRON_JOB, plural="cronjobs", namespaced=True)


@dataclass
class SnapshotDiscovery:
    """Serves what the last refresh found."""

    resources: list[Resource] = field(default_factory=lambda: [CONFIG_MAPS])
    stale: frozenset[str] = frozenset()
    served: Served = field(default_factory=Served)
    refreshes: int = 0
    failing: Exception | None = None

    @property
    def stale_groups(self) -> frozenset[str]:
        return self.stale

    def preferred(self, group: str, kind: str) -> Resource | None:
        return self.served.preferred.get(GroupKind(group, kind))

    async def refresh(self) -> bool:
        self.refreshes += 1
        if self.failing is not None:
            raise self.failing
        found = serve([GroupVersion(group=one.gvk.group, version="", resources=(one,)) for one in self.resources])
        if found != self.served:
            self.served = found
        return True


class FakeInformer:
    def __init__(self, _client: object, resource: Resource, **options: Any) -> None:
        self.resource = resource
        self.say: Callable[[ObjectKey, LiveObject | None, LiveObject | None], None] = options["on_change"]
        self.objects: dict[ObjectKey, LiveObject] = {}
        self.is_running = False

    def start(self) -> None:
        self.is_running = True

    async def stop(self) -> None:
        self.is_running = False

    async def wait_synced(self) -> None:
        return

    def get(self, key: ObjectKey) -> LiveObject | None:
        return self.objects.get(key)

    def shows(self, name: str, new: LiveObject | None) -> None:
        key = self.resource.key("", name)
        old = self.objects.pop(key, None)
        if new is not None:
            self.objects[key] = new
        self.say(key, old, new)


@dataclass
class Bench:
    cluster: Cluster
    discovery: SnapshotDiscovery
    client: FakeClient
    clock: Clock
    namespaces: list[str]
    kinds: list[frozenset[GroupKind]]

    def informer(self, number: int) -> FakeInformer:
        return cast("FakeInformer", self.cluster.informers()[number])

    async def refresh(self) -> None:
        """Refresh when the last discovery is old enough to be asked for again."""
        self.clock.now += FRESH_SECONDS + 1
        await self.cluster.refresh()

    def shows_crd(self, *versions: str, established: bool = True) -> None:
        self.informer(1).shows(
            "baskets.shop.example.org", crd(*versions, established=established) if versions else None
        )


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    clock = Clock()
    monkeypatch.setattr(module, "Informer", FakeInformer)
    monkeypatch.setattr(module, "monotonic", clock)
    monkeypatch.setattr(module, "LAG_INTERVAL_SECONDS", 0.001)
    monkeypatch.setattr(module, "LATE_INTERVAL_SECONDS", 0.001)
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    client, discovery = FakeClient(), SnapshotDiscovery()
    namespaces: list[str] = []
    kinds: list[frozenset[GroupKind]] = []
    cluster = Cluster(
        client.as_client(), cast("Discovery", discovery), on_namespace=namespaces.append, on_kinds=kinds.append
    )
    await cluster.start()
    kinds.clear()
    yield Bench(cluster, discovery, client, clock, namespaces, kinds)
    await cluster.close()


def crd(*versions: str, established: bool = True) -> LiveObject:
    body = {
        "metadata": {"name": "baskets.shop.example.org", "uid": "u", "resourceVersion": "1"},
        "spec": {
            "group": BASKET.group,
            "scope": "Namespaced",
            "names": {"kind": BASKET.kind, "plural": "baskets"},
            "versions": [*({"name": one, "served": True} for one in versions), {"name": "v0", "served": False}],
        },
        "status": {"conditions": [{"type": "Established", "status": str(established)}]},
    }
    json = canonical_json(body)
    return LiveObject(key=CRDS.key("", "baskets.shop.example.org"), metadata=decode_metadata(json), json=json)


def namespace(version: int = 1) -> LiveObject:
    body = canonical_json({"metadata": {"name": "shop", "uid": "u", "resourceVersion": str(version)}})
    return LiveObject(key=NAMESPACES.key("", "shop"), metadata=decode_metadata(body))


# Namespaces


async def test_namespaces_that_come_or_go_are_told_and_those_that_change_are_not(bench: Bench) -> None:
    assert not bench.cluster.has_namespace("shop")
    watch = bench.informer(0)
    watch.shows("shop", namespace())
    assert bench.cluster.has_namespace("shop")
    watch.shows("shop", namespace(2))
    assert bench.namespaces == ["shop"]
    watch.shows("shop", None)
    assert bench.namespaces == ["shop", "shop"]
    assert not bench.cluster.has_namespace("shop")


# CRDs


async def test_a_crd_says_where_its_objects_live_and_which_versions_it_serves(bench: Bench) -> None:
    assert bench.cluster.crd_of(BASKET.group_kind) is None
    assert not bench.cluster.is_established(BASKET.group_kind)
    bench.shows_crd("v1", "v2")
    facts = bench.cluster.crd_of(BASKET.group_kind)
    assert facts is not None
    assert facts.versions == ("v1", "v2")
    assert crd_resource(facts, "v1") == BASKETS
    assert bench.cluster.is_established(BASKET.group_kind)
    assert bench.cluster.serves(BASKETS)
    bench.shows_crd("v2")
    assert bench.cluster.is_established(BASKET.group_kind)
    assert not bench.cluster.serves(BASKETS), "another version of it"
    bench.shows_crd("v1", established=False)
    assert not bench.cluster.is_established(BASKET.group_kind)
    assert not bench.cluster.serves(BASKETS)
    bench.shows_crd()
    assert bench.cluster.crd_of(BASKET.group_kind) is None


async def test_a_crd_that_cannot_be_read_is_none(bench: Bench) -> None:
    broken = LiveObject(key=CRDS.key("", "x"), metadata=namespace().metadata, json=b'{"spec": 1}')
    bench.informer(1).shows("x", broken)
    assert bench.cluster._crds == {}


# Discovery follows


async def test_a_kind_that_came_is_told_when_discovery_shows_it(bench: Bench) -> None:
    bench.shows_crd("v1")
    await until(lambda: bench.discovery.refreshes > 3)
    assert bench.kinds == [], "discovery lags behind"
    bench.discovery.resources.append(BASKETS)
    await until(lambda: bench.kinds)
    assert bench.kinds[0] == {BASKET.group_kind}
    await settled(bench)


async def test_a_kind_that_went_is_told(bench: Bench) -> None:
    bench.shows_crd("v1")
    bench.discovery.resources.append(BASKETS)
    await settled(bench)
    bench.kinds.clear()
    bench.shows_crd()
    bench.discovery.resources.remove(BASKETS)
    await until(lambda: bench.kinds)
    assert bench.kinds[0] == {BASKET.group_kind}


async def test_a_kind_that_discovery_shows_late_is_told_all_the_same(bench: Bench) -> None:
    bench.shows_crd("v1")
    await until(lambda: bench.discovery.refreshes > 2)
    bench.clock.now += LAG_SECONDS + 1
    before = bench.discovery.refreshes
    await until(lambda: bench.discovery.refreshes > before + 1)
    assert bench.kinds == []
    bench.discovery.resources.append(BASKETS)
    await until(lambda: bench.kinds)
    await settled(bench)


async def test_a_kind_that_an_incomplete_discovery_took_away_is_asked_for_until_it_is_back(bench: Bench) -> None:
    bench.discovery.resources.append(BASKETS)
    bench.shows_crd("v1")
    await settled(bench)
    bench.discovery.resources.remove(BASKETS)
    await bench.refresh()
    bench.kinds.clear()
    before = bench.discovery.refreshes
    await until(lambda: bench.discovery.refreshes > before + 2)
    bench.discovery.resources.append(BASKETS)
    await until(lambda: bench.kinds)
    await settled(bench)


async def test_a_kind_that_is_shown_without_its_crd_is_not_asked_about_for_ever(bench: Bench) -> None:
    """An API service of another operator serves it."""
    bench.discovery.resources.append(BASKETS)
    bench.shows_crd("v1")
    await settled(bench)
    bench.kinds.clear()
    bench.shows_crd()
    await until(lambda: bench.discovery.refreshes > 4)
    assert bench.kinds == []
    bench.clock.now += LAG_SECONDS + 1
    await until(lambda: bench.kinds)
    await settled(bench)


async def test_a_missing_kind_is_looked_for_in_the_discovery_of_a_moment_ago(bench: Bench) -> None:
    before = bench.discovery.refreshes
    for _ in range(10):
        await bench.cluster.refresh()
    assert bench.discovery.refreshes == before
    await bench.refresh()
    assert bench.discovery.refreshes == before + 1


async def test_of_two_crds_that_claim_a_kind_the_established_one_counts(bench: Bench) -> None:
    bench.shows_crd("v1")
    rival = crd("v9", established=False)
    bench.informer(1).shows("rivals.shop.example.org", rival)
    facts = bench.cluster.crd_of(BASKET.group_kind)
    assert facts is not None
    assert facts.versions == ("v1",)
    bench.informer(1).shows("rivals.shop.example.org", None)
    assert bench.cluster.is_established(BASKET.group_kind)


async def test_a_crd_that_became_established_is_told_although_discovery_is_as_before(bench: Bench) -> None:
    bench.discovery.resources.append(BASKETS)
    await bench.refresh()
    bench.kinds.clear()
    bench.shows_crd("v1")
    await until(lambda: bench.kinds)
    assert bench.kinds == [{BASKET.group_kind}]


async def test_a_server_that_does_not_answer_is_asked_again(bench: Bench) -> None:
    bench.discovery.failing = refusal(ServerUnavailableError)
    bench.shows_crd("v1")
    await until(lambda: bench.discovery.refreshes > 3)
    bench.discovery.failing = None
    bench.discovery.resources.append(BASKETS)
    await until(lambda: bench.kinds)


async def settled(bench: Bench) -> None:
    await until(lambda: not bench.cluster._awaited)
    await asyncio.sleep(0)


# Hidden


async def test_a_built_in_kind_is_gone_when_two_discoveries_a_minute_apart_did_not_show_it(bench: Bench) -> None:
    before = bench.discovery.refreshes
    assert await bench.cluster.may_be_hidden(CRON_JOB)
    bench.clock.now += GONE_AFTER_SECONDS - 1
    assert await bench.cluster.may_be_hidden(CRON_JOB)
    assert bench.discovery.refreshes == before
    bench.clock.now += 1
    assert not await bench.cluster.may_be_hidden(CRON_JOB)
    assert bench.discovery.refreshes == before + 1, "the second look"
    assert not await bench.cluster.may_be_hidden(CRON_JOB)
    assert bench.discovery.refreshes == before + 1, "nobody looks a third time"


async def test_a_built_in_kind_that_the_second_discovery_shows_was_only_hidden(bench: Bench) -> None:
    await bench.cluster.may_be_hidden(CRON_JOB)
    bench.clock.now += GONE_AFTER_SECONDS
    bench.discovery.resources.append(CRON_JOBS)
    assert await bench.cluster.may_be_hidden(CRON_JOB)
    assert bench.kinds == [{CRON_JOB.group_kind}], "who waits for it looks again"
    bench.discovery.resources.remove(CRON_JOBS)
    await bench.refresh()
    assert await bench.cluster.may_be_hidden(CRON_JOB), "the minute begins anew"


async def test_a_discovery_that_fails_proves_nothing(bench: Bench) -> None:
    await bench.cluster.may_be_hidden(CRON_JOB)
    bench.clock.now += GONE_AFTER_SECONDS
    bench.discovery.failing = refusal(ServerUnavailableError)
    with pytest.raises(ServerUnavailableError):
        await bench.cluster.may_be_hidden(CRON_JOB)


async def test_an_aggregated_kind_may_be_hidden_while_its_api_service_stands(bench: Bench) -> None:
    bench.client.put("APIService", {"metadata": {"name": "v1.shop.example.org"}})
    assert await bench.cluster.may_be_hidden(BASKET)
    del bench.client.objects["APIService", "v1.shop.example.org"]
    assert not await bench.cluster.may_be_hidden(BASKET)
    assert bench.client.calls == ["get APIService v1.shop.example.org"] * 2


async def test_an_api_service_that_the_server_keeps_by_itself_proves_nothing(bench: Bench) -> None:
    """Another CRD of the group and version keeps it."""
    labels = {AUTOMANAGED_LABEL: "true"}
    bench.client.put("APIService", {"metadata": {"name": "v1.shop.example.org", "labels": labels}})
    assert not await bench.cluster.may_be_hidden(BASKET)


@pytest.mark.parametrize("served", [BASKETS, CRON_JOBS])
async def test_a_kind_that_is_served_in_another_version_is_not_hidden(bench: Bench, served: Resource) -> None:
    bench.discovery.resources.append(served)
    await bench.refresh()
    assert not await bench.cluster.may_be_hidden(served.gvk._replace(version="v2"))
    assert bench.client.calls == []


# API services without a backend


async def test_api_services_without_a_backend_are_told_once_each_time(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger=module.__name__)
    bench.discovery.stale = frozenset({"metrics.k8s.io/v1beta1"})
    for _ in range(2):
        await bench.refresh()
    bench.discovery.stale = frozenset()
    await bench.refresh()
    assert [record.getMessage() for record in caplog.records] == [
        (
            "APIService v1beta1.metrics.k8s.io is not available: no backend answers for it: "
            "no namespace can be deleted until it is available or removed"
        ),
        "the backends of all APIServices answer again",
    ]


async def test_a_broken_api_service_is_known_by_its_own_words(bench: Bench) -> None:
    condition = {"type": "Available", "status": "False", "message": "endpoints are missing"}
    bench.client.put("APIService", {"metadata": {"name": "v1.shop.test"}, "status": {"conditions": [condition]}})
    bench.discovery.stale = frozenset({"shop.test/v1"})
    await bench.refresh()
    assert (
        bench.cluster.broken_service("shop.test") == "APIService v1.shop.test is not available: endpoints are missing"
    )
    assert bench.cluster.broken_service("other.test") == ""
    bench.discovery.stale = frozenset()
    await bench.refresh()
    assert bench.cluster.broken_service("shop.test") == ""
