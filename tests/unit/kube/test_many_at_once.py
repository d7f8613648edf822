"""Failures among many requests at once come out as one of them, never as a group."""

import asyncio

import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.pace import AT_ONCE, run_bounded


async def test_the_first_expected_failure_comes_out_by_itself() -> None:
    async def fail(number: int) -> None:
        raise UnavailableError(f"no answer to {number}", retry_after=7)

    with pytest.raises(UnavailableError, match="no answer to 0") as caught:
        await run_bounded(fail, range(100))
    assert caught.value.retry_after == 7


async def test_a_bug_among_them_stays_a_bug() -> None:
    async def fail(number: int) -> None:
        if number % 2:
            raise UnavailableError("no answer")
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        await run_bounded(fail, range(100))


async def test_every_item_is_worked_on_once_and_a_bounded_number_at_a_time() -> None:
    seen: list[int] = []
    busy = most = 0

    async def work(number: int) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0)
        seen.append(number)
        busy -= 1

    await run_bounded(work, range(100))
    assert sorted(seen) == list(range(100))
    assert most <= AT_ONCE


async def test_the_first_failure_ends_the_rest() -> None:
    begun: list[int] = []

    async def work(number: int) -> None:
        begun.append(number)
        await asyncio.sleep(0)
        raise UnavailableError("no answer")

    with pytest.raises(UnavailableError):
        await run_bounded(work, range(100))
    assert len(begun) == AT_ONCE


async def test_items_may_come_from_a_generator_and_may_be_none() -> None:
    seen: list[int] = []

    async def work(number: int) -> None:
        seen.append(number)

    await run_bounded(work, ())
    await run_bounded(work, (number for number in range(3)))
    assert sorted(seen) == [0, 1, 2]
