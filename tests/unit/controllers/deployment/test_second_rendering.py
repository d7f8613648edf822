"""Content that is rendered once more: in a job, for one upgrade, and kept nowhere."""

import pytest

from rukpak_py.api.bundle import Bundle
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kept_renderings import KeptRenderings
from rukpak_py.controllers.deployment.rendering import MadeContent
from rukpak_py.controllers.deployment.rendering_stage import REFETCHING_CONTENT, RENDERING_RUNNING
from rukpak_py.controllers.deployment.second_rendering import SecondRendering
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.errors import ContentError, UnavailableError
from tests.unit.controllers.deployment.test_kept_renderings import Bench, chart, entry, made
from tests.waiting import until


class SecondBench(Bench):
    def __init__(self) -> None:
        super().__init__()
        self.content.secret = True
        self.requested = list[Bundle]()
        kept = KeptRenderings(self.content, self.renderings, self.keys, releases=self.releases)
        jobs = Jobs[MadeContent](on_end=self.ended.append)
        self.second = SecondRendering(self.content, kept, jobs=jobs, request_content=self.requested.append)

    async def again(self, active: Attempt, wanted: Attempt) -> str | Progress:
        """As the reconcile that the end of the job brings comes to it."""
        before = len(self.ended)
        assert await self.second.of(active, upgrade=wanted) is RENDERING_RUNNING
        assert await self.second.of(active, upgrade=wanted) is RENDERING_RUNNING
        await until(lambda: len(self.ended) > before)
        found = await self.second.of(active, upgrade=wanted)
        if isinstance(found, Progress):
            return found
        assert [one.head.gvk.kind for one in found] == ["Secret"]
        return f"rendering {self.content.renders}"


async def test_it_is_made_anew_each_time_and_kept_nowhere() -> None:
    bench, active, wanted = SecondBench(), chart(entry(of=made(7))), chart(config={"values": "a: 1"})
    assert [await bench.again(active, wanted) for _ in range(2)] == ["rendering 1", "rendering 2"]
    assert bench.renderings.stored == {}
    assert not bench.renderer.is_lost(active)


async def test_one_for_another_upgrade_is_another_one() -> None:
    bench, active = SecondBench(), chart()
    assert await bench.again(active, chart(config={"values": "a: 1"})) == "rendering 1"
    assert await bench.again(active, chart(config={"values": "a: 2"})) == "rendering 2"


async def test_content_that_is_wrong_is_raised_and_what_is_away_is_told() -> None:
    bench, active, wanted = SecondBench(), chart(), chart(config={"values": "a: 1"})
    bench.content.error = ContentError("no value")
    with pytest.raises(ContentError, match="no value"):
        await bench.again(active, wanted)
    bench.content.error = UnavailableError("no helm")
    found = await bench.again(active, wanted)
    assert isinstance(found, Progress)
    assert [fact.cause for fact in found.facts] == [Cause.RENDERING_UNAVAILABLE]


async def test_content_that_is_not_stored_or_not_recorded_is_fetched_first() -> None:
    bench, active, wanted = SecondBench(), chart(), chart(config={"values": "a: 1"})
    bench.content.foreign.add(active.bundle.status.digest)
    assert await bench.second.of(active, upgrade=wanted) is REFETCHING_CONTENT
    bench.content.foreign.clear()
    bench.content.stored.clear()
    assert await bench.second.of(active, upgrade=wanted) is REFETCHING_CONTENT
    assert bench.requested == [active.bundle] * 2
