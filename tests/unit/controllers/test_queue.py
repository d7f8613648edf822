"""The queue's promises, checked against a model and against interleavings of real tasks."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rukpak_py.controllers.queue import SETTLED, BackOff, Queue, QueueClosed, Schedule, Turn
from tests.waiting import until

KEYS = st.sampled_from("abc")


class QueueAgainstModel(RuleBasedStateMachine):
    """`add`, `get` and `done` in any order behave like sets of dirty and processing keys in first-come order."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.queue: Queue[str] = Queue()
        self.waiting: list[str] = []
        self.processing: set[str] = set()
        self.dirty: set[str] = set()

    def teardown(self) -> None:
        self.loop.close()

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.queue.add(key)
        if key not in self.dirty:
            self.dirty.add(key)
            if key not in self.processing:
                self.waiting.append(key)

    @rule()
    def get(self) -> None:
        if not self.waiting:
            return
        key = self.loop.run_until_complete(self.queue.get())
        assert key == self.waiting.pop(0)
        assert key not in self.processing, "a key must be with one worker only"
        self.dirty.discard(key)
        self.processing.add(key)

    @rule(key=KEYS)
    def done(self, key: str) -> None:
        if key not in self.processing:
            return
        self.queue.done(key)
        self.processing.discard(key)
        if key in self.dirty:
            self.waiting.append(key)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert len(self.queue) == len(self.dirty)
        assert self.queue.is_idle == (not self.dirty and not self.processing)


TestQueueAgainstModel = QueueAgainstModel.TestCase
TestQueueAgainstModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(adds=st.lists(st.tuples(KEYS, st.integers(0, 3)), max_size=40), workers=st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_every_added_key_is_processed_after_its_last_add_and_never_twice_at_once(
    adds: list[tuple[str, int]], workers: int
) -> None:
    added: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    busy: set[str] = set()

    async def work(queue: Queue[str]) -> None:
        while True:
            try:
                key = await queue.get()
            except QueueClosed:
                return
            assert key not in busy
            busy.add(key)
            version = added[key]
            await asyncio.sleep(0)
            seen[key] = version
            busy.discard(key)
            queue.done(key)

    async def scenario() -> None:
        queue: Queue[str] = Queue()
        tasks = [asyncio.create_task(work(queue)) for _ in range(workers)]
        for key, pauses in adds:
            added[key] += 1
            queue.add(key)
            for _ in range(pauses):
                await asyncio.sleep(0)
        await until(lambda: queue.is_idle)
        queue.close()
        await asyncio.gather(*tasks)

    asyncio.run(scenario())
    assert seen == added


async def test_a_cancelled_worker_hands_its_wake_up_to_the_next() -> None:
    queue: Queue[str] = Queue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")  # wakes the first ...
    first.cancel()  # ... which goes before it runs
    async with asyncio.timeout(5):
        assert await second == "a"


async def test_the_earlier_of_two_delayed_wake_ups_wins() -> None:
    queue: Queue[str] = Queue()
    queue.wake("a", after=3600)
    queue.wake("a", after=0.001)
    queue.wake("a", after=3600)
    async with asyncio.timeout(5):
        assert await queue.get() == "a"
    assert len(queue) == 0


def test_pauses_double_up_to_the_most() -> None:
    queue: Queue[str] = Queue(back_off=BackOff(first=1, most=8, jitter=0.5), draw=lambda: 0.0)
    turn = queue.turn("a")
    assert [turn.back_off.delay(failures, turn.draw) for failures in range(1, 6)] == [1, 2, 4, 8, 8]


class TestTwoTimes:
    """A key that has failed: what is an attempt, and what only a look."""

    @pytest.fixture
    async def queue(self) -> AsyncIterator[Queue[str]]:
        queue: Queue[str] = Queue()
        yield queue
        queue.close()

    async def turn(self, queue: Queue[str], schedule: Schedule | None = None) -> Turn:
        """The next one of the key, and how it goes on after that."""
        async with asyncio.timeout(5):
            key = await queue.get()
        turn = queue.turn(key)
        queue.done(key)
        queue.schedule(key, schedule or Schedule(failures=turn.failures, attempt_at=turn.attempt_at))
        return turn

    @staticmethod
    def after(seconds: float) -> float:
        return asyncio.get_running_loop().time() + seconds

    async def test_a_key_that_never_failed_may_start_anything(self, queue: Queue[str]) -> None:
        queue.add("a")
        assert await self.turn(queue) == Turn()

    async def test_an_event_brings_a_look_and_changes_no_time(self, queue: Queue[str]) -> None:
        queue.add("a")
        later = self.after(3600)
        await self.turn(queue, Schedule(failures=3, attempt_at=later))
        for _ in range(2):
            queue.add("a")
            assert await self.turn(queue) == Turn(is_attempt=False, failures=3, attempt_at=later)

    async def test_a_wake_up_brings_an_attempt_once(self, queue: Queue[str]) -> None:
        queue.add("a")
        await self.turn(queue, Schedule(failures=1))
        queue.wake("a")
        assert (await self.turn(queue)).is_attempt
        queue.add("a")
        assert not (await self.turn(queue)).is_attempt

    async def test_the_time_brings_an_attempt(self, queue: Queue[str]) -> None:
        queue.add("a")
        await self.turn(queue, Schedule(failures=1, attempt_at=self.after(0.01)))
        assert (await self.turn(queue, Schedule(failures=1))).is_attempt

    async def test_a_timer_that_fires_a_little_early_brings_an_attempt_all_the_same(self, queue: Queue[str]) -> None:
        queue.add("a")
        for tenth in range(30):  # of a millisecond: the loop rounds some of them down
            await self.turn(queue, Schedule(failures=1, attempt_at=self.after(0.001 + tenth / 10_000)))
            assert (await self.turn(queue, Schedule(failures=1))).is_attempt
            queue.add("a")

    async def test_a_report_is_a_look_and_does_not_postpone_the_attempt(self, queue: Queue[str]) -> None:
        queue.add("a")
        attempt_at = self.after(0.05)
        await self.turn(queue, Schedule(failures=1, attempt_at=attempt_at, report_at=self.after(0.001)))
        assert await self.turn(queue) == Turn(is_attempt=False, failures=1, attempt_at=attempt_at)
        assert (await self.turn(queue, Schedule(failures=1))).is_attempt

    async def test_the_times_of_the_last_look_are_the_ones_that_count(self, queue: Queue[str]) -> None:
        queue.add("a")
        await self.turn(queue, Schedule(failures=1, attempt_at=self.after(0.001), report_at=self.after(0.001)))
        queue.wake("a")
        await self.turn(queue, SETTLED)
        await asyncio.sleep(0.01)  # past both times
        assert len(queue) == 0

    async def test_an_attempt_goes_on_while_its_job_runs(self, queue: Queue[str]) -> None:
        queue.add("a")
        await self.turn(queue, Schedule(failures=2, is_under_way=True))
        for _ in range(2):
            queue.add("a")
            assert (await self.turn(queue, Schedule(failures=2, is_under_way=True))).is_attempt

    async def test_a_wake_up_during_a_job_counts_for_the_next_attempt(self, queue: Queue[str]) -> None:
        """The job may have read what changed before it did."""
        queue.add("a")
        await self.turn(queue, Schedule(is_under_way=True))
        queue.wake("a")
        await self.turn(queue, Schedule(is_under_way=True))
        queue.add("a")
        await self.turn(queue, Schedule(failures=1, attempt_at=self.after(3600)))
        assert (await self.turn(queue)).is_attempt, "at once, without another event"
        assert len(queue) == 0

    async def test_a_settled_key_has_forgotten_its_failures(self, queue: Queue[str]) -> None:
        queue.add("a")
        await self.turn(queue, Schedule(failures=7))
        queue.add("a")
        await self.turn(queue, SETTLED)
        queue.add("a")
        assert await self.turn(queue) == Turn()


@given(failures=st.integers(1, 10_000), draw=st.floats(0, 1, exclude_max=True))
def test_a_pause_is_never_more_than_the_most_nor_nothing(failures: int, draw: float) -> None:
    assert 0 < BackOff().delay(failures, draw) <= 60


async def test_a_closed_queue_ends_its_workers_and_takes_nothing_more() -> None:
    queue: Queue[str] = Queue()
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.close()
    queue.add("a")
    with pytest.raises(QueueClosed):
        await worker
    with pytest.raises(QueueClosed):
        await queue.get()
