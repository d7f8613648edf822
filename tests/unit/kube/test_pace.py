"""Slow answers take places away from one deployment, and end its stages early."""

import asyncio

import pytest

from rukpak_py.kube.pace import AT_ONCE, FIRST_PLACES, SLOW_SECONDS, STAGE_SECONDS, Pace, SlowAnswer, run_bounded

QUICK = 0.01


class Watch:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def paced(*seconds: float, watch: Watch | None = None) -> Pace:
    pace = Pace(watch or Watch())
    pace.begin()
    for one in seconds:
        pace.answered("apply ConfigMap a/b", one)
    return pace


def test_quick_answers_add_places() -> None:
    assert [paced(*[QUICK] * number).places for number in (0, 1, 5, 100)] == [
        FIRST_PLACES,
        FIRST_PLACES + 1,
        FIRST_PLACES + 5,
        AT_ONCE,
    ]


@pytest.mark.parametrize(("seconds", "places"), [(1.0, 16), (4.0, 8), (9.0, 3), (30.0, 1), (600.0, 1)])
def test_slow_answers_take_places_away(seconds: float, places: int) -> None:
    assert paced(*[seconds] * 50).places == places


def test_a_pace_recovers() -> None:
    slow = paced(*[9.0] * 50)
    for _ in range(50):
        slow.answered("apply ConfigMap a/b", QUICK)
    assert (slow.places, slow.is_slow) == (AT_ONCE, False)


def test_a_stage_is_over_only_while_answers_are_slow() -> None:
    watch = Watch()
    slow, quick = paced(9.0, 9.0, watch=watch), paced(QUICK, watch=watch)
    assert not slow.is_over, "it has just begun"
    watch.now += STAGE_SECONDS
    assert (slow.is_over, quick.is_over) == (True, False)
    slow.begin()
    assert [slow.is_over] == [False]


def test_the_slowest_answer_is_known_by_what_was_asked() -> None:
    pace = paced(3.0)
    pace.answered("apply Secret a/c", 9.0)
    pace.answered("apply Secret a/d", SLOW_SECONDS)
    assert pace.slowest == SlowAnswer(request="apply Secret a/c", seconds=9.0)
    pace.begin()
    assert pace.slowest is None


async def test_items_that_were_not_begun_are_returned() -> None:
    watch = Watch()
    pace, done = paced(watch=watch), list[int]()

    async def work(number: int) -> None:
        await asyncio.sleep(0)
        watch.now += 9.0
        pace.answered("apply ConfigMap a/b", 9.0)
        done.append(number)

    left = await run_bounded(work, range(20), pace=pace)
    assert done == list(range(FIRST_PLACES))
    assert left == list(range(FIRST_PLACES, 20))


async def test_places_that_come_are_used_at_once() -> None:
    pace, busy, most = paced(), 0, 0

    async def work(_: int) -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0)
        busy -= 1
        pace.answered("apply ConfigMap a/b", QUICK)

    assert await run_bounded(work, range(200), pace=pace) == []
    assert most == AT_ONCE
