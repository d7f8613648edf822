"""The queue's promises, checked against a model and against interleavings of real tasks."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rukpak_py.controllers.queue import BackOff, Queue, QueueClosed
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


async def test_the_earlier_of_two_delayed_adds_wins() -> None:
    queue: Queue[str] = Queue()
    queue.add_after("a", 3600)
    queue.add_after("a", 0)
    queue.add_after("a", 3600)
    async with asyncio.timeout(5):
        assert await queue.get() == "a"
    assert len(queue) == 0


async def test_retries_double_up_to_the_most_and_forget_resets_them() -> None:
    queue: Queue[str] = Queue(back_off=BackOff(first=1, most=8, jitter=0.5), draw=lambda: 0.0)
    assert [queue.retry("a") for _ in range(5)] == [1, 2, 4, 8, 8]
    assert queue.retry("a", at_least=30) == 30
    queue.forget("a")
    assert queue.retry("a") == 1
    queue.close()


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
