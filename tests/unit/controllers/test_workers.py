"""A worker takes keys, survives every failure, and does with a key what its schedule says."""

import asyncio
import logging
from typing import Any

import pytest

from rukpak_py.controllers import reconcile_loop as worker_module
from rukpak_py.controllers.queue import SETTLED, BackOff, Queue, Schedule, Turn
from rukpak_py.controllers.reconcile_loop import failed, work
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from tests.scrapes import samples
from tests.waiting import until

NEVER = 3600.0
SOON = BackOff(first=0.001, most=0.002)
AT_ONCE = 0.0  # a time of the loop that is over


class Bench:
    def __init__(self, *answers: Schedule | Exception) -> None:
        self.queue: Queue[str] = Queue(back_off=SOON)
        self.answers = list(answers)
        self.seen: list[str] = []
        self.turns: list[Turn] = []
        self.enough = asyncio.Event()

    async def reconcile(self, key: str, turn: Turn) -> Schedule:
        self.seen.append(key)
        self.turns.append(turn)
        answer = self.answers.pop(0)
        if not self.answers:
            self.enough.set()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def run(self, *keys: str) -> list[str]:
        worker = asyncio.create_task(work("Bundle", self.queue, self.reconcile))
        for key in keys:
            self.queue.add(key)
        async with asyncio.timeout(10):
            await self.enough.wait()
        self.queue.close()
        await worker
        return self.seen


@pytest.mark.parametrize("schedule", [SETTLED, Schedule(failures=1)], ids=["done", "waits for an event"])
async def test_a_key_that_is_done_or_waits_for_an_event_does_not_come_back(schedule: Schedule) -> None:
    assert await Bench(schedule, schedule).run("a", "b") == ["a", "b"]


@pytest.mark.parametrize(
    "first",
    [
        Schedule(failures=1, attempt_at=AT_ONCE),
        Schedule(attempt_at=AT_ONCE),
        Schedule(report_at=AT_ONCE),
        UnavailableError("m"),
        AccessError("m"),
        KeyError("bug"),
    ],
    ids=repr,
)
async def test_a_key_that_failed_or_asked_for_it_comes_back(first: Schedule | Exception) -> None:
    assert await Bench(first, SETTLED).run("a") == ["a", "a"]


async def test_a_failure_of_one_key_is_no_failure_of_the_next() -> None:
    seen = await Bench(ZeroDivisionError(), SETTLED, SETTLED).run("a", "b")
    assert sorted(seen) == ["a", "a", "b"]


async def test_a_failure_of_ours_is_one_line_and_a_bug_has_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await Bench(AccessError("the right is missing"), KeyError("bug"), SETTLED).run("a")
    known, bug = caplog.records
    assert (known.getMessage(), known.exc_info) == ("the right is missing", None)
    assert bug.exc_info
    assert "please report" in bug.getMessage()


async def test_a_back_off_does_not_hold_back_what_comes_back_before() -> None:
    """Beside an upgrade that was refused, the active content waited up to a minute for what takes a moment."""
    later = asyncio.get_running_loop().time() + NEVER
    assert await Bench(Schedule(failures=1, attempt_at=later, report_at=AT_ONCE), SETTLED).run("a") == ["a", "a"]


BACK_OFF = BackOff(first=1.0, most=60.0)
FAILED = Turn(is_attempt=False, failures=3, attempt_at=150.0, back_off=BACK_OFF)
TRIED = Turn(failures=3, attempt_at=100.0, back_off=BACK_OFF)
STALLED = Turn(is_attempt=False, failures=3, back_off=BACK_OFF)


@pytest.mark.parametrize(
    ("turn", "at_least", "failures", "pause"),
    [
        (Turn(back_off=BACK_OFF), 0.0, 1, 1.0),
        (Turn(back_off=BACK_OFF, draw=0.8), 0.0, 1, 0.8),
        (TRIED, 0.0, 4, 8.0),
        (TRIED, 30.0, 4, 30.0),
        (TRIED, 5.0, 4, 8.0),
        (STALLED, 0.0, 4, 8.0),
    ],
)
async def test_a_reconcile_without_a_conclusion_counts_as_a_failure(
    turn: Turn, at_least: float, failures: int, pause: float
) -> None:
    loop = asyncio.get_running_loop()
    before = loop.time()
    found = failed(turn, at_least=at_least)
    assert found.attempt_at is not None
    assert before + pause <= found.attempt_at <= loop.time() + pause
    assert found == Schedule(failures=failures, attempt_at=found.attempt_at)


async def test_a_look_that_fails_leaves_the_next_attempt_where_it_is() -> None:
    assert failed(FAILED, at_least=7.0) == Schedule(failures=3, attempt_at=150.0)


async def test_a_failure_that_names_a_pause_gets_it() -> None:
    before = asyncio.get_running_loop().time()
    bench = Bench(UnavailableError("too many requests", retry_after=NEVER), SETTLED)
    worker = asyncio.create_task(work("Bundle", bench.queue, bench.reconcile))
    async with asyncio.timeout(5):
        for wake in (bench.queue.add, bench.queue.add):
            seen = len(bench.seen)
            wake("a")
            await until(lambda seen=seen: len(bench.seen) > seen and bench.queue.is_idle)  # type: ignore[misc]  # a default has no type
    bench.queue.close()
    await worker
    _, look = bench.turns
    assert (look.is_attempt, look.failures) == (False, 1)
    assert look.attempt_at is not None
    assert look.attempt_at >= before + NEVER


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (SETTLED, "done"),
        (Schedule(failures=1), "done"),  # only a change brings it back
        (Schedule(report_at=AT_ONCE), "done"),
        (Schedule(failures=1, attempt_at=AT_ONCE), "retry"),
        *((kind("m"), "error") for kind in (ContentError, ConflictError, RukPakError)),
        (KeyError("bug"), "bug"),
    ],
    ids=repr,
)
async def test_a_result_of_a_reconcile_is_counted(
    monkeypatch: pytest.MonkeyPatch, answer: Schedule | Exception, result: str
) -> None:
    counted: list[Any] = []
    monkeypatch.setattr(worker_module, "observe_reconcile", lambda *told: counted.append(told[:2]))
    await Bench(answer).run("a")
    assert counted == [("Bundle", result)]


async def test_a_worker_tells_whether_it_is_an_attempt() -> None:
    bench = Bench(Schedule(failures=1), SETTLED, SETTLED)
    worker = asyncio.create_task(work("Bundle", bench.queue, bench.reconcile))
    async with asyncio.timeout(5):
        for wake in (bench.queue.add, bench.queue.add, bench.queue.wake):
            seen = len(bench.seen)
            wake("a")
            await until(lambda seen=seen: len(bench.seen) > seen and bench.queue.is_idle)  # type: ignore[misc]  # a default has no type
    bench.queue.close()
    await worker
    assert [turn.is_attempt for turn in bench.turns] == [True, False, True]


async def test_bugs_are_exported_before_the_first_one() -> None:
    """The alert about them looks for an increase, and a series that begins at 1 has none."""
    queue: Queue[str] = Queue(back_off=SOON)
    queue.close()
    await work("OfThisTest", queue, Bench().reconcile)
    labels = frozenset({"kind": "OfThisTest", "result": "bug"}.items())
    assert samples("rukpak_reconcile_duration_seconds_count")[labels] == 0
