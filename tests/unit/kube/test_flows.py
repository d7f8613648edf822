"""Accounts as flows: places of each, waits of each, and what is remembered of them."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from aiohttp import web

from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ServerUnavailableError
from rukpak_py.kube.flows import ASSUMED_SECONDS, EACH, PATIENCE, TOGETHER, Flow, Flows
from rukpak_py.kube.places import Places
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.unit.kube.fake_api import serving

BUSY, CALM = "system:serviceaccount:a:busy", "system:serviceaccount:b:calm"
OBJECT = web.json_response({"metadata": {"name": "a", "resourceVersion": "1"}})


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def flow() -> Flow:
    return Flow(places=Places(EACH))


# Waits


def test_a_short_wait_is_sat_through_once() -> None:
    one = flow()
    one.refuse(sent=0.0, now=1.0, seconds=1.0)
    assert (one.left(1.0), one.left(1.5), one.left(2.0)) == (1.0, 0.5, 0.0)
    assert not one.is_over(1.0)
    one.refuse(sent=2.0, now=2.1, seconds=1.0)
    assert one.is_over(2.2), "the second refusal in a row"
    assert not one.is_over(3.2), "it is time to try again"


def test_refusals_of_requests_that_were_sent_together_count_once() -> None:
    one = flow()
    for now in (1.0, 1.1, 1.2):
        one.refuse(sent=0.9, now=now, seconds=1.0)
    assert not one.is_over(1.3)
    assert one.left(1.3) == pytest.approx(0.9)


def test_a_success_after_the_wait_ends_the_row_and_one_that_was_sent_before_does_not() -> None:
    one = flow()
    one.refuse(sent=0.0, now=1.0, seconds=1.0)
    one.accept(sent=0.5)
    one.refuse(sent=2.0, now=2.1, seconds=1.0)
    assert one.is_over(2.2)
    one.accept(sent=3.5)
    one.refuse(sent=4.0, now=4.1, seconds=1.0)
    assert not one.is_over(4.2)


@pytest.mark.parametrize(
    ("seconds", "left", "is_over"),
    [(0.0, ASSUMED_SECONDS, False), (PATIENCE, PATIENCE, False), (5.0, 5.0, True), (600.0, 600.0, True)],
)
def test_a_long_wait_is_the_callers(seconds: float, left: float, *, is_over: bool) -> None:
    one = flow()
    one.refuse(sent=0.0, now=1.0, seconds=seconds)
    assert (one.left(1.0), one.is_over(1.0)) == (left, is_over)


# Memory


async def test_an_account_is_forgotten_when_nothing_is_in_flight_and_its_wait_is_over() -> None:
    clock = Clock()
    flows = Flows(clock=clock)
    async with flows.of(BUSY) as one:
        one.refuse(sent=clock.now, now=clock.now, seconds=5.0)
    assert len(flows) == 1, "its wait goes on"
    async with flows.of(BUSY) as again:
        assert again.left(clock.now) == 5.0
    clock.now += 5.0
    async with flows.of(CALM), flows.of(CALM):
        assert len(flows) == 1
    assert len(flows) == 0


async def test_as_many_accounts_as_are_in_flight_are_remembered() -> None:
    flows = Flows()
    for number in range(1000):
        async with flows.of(f"account-{number}"):
            assert len(flows) == 1
    assert len(flows) == 0


# Places


async def test_one_account_has_some_of_the_places_and_all_accounts_leave_places_to_the_operator() -> None:
    flows = Flows()
    async with AsyncExitStack() as stack:
        busy, calm, third = [await stack.enter_async_context(flows.of(user)) for user in (BUSY, CALM, "third")]

        async def take(one: Flow, taken: list[int]) -> None:
            async with flows.place(one):
                taken.append(1)
                await asyncio.Event().wait()

        of_busy, of_calm, of_third = list[int](), list[int](), list[int]()
        tasks = [asyncio.create_task(take(busy, of_busy)) for _ in range(300)]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(take(calm, of_calm)) for _ in range(4)]
        await asyncio.sleep(0.01)
        assert (len(of_busy), len(of_calm)) == (EACH, 4)
        tasks += [asyncio.create_task(take(third, of_third)) for _ in range(300)]
        await asyncio.sleep(0.01)
        assert len(of_busy) + len(of_calm) + len(of_third) == TOGETHER
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# Requests


class Throttling:
    """Answers one account 429 and everything else 200."""

    def __init__(self, seconds: str) -> None:
        self.is_over = False
        self.refused = 0
        self._headers = {"Retry-After": seconds} if seconds else {}

    async def answer(self, request: web.BaseRequest) -> web.Response:
        if request.headers.get("Impersonate-User") != BUSY or self.is_over:
            return web.json_response({"metadata": {"name": "a", "resourceVersion": "1"}})
        self.refused += 1
        return web.Response(status=429, text="later", headers=self._headers)


async def get(client: Client) -> None:
    await client.get(CONFIG_MAPS, "n", "a")


async def test_an_account_that_is_told_to_wait_for_long_sends_nothing_more_and_holds_up_no_caller() -> None:
    throttling, waits = Throttling("5"), list[float]()
    async with serving(throttling.answer, waited=waits) as (client, _):
        busy, calm = client.acting_as(BUSY), client.acting_as(CALM)
        for _ in range(10):
            with pytest.raises(ServerUnavailableError) as caught:
                await get(busy)
            assert 4.0 < caught.value.retry_after <= 5.0
        assert throttling.refused == 1
        await get(calm)
        await get(client)
    assert waits == [], "nothing waits in the place of its caller"


async def test_an_account_with_many_objects_that_is_refused_for_a_while_waits_once_for_all_of_them() -> None:
    throttling = Throttling("1")
    async with serving(throttling.answer) as (client, _):
        busy = client.acting_as(BUSY)
        failed = await asyncio.gather(*(get(busy) for _ in range(300)), return_exceptions=True)
        assert all(isinstance(one, ServerUnavailableError) for one in failed)
        assert throttling.refused <= 3 * EACH, "300 requests were not sent four times each"
        throttling.is_over = True
        await asyncio.sleep(1.1)
        await get(busy)


async def test_the_operator_itself_waits_as_it_always_did() -> None:
    waits = list[float]()
    late = web.Response(status=429, text="later", headers={"Retry-After": "5"})
    async with serving(late, OBJECT, waited=waits) as (client, api):
        await get(client)
    assert len(api.seen) == 2
    assert len(waits) == 1
