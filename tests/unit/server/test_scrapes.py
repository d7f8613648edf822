"""Scrapes, however many come, leave the event loop to others; and each shows what was counted before it came."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

from rukpak_py.core import metrics
from rukpak_py.server.web import Scrapes

REQUEST = cast("Any", None)


async def body(scrapes: Scrapes) -> Any:
    return (await scrapes.handle(REQUEST)).body


async def test_scrapes_that_come_together_share_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    def rendered() -> Iterator[bytes]:
        nonlocal made
        made += 1
        yield b"text %d" % made

    monkeypatch.setattr(metrics, "rendered", rendered)
    scrapes = Scrapes()
    assert set(await asyncio.gather(*(body(scrapes) for _ in range(50)))) == {b"text 1"}
    assert await body(scrapes) == b"text 2"


async def test_a_scrape_that_comes_while_another_is_made_gets_a_text_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = 1
    begun = asyncio.Event()

    def rendered() -> Iterator[bytes]:
        yield b"%d" % counted
        begun.set()
        yield b"."

    monkeypatch.setattr(metrics, "rendered", rendered)
    scrapes = Scrapes()
    first = asyncio.create_task(body(scrapes))
    await begun.wait()
    counted = 2
    assert await body(scrapes) == b"2."
    assert await first == b"1."


async def test_the_loop_goes_on_while_a_text_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    seen: list[int] = []

    def rendered() -> Iterator[bytes]:
        for _ in range(5):
            seen.append(turns)
            yield b""

    monkeypatch.setattr(metrics, "rendered", rendered)
    task = asyncio.create_task(others())
    await body(Scrapes())
    task.cancel()
    assert len(set(seen)) == len(seen)
