"""Requests in flight by lane, for as long as they have no answer."""

import asyncio

import pytest

from rukpak_py.kube.places import Places
from tests.scrapes import value
from tests.waiting import until

IN_FLIGHT = "rukpak_api_requests_in_flight"


def in_flight(lane: str) -> float:
    return value(IN_FLIGHT, lane=lane)


async def test_a_request_counts_in_its_lane_until_its_end() -> None:
    places = Places(1, lane="test-a")
    async with places.one():
        assert in_flight("test-a") == 1
    assert in_flight("test-a") == 0
    with pytest.raises(ZeroDivisionError):
        async with places.one():
            raise ZeroDivisionError
    assert in_flight("test-a") == 0
    assert value("rukpak_api_request_wait_seconds_count", lane="test-a") == 2


async def test_a_slow_request_goes_on_in_the_lane_of_the_slow() -> None:
    before = in_flight("slow")
    places = Places(1, seconds=0.01, lane="test-b")
    async with places.one():
        await until(lambda: in_flight("slow") == before + 1)
        assert in_flight("test-b") == 0
        async with asyncio.timeout(5), places.one():
            assert in_flight("test-b") == 1
    assert in_flight("slow") == before
    assert in_flight("test-b") == 0


async def test_places_without_a_lane_are_not_counted() -> None:
    async with Places(1, seconds=10).one():
        assert in_flight("") == 0
