"""Tidying up after deletions: only what is certainly not needed, and no failure of it ends anything."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.objects import GroupKind
from rukpak_py.operator.housekeeping import Housekeeping
from rukpak_py.operator.waking import Waking

PATIENCE = 10.0


class Store:
    """Both ports; sweeping raises what it is told to, in turn."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.retained: asyncio.Queue[set[GroupKind]] = asyncio.Queue()
        self.swept: asyncio.Queue[set[str]] = asyncio.Queue()

    async def retain(self, kinds: set[GroupKind], /) -> None:
        self.retained.put_nowait(kinds)

    async def sweep(self, kept: set[str], _linked: set[str], /) -> None:
        if self._errors:
            raise self._errors.pop(0)
        self.swept.put_nowait(kept)


@asynccontextmanager
async def keeping(store: Store, waking: Waking, *, is_sure: bool = True) -> AsyncIterator[Housekeeping]:
    housekeeping = Housekeeping(
        waking, watches=store, content=store, is_sure=lambda: is_sure, tidy_after=0.0, try_again_after=0.001
    )
    task = asyncio.create_task(housekeeping.run())
    async with asyncio.timeout(PATIENCE):
        yield housekeeping
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_store_that_fails_is_asked_again_later(caplog: pytest.LogCaptureFixture) -> None:
    store = Store(UnavailableError("the disk is full"), OSError("the disk is gone"))
    async with keeping(store, Waking()) as housekeeping:
        housekeeping.soon()
        assert await store.swept.get() == set()
    assert "the disk is full" in caplog.text
    assert "the disk is gone" in caplog.text


async def test_content_is_swept_only_when_the_caches_are_sure() -> None:
    store = Store()
    async with keeping(store, Waking(), is_sure=False) as housekeeping:
        housekeeping.soon()
        await store.retained.get()
        housekeeping.soon()
        await store.retained.get()
    assert store.swept.empty()


async def test_watches_stay_while_deployments_are_being_worked_on() -> None:
    store, waking = Store(), Waking()
    waking.deployment_queue.add("busy")
    async with keeping(store, waking) as housekeeping:
        housekeeping.soon()
        await store.swept.get()
        assert store.retained.empty()
