"""Content that is rendered once more: in a job, for one upgrade, and kept nowhere."""

import pytest

from rukpak_py.api.bundle import Bundle
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.generated_secrets import RenderedAgain, SecondRendering
from rukpak_py.controllers.deployment.rendering_stage import REFETCHING_CONTENT, RENDERING_RUNNING
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.errors import ContentError, UnavailableError
from tests.unit.controllers.deployment.test_kept_renderings import (
    Bench,
    chart,
    chart_with_values,
    entry,
    made,
    values,
)
from tests.waiting import until

WANTED = chart(config={"values": "a: 1"})


class SecondBench(Bench):
    def __init__(self) -> None:
        super().__init__()
        self.content.secret = True
        self.requested = list[Bundle]()
        jobs = Jobs[RenderedAgain](on_end=self.ended.append)
        self.second = SecondRendering(self.content, self.kept, jobs=jobs, request_content=self.requested.append)

    async def again(self, wanted: Attempt, installed: Attempt | None) -> RenderedAgain | Progress:
        """Render again, with the reconcile that the end of the job brings."""
        before = len(self.ended)
        for _ in range(2):
            assert await self.second.of(wanted, installed) is RENDERING_RUNNING
        await until(lambda: len(self.ended) > before)
        return await self.second.of(wanted, installed)


async def test_both_are_rendered_anew_each_time_and_kept_nowhere() -> None:
    bench, installed = SecondBench(), chart(entry(of=made(7)))
    for renders in (2, 4):
        found = await bench.again(WANTED, installed)
        assert isinstance(found, RenderedAgain)
        assert [len(one) for one in (found.compared.wanted, found.compared.installed)] == [1, 1]
        assert (found.compared.before, bench.content.renders) == ({}, renders)
    assert bench.renderings.stored == {}
    assert not bench.renderer.is_lost(installed)


async def test_a_kept_rendering_of_the_installed_content_is_compared_with() -> None:
    bench, installed = SecondBench(), chart()
    await bench.rendered(installed)
    found = await bench.again(WANTED, installed)
    assert isinstance(found, RenderedAgain)
    assert len(found.compared.before) == 1


@pytest.mark.parametrize("is_stored", [True, False])
async def test_without_installed_content_or_its_values_what_is_wanted_alone_is_rendered(*, is_stored: bool) -> None:
    """It may be gone where it came from, which is often the reason for the upgrade."""
    bench = SecondBench()
    lacking = chart_with_values(entry(values_from=values()), is_there=False) if is_stored else None
    found = await bench.again(WANTED, lacking)
    assert isinstance(found, RenderedAgain)
    assert (found.compared.installed, bench.content.renders) == ({}, 1)
    assert bench.requested == []


async def test_content_that_is_wrong_and_what_is_away_is_told() -> None:
    bench, installed = SecondBench(), chart()
    bench.content.error = ContentError("no value")
    found = await bench.again(WANTED, installed)
    assert isinstance(found, RenderedAgain)
    assert found.error == "no value"
    bench.content.error = UnavailableError("no helm")
    away = await bench.again(WANTED, installed)
    assert isinstance(away, Progress)
    assert [fact.cause for fact in away.facts] == [Cause.RENDERING_UNAVAILABLE]


async def test_wanted_content_that_is_not_stored_or_not_recorded_is_fetched_first() -> None:
    bench = SecondBench()
    bench.content.foreign.add(WANTED.bundle.status.digest)
    assert await bench.second.of(WANTED, None) is REFETCHING_CONTENT
    bench.content.foreign.clear()
    bench.content.stored.clear()
    assert await bench.second.of(WANTED, None) is REFETCHING_CONTENT
    assert bench.requested == [WANTED.bundle] * 2
