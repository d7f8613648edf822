"""Tidying up after deletions: only what is certainly not needed, and no failure of it ends anything."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation, InstalledKind
from rukpak_py.apply.inventory import Watched
from rukpak_py.content.records import InUse
from rukpak_py.controllers.event_router import EventRouter
from rukpak_py.controllers.housekeeping import Housekeeping
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.objects import GroupKind
from tests.unit.controllers.fakes import NOW
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, UID, deployment, unpacked

PATIENCE = 10.0


class Store:
    """Both ports; sweeping raises what it is told to, in turn."""

    by_namespace = frozenset[GroupKind]()

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.retained: asyncio.Queue[set[Watched]] = asyncio.Queue()
        self.swept: asyncio.Queue[set[str]] = asyncio.Queue()
        self.linked: set[str] = set()
        self.in_use: InUse | None = None
        self.uploads_swept: asyncio.Queue[None] = asyncio.Queue()

    async def retain(self, used: set[Watched], /) -> None:
        self.retained.put_nowait(used)

    async def sweep_uploads(self) -> None:
        self.uploads_swept.put_nowait(None)

    async def nothing(self) -> None:
        """A task that a test does not look at."""

    async def sweep(self, kept: set[str], linked: set[str], in_use: InUse, /) -> None:
        if self._errors:
            raise self._errors.pop(0)
        self.in_use = in_use
        self.linked = linked
        self.swept.put_nowait(kept)


@asynccontextmanager
async def keeping(
    store: Store, router: EventRouter, *, is_sure: bool = True, may_stop_watches: bool = True, **given: Any
) -> AsyncIterator[Housekeeping]:
    housekeeping = Housekeeping(
        router,
        watches=store,
        content=store,
        is_sure=lambda: is_sure,
        sweep_uploads=store.sweep_uploads,
        may_stop_watches=lambda: may_stop_watches,
        tidy_after=0.0,
        try_again_after=0.001,
        **{
            "sweep_renderings": store.nothing,
            "stop_hook_watches": store.nothing,
            "restore_key": store.nothing,
            **given,
        },
    )
    task = asyncio.create_task(housekeeping.run())
    async with asyncio.timeout(PATIENCE):
        yield housekeeping
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_store_that_fails_is_asked_again_later(caplog: pytest.LogCaptureFixture) -> None:
    store = Store(UnavailableError("the disk is full"), OSError("the disk is gone"))
    async with keeping(store, EventRouter()) as housekeeping:
        housekeeping.soon()
        assert await store.swept.get() == set()
    assert "the disk is full" in caplog.text
    assert "the disk is gone" in caplog.text


@pytest.mark.parametrize("is_sure", [True, False])
async def test_renderings_are_swept_like_content(*, is_sure: bool) -> None:
    store, swept = Store(), asyncio.Event()

    async def sweep() -> None:
        swept.set()

    async with keeping(store, EventRouter(), is_sure=is_sure, sweep_renderings=sweep) as housekeeping:
        housekeeping.soon()
        await store.uploads_swept.get()
    assert swept.is_set() is is_sure


async def test_content_is_swept_only_when_the_caches_are_sure() -> None:
    store = Store()
    async with keeping(store, EventRouter(), is_sure=False) as housekeeping:
        housekeeping.soon()
        await store.retained.get()
        housekeeping.soon()
        await store.retained.get()
    assert store.swept.empty()


async def test_watches_stay_while_deployments_are_being_worked_on() -> None:
    store, router = Store(), EventRouter()
    router.deployments.queue.add("busy")
    async with keeping(store, router) as housekeeping:
        housekeeping.soon()
        await store.swept.get()
        assert store.retained.empty()


@pytest.mark.parametrize("is_busy", [True, False])
async def test_watches_of_hooks_stop_only_while_no_deployment_is_looked_at(*, is_busy: bool) -> None:
    store, router, stopped = Store(), EventRouter(), asyncio.Event()
    if is_busy:
        router.deployments.queue.add("busy")

    async def stop() -> None:
        stopped.set()

    async with keeping(store, router, stop_hook_watches=stop) as housekeeping:
        housekeeping.soon()
        await store.swept.get()
    assert stopped.is_set() is not is_busy


async def test_watches_stay_while_a_deployment_that_is_gone_is_still_cleaned_up() -> None:
    store = Store()
    async with keeping(store, EventRouter(), may_stop_watches=False) as housekeeping:
        housekeeping.soon()
        await store.swept.get()
        assert store.retained.empty()


async def test_content_that_a_bundle_or_a_history_refers_to_is_kept() -> None:
    store, router = Store(), EventRouter()
    past = Installation(bundle="gone", digest=OTHER_DIGEST, time=NOW)
    router.bundles.cache.put(unpacked("b", digest=DIGEST))
    router.deployments.cache.put(deployment(status=BundleDeploymentStatus(history=(past,))))
    async with keeping(store, router) as housekeeping:
        housekeeping.soon()
        assert await store.swept.get() == {DIGEST, OTHER_DIGEST}
    assert store.linked == {"b"}, "a name in the store goes with its Bundle, its content with the last who needs it"
    assert store.in_use == InUse(bundles={"uid-of-b"}, deployments={UID}, installed={(UID, OTHER_DIGEST)})


async def test_kinds_that_a_deployment_may_own_objects_of_stay_watched() -> None:
    store, router = Store(), EventRouter()
    kinds = (
        InstalledKind(version="v1", kind="ConfigMap"),
        InstalledKind(group="apps", version="v1", kind="Deployment"),
    )
    router.deployments.cache.put(deployment(status=BundleDeploymentStatus(kinds=kinds)))
    async with keeping(store, router) as housekeeping:
        housekeeping.soon()
        assert await store.retained.get() == {
            Watched(GroupKind("", "ConfigMap")),
            Watched(GroupKind("apps", "Deployment")),
        }


async def test_nothing_is_done_until_it_is_requested() -> None:
    store = Store()
    async with keeping(store, EventRouter()):
        await asyncio.sleep(0)
        assert store.retained.empty()
        assert store.swept.empty()


@pytest.mark.parametrize("is_sure", [True, False])
async def test_uploads_of_deleted_bundles_are_swept_in_any_case(*, is_sure: bool) -> None:
    store = Store()
    async with keeping(store, EventRouter(), is_sure=is_sure) as housekeeping:
        housekeeping.soon()
        await store.uploads_swept.get()
