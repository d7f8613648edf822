"""Both directions of a connection that is passed on to the leader: when it ends, and that nothing runs on."""

import asyncio
from typing import Any

import pytest

from rukpak_py.server.forwarding import _both

SECONDS = 5


async def held() -> None:
    await asyncio.Event().wait()


async def done() -> None:
    await asyncio.sleep(0)


async def broken() -> None:
    await asyncio.sleep(0)
    raise ConnectionResetError


async def test_a_client_that_keeps_silent_after_the_answer_holds_nothing() -> None:
    async with asyncio.timeout(SECONDS):
        await _both(question=held(), answer=done())


async def test_a_client_that_has_asked_gets_its_whole_answer() -> None:
    answered = asyncio.Event()

    async def answer() -> None:
        await asyncio.sleep(0.01)  # after the end of the question
        answered.set()

    await _both(question=done(), answer=answer())
    assert answered.is_set()


@pytest.mark.parametrize(("question", "answer"), [(broken, held), (held, broken)], ids=["client", "leader"])
async def test_the_end_of_one_side_is_the_end_of_the_other(question: Any, answer: Any) -> None:
    before = asyncio.all_tasks()
    with pytest.raises(ConnectionResetError):
        async with asyncio.timeout(SECONDS):
            await _both(question=question(), answer=answer())
    assert asyncio.all_tasks() == before, "nothing runs on"
