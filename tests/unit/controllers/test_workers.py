"""A worker takes keys, survives every failure, and does with a key what its outcome says."""

import asyncio
import logging

import pytest

from rukpak_py.api.conditions import Summary
from rukpak_py.controllers.outcome import (
    DONE,
    WAIT,
    Outcome,
    again,
    both,
    retry,
    retry_unless_stalled,
    schedule,
    work,
)
from rukpak_py.controllers.queue import SETTLED, BackOff, Queue, Schedule, Turn
from rukpak_py.core.errors import AccessError, UnavailableError
from tests.waiting import until

NEVER = 3600.0
SOON = BackOff(first=0.001, most=0.002)


class Bench:
    def __init__(self, *answers: Outcome | Schedule | Exception) -> None:
        self.queue: Queue[str] = Queue(back_off=SOON)
        self.answers = list(answers)
        self.seen: list[str] = []
        self.turns: list[Turn] = []
        self.enough = asyncio.Event()

    async def reconcile(self, key: str, turn: Turn) -> Outcome | Schedule:
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


@pytest.mark.parametrize("outcome", [DONE, WAIT])
async def test_a_key_that_is_done_or_waits_for_an_event_does_not_come_back(outcome: Outcome) -> None:
    assert await Bench(outcome, outcome).run("a", "b") == ["a", "b"]


@pytest.mark.parametrize(
    "first", [retry(), again(0.001), UnavailableError("m"), AccessError("m"), KeyError("bug")], ids=repr
)
async def test_what_failed_or_asked_for_it_comes_back(first: Outcome | Exception) -> None:
    assert await Bench(first, DONE).run("a") == ["a", "a"]


async def test_a_failure_of_one_key_is_no_failure_of_the_next() -> None:
    seen = await Bench(ZeroDivisionError(), DONE, DONE).run("a", "b")
    assert sorted(seen) == ["a", "a", "b"]


async def test_a_failure_of_ours_is_one_line_and_a_bug_has_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await Bench(AccessError("the right is missing"), KeyError("bug"), DONE).run("a")
    known, bug = caplog.records
    assert (known.getMessage(), known.exc_info) == ("the right is missing", None)
    assert bug.exc_info
    assert "please report" in bug.getMessage()


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        (DONE, DONE, DONE),
        (DONE, WAIT, WAIT),
        (DONE, again(5.0), again(5.0)),
        (again(5.0), again(30.0), again(5.0)),
        (DONE, retry(), retry()),
        (WAIT, retry(7.0), retry(7.0)),
        (retry(), retry(7.0), retry(7.0)),
        (again(5.0), retry(7.0), Outcome(retry=True, at_least=7.0, after=5.0)),
    ],
)
def test_a_key_under_which_two_things_were_looked_at_comes_back_when_either_needs_it(
    one: Outcome, other: Outcome, outcome: Outcome
) -> None:
    assert both(one, other) == both(other, one) == outcome


async def test_a_back_off_does_not_hold_back_what_comes_back_before() -> None:
    """Beside an upgrade that was refused, the active content waited up to a minute for what takes a moment."""
    assert await Bench(both(retry(NEVER), again(0.001)), DONE).run("a") == ["a", "a"]


@pytest.mark.parametrize("summary", Summary)
def test_what_is_reported_as_stalled_is_not_tried_again_by_itself(summary: Summary) -> None:
    assert retry_unless_stalled(summary, 7.0) == (WAIT if summary is Summary.STALLED else retry(7.0))


NOW = 100.0
FAILED = Turn(is_attempt=False, failures=3, attempt_at=150.0)
TRIED = Turn(failures=3, attempt_at=100.0)
STALLED = Turn(is_attempt=False, failures=3)


@pytest.mark.parametrize(
    ("outcome", "turn", "expected"),
    [
        (DONE, TRIED, SETTLED),
        (DONE, FAILED, SETTLED),
        (retry(), Turn(), Schedule(failures=1, attempt_at=101.0)),
        (retry(), TRIED, Schedule(failures=4, attempt_at=104.0)),
        (retry(30.0), TRIED, Schedule(failures=4, attempt_at=130.0)),
        (retry(), FAILED, Schedule(failures=3, attempt_at=150.0)),
        (retry(), STALLED, Schedule(failures=4, attempt_at=104.0)),
        (WAIT, TRIED, Schedule(failures=3)),
        (WAIT, FAILED, Schedule(failures=3, attempt_at=150.0)),
        (again(5.0), FAILED, Schedule(failures=3, attempt_at=150.0, report_at=105.0)),
        (both(retry(), again(0.5)), Turn(), Schedule(failures=1, attempt_at=101.0, report_at=100.5)),
    ],
)
def test_an_outcome_sets_the_times_of_its_key(outcome: Outcome, turn: Turn, expected: Schedule) -> None:
    assert schedule(outcome, turn, NOW, lambda failures, *, at_least: max(at_least, failures)) == expected


async def test_a_worker_tells_whether_it_is_an_attempt() -> None:
    bench = Bench(Schedule(failures=1), DONE, DONE)
    worker = asyncio.create_task(work("Bundle", bench.queue, bench.reconcile))
    async with asyncio.timeout(5):
        for wake in (bench.queue.add, bench.queue.add, bench.queue.wake):
            seen = len(bench.seen)
            wake("a")
            await until(lambda seen=seen: len(bench.seen) > seen and bench.queue.is_idle)  # type: ignore[misc]
    bench.queue.close()
    await worker
    assert [turn.is_attempt for turn in bench.turns] == [True, False, True]
