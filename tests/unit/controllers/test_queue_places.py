"""Keys that are slow hold up each other and no others."""

import asyncio

from rukpak_py.controllers.queue import SETTLED, Queue, Schedule
from tests.waiting import TURNS

SLOW = Schedule(is_slow=True)


def queue() -> Queue[str]:
    return Queue(places=2, slow_places=1)


async def taken(of: Queue[str]) -> list[str]:
    """Keys that workers take now, as many as there are."""
    found = []
    for _ in range(10):
        one = asyncio.create_task(of.get())
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if not one.done():
            one.cancel()
            await asyncio.gather(one, return_exceptions=True)
            break
        found.append(one.result())
    return found


async def slow_keys(of: Queue[str], *keys: str) -> None:
    for key in keys:
        of.add(key)
        assert await of.get() == key
        of.done(key)
        of.schedule(key, SLOW)


async def test_no_more_keys_than_places_are_with_workers() -> None:
    keys = queue()
    for key in "abc":
        keys.add(key)
    assert await taken(keys) == ["a", "b"]
    keys.done("a")
    assert await taken(keys) == ["c"]


async def test_a_key_that_lasts_gives_its_place_to_the_next() -> None:
    keys = queue()
    for key in "abcd":
        keys.add(key)
    assert await taken(keys) == ["a", "b"]
    keys.lasts("a")
    assert await taken(keys) == ["c"]
    keys.done("a")
    assert await taken(keys) == [], "its place was given away already"
    keys.done("b")
    assert await taken(keys) == ["d"]


async def test_slow_keys_have_a_lane_of_their_own() -> None:
    keys = queue()
    await slow_keys(keys, "s", "t", "u")
    for key in "stuab":
        keys.add(key)
    assert sorted(await taken(keys)) == ["a", "b", "s"]
    keys.lasts("s")
    assert await taken(keys) == [], "a slow key keeps its place"
    keys.done("s")
    assert await taken(keys) == ["t"]


async def test_a_slow_key_that_changed_meanwhile_comes_back_in_its_lane() -> None:
    keys = queue()
    await slow_keys(keys, "s")
    keys.add("a")
    assert await keys.get() == "a"
    keys.add("a")
    keys.done("a")
    keys.schedule("a", SLOW)
    keys.add("s")
    keys.add("b")
    keys.add("c")
    assert sorted(await taken(keys)) == ["a", "b", "c"]


async def test_a_key_that_is_quick_again_has_the_places_of_all() -> None:
    keys = queue()
    await slow_keys(keys, "s", "t")
    keys.add("s")
    assert await keys.get() == "s"
    keys.done("s")
    keys.schedule("s", SETTLED)
    keys.add("t")
    keys.add("s")
    assert sorted(await taken(keys)) == ["s", "t"]


async def test_a_worker_that_waits_hears_of_a_place() -> None:
    keys = queue()
    for key in "abc":
        keys.add(key)
    await taken(keys)
    async with asyncio.timeout(10):
        waiting = asyncio.create_task(keys.get())
        await asyncio.sleep(0)
        keys.lasts("b")
        assert await waiting == "c"
