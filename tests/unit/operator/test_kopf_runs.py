"""Kopf begins anew when an optional kind comes or goes, and never for another reason."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.resources import BUNDLE_INSTANCES, Resource
from rukpak_py.operator.kopf_shell import KopfRuns, KopfThread
from tests.waiting import until

INTERVAL = 0.001


class Bench:
    """Kopf and its watches: it finds the kind when that is served at its start."""

    def __init__(self) -> None:
        self.is_served = False
        self.have_begun = False
        self.is_watched = False
        self.starts = 0
        self.ends = 0
        self.looks = 0
        self.error: Exception | None = None
        self.runs = KopfRuns(
            self._start,
            cast("Any", self),
            optional=(BUNDLE_INSTANCES,),
            is_served=lambda _: self._look(),
            interval=INTERVAL,
        )

    def has_begun(self, _resource: Resource) -> bool:
        return self.is_watched

    async def run(self) -> None:
        self.have_begun, self.is_watched = True, self.is_served
        try:
            await until(lambda: self.error)
            raise cast("Exception", self.error)
        finally:
            self.have_begun = self.is_watched = False
            self.ends += 1

    async def looked(self, times: int = 5) -> None:
        seen = self.looks
        await until(lambda: self.looks > seen + times)

    def _start(self) -> KopfThread:
        self.starts += 1
        return cast("KopfThread", self)

    def _look(self) -> bool:
        self.looks += 1
        return self.is_served


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(bench.runs.run())
    try:
        await bench.looked()
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("is_served", [True, False])
async def test_kopf_begins_once_while_nothing_changes(bench: Bench, *, is_served: bool) -> None:
    bench.is_served = is_served
    async with running(bench):
        await bench.looked()
        assert bench.starts == 1
    assert bench.ends == 1


async def test_kopf_begins_anew_when_an_optional_kind_comes_and_when_it_goes(bench: Bench) -> None:
    async with running(bench):
        bench.is_served = True
        await until(lambda: bench.starts == 2 and bench.is_watched)
        await bench.looked()
        bench.is_served = False
        await until(lambda: bench.starts == 3)
        await bench.looked()
        assert (bench.starts, bench.ends) == (3, 2)


async def test_kopf_that_has_not_begun_yet_does_not_begin_anew(bench: Bench) -> None:
    async with running(bench):
        bench.have_begun = False
        bench.is_served = True
        await asyncio.sleep(20 * INTERVAL)
        assert bench.starts == 1


async def test_the_end_of_kopf_is_its_end(bench: Bench) -> None:
    async with running(bench) as task:
        bench.error = UnavailableError("Kopf ended")
        with pytest.raises(UnavailableError, match="Kopf ended"):
            await task
    assert bench.starts == 1
