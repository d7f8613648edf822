"""Objects whose deletion no watch delivered are found by a list; what came after the list began is not dropped."""

import asyncio
from collections.abc import AsyncIterator, Callable
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import replace
from time import monotonic

import pytest

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.names import BUNDLE_KIND
from rukpak_py.api.reading import to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.existence import ListedKind, MissedDeletions
from rukpak_py.kube.answers import Listing
from rukpak_py.kube.errors import ApiError, ForbiddenError, KindNotServedError, ServerUnavailableError
from rukpak_py.kube.resources import BUNDLES, Resource
from rukpak_py.kube.seen_versions import SeenVersions
from tests.unit.controllers.fakes import FakeClient, refusal
from tests.unit.controllers.values import bundle
from tests.waiting import until

NEVER = 3600.0


class SlowClient(FakeClient):
    """Lets a test act between the question and the answer."""

    between: Callable[[], None] = staticmethod(lambda: None)

    version = "1000000"

    async def list_metadata(self, resource: Resource) -> Listing:
        listing = await super().list_metadata(resource)
        self.between()
        return replace(listing, resource_version=self.version)


class Bench:
    def __init__(self, *, interval: float = NEVER, retry: float = NEVER, is_optional: bool = False) -> None:
        self.client = SlowClient()
        self.cache = Cache[Bundle](clock=monotonic)
        self.gone: list[str] = []
        self.rounds = 0
        self.listed: list[tuple[set[str], float]] = []
        watched = ListedKind(
            resource=BUNDLES, cache=self.cache, gone=self._gone, listed=(self._listed,), is_optional=is_optional
        )
        self.restores: list[tuple[str, int, int]] = []
        self.versions = SeenVersions(
            on_restore=lambda resource, seen, listed: self.restores.append((resource.plural, seen, listed))
        )
        self.missed = MissedDeletions(
            self.client.as_client(),
            [watched],
            after=self._after,
            versions=self.versions,
            interval=interval,
            retry=retry,
        )

    def _gone(self, one: Bundle) -> None:
        self.gone.append(one.metadata.name)

    def _listed(self, uids: AbstractSet[str], asked_at: float) -> None:
        self.listed.append((set(uids), asked_at))

    def _after(self) -> None:
        self.rounds += 1

    def known(self, name: str, *, exists: bool) -> None:
        self.cache.put(bundle(name))
        if exists:
            self.client.put(BUNDLE_KIND, to_json(bundle(name)))


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[None]:
    task = asyncio.create_task(bench.missed.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_an_object_that_the_list_does_not_show_is_dropped_and_reported() -> None:
    bench = Bench()
    bench.known("there", exists=True)
    bench.known("missed", exists=False)
    async with running(bench):
        bench.missed.ask()
        await until(lambda: bench.rounds)
    assert bench.gone == ["missed"]
    assert [one.metadata.name for one in bench.cache] == ["there"]
    assert bench.missed.is_sure
    assert not bench.cache.put(bundle("missed", resource_version="99")), "a late event does not bring it back"


async def test_all_uids_are_told_with_the_time_at_which_they_were_asked_for() -> None:
    """Whether they are in the cache or not: objects of other classes exist, too."""
    bench = Bench()
    bench.client.put(BUNDLE_KIND, to_json(bundle("foreign")))
    answered: list[float] = []
    bench.client.between = lambda: answered.append(monotonic())
    began = monotonic()
    async with running(bench):
        bench.missed.ask()
        await until(lambda: bench.rounds)
    ((uids, asked_at),) = bench.listed
    assert uids == {"uid-of-foreign"}
    assert began <= asked_at <= answered[0]


async def test_an_object_that_came_after_the_list_began_is_kept() -> None:
    bench = Bench()
    bench.client.between = lambda: bench.known("young", exists=False)
    async with running(bench):
        bench.missed.ask()
        await until(lambda: bench.rounds)
    assert bench.gone == []
    assert "young" in bench.cache


async def test_another_object_of_the_name_is_not_the_one_that_we_knew() -> None:
    bench = Bench()
    bench.cache.put(bundle("b", uid="old"))
    bench.client.put(BUNDLE_KIND, to_json(bundle("b", uid="new")))
    async with running(bench):
        bench.missed.ask()
        await until(lambda: bench.rounds)
    assert bench.gone == ["b"]


async def test_missed_deletions_are_looked_for_from_time_to_time() -> None:
    bench = Bench(interval=0.001)
    async with running(bench):
        await until(lambda: bench.rounds >= 3)


@pytest.mark.parametrize("error", [KindNotServedError, ForbiddenError])
async def test_a_kind_that_need_not_be_served_proves_nothing_while_it_is_not(error: type[ApiError]) -> None:
    bench = Bench(is_optional=True)
    bench.known("missed", exists=False)
    bench.client.failing["list"] = refusal(error)
    async with running(bench):
        bench.missed.ask()
        await until(lambda: bench.rounds)
    assert bench.gone == []


async def test_nothing_is_sure_before_the_first_list() -> None:
    bench = Bench()
    async with running(bench):
        await asyncio.sleep(0)
        assert not bench.missed.is_sure
        assert bench.client.calls == []


async def test_a_list_that_fails_drops_nothing_and_is_asked_for_again_soon() -> None:
    bench = Bench(retry=0.001)
    bench.known("missed", exists=False)
    bench.client.failing["list"] = refusal(ServerUnavailableError)
    async with running(bench):
        bench.missed.ask()
        await until(lambda: len(bench.client.calls) >= 3)
        assert (bench.gone, bench.listed, bench.missed.is_sure, bench.rounds) == ([], [], False, 0)
        bench.client.failing.clear()
        await until(lambda: bench.rounds)
    assert bench.gone == ["missed"]


@pytest.mark.parametrize(
    ("seen", "restores"),
    [(0, []), (99, []), (100, []), (101, [("bundles", 101, 100)])],
    ids=["nothing", "older", "the same", "newer than the list"],
)
async def test_a_list_that_is_older_than_what_was_seen_is_a_restore_of_etcd(
    seen: int, restores: list[tuple[str, int, int]]
) -> None:
    bench = Bench()
    bench.client.version = "100"
    bench.versions.seen(BUNDLES, seen)
    async with running(bench):
        bench.missed.ask()
        await until(lambda: bench.rounds or bench.restores)
    assert bench.restores == restores
    assert bench.missed.is_sure == (not restores)


async def test_an_object_in_the_cache_counts_as_seen_and_nothing_is_dropped_on_an_older_list() -> None:
    bench = Bench()
    bench.client.version = "100"
    bench.cache.put(bundle("from-the-future", resource_version="500"))
    async with running(bench):
        bench.missed.ask()
        await until(lambda: bench.restores)
    assert bench.restores == [("bundles", 500, 100)]
    assert bench.gone == []
    assert bench.listed == []
    assert bench.rounds == 0


async def test_a_version_seen_while_the_list_was_read_is_no_restore() -> None:
    bench = Bench()
    bench.client.version = "100"
    bench.client.between = lambda: bench.versions.seen(BUNDLES, 105)
    async with running(bench):
        bench.missed.ask()
        await until(lambda: bench.rounds)
    assert bench.restores == []
