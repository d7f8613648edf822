"""Work that takes longer than a reconcile may: one job per key, in lanes, with a deadline, its result taken once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from rukpak_py.controllers import jobs as module
from rukpak_py.controllers.jobs import HOLDING_CONTENT, LANE_WIDTH, ContentBudget, Finished, Jobs
from rukpak_py.core.errors import ContentError, UnavailableError
from tests.unit.controllers.fakes import Clock
from tests.waiting import until

LONG = 3600.0
KEY = ("uid", "b")


class Bench:
    """Jobs that run until `gate` is opened."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.jobs: Jobs[str] = Jobs(on_end=self.ended.append)
        self.gate = asyncio.Event()
        self.started: list[str] = []
        self.at_once = self.most_at_once = 0

    def work(self, name: str, gate: asyncio.Event | None = None) -> Callable[[], Awaitable[str]]:
        async def run() -> str:
            self.started.append(name)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            try:
                await (gate or self.gate).wait()
            finally:
                self.at_once -= 1
            return f"result of {name}"

        return run

    def start(
        self, name: str = "b", *, uid: str = "uid", lane: str = "lane", gate: asyncio.Event | None = None, **more: Any
    ) -> None:
        self.jobs.start(name, (uid, name), self.work(name, gate), lane=lane, deadline=LONG, **more)

    async def finished(self, work: Callable[[], Awaitable[str]], *, deadline: float = LONG) -> Finished[str] | None:
        """End of a job with this work."""
        self.jobs.start("b", KEY, work, lane="lane", deadline=deadline)
        await until(lambda: self.ended)
        return self.jobs.take(KEY)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.jobs.close()


def failing(error: Exception) -> Callable[[], Awaitable[str]]:
    async def work() -> str:
        raise error

    return work


async def test_the_end_of_a_job_wakes_its_name_and_its_result_is_taken_once(bench: Bench) -> None:
    bench.start()
    assert bench.jobs.is_running(KEY)
    assert bench.jobs.take(KEY) is None
    bench.gate.set()
    await until(lambda: bench.ended)
    assert bench.ended == ["b"]
    assert not bench.jobs.is_running(KEY)
    finished = bench.jobs.take(KEY)
    assert finished is not None
    assert finished.result() == "result of b"
    assert bench.jobs.take(KEY) is None


async def test_a_key_has_one_job_at_a_time_until_its_result_is_taken(bench: Bench) -> None:
    bench.start()
    bench.start()
    bench.gate.set()
    await until(lambda: bench.ended)
    bench.start()
    assert bench.started == ["b"]
    bench.jobs.take(KEY)
    bench.start()
    await until(lambda: len(bench.ended) == 2)
    assert bench.started == ["b", "b"]


async def test_jobs_of_one_object_with_different_keys_are_different_jobs(bench: Bench) -> None:
    bench.start("old content")
    bench.start("new content")
    bench.gate.set()
    await until(lambda: len(bench.ended) == 2)
    assert sorted(bench.started) == ["new content", "old content"]


async def test_a_lane_has_a_width(bench: Bench) -> None:
    for number in range(LANE_WIDTH + 3):
        bench.start(f"b{number}")
    await until(lambda: bench.at_once == LANE_WIDTH)
    assert bench.jobs.is_running(("uid", f"b{LANE_WIDTH + 2}")), "a job that waits for its place is running, too"
    bench.gate.set()
    await until(lambda: len(bench.ended) == LANE_WIDTH + 3)
    assert bench.most_at_once == LANE_WIDTH


async def test_a_lane_that_hangs_holds_only_itself(bench: Bench) -> None:
    never = asyncio.Event()
    for number in range(3 * LANE_WIDTH):
        bench.start(f"hanging-{number}", lane="one registry", gate=never)
    bench.gate.set()
    for number in range(3 * LANE_WIDTH):
        bench.start(f"good-{number}", lane="another")
    await until(lambda: len(bench.ended) == 3 * LANE_WIDTH)
    assert all(name.startswith("good") for name in bench.ended)


async def test_an_unused_lane_is_forgotten(bench: Bench) -> None:
    bench.gate.set()
    for number in range(10):
        bench.start(f"b{number}", lane=f"host-{number}")
    await until(lambda: len(bench.ended) == 10)
    assert not bench.jobs._lanes


async def test_a_job_that_takes_too_long_is_stopped_and_its_error_says_so(bench: Bench) -> None:
    finished = await bench.finished(bench.work("b"), deadline=0.01)
    assert finished is not None
    assert isinstance(finished.error, UnavailableError)
    assert str(finished.error) == "it took more than 0.01 s and was stopped; retrying"
    assert bench.at_once == 0, "it does not run on"
    with pytest.raises(UnavailableError):
        finished.result()


async def test_the_time_that_a_job_waits_for_its_place_does_not_count(bench: Bench) -> None:
    for number in range(LANE_WIDTH):
        bench.start(f"b{number}")
    bench.jobs.start("late", KEY, bench.work("late"), lane="lane", deadline=0.05)
    await until(lambda: bench.at_once == LANE_WIDTH)
    held = asyncio.get_running_loop().time() + 0.06  # more than its deadline
    await until(lambda: asyncio.get_running_loop().time() > held)
    bench.gate.set()
    await until(lambda: "late" in bench.ended)
    finished = bench.jobs.take(KEY)
    assert finished is not None
    assert finished.result() == "result of late"


async def test_a_job_is_at_work_from_the_moment_it_has_its_place_until_it_ends(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    for number in range(LANE_WIDTH + 1):
        bench.start(f"b{number}")
    await until(lambda: bench.at_once == LANE_WIDTH)
    clock.now += 5
    assert bench.jobs.seconds(("uid", "b0")) == 5
    assert bench.jobs.seconds(("uid", f"b{LANE_WIDTH}")) == 0, "it waits for its place"
    bench.gate.set()
    await until(lambda: len(bench.ended) == LANE_WIDTH + 1)
    assert bench.jobs.seconds(("uid", "b0")) == 0


@pytest.mark.parametrize("error", [ContentError("empty"), UnavailableError("no answer", retry_after=7.0)])
async def test_an_error_for_the_user_is_the_result(bench: Bench, error: Exception) -> None:
    finished = await bench.finished(failing(error))
    assert finished is not None
    assert finished.error is error


@pytest.mark.parametrize("error", [KeyError("a secret"), ZeroDivisionError(), TimeoutError("a socket's")])
async def test_a_bug_in_one_job_is_a_result_like_any_other_and_has_its_traceback_in_the_log(
    bench: Bench, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    finished = await bench.finished(failing(error))
    assert finished is not None
    assert isinstance(finished.error, UnavailableError)
    assert str(finished.error) == f"unexpected {type(error).__name__}; this is a bug, please report it"
    (record,) = caplog.records
    assert record.exc_info is not None
    bench.gate.set()
    bench.start("another")
    await until(lambda: "another" in bench.ended)


async def test_the_jobs_of_an_object_that_is_gone_end_and_leave_no_result(bench: Bench) -> None:
    bench.start("one")
    bench.start("other")
    bench.start("somebody else's", uid="another")
    await until(lambda: len(bench.started) == 3)
    bench.jobs.drop("uid")
    bench.jobs.drop("unknown")
    await until(lambda: bench.at_once == 1)
    assert not bench.jobs.is_running(("uid", "one"))
    assert bench.jobs.take(("uid", "one")) is None
    assert bench.jobs.is_running(("another", "somebody else's"))


async def test_an_untaken_result_goes_with_its_object(bench: Bench) -> None:
    bench.gate.set()
    bench.start()
    await until(lambda: bench.ended)
    bench.jobs.drop("uid")
    assert bench.jobs.take(KEY) is None


async def test_a_job_that_waits_for_its_place_can_be_dropped(bench: Bench) -> None:
    for number in range(LANE_WIDTH):
        bench.start(f"b{number}")
    bench.start("dropped", uid="gone")
    await until(lambda: len(bench.started) == LANE_WIDTH)
    bench.jobs.drop("gone")
    bench.gate.set()
    await until(lambda: len(bench.ended) == LANE_WIDTH + 1)
    assert "dropped" not in bench.started
    assert not bench.jobs._lanes, "it gave its claim to a place back"


async def test_an_object_whose_job_was_dropped_can_have_another_at_once(bench: Bench) -> None:
    bench.start()
    await until(lambda: bench.started)
    bench.jobs.drop("uid")
    bench.start()
    bench.gate.set()
    await until(lambda: len(bench.ended) == 2)
    finished = bench.jobs.take(KEY)
    assert finished is not None
    assert finished.result() == "result of b"


async def test_closing_ends_everything(bench: Bench) -> None:
    bench.start("a", uid="one")
    bench.start("b", uid="other")
    await until(lambda: len(bench.started) == 2)
    await bench.jobs.close()
    assert bench.at_once == 0
    assert not bench.jobs.is_running(("one", "a"))


class TestTheBudgetOfContent:
    async def test_only_some_jobs_hold_content_at_a_time(self) -> None:
        budget, holding, gate = ContentBudget(), list[int](), asyncio.Event()

        async def job(number: int) -> None:
            async with budget.share() as content_arrives:
                await content_arrives()
                holding.append(number)
                await gate.wait()

        async with asyncio.TaskGroup() as group:
            for number in range(HOLDING_CONTENT + 2):
                group.create_task(job(number))
            await until(lambda: len(holding) == HOLDING_CONTENT)
            await asyncio.sleep(0)
            assert len(holding) == HOLDING_CONTENT
            gate.set()
        assert len(holding) == HOLDING_CONTENT + 2

    async def test_a_job_holds_one_place_however_often_content_arrives(self) -> None:
        budget = ContentBudget(places=1)
        async with asyncio.timeout(10):
            for _ in range(2):
                async with budget.share() as content_arrives:
                    await content_arrives()
                    await content_arrives()

    async def test_jobs_that_wait_for_content_to_arrive_hold_nothing(self) -> None:
        budget = ContentBudget(places=1)
        async with asyncio.timeout(10), budget.share(), budget.share() as content_arrives:
            await content_arrives()

    async def test_a_job_that_fails_gives_its_place_back(self) -> None:
        budget = ContentBudget(places=1)

        async def fail() -> None:
            async with budget.share() as content_arrives:
                await content_arrives()
                raise ContentError("empty")

        with pytest.raises(ContentError):
            await fail()
        async with asyncio.timeout(10), budget.share() as content_arrives:
            await content_arrives()

    async def test_a_job_that_is_cancelled_while_it_waits_takes_no_place(self) -> None:
        budget = ContentBudget(places=1)

        async def job() -> None:
            async with budget.share() as content_arrives:
                await content_arrives()

        async with asyncio.timeout(10):
            async with budget.share() as content_arrives:
                await content_arrives()
                waiting = asyncio.create_task(job())
                await asyncio.sleep(0)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
            await job()


async def test_a_narrow_lane_holds_up_itself_only(bench: Bench) -> None:
    for number in range(3):
        bench.start(f"narrow-{number}", lane="narrow", width=1)
        bench.start(f"wide-{number}", lane="wide")
    await until(lambda: len(bench.started) == 4)
    assert [name for name in bench.started if name.startswith("narrow")] == ["narrow-0"]
    bench.gate.set()
    await until(lambda: len(bench.ended) == 6)


class TestASlot:
    """Only the latest job in a slot counts."""

    async def test_a_waiting_job_gives_its_place_to_its_successor(self, bench: Bench) -> None:
        first, second = asyncio.Event(), asyncio.Event()
        bench.start("before", uid="another", width=1, gate=first)
        bench.start("v1", slot="wanted", width=1)
        bench.start("behind", uid="a third", width=1, gate=second)
        await until(lambda: bench.started == ["before"])
        for number in range(2, 31):
            bench.start(f"v{number}", slot="wanted", width=1)
        assert len(bench.jobs) == 3
        assert not bench.jobs.is_running(("uid", "v1"))
        assert bench.jobs.is_running(("uid", "v30"))
        first.set()
        bench.gate.set()
        await until(lambda: len(bench.started) == 3)
        assert bench.started == ["before", "v30", "behind"]
        second.set()
        finished = bench.jobs.take(("uid", "v30"))
        assert finished is not None
        assert finished.result() == "result of v30"

    async def test_a_running_job_is_cancelled_and_never_runs_beside_its_successor(self, bench: Bench) -> None:
        for number in range(3):
            bench.start(f"v{number}", slot="wanted", width=1)
            await until(lambda: len(bench.started) == number + 1)  # noqa: B023 - called before the next turn
            assert len(bench.jobs) == 1
        bench.gate.set()
        await until(lambda: bench.jobs.take(("uid", "v2")))
        assert bench.most_at_once == 1

    async def test_an_untaken_result_is_dropped(self, bench: Bench) -> None:
        bench.gate.set()
        bench.start("v1", slot="wanted")
        await until(lambda: bench.ended)
        bench.start("v2", slot="wanted")
        assert bench.jobs.take(("uid", "v1")) is None
        await until(lambda: bench.jobs.take(("uid", "v2")))

    async def test_a_successor_takes_no_place_of_another_lane(self, bench: Bench) -> None:
        bench.start("before", uid="another", width=1)
        bench.start("v1", slot="wanted", width=1)
        await until(lambda: bench.started == ["before"])
        bench.start("v2", slot="wanted", lane="free")
        await until(lambda: bench.started == ["before", "v2"])
        assert len(bench.jobs) == 2

    async def test_other_slots_and_other_objects_are_left_alone(self, bench: Bench) -> None:
        bench.start("installed")
        bench.start("theirs", uid="another", slot="wanted")
        bench.start("v1", slot="wanted")
        bench.start("v2", slot="wanted")
        bench.jobs.drop_superseded("uid", slot="wanted", but=("uid", "v2"))
        assert len(bench.jobs) == 3
        bench.jobs.drop_superseded("uid", slot="wanted", but=("uid", "v3"))
        assert len(bench.jobs) == 2
        assert bench.jobs.is_running(("uid", "installed"))
        assert bench.jobs.is_running(("another", "theirs"))
